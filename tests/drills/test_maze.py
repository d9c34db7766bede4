"""Maze: what the generator builds, and the moves against a search written again in Python."""

from collections import deque

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.maze import CELLS, SIZE, Maze
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from dshq_widget.training.trainer import Trainer

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left
EVEN = np.arange(SIZE) % 2 == 0


def distances(walls, start):
    """Moves from every cell to `start`, -1 where there is no way."""
    found = np.full(walls.shape, -1)
    found[start] = 0
    queue = deque([start])
    while queue:
        row, column = queue.popleft()
        for step in STEPS:
            cell = row + step[0], column + step[1]
            inside = 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE
            if inside and not walls[cell] and found[cell] < 0:
                found[cell] = found[row, column] + 1
                queue.append(cell)
    return found


@pytest.fixture(scope="module")
def game():
    return compile_drill(Maze).game()


@pytest.fixture(scope="module")
def mazes(game):
    """320 games at their start, and their walls as bool [320, 10, 10]."""
    tiles = game.new(20, 5)
    return tiles, tiles["wall"].transpose(0, 2, 1).reshape(-1, SIZE, SIZE) != 0


def test_mazes_are_trees_on_the_grid(mazes):
    """Every free cell can be reached in one way only: as many openings between cells as cells, less one."""
    _, walls = mazes
    assert not walls[:, EVEN][:, :, EVEN].any() and walls[:, ~EVEN][:, :, ~EVEN].all()
    for maze in walls:
        free = ~maze
        start = tuple(np.argwhere(free)[0])
        assert (distances(maze, start)[free] >= 0).all()
        ways = (free[1:] & free[:-1]).sum() + (free[:, 1:] & free[:, :-1]).sum()
        assert ways == free.sum() - 1
    assert len({maze.tobytes() for maze in walls}) == len(walls)
    for doubtful in (walls[:, EVEN][:, :, ~EVEN].mean(0), walls[:, ~EVEN][:, :, EVEN].mean(0)):
        assert (doubtful > 0.05).all() and (doubtful < 0.95).all()


def test_start_and_target_are_two_free_cells_and_distances_a_searchs(mazes):
    tiles, walls = mazes
    walker, target = tiles["walker"].ravel(), tiles["target"].ravel()
    moves = tiles["moves"].transpose(0, 2, 1).reshape(-1, SIZE, SIZE)
    assert (walker != target).all()
    for k, maze in enumerate(walls):
        assert not maze.ravel()[[walker[k], target[k]]].any()
        assert np.array_equal(moves[k], distances(maze, divmod(int(target[k]), SIZE)) + 1)


@pytest.mark.parametrize("who", ["random", "guide", "anything"])
def test_moves_go_where_there_is_no_wall(game, who):
    """16 games, 400 steps: a blocked move, or none, leaves the walker where it is; the mask says which those are."""
    rng = np.random.default_rng(2)
    tiles = game.new(1, 9)
    arrivals = blocked = 0
    for _ in range(400):
        before, masks = tiles["walker"][0].copy(), game.mask(tiles)[0, 0]
        tiles["action"] = rng.integers(0, 5, (1, 1, 16)) if who == "anything" else game.actions(tiles, who)
        game.decide(tiles)
        game.tick(tiles)
        over, paid = game.status(tiles)[0][0], game.terms(tiles)[0, 0, 0]
        for lane in range(16):
            walls = tiles["wall"][0, :, lane].reshape(SIZE, SIZE) != 0
            row, column = divmod(int(before[lane]), SIZE)
            wanted, action = before[lane], tiles["action"][0, 0, lane]
            assert not masks[0, lane]
            for way, step in enumerate(STEPS):
                r, c = row + step[0], column + step[1]
                open_ = 0 <= r < SIZE and 0 <= c < SIZE and not walls[r, c]
                assert masks[way + 1, lane] == open_
                if action == way + 1:
                    wanted = r * SIZE + c if open_ else wanted
                    blocked += not open_
            assert tiles["walker"][0, lane] == wanted
            arrived = wanted == tiles["target"][0, lane]
            assert paid[lane] == arrived
            assert over[lane] == (arrived or tiles["ticks"][0, lane] >= game.spec.time_limit), "time is an end, too"
        arrivals += int(paid.sum())
        game.reset(tiles, (over | (tiles["ticks"][0] >= 100))[None])
    assert arrivals > 4
    assert (blocked > 0) == (who == "anything")


def test_the_guide_takes_the_shortest_way(game):
    tiles = game.new(8, 11)
    best = np.take_along_axis(tiles["moves"], tiles["walker"][:, None], 1)[:, 0] - 1
    length = np.zeros((8, 16), int)
    over = np.zeros((8, 16), bool)
    for _ in range(100):
        tiles["action"] = game.actions(tiles, "guide")
        game.tick(tiles)
        length += ~over
        over |= game.status(tiles)[0]
    assert over.all() and np.array_equal(length, best)


def test_observations_are_walls_target_and_walker_cell_by_cell_and_the_time(game, mazes):
    tiles, walls = mazes
    later = tiles.copy()
    later["ticks"] = 50
    seen = game.observe(later)[:, 0].transpose(0, 2, 1).reshape(len(walls), -1)
    planes, cells = seen[:, :-1].reshape(len(walls), 3, CELLS), np.arange(CELLS)
    assert np.array_equal(planes[:, 0], walls.reshape(-1, CELLS))
    assert np.array_equal(planes[:, 1], tiles["target"].reshape(-1, 1) == cells)
    assert np.array_equal(planes[:, 2], tiles["walker"].reshape(-1, 1) == cells)
    assert (seen[:, -1] == 0.5).all()


def test_a_grid_that_knows_what_walls_cost_finds_the_shortest_way(game):
    """Weights set by hand: a step costs 0.1, a wall 20, and the target is worth 10. So the network can say it."""
    grid, hidden = Maze.front, 4
    spec = PolicySpec.for_drill(compile_drill(Maze).spec, (hidden,), "relu")
    weights = np.zeros(spec.floats, np.float32)
    (planes, given), (first, bias), (last, _) = spec.split(weights)
    planes[:, 0], given[0] = (22.0, 0.0), np.log(np.exp(0.1) - 1)
    planes[1, grid.maps] = 10.0
    first[:4], bias[:] = np.eye(4), 1.0  # the differences of the first map
    last[:, 1:5] = 50 * np.eye(4)
    tiles = game.new(20, 21)
    obs, mask = (array[:, 0].transpose(0, 2, 1) for array in (game.observe(tiles), game.mask(tiles)))
    policy = Policy(spec.layers, "relu", weights)
    right = policy.act(obs, greedy=True, mask=mask) == game.actions(tiles, "guide")[:, 0]
    assert right.mean() > 0.98  # a few ways need more sweeps


@pytest.mark.slow
def test_training_finds_the_way_through_mazes_it_has_not_seen():
    """Random play arrives within 100 moves in about a third of them."""
    with Trainer("maze", workers=0) as trainer:
        trainer.start()
        assert trainer.wait(return_mean=0.9, progress=False)
