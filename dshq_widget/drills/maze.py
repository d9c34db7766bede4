"""Maze: find the way through a maze that nobody has seen before.

Rules, sizes and the order of actions are those of Jumanji's Maze-v0 (Bonnet et al., "Jumanji", 2023): a recursive
division of 10 by 10 cells, walls on odd rows and columns and openings on even ones, start and target on any two free
cells, a blocked move is none. Cells are numbered row by row from the top left.
"""
# ruff: noqa: F821  (random_int, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Grid, Observation, rule
from dshq_widget.drills.snake import Snake

SIZE = 10
CELLS = SIZE * SIZE
TIME_LIMIT = 100  # moves
CHAMBERS = 64  # more than a division ever makes
WAITING = 32  # more than ever wait to be divided
FAR = 20  # moves to the target that the potential counts as 1

PALETTE = ("turf", "wall", "player0", "target")
TURF, WALL, WALKER, TARGET = range(len(PALETTE))


@rule
def next_cell(cell, way):
    """The cell next to `cell` (0 up, 1 right, 2 down, 3 left), and whether there is one."""
    row = cell // SIZE + (-1 if way == 0 else (1 if way == 2 else 0))
    column = cell % SIZE + (1 if way == 1 else (-1 if way == 3 else 0))
    inside = row >= 0 and row < SIZE and column >= 0 and column < SIZE
    return row * SIZE + column if inside else cell, inside


@rule
def opening(s, i, cell, way):
    """Where a step leads, and whether it leads anywhere."""
    target, inside = next_cell(cell, way)
    return target, inside and not s.wall[target, i]


@rule
def keep_chamber(s, i, count, x, y, width, height):
    """Puts a chamber that can be divided on the pile; returns how many there are."""
    if width > 1 and height > 1:
        s.pile[count, i] = x | y << 4 | width << 8 | height << 12
        count += 1
    return count


@rule
def divide(s, i):
    """Builds the walls: every chamber gets a wall across its longer side, with one opening, until none is left."""
    count = keep_chamber(s, i, 0, 0, 0, SIZE, SIZE)
    for _ in range(CHAMBERS):
        if count > 0:
            count -= 1
            chamber = s.pile[count, i]
            x = chamber & 15
            y = chamber >> 4 & 15
            width = chamber >> 8 & 15
            height = chamber >> 12
            if width > height or (width == height and random_int(s, i, 2) == 0):
                at = 2 * random_int(s, i, width // 2) + 1
                gap = 2 * random_int(s, i, (height + 1) // 2)
                for k in range(SIZE):
                    if k < height:
                        s.wall[(y + k) * SIZE + x + at, i] = k != gap
                count = keep_chamber(s, i, count, x, y, at, height)
                count = keep_chamber(s, i, count, x + at + 1, y, width - at - 1, height)
            else:
                at = 2 * random_int(s, i, height // 2) + 1
                gap = 2 * random_int(s, i, (width + 1) // 2)
                for k in range(SIZE):
                    if k < width:
                        s.wall[(y + at) * SIZE + x + k, i] = k != gap
                count = keep_chamber(s, i, count, x, y, width, at)
                count = keep_chamber(s, i, count, x, y + at + 1, width, height - at - 1)


@rule
def free_cell(s, i, other):
    """Any cell without a wall but `other`, all of them as likely."""
    free = 0
    for cell in range(CELLS):
        free += 0 if s.wall[cell, i] or cell == other else 1
    left = random_int(s, i, free)
    found = 0
    for cell in range(CELLS):
        if not s.wall[cell, i] and cell != other:
            found = cell if left == 0 else found
            left -= 1
    return found


@rule
def measure(s, i):
    """Fills `moves`: 1 at the target, and one more for each step away from it (breadth first)."""
    s.queue[0, i] = s.target[i]
    s.moves[s.target[i], i] = 1
    filled = 1
    for k in range(CELLS):
        if k < filled:
            cell = s.queue[k, i]
            for way in range(4):
                beyond, open_ = opening(s, i, cell, way)
                if open_ and s.moves[beyond, i] == 0:
                    s.moves[beyond, i] = s.moves[cell, i] + 1
                    s.queue[filled, i] = beyond
                    filled += 1


@rule
def column_of(cell):
    return float(cell % SIZE) + 0.5


@rule
def height_of(cell):
    return float(SIZE - cell // SIZE) - 0.5


class Maze(Drill):
    """Reach the target before 100 moves are over; every maze is new."""

    name = "maze"
    title = "Maze Drill"
    sides = 1
    tick_rate = 6
    action_repeat = 1
    time_limit = TIME_LIMIT
    world = (-0.5, -0.5, SIZE + 0.5, SIZE + 0.5)
    palette = PALETTE
    scene_max = CELLS + 8
    training = {  # measured: docs/LOG.md
        "num_envs": 256,
        "rollout_length": 32,
        "epochs": 3,
        "minibatch_size": 512,
        "hidden_sizes": (32,),
        "activation": "relu",
        "learning_rate": 5e-3,
        "total_agent_steps": 5_000_000,
        "gamma": 0.9,
        "gae_lambda": 0.6,
        "min_entropy": 0.0,
    }

    state = {
        "wall": ("bool", CELLS),
        "moves": ("i32", CELLS),  # to the target, plus 1; 0 where there is a wall
        "queue": ("i32", CELLS),  # of the search for them
        "pile": ("i32", WAITING),  # chambers yet to be divided
        "walker": "i32",
        "target": "i32",
    }
    actions = (Choice("go", ("stay", "up", "right", "down", "left")),)
    keys = Snake.keys
    observations = (
        *(
            Observation(f"{what} {k // SIZE} {k % SIZE}", help=f"1: {what}; row from the top, column from the left")
            for what in ("wall", "target", "walker")
            for k in range(CELLS)
        ),
        Observation("time", scale=TIME_LIMIT, unit="moves", help="that have gone"),
    )
    front = Grid(rows=SIZE, columns=SIZE, planes=2, maps=4, sweeps=12)
    observation_range = (0.0, 1.0)
    rewards = {"arrived": 1.0}
    potentials = {"nearness": 1.0}
    baselines = ("guide",)
    optimum = "guide"

    @rule
    def reset(s, i):
        divide(s, i)
        s.walker[i] = free_cell(s, i, -1)
        s.target[i] = free_cell(s, i, s.walker[i])
        measure(s, i)

    @rule
    def tick(s, i):
        """A blocked move is none."""
        for way in range(4):
            if s.action[0, i] == way + 1:
                beyond, open_ = opening(s, i, s.walker[i], way)
                s.walker[i] = beyond if open_ else s.walker[i]

    @rule
    def mask(s, i, side, m):
        """A policy always goes somewhere."""
        m[0, i] = False
        for way in range(4):
            beyond, open_ = opening(s, i, s.walker[i], way)
            m[way + 1, i] = open_

    @rule
    def observe(s, i, side, o):
        for cell in range(CELLS):
            o[cell, i] = 1.0 if s.wall[cell, i] else 0.0
            o[CELLS + cell, i] = 1.0 if cell == s.target[i] else 0.0
            o[2 * CELLS + cell, i] = 1.0 if cell == s.walker[i] else 0.0
        o[3 * CELLS, i] = float(s.ticks[i]) * (1.0 / TIME_LIMIT)

    @rule
    def terminated(s, i):
        """Time is a real end, too: the walker sees how much has gone."""
        return s.walker[i] == s.target[i] or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return 1 if s.walker[i] == s.target[i] else 0

    @rule
    def arrived(s, i, side):
        return 1.0 if s.walker[i] == s.target[i] else 0.0

    @rule
    def nearness(s, i, side):
        return -float(s.moves[s.walker[i], i] - 1) * (1.0 / FAR)

    @rule
    def guide(s, i, side):
        """The shortest way, from the search made as the maze was."""
        best = 0
        for way in range(4):
            beyond, open_ = opening(s, i, s.walker[i], way)
            nearer = open_ and s.moves[beyond, i] < s.moves[s.walker[i], i]
            best = way + 1 if nearer else best
        return best

    @rule
    def scene(s, i):
        middle = float(SIZE) * 0.5
        box(middle, middle, middle + 0.2, middle + 0.2, 1.0, 0.0, 0.3, WALL)
        box(middle, middle, middle, middle, 1.0, 0.0, 0.1, TURF)
        for cell in range(CELLS):
            box(column_of(cell), height_of(cell), 0.5, 0.5, 1.0, 0.0, 0.08, WALL, alpha=1.0 if s.wall[cell, i] else 0.0)
        box(column_of(s.target[i]), height_of(s.target[i]), 0.34, 0.34, 1.0, 0.0, 0.1, TARGET)
        circle(column_of(s.walker[i]), height_of(s.walker[i]), 0.3, WALKER)
