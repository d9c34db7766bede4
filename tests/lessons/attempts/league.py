from types import SimpleNamespace

import numpy as np

from dshq_widget.classroom.local import Block
from dshq_widget.classroom.standings import Row, Table
from dshq_widget.learning import elo
from tests.lessons.attempts import Attempts, changed, exercise

POINTS = {
    "the first only": ("total[block.second] = total.get(block.second, 0.0) + block.losses + block.draws / 2", "pass"),
    "a draw is 1": (" / 2", ""),
    "the last block is forgotten": ("in blocks:", "in blocks[:-1]:"),
    "a list": ("return total", "return list(total.values())"),
    "None for somebody": ("return total", 'return {**total, "b": None}'),
}
RATINGS = {
    "e for 10": ("10 **", "np.e **"),
    "not pinned": ("elo += 1000.0 - elo[0]", "pass", "return elo", "return elo + 7"),
    "too few rounds": ("rounds=4000", "rounds=3"),
    "one number": ("return elo", "return [1000.0]"),
    "no numbers": ("return elo", "return np.full(3, np.nan)"),
}
SMALL_STEPS = ("rounds=4000", "rounds=20_000", "400 * (made", "100 * (made", "return elo", "return list(elo)")

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


def by_counting(blocks):
    """Integers while it counts, half points at the end; somebody who never played is listed, too."""
    doubled = {"nobody": 0}
    for block in blocks:
        for name, won in ((block.first, block.wins), (block.second, block.losses)):
            doubled[name] = doubled.get(name, 0) + 2 * won + block.draws
    return {name: twice / 2 for name, twice in doubled.items()}


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


SPRING = {"league": SimpleNamespace(blocks=lambda spring: BLOCKS), "spring": None}
points = changed("league", 0, "points", **SPRING)["points"]
ratings = changed("league", 1, "ratings", **SPRING)["ratings"]


def with_numbers_of_numpy(blocks):
    return {name: np.float32(won) for name, won in points(blocks).items()}


def given(attempts, **more):
    """Answers with what `check` takes beside them."""
    more["table"] = TABLE
    return Attempts(*({name: {**answer, **more} for name, answer in answers.items()} for answers in attempts))


RIGHT_POINTS = {"with half points at the end": by_counting, "numbers of numpy": with_numbers_of_numpy}
RIGHT_RATINGS = {"Newton's method": newton, "a list, in small steps": SMALL_STEPS}
ATTEMPTS = {
    "points": given(exercise("league", 0, "points", POINTS, RIGHT_POINTS, **SPRING), blocks=BLOCKS),
    "ratings": given(exercise("league", 1, "ratings", RATINGS, RIGHT_RATINGS, **SPRING)),
}
