import itertools

import numpy as np

from dshq_widget.env.batch import Batch
from tests.lessons.attempts import Attempts, one


def played(seed, moves, pokes, *, before=lambda batch, number, move: None, order=lambda moves: moves, late=False):
    """The last state of a match. `before` may disturb each decision, `order` the moves."""
    batch = Batch("ball", 1, practice=False)
    batch.seed(np.array([seed]))
    for number, move in enumerate(order(moves)):
        if late:
            batch.step(move[None])
        if number in pokes:
            batch.tiles["ball_px"][0, 0], batch.tiles["ball_py"][0, 0] = pokes[number]
        before(batch, number, move)
        if not late:
            batch.step(move[None])
    return batch.snapshot([0])[0]


def stopped(seed, moves, pokes):
    def stop(batch, number, move):
        if number in pokes:
            batch.tiles["ball_vx"][0, 0] = batch.tiles["ball_vy"][0, 0] = 0.0

    return played(seed, moves, pokes, before=stop)


def nudged(seed, moves, pokes):
    def add(batch, number, move):
        if number in pokes:
            batch.tiles["ball_px"][0, 0] += 1e-4

    return played(seed, moves, pokes, before=add)


def restored(seed, moves, pokes):
    """Every decision is played in a new match, from the state that was kept."""
    batch = Batch("ball", 1, practice=False)
    batch.seed(np.array([seed]))
    state = batch.snapshot([0])
    for number, move in enumerate(moves):
        batch = Batch("ball", 1, practice=False)
        batch.restore(np.array([0]), state)
        if number in pokes:
            batch.tiles["ball_px"][0, 0], batch.tiles["ball_py"][0, 0] = pokes[number]
        batch.step(move[None])
        state = batch.snapshot([0])
    return state[0]


def by_pieces(seed, moves, pokes):
    """The moves are played from one poke to the next."""
    batch = Batch("ball", 1, practice=False)
    batch.seed(np.array([seed]))
    cuts = sorted({0, *pokes, len(moves)})
    for start, end in itertools.pairwise(cuts):
        if start in pokes:
            batch.tiles["ball_px"][0, 0], batch.tiles["ball_py"][0, 0] = pokes[start]
        for move in moves[start:end]:
            batch.step(move[None])
    return batch.snapshot([0])[0]


def moved(pokes, by):
    return {number + by: place for number, place in pokes.items()}


ATTEMPTS = {
    "play_again": Attempts(
        one(
            {
                "not a function": 3,
                "the kick-off": lambda seed, moves, pokes: played(seed, moves[:0], {}),
                "without pokes": lambda seed, moves, pokes: played(seed, moves, {}),
                "pokes after the decision": lambda *given: played(*given, late=True),
                "the ball's speed zeroed": stopped,
                "one decision too few": lambda seed, moves, pokes: played(seed, moves[:-1], pokes),
                "sides swapped": lambda *given: played(*given, order=lambda moves: moves[:, ::-1]),
                "moves from the end": lambda *given: played(*given, order=lambda moves: moves[::-1]),
                "another seed": lambda seed, moves, pokes: played(seed + 1, moves, pokes),
                "places swapped": lambda seed, moves, pokes: played(
                    seed, moves, {number: place[::-1] for number, place in pokes.items()}
                ),
                "pokes count from 1": lambda seed, moves, pokes: played(seed, moves, moved(pokes, 1)),
                "the first poke only": lambda seed, moves, pokes: played(seed, moves, dict(list(pokes.items())[:1])),
                "nearly": nudged,
                "nothing is returned": lambda seed, moves, pokes: None,
                "all words as floats": lambda *given: played(*given).astype(float),
            }
        ),
        one({"from poke to poke": by_pieces, "a new match for each decision": restored}),
    )
}
