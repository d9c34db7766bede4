"""The policy of a version of a run's league."""

from __future__ import annotations

import dataclasses

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.network import PolicySpec

LEAGUE = "league:"
"""Begins the names `league:best`, the champion, and `league:v120`, a version."""
BEST = f"{LEAGUE}best"


def version_of(name: str) -> int | None:
    """The version in a name such as `league:v120`; None for `league:best`. Raises CheckpointError for another name."""
    digits = name.removeprefix(f"{LEAGUE}v")
    if name != BEST and not (digits.isascii() and digits.isdigit()):
        raise CheckpointError(f"wanted {BEST} or a version such as {LEAGUE}v120, got {name!r:.60}")
    return None if name == BEST else int(digits)


def in_file(drill: CompiledDrill, saved: Checkpoint, name: str) -> Checkpoint:
    """A policy by its name from the league in a run's own file. Raises CheckpointError if the file has no league, or
    not that version.
    """
    version = version_of(name)
    if not any(key.startswith("train.league.") for key in saved.state):
        raise CheckpointError(
            f"{name!r} needs a file with a league: train two sides with `dshq train --out` past its first round "
            "(`snapshot_every` updates)"
        )
    return of_league(drill, saved, version)


def of_league(drill: CompiledDrill, saved: Checkpoint, version: int | None = None) -> Checkpoint:
    """`saved` with the weights of its league's champion, or of `version`. Raises CheckpointError if the file has no
    league, or not that version.
    """
    from dshq_widget.learning.league import League  # numba comes with it

    league = League(drill, PolicySpec(saved.layers, saved.activation), saved.seed)
    league.restore(saved.state)
    if league.champion is None:
        raise CheckpointError("the league is not written yet: choose its version again in a moment")
    found = [row for row in league.snapshots if row.version == version]
    if version is not None and not found:
        known = ", ".join(row.name for row in league.snapshots)
        raise CheckpointError(f"wanted a version of the league ({known}), got v{version}")
    chosen = league.champion if version is None else found[0]
    return dataclasses.replace(saved, weights=chosen.weights, version=chosen.version, step=chosen.step, state={})
