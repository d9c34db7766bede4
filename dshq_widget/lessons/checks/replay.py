"""Whether a match that was written down is played again, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.env.batch import Batch

DONE = "seed, moves and pokes gave two whole matches back, to the last bit. A few numbers are a match."

TICKS = 3
"""The word of a state that counts ticks since the kick-off."""
MATCHES: tuple[tuple[int, int, dict[int, tuple[float, float]]], ...] = (
    (3, 0, {}),
    (3, 40, {}),
    (11, 40, {0: (1.0, 0.5), 2: (-1.4, 0.1), 25: (-2.0, 1.5)}),
    (8, 40, {2: (-1.4, 0.1), 10: (0.5, -0.3), 39: (2.0, 1.0)}),
)
"""Seed, decisions, pokes: the moves are drawn with the same seed. A poke at decision 2 puts the ball before a player
who runs into it, so that those after it find a ball that rolls."""


def missing(play_again: Callable[[int, NDArray[Any], Mapping[int, tuple[float, float]]], Any]) -> list[str]:
    """What the function still gets wrong, of the first match that it does not get back."""
    if not callable(play_again):
        return [f"Give the function itself, `check('replay', play_again)`; this is {type(play_again).__name__}."]
    for seed, decisions, pokes in MATCHES:
        moves = np.random.default_rng(seed).integers(0, 30, (decisions, 2))
        given = play_again(seed, moves.copy(), dict(pokes))
        if given is None:
            return ["`play_again` returns nothing: end it with `return match.snapshot([0])[0]`."]
        given, wanted = np.asarray(given), _played(seed, moves, pokes)
        if given.shape != wanted.shape or given.dtype != wanted.dtype:
            return [f"Give the state, `match.snapshot([0])[0]`: {wanted.dtype} of shape {wanted.shape}."]
        if (given == wanted).all():
            continue
        if given[TICKS] != wanted[TICKS]:
            return [
                f"Your match ends at tick {given[TICKS]} and should end at tick {wanted[TICKS]}: {decisions} decisions "
                "of 4 ticks. Step once for every row of `moves`."
            ]
        if pokes and (given == _played(seed, moves, {})).all():
            return ["The moves are right, but nobody poked the ball: `pokes` says before which decision, and where to."]
        if pokes and (given == _played(seed, moves, pokes, late=True)).all():
            return ["The ball is poked after its decision was played; it has to lie there before."]
        if pokes and (given == _played(seed, moves, pokes, stop=True)).all():
            return ["The ball stands still after each poke; its speed has to stay what it was."]
        return [f"Seed {seed} with {len(pokes)} pokes ends in another state. Does each move belong to its decision?"]
    return []


def _played(
    seed: int, moves: NDArray[Any], pokes: Mapping[int, tuple[float, float]], late: bool = False, stop: bool = False
) -> NDArray[Any]:
    """The last state of a match, u32 (words,); `late` pokes after the decision, `stop` takes the ball's speed."""
    batch = Batch("ball", 1, practice=False)
    batch.seed(np.array([seed]))
    for number, move in enumerate(moves):
        if late:
            batch.step(move[None])
        if number in pokes:
            batch.tiles["ball_px"][0, 0], batch.tiles["ball_py"][0, 0] = pokes[number]
            if stop:
                batch.tiles["ball_vx"][0, 0] = batch.tiles["ball_vy"][0, 0] = 0.0
        if not late:
            batch.step(move[None])
    return batch.snapshot([0])[0]
