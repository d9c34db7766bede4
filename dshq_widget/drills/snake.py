"""Snake: eat fruit, grow, and bite neither the wall nor yourself.

The rules are those of Jumanji's Snake-v1 (Bonnet et al., "Jumanji", 2023) with a shorter clock: a snake of one cell, a
fruit on any free cell, and the tail gone before the head arrives, so that following it closely is allowed.
Cells are numbered row by row from the top left. Units: cells and moves.
"""
# ruff: noqa: F821  (random_int, clamp, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

SIZE = 12
CELLS = SIZE * SIZE
TIME_LIMIT = 1000  # moves; Jumanji's is 4000
GOAL = 20  # fruit that make an episode a success

VIEW = 9  # the snake sees this many cells in each direction, itself in the middle
HALF_VIEW = VIEW // 2
SEEN = VIEW * VIEW
OF_CELL = "rows below and columns right of the head; 1: wall, 0: free, else body, the more the longer it stays"
PER_MOVE = 1 / 40  # a cell that is free again in 40 moves or more looks like a wall
PER_CELL = 1 / (SIZE - 1)


PALETTE = ("turf", "wall", "player0", "heading", "target")
TURF, WALL, BODY, HEAD, FRUIT = range(len(PALETTE))


@rule
def row_step(heading):
    return -1 if heading == 0 else (1 if heading == 2 else 0)


@rule
def column_step(heading):
    return 1 if heading == 1 else (-1 if heading == 3 else 0)


@rule
def ahead(s, i, heading):
    """The cell that lies next to the head (clamped into the pitch), and whether the head may go there."""
    row = s.head[i] // SIZE + row_step(heading)
    column = s.head[i] % SIZE + column_step(heading)
    inside = row >= 0 and row < SIZE and column >= 0 and column < SIZE
    cell = max(0, min(row, SIZE - 1)) * SIZE + max(0, min(column, SIZE - 1))
    return cell, inside and s.until[cell, i] <= s.clock[i] + 1


@rule
def grow_fruit(s, i):
    """A fruit on a free cell, all of them as likely."""
    left = random_int(s, i, CELLS - s.length[i])
    for cell in range(CELLS):
        if s.until[cell, i] <= s.clock[i]:
            if left == 0:
                s.fruit[i] = cell
            left -= 1


@rule
def away(s, i, cell):
    """Moves from a cell to the fruit, nothing in the way."""
    return abs(cell // SIZE - s.fruit[i] // SIZE) + abs(cell % SIZE - s.fruit[i] % SIZE)


class Snake(Drill):
    """Eat as much fruit as you can on a pitch of 12 by 12 cells."""

    name = "snake"
    title = "Snake"
    sides = 1
    tick_rate = 10
    action_repeat = 1
    time_limit = TIME_LIMIT
    world = (-0.5, -0.5, SIZE + 0.5, SIZE + 0.5)
    palette = PALETTE
    scene_max = CELLS + 8
    target = float(GOAL)
    training = {  # measured: docs/LOG.md
        "num_envs": 256,
        "rollout_length": 64,
        "epochs": 3,
        "minibatch_size": 2048,
        "learning_rate": 1e-3,
        "total_agent_steps": 20_000_000,
        "gamma": 0.98,
        "entropy_coef": 0.005,
        "min_entropy": 0.0,
    }

    state = {
        "until": ("i32", CELLS),  # the clock at which the body has left the cell; free from then on
        "clock": "i32",  # moves without a fruit: a meal holds the tail for one move
        "length": "i32",
        "head": "i32",
        "fruit": "i32",
        "heading": "i32",  # 0 up, 1 right, 2 down, 3 left
        "ate": "i32",
        "dead": "i32",
    }
    actions = (Choice("go", ("ahead", "up", "right", "down", "left")),)
    keys = {
        "ArrowUp": ("go", "up"),
        "ArrowRight": ("go", "right"),
        "ArrowDown": ("go", "down"),
        "ArrowLeft": ("go", "left"),
        "KeyW": ("go", "up"),
        "KeyD": ("go", "right"),
        "KeyS": ("go", "down"),
        "KeyA": ("go", "left"),
    }
    observations = (
        *(Observation(f"cell {k // VIEW - HALF_VIEW:+d} {k % VIEW - HALF_VIEW:+d}", help=OF_CELL) for k in range(SEEN)),
        Observation("fruit right", scale=SIZE - 1, unit="cells", help="from the head to the fruit"),
        Observation("fruit down", scale=SIZE - 1, unit="cells", help="the same downward"),
        Observation("fruit side", help="1: the fruit is on the right of the head, -1: on the left"),
        Observation("fruit height", help="1: it is below the head, -1: above"),
        Observation("length", scale=40, unit="cells", help="of the body; more than 80 reads as 80"),
    )
    observation_range = (-1.0, 2.0)
    rewards = {"fruit_eaten": 1.0}
    potentials = {"nearness": 0.2}
    baselines = ("greedy",)

    @rule
    def reset(s, i):
        s.length[i] = 1
        s.head[i] = random_int(s, i, CELLS)
        s.heading[i] = random_int(s, i, 4)
        s.until[s.head[i], i] = 1
        grow_fruit(s, i)

    @rule
    def decide(s, i):
        """Without a key the snake continues ahead."""
        s.heading[i] = s.action[0, i] - 1 if s.action[0, i] > 0 else s.heading[i]

    @rule
    def tick(s, i):
        cell, free = ahead(s, i, s.heading[i])
        ate = 1 if free and cell == s.fruit[i] else 0
        s.dead[i] = 0 if free else 1
        s.ate[i] = ate
        s.clock[i] += 1 - ate
        s.length[i] += ate
        if free:
            s.head[i] = cell
            s.until[cell, i] = s.clock[i] + s.length[i]
        if ate == 1 and s.length[i] < CELLS:
            grow_fruit(s, i)

    @rule
    def mask(s, i, side, m):
        """A policy always says where to go, and goes nowhere that ends it at once."""
        m[0, i] = False
        for heading in range(4):
            cell, free = ahead(s, i, heading)
            m[heading + 1, i] = free

    @rule
    def observe(s, i, side, o):
        row = s.head[i] // SIZE
        column = s.head[i] % SIZE
        for k in range(SEEN):
            seen_row = row + k // VIEW - HALF_VIEW
            seen_column = column + k % VIEW - HALF_VIEW
            inside = seen_row >= 0 and seen_row < SIZE and seen_column >= 0 and seen_column < SIZE
            left = s.until[seen_row * SIZE + seen_column, i] - s.clock[i]
            body = 0.25 + float(min(left, 30)) * PER_MOVE if left > 0 else 0.0
            o[k, i] = body if inside else 1.0
        right = s.fruit[i] % SIZE - column
        down = s.fruit[i] // SIZE - row
        o[SEEN, i] = float(right) * PER_CELL
        o[SEEN + 1, i] = float(down) * PER_CELL
        o[SEEN + 2, i] = float(max(-1, min(right, 1)))
        o[SEEN + 3, i] = float(max(-1, min(down, 1)))
        o[SEEN + 4, i] = min(float(s.length[i]) * PER_MOVE, 2.0)

    @rule
    def terminated(s, i):
        return s.dead[i] == 1 or s.length[i] == CELLS

    @rule
    def winner(s, i):
        """+1 for an episode that ends after GOAL fruit or more."""
        over = s.dead[i] == 1 or s.length[i] == CELLS or s.ticks[i] >= TIME_LIMIT
        return 1 if over and s.length[i] > GOAL else 0

    @rule
    def fruit_eaten(s, i, side):
        return float(s.ate[i])

    @rule
    def nearness(s, i, side):
        return -float(away(s, i, s.head[i])) * PER_CELL

    @rule
    def greedy(s, i, side):
        """The allowed move that comes nearest to the fruit; up where there is none."""
        best = 1
        least = 4 * SIZE
        for heading in range(4):
            cell, free = ahead(s, i, heading)
            moves = away(s, i, cell)
            better = free and moves < least
            best = heading + 1 if better else best
            least = moves if better else least
        return best

    @rule
    def scene(s, i):
        middle = float(SIZE) * 0.5
        box(middle, middle, middle + 0.2, middle + 0.2, 1.0, 0.0, 0.3, WALL)
        box(middle, middle, middle, middle, 1.0, 0.0, 0.15, TURF)
        x = float(s.fruit[i] % SIZE) + 0.5
        y = float(SIZE - s.fruit[i] // SIZE) - 0.5
        circle(x, y, 0.34, FRUIT)
        for cell in range(CELLS):
            left = s.until[cell, i] - s.clock[i]
            shade = 0.45 + 0.55 * float(left) / float(s.length[i])
            x = float(cell % SIZE) + 0.5
            y = float(SIZE - cell // SIZE) - 0.5
            box(x, y, 0.45, 0.45, 1.0, 0.0, 0.14, BODY, alpha=min(shade, 1.0) if left > 0 else 0.0)
        x = float(s.head[i] % SIZE) + 0.5
        y = float(SIZE - s.head[i] // SIZE) - 0.5
        circle(x + 0.16 * float(column_step(s.heading[i])), y - 0.16 * float(row_step(s.heading[i])), 0.15, HEAD)
