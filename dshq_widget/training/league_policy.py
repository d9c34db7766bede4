"""The policy of a version of a run's league."""

from __future__ import annotations

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError

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
    from dshq_widget.learning.opponents.competitions import COMPETITION  # numba comes with it

    if COMPETITION is None:
        raise CheckpointError(f"{LEAGUE}... needs a league, and this package has none: choose another opponent")
    return COMPETITION.policy(drill, saved, version)
