"""Chooses the policy to save: the latest, or the league's champion if that is stronger."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.league import League
from dshq_widget.policy import checkpoint
from dshq_widget.policy.evaluate import evaluate, network
from dshq_widget.policy.network import PolicySpec

MATCHES = 1024
"""Matches of each policy with each pinned opponent, with the same seeds (standard error of a share: about 1 %)."""
SEED = 0xC0DE
"""Seed of matches that no league round has played, because the league's choice among many snapshots is partly luck."""
OF_THE_LATEST = ("win_rate", "win_share", "elo", "return", "reward", "loss", "entropy", "approx", "grad", "explained")
"""Prefixes of metrics that do not describe an earlier policy."""


def keep_best(path: str | os.PathLike[str], drill: CompiledDrill) -> dict[str, Any] | None:
    """Compare a file's latest policy with its league's champion, and save the champion if it is stronger. Returns
    {version, latest, shares: {version: points per match}, why}, or None without a league. A champion's file keeps the
    league, but not the optimiser's state: training continues from it with fresh moments.
    """
    if drill.spec["sides"] == 1:
        return None
    saved = checkpoint.load(path)
    league = League(drill, PolicySpec(saved.layers, saved.activation), saved.seed)
    league.restore(saved.state)
    champion = league.champion
    if champion is None:
        return None
    shares = {saved.version: _share(league, saved, saved.weights)}
    if champion.version != saved.version:
        shares[champion.version] = _share(league, saved, champion.weights)
    best = max(shares, key=lambda version: (shares[version], version))
    against = " and ".join(league.pinned)
    why = f"{shares[best]:.1%} of the points in {MATCHES * len(league.pinned):,} matches with {against}"
    if best != saved.version:
        metrics = {key: value for key, value in saved.metrics.items() if not key.startswith(OF_THE_LATEST)}
        stronger = dataclasses.replace(
            saved,
            weights=champion.weights,
            version=champion.version,
            step=champion.step,
            metrics=metrics | {"version": champion.version, "agent_steps": champion.step},
            state={key: value for key, value in saved.state.items() if key.startswith("train.league.")},
        )
        checkpoint.save(path, stronger)
        why = f"the champion, {why}; the latest, version {saved.version}, scores {shares[saved.version]:.1%}"
    else:
        why = f"the latest, {why}" + (", at least as many as the champion" if len(shares) > 1 else "")
    return {
        "version": best,
        "latest": saved.version,
        "shares": {f"v{k}": share for k, share in shares.items()},
        "why": why,
    }


def _share(league: League, saved: checkpoint.Checkpoint, weights: Any) -> float:
    """Points per match of `weights` against the pinned opponents."""
    player = network(saved.layers, saved.activation, weights)
    results = [evaluate(league.drill, player, pinned, MATCHES, seed=SEED) for pinned in league.pinned.values()]
    return sum(result["wins"] + result["draws"] / 2 for result in results) / (MATCHES * len(results))
