"""The check of a drill's clock: what players see of it, or are paid at its end, decides what that end has to be.

An episode that is cut off by the clock is valued as if it continued (it is truncated). That is right where nobody can
see the clock; where a player sees it, or is paid at the limit, the limit is an end like any other and has to terminate
the episode (Pardo et al., "Time Limits in Reinforcement Learning", 2018). The drill is probed, not read: the same
states with other `ticks`, and games that are played to the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.simd.lanes import LANES
from dshq_widget.env.check_subject import Broken, Subject

TILES = 16
"""Of each moment of random play whose states are probed, and of the games that are played to the limit."""
MOMENTS = (4, 20, 60, 140)
"""Decisions of random play before the states are taken, as far as the longest episode has as many."""
SURE = 5.0
"""Standard errors by which a number's mean has to move with the clock: less can be chance where a drill draws lots by
the tick.
"""
LIVING = 32
"""Games that have to be still running for what is the same in all of them to mean something."""
MEND = (
    "let the limit end the episode: `return ... or s.ticks[i] >= LIMIT` in `terminated`, with the value of `time_limit`"
)


def clock(it: Subject) -> str:
    """Where an observation tells the time, or a term pays at the time limit, the limit terminates the episode."""
    states, actions = _states(it)
    if not _cut_off(it, states, actions).any():
        return "the time limit terminates an episode: what is paid there is final"
    shown = _shown(it, states)
    paid = _paid(it, states, actions)
    if shown is None or paid is None:
        late_shown, late_paid = _played(it)
        shown, paid = shown or late_shown, paid or late_paid
    if shown is not None:
        raise Broken(
            f"observation {shown!r} tells the time, but the time limit cuts an episode off, which is then valued as if "
            "it continued",
            f"{MEND}; or leave the time out of `observe`",
        )
    if paid is not None:
        raise Broken(
            f"the term {paid!r} pays at the time limit, but the limit cuts an episode off, which is then valued as if "
            "it continued",
            MEND,
        )
    return "the time limit cuts an episode off: no observation tells the time, and nothing is paid for it"


def _states(it: Subject) -> tuple[NDArray[Any], NDArray[Any]]:
    """States of random play, tiles `[n]`, and an action for each."""
    state, taken, played = it.game.new(TILES, seed=21, practice=True), [], 0
    for moment in MOMENTS:
        it.play(state, min(moment, it.decisions) - played)
        played = min(moment, it.decisions)
        taken.append(state.copy())
    states = np.concatenate(taken)
    return states, it.game.actions(states, "random")


def _after(it: Subject, states: NDArray[Any], actions: NDArray[Any], ticks: int) -> NDArray[Any]:
    """The same states after the decision that ends at that tick."""
    moved = states.copy()
    moved["ticks"] = ticks - it.spec.action_repeat
    it.advance(moved, actions)
    return moved


def _cut_off(it: Subject, states: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
    """Which states are at the time limit after one decision and not terminated, bool (n_tiles, 16)."""
    return ~it.game.status(_after(it, states, actions, it.spec.time_limit))[0]


def _shown(it: Subject, states: NDArray[Any]) -> str | None:
    """The name of an observation whose mean, or mean square, over the same states is another at another time."""
    repeat, limit = it.spec.action_repeat, it.spec.time_limit
    quarters = [repeat * (it.longest * k // 4) for k in range(4)]
    before = None
    for ticks in sorted({*quarters, limit - repeat}):
        moved = states.copy()
        moved["ticks"] = ticks
        seen = it.game.observe(moved).astype(np.float64)  # (n_tiles, sides, n_obs, 16)
        if before is not None:
            for change in (seen - before, seen**2 - before**2):
                rows = change.transpose(0, 3, 1, 2).reshape(-1, *change.shape[1:3])  # (games, sides, n_obs)
                error = rows.std(axis=0) / np.sqrt(len(rows))
                moves = (abs(rows.mean(axis=0)) > SURE * error + 1e-9).any(axis=0)
                if moves.any():
                    return it.spec.observations[int(np.argmax(moves))].name
        before = seen
    return None


def _paid(it: Subject, states: NDArray[Any], actions: NDArray[Any]) -> str | None:
    """The name of a term that jumps at the limit: by more than twice what it changes by one decision earlier."""
    repeat, limit = it.spec.action_repeat, it.spec.time_limit
    if it.longest < 3 or not it.spec.terms:
        return None
    ends = [_after(it, states, actions, limit - k * repeat) for k in range(3)]
    open_ = np.logical_and.reduce([~it.game.status(end)[0] for end in ends])
    last, before, earlier = (it.game.terms(end) for end in ends)  # (n_tiles, sides, n_terms, 16)
    jumps = abs(last - before) > 2 * abs(before - earlier) + 1e-5
    jumps &= open_[:, None, None, :]
    return _first_term(it, jumps.any(axis=(0, 1, 3)))


def _first_term(it: Subject, chosen: NDArray[Any]) -> str | None:
    return it.spec.terms[int(np.argmax(chosen))].name if chosen.any() else None


def _to_the_limit(it: Subject) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Random play of `TILES` tiles from proper starts: state, and which games still run, bool (n_tiles, 16); at
    the start, after every decision, and at the limit, where those that are not terminated count as running.
    """
    state = it.game.new(TILES, seed=22)
    living = np.ones((TILES, LANES), bool)
    yield state, living
    for _ in range(it.decisions):
        it.advance(state, it.game.actions(state, "random"))
        living = living & ~it.game.status(state)[0]
        yield state, living


def _played(it: Subject) -> tuple[str | None, str | None]:
    """What a drill's own counter of time gives away in games played to the limit: the names of an observation that is
    the same in all games at every moment and another at other moments, and of a term that changes at the limit in most
    games and before it in hardly any. None where too few games get there, or the limit is too far.
    """
    if it.part:
        return None, None
    alike, values = np.ones(it.spec.n_obs, bool), []
    before, shares = None, []
    for state, living in _to_the_limit(it):
        if living.sum() < LIVING:
            return None, None
        seen = it.game.observe(state).transpose(0, 3, 1, 2)[living]  # (games, sides, n_obs)
        alike &= (seen == seen[:1, :1]).all(axis=(0, 1))
        values.append(seen[0, 0])
        terms = it.game.terms(state).transpose(0, 3, 1, 2)
        if before is not None:
            shares.append((terms != before)[living].any(axis=1).mean(axis=0))  # (n_terms,)
        before = terms
    several = (np.diff(np.array(values), axis=0) != 0).sum(axis=0) > 1
    rows = it.spec.observations
    shown = rows[int(np.argmax(alike & several))].name if (alike & several).any() else None
    changed = np.array(shares)
    pays = (changed[-1] > 0.5) & (changed[1:-1].max(axis=0, initial=0.0) < 0.05)
    return shown, _first_term(it, pays) if changed.shape[0] > 2 else None
