import itertools

import numpy as np

from dshq_widget.env.batch import Batch
from dshq_widget.env.making import make_vec
from tests.lessons.attempts import exercise

SLIPS = {
    "pokes after the decision": (
        "        match.step(move)\n",
        "",
        "        if number",
        "        match.step(move)\n        if number",
    ),
    "the ball's speed zeroed": (
        "pokes[number]",
        'pokes[number]\n            tiles["ball_vx"][:] = tiles["ball_vy"][:] = 0',
    ),
    "one decision too few": ("enumerate(moves)", "enumerate(moves[:-1])"),
    "nearly": ("pokes[number]", 'pokes[number]\n            tiles["ball_px"][:] += 1e-4'),
    "all words as floats": ("snapshot([0])[0]", "snapshot([0])[0].astype(float)"),
}


def kick_off(seed, games=1):
    matches = make_vec("ball", games, opponent="self", practice=False)
    return matches, matches.reset(seed=[seed] * games)[0]


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


RIGHT = {"from poke to poke": by_pieces, "a new match for each decision": restored}
ATTEMPTS = {"play_again": exercise("replay", 0, "play_again", SLIPS, RIGHT, kick_off=kick_off)}
