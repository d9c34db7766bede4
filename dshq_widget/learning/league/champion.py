"""Chooses the policy to save: the latest, unless the league's champion is better beyond chance."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from dshq_widget.contract.game_spec import Game
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.league.league import League
from dshq_widget.policy import checkpoint
from dshq_widget.policy.evaluate import evaluate, network, wilson
from dshq_widget.policy.network import PolicySpec

MATCHES = 1024
"""Matches of each policy with each pinned opponent; twice as many of the two with each other (standard error of a
share: about 1 %)."""
SEED = 0xC0DE
"""Seed of matches that no league round has played, because the league's choice among many snapshots is partly luck."""
OF_THE_LATEST = ("win_rate", "win_share", "elo", "return", "reward", "loss", "entropy", "approx", "grad", "explained")
"""Prefixes of metrics that do not describe an earlier policy."""


def keep_best(path: str | os.PathLike[str], drill: Game) -> dict[str, Any] | None:
    """Compare a file's latest policy with its league's champion, and save the champion if the latest is worse. Returns
    {version, latest, shares: {version: points per match against the pinned opponents}, why}, where there are two also
    `head_to_head` (the latest's points per match against the champion) and its `ci95`; None without a league. A
    champion's file keeps the league, but not the optimiser's state: training continues from it with fresh moments.

    The latest is worse if the 95 % band (Wilson) of its points against the champion lies below one half; or holds one
    half, and against the pinned opponents the champion has more points than chance explains: the lower end of the 95 %
    band of the difference (R. Newcombe, "Interval estimation for the difference between independent proportions",
    1998, method 10) is above zero. Otherwise they are even, and the newer stays.
    """
    if not isinstance(drill, CompiledDrill) or drill.spec.sides == 1:
        return None
    saved = checkpoint.load(path)
    league = League(drill, PolicySpec(saved.layers, saved.activation), saved.seed)
    league.restore(saved.state)
    champion = league.champion
    if champion is None:
        return None
    shares = {saved.version: _share(league, saved, saved.weights)}
    said: dict[str, Any] = {"version": saved.version, "latest": saved.version}
    if champion.version == saved.version:
        return said | {"shares": _named(shares), "why": f"the latest, {_points(league, shares[saved.version])}"}
    shares[champion.version] = _share(league, saved, champion.weights)
    direct = _head_to_head(league, saved, champion.weights)
    said |= {"shares": _named(shares), "head_to_head": direct, "ci95": _band(direct, 2 * MATCHES)}
    met = f"{direct:.1%} of the points in {2 * MATCHES:,} matches with champion v{champion.version}"
    if not _worse(shares[saved.version], shares[champion.version], MATCHES * len(league.pinned), direct):
        why = f"the latest, not worse than the champion: {met}, {_points(league, shares[saved.version])}"
        return said | {"why": why}
    metrics = {key: value for key, value in saved.metrics.items() if not key.startswith(OF_THE_LATEST)}
    better = dataclasses.replace(
        saved,
        weights=champion.weights,
        version=champion.version,
        step=champion.step,
        metrics=metrics | {"version": champion.version, "agent_steps": champion.step},
        state={key: value for key, value in saved.state.items() if key.startswith("train.league.")},
    )
    checkpoint.save(path, better)
    latest = f"the latest, version {saved.version}, has {met}, and {shares[saved.version]:.1%} with the same"
    why = f"the champion, {_points(league, shares[champion.version])}; {latest}"
    return said | {"version": champion.version, "why": why}


def _worse(latest: float, champion: float, matches: int, direct: float) -> bool:
    """Whether the latest is worse beyond chance: by its share `direct` against the champion, or where that is even by
    the shares of both in `matches` with the pinned opponents.
    """
    low, high = _band(direct, 2 * MATCHES)
    if high < 0.5 or low > 0.5:
        return high < 0.5
    least, most = _band(champion, matches)[0], _band(latest, matches)[1]
    return champion - latest > math.hypot(champion - least, most - latest)


def _band(share: float, matches: int) -> list[float]:
    return wilson(share * matches, (1 - share) * matches)


def _named(shares: dict[int, float]) -> dict[str, float]:
    return {f"v{version}": share for version, share in shares.items()}


def _points(league: League, share: float) -> str:
    return f"{share:.1%} of the points in {MATCHES * len(league.pinned):,} matches with {' and '.join(league.pinned)}"


def _share(league: League, saved: checkpoint.Checkpoint, weights: Any) -> float:
    """Points per match of `weights` against the pinned opponents."""
    player = network(saved.layers, saved.activation, weights)
    results = [evaluate(league.drill, player, pinned, MATCHES, seed=SEED) for pinned in league.pinned.values()]
    return sum(result["wins"] + result["draws"] / 2 for result in results) / (MATCHES * len(results))


def _head_to_head(league: League, saved: checkpoint.Checkpoint, champion: Any) -> float:
    """Points per match of the latest against the champion."""
    latest, other = (network(saved.layers, saved.activation, weights) for weights in (saved.weights, champion))
    result = evaluate(league.drill, latest, other, 2 * MATCHES, seed=SEED)
    return float(result["wins"] + result["draws"] / 2) / (2 * MATCHES)
