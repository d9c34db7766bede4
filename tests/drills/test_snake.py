"""Snake against the same game written again in numpy, in Jumanji's terms: a grid of moves until each cell is left."""

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.snake import CELLS, GOAL, SIZE, TIME_LIMIT, VIEW, Snake

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left


class Reference:
    """Jumanji's rules: `body` counts down to 0 as the tail passes; the head counts as many moves as there are cells."""

    def __init__(self, head, fruit):
        self.body = np.zeros((SIZE, SIZE), int)
        self.head, self.fruit, self.length, self.eaten = divmod(int(head), SIZE), divmod(int(fruit), SIZE), 1, 0
        self.body[self.head] = 1

    def allowed(self):
        """Actions 0 to 4; 0 (ahead) is for people only. The tail is gone before the head arrives."""
        mask = [False]
        for step in STEPS:
            row, column = self.head[0] + step[0], self.head[1] + step[1]
            inside = 0 <= row < SIZE and 0 <= column < SIZE
            mask.append(inside and self.body[row, column] <= 1)
        return np.array(mask) if any(mask) else np.ones(5, bool)

    def step(self, heading):
        """Whether the snake lives on. A new fruit has to be put in by hand."""
        row, column = self.head[0] + STEPS[heading][0], self.head[1] + STEPS[heading][1]
        if not (0 <= row < SIZE and 0 <= column < SIZE) or self.body[row, column] > 1:
            return False
        ate = (row, column) == self.fruit
        if not ate:
            self.body = np.maximum(self.body - 1, 0)
        self.length += ate
        self.eaten += ate
        self.head = (row, column)
        self.body[row, column] = self.length
        return True


@pytest.fixture(scope="module")
def game():
    return compile_drill(Snake).game()


def body(tiles, lane):
    return np.maximum(tiles["until"][0, :, lane] - tiles["clock"][0, lane], 0).reshape(SIZE, SIZE)


@pytest.mark.parametrize("who", ["random", "greedy", "anything"])
def test_every_step_is_the_references(game, who):
    """16 games, 1500 steps: bodies, fruit, rewards, masks and deaths; `anything` also takes forbidden actions."""
    rng = np.random.default_rng(4)
    tiles = game.new(1, 3)
    references = [Reference(tiles["head"][0, k], tiles["fruit"][0, k]) for k in range(16)]
    deaths = meals = 0
    for _ in range(1500):
        masks = game.mask(tiles)[0, 0]
        tiles["action"] = rng.integers(0, 5, (1, 1, 16)) if who == "anything" else game.actions(tiles, who)
        headings = np.where(tiles["action"][0, 0] > 0, tiles["action"][0, 0] - 1, tiles["heading"][0])
        game.decide(tiles)
        game.tick(tiles)
        over, paid = game.status(tiles)[0], game.terms(tiles)[0, 0, 0]
        for lane, reference in enumerate(references):
            assert np.array_equal(masks[:, lane], reference.allowed())
            before = reference.eaten
            alive = reference.step(headings[lane])
            assert over[0, lane] == (not alive)
            assert paid[lane] == reference.eaten - before
            if not alive:
                deaths += 1
                continue
            meals += reference.eaten - before
            assert np.array_equal(body(tiles, lane), reference.body)
            assert divmod(int(tiles["head"][0, lane]), SIZE) == reference.head
            fruit = divmod(int(tiles["fruit"][0, lane]), SIZE)
            assert reference.body[fruit] == 0
            assert (fruit == reference.fruit) == (reference.eaten == before)
            reference.fruit = fruit
        game.reset(tiles, over)
        for lane in np.flatnonzero(over[0]):
            references[lane] = Reference(tiles["head"][0, lane], tiles["fruit"][0, lane])
    assert meals > 40 and deaths > (0 if who == "random" else 20)


def test_fruit_grows_on_every_free_cell_alike(game):
    tiles = game.new(640, 7)
    counts = np.bincount(tiles["fruit"].ravel(), minlength=CELLS)
    assert (tiles["fruit"] != tiles["head"]).all()
    assert counts.min() > 0.5 * counts.mean() and counts.max() < 1.6 * counts.mean()


def test_the_last_cell_ends_the_game_won(game):
    """A snake of 143 cells along a path through all of them eats the last fruit."""
    path = [
        row * SIZE + (column if row % 2 == 0 else SIZE - 1 - column) for row in range(SIZE) for column in range(SIZE)
    ]
    tiles = game.new(1, 1)
    tiles["until"][0, path[:-1]] = np.arange(1, CELLS)[:, None]
    tiles["clock"], tiles["length"], tiles["head"], tiles["fruit"] = 0, CELLS - 1, path[-2], path[-1]
    tiles["action"] = 4
    assert (game.mask(tiles)[0, 0, :, 0] == [False, False, False, False, True]).all()
    game.decide(tiles)
    game.tick(tiles)
    over, winner = game.status(tiles)
    assert over.all() and (winner == 1).all() and (tiles["dead"] == 0).all() and (tiles["length"] == CELLS).all()


def test_an_episode_of_twenty_fruit_is_won_when_it_ends(game):
    tiles = game.new(1, 1)
    tiles["length"] = GOAL + 1
    assert (game.status(tiles)[1] == 0).all()
    tiles["ticks"] = TIME_LIMIT
    assert (game.status(tiles)[1] == 1).all()
    tiles["length"] = GOAL
    assert (game.status(tiles)[1] == 0).all()


def test_the_view_is_centred_on_the_head(game):
    tiles = game.new(1, 1)
    tiles["until"][:] = 0
    tiles["clock"], tiles["head"], tiles["fruit"], tiles["length"] = 10, 0, 3 * SIZE + 2, 5
    tiles["until"][0, 0], tiles["until"][0, 1] = 15, 12
    seen = game.observe(tiles)[0, 0, :, 0]
    view = seen[: VIEW * VIEW].reshape(VIEW, VIEW)
    middle = VIEW // 2
    assert (view[:middle] == 1).all() and (view[:, :middle] == 1).all(), "walls lie above and left of the corner"
    assert view[middle, middle] == pytest.approx(0.25 + 5 / 40)
    assert view[middle, middle + 1] == pytest.approx(0.25 + 2 / 40)
    assert (view[middle + 1 :, middle:] == 0).all()
    assert seen[VIEW * VIEW :] == pytest.approx([2 / 11, 3 / 11, 1, 1, 5 / 40])
