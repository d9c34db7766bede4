import numpy as np

from dshq_widget.classroom.local import Block
from dshq_widget.classroom.standings import Row, Table
from dshq_widget.learning import elo
from tests.lessons.attempts import Attempts

NAMES = ("random", "b", "c")
BLOCKS = [Block(1, "random", "b", 8, 4, 20), Block(2, "random", "c", 0, 0, 32), Block(3, "c", "b", 16, 0, 16)]


def league_table():
    """The table of BLOCKS."""
    points, matches = np.zeros((3, 3)), np.zeros((3, 3))
    counts = {name: np.zeros(3, int) for name in NAMES}
    for block in BLOCKS:
        i, j = NAMES.index(block.first), NAMES.index(block.second)
        points[i, j] = block.wins + block.draws / 2
        points[j, i] = block.losses + block.draws / 2
        matches[i, j] = matches[j, i] = block.wins + block.draws + block.losses
        counts[block.first] += (block.wins, block.draws, block.losses)
        counts[block.second] += (block.losses, block.draws, block.wins)
    rating, half = elo.ratings(points, matches, np.array([1000.0, np.nan, np.nan]))
    rows = [
        Row(k, k, name, k == 0, name, float(rating[k]), float(half[k]), *map(int, counts[name]))
        for k, name in enumerate(NAMES)
    ]
    return Table(rows, points, matches)


TABLE = league_table()


def points(blocks, *, win=1.0, draw=0.5, second=True, losses=lambda block: block.losses):
    total = dict.fromkeys(NAMES, 0.0)
    for block in blocks:
        total[block.first] += win * block.wins + draw * block.draws
        if second:
            total[block.second] += win * losses(block) + draw * block.draws
    return total


def by_counting(blocks):
    """Integers while it counts, half points at the end; somebody who never played is listed, too."""
    doubled = {"nobody": 0}
    for block in blocks:
        for name, won in ((block.first, block.wins), (block.second, block.losses)):
            doubled[name] = doubled.get(name, 0) + 2 * won + block.draws
    return {name: twice / 2 for name, twice in doubled.items()}


def ratings(played, made, *, rounds=4000, scale=400, pinned=True, expect=None, step=400):
    rating = np.full(len(made), 1000.0)
    for _ in range(rounds):
        ahead = rating[:, None] - rating[None, :]
        share = 1 / (1 + 10 ** (-ahead / scale)) if expect is None else expect(ahead)
        rating += step * (made - (played * share).sum(axis=1)) / played.sum(axis=1)
        if pinned:
            rating += 1000.0 - rating[0]
    return rating


def newton(played, made):
    """The same equations by Newton's method, with place 0 held."""
    theta = np.zeros(len(made))
    for _ in range(50):
        share = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        slope = made - (played * share).sum(axis=1)
        weight = played * share * (1 - share)
        curvature = np.diag(weight.sum(axis=1)) - weight
        theta[1:] += np.linalg.solve(curvature[1:, 1:], slope[1:])
    return 1000 + theta * 400 / np.log(10)


def first(answers):
    return {name: {"points": answer, "table": TABLE, "blocks": BLOCKS} for name, answer in answers.items()}


def second(answers):
    return {name: {"ratings": answer, "table": TABLE} for name, answer in answers.items()}


ATTEMPTS = {
    "points": Attempts(
        first(
            {
                "wins of the first only": lambda blocks: points(blocks, draw=0.0, second=False),
                "the first only": lambda blocks: points(blocks, second=False),
                "without draws": lambda blocks: points(blocks, draw=0.0),
                "a draw is 1": lambda blocks: points(blocks, draw=1.0),
                "a win is 3": lambda blocks: points(blocks, win=3.0, draw=1.0),
                "a win is 2": lambda blocks: points(blocks, win=2.0, draw=1.0),
                "the second gets the wins": lambda blocks: points(blocks, losses=lambda block: block.wins),
                "the last block is forgotten": lambda blocks: points(blocks[:-1]),
                "a list": lambda blocks: list(points(blocks).values()),
                "nothing is returned": lambda blocks: None,
                "only those who won": lambda blocks: {block.first: block.wins for block in blocks if block.wins},
                "shares": lambda blocks: {name: won / 64 for name, won in points(blocks).items()},
                "None for somebody": lambda blocks: {**points(blocks), "b": None},
            }
        ),
        first(
            {
                "with half points at the end": by_counting,
                "numbers of numpy": lambda blocks: {name: np.float32(won) for name, won in points(blocks).items()},
            }
        ),
    ),
    "ratings": Attempts(
        second(
            {
                "all alike": lambda played, made: np.full(3, 1000.0),
                "as found": lambda played, made: ratings(played, made, rounds=0),
                "half of the points expected": lambda *given: ratings(*given, expect=lambda ahead: 0.5 + 0 * ahead),
                "ahead turned round": lambda *given: ratings(*given, rounds=50, scale=-400),
                "e for 10": lambda *given: ratings(*given, expect=lambda ahead: 1 / (1 + np.exp(-ahead / 400))),
                "200 for 400": lambda *given: ratings(*given, scale=200),
                "not pinned": lambda *given: ratings(*given, pinned=False) + 7,
                "too few rounds": lambda *given: ratings(*given, rounds=3),
                "points for ratings": lambda played, made: 1000 + made,
                "logarithms only": lambda played, made: np.log(ratings(played, made)),
                "one number": lambda played, made: [1000.0],
                "no numbers": lambda played, made: np.full(3, np.nan),
                "nothing is returned": lambda played, made: None,
            }
        ),
        second(
            {
                "Newton's method": newton,
                "a list, in small steps": lambda *given: list(ratings(*given, rounds=20_000, step=100)),
            }
        ),
    ),
}
