"""A large drill of one's own, for benchmarks of compiling: 2048 on 4 by 4 cells (Cirulli, 2014), all loops unrolled."""
# ruff: noqa: F821  (random_int is a word of the rules language)
# mypy: no-check-untyped-defs

from dshq_widget import Choice, Drill, Observation, rule

KINDS = 12


@rule
def closed(a, b, c, d):
    """A line of four with its gaps at the end."""
    for _ in range(3):
        gap = a == 0
        a = b if gap else a
        b = 0 if gap else b
        gap = b == 0
        b = c if gap else b
        c = 0 if gap else c
        gap = c == 0
        c = d if gap else c
        d = 0 if gap else d
    return a, b, c, d


@rule
def merged_pair(a, b):
    """Two neighbours after the second was pushed against the first, and the points for it."""
    equal = a > 0 and a == b
    points = 1 << (a + 1) if equal else 0
    return a + 1 if equal else a, 0 if equal else b, points


@rule
def slid(a, b, c, d):
    """A line of four after it was pushed to its first cell, and the points for it. Cells hold exponents, 0: empty."""
    a, b, c, d = closed(a, b, c, d)
    a, b, first = merged_pair(a, b)
    b, c, second = merged_pair(b, c)
    c, d, third = merged_pair(c, d)
    a, b, c, d = closed(a, b, c, d)
    return a, b, c, d, first + second + third


@rule
def place(way, line, k):
    """Cell `k` of a line, from the side it is pushed to: 0 left, 1 right, 2 up, 3 down."""
    along = 3 - k if way == 1 or way == 3 else k
    return line * 4 + along if way < 2 else along * 4 + line


@rule
def drop(s, i):
    """A new 1 (or, once in ten times, a 2) in an empty cell."""
    empty = 0
    for k in range(16):
        empty += 1 if s.cell[k, i] == 0 else 0
    left = random_int(s, i, max(1, empty))
    new = 2 if random_int(s, i, 10) == 0 else 1
    for k in range(16):
        free = s.cell[k, i] == 0
        s.cell[k, i] = new if free and left == 0 else s.cell[k, i]
        left -= 1 if free else 0


@rule
def pushed(s, i, way):
    """Whether pushing that way moves anything."""
    moves = False
    for line in range(4):
        a = s.cell[place(way, line, 0), i]
        b = s.cell[place(way, line, 1), i]
        c = s.cell[place(way, line, 2), i]
        d = s.cell[place(way, line, 3), i]
        e, f, g, h, points = slid(a, b, c, d)
        moves = moves or a != e or b != f or c != g or d != h or points > 0
    return moves


class Merge(Drill):
    """Push the tiles; equal ones merge."""

    name = "merge"
    sides = 1
    tick_rate, action_repeat, time_limit = 6, 1, 2000
    world, palette, scene_max = (0.0, 0.0, 4.0, 4.0), ("turf", "target"), 16
    state = {"cell": ("i32", 16), "points": "i32"}
    actions = (Choice("push", ("left", "right", "up", "down")),)
    observations = tuple(Observation(f"cell {k} is {kind}") for k in range(16) for kind in range(KINDS))
    rewards = {"merged": 0.01}
    baselines = ("corner",)

    @rule
    def reset(s, i):
        drop(s, i)
        drop(s, i)

    @rule
    def tick(s, i):
        s.points[i] = 0
        moved = False
        for way in range(4):
            if s.action[0, i] == way:
                moved = pushed(s, i, way)
                for line in range(4):
                    a, b, c, d, points = slid(
                        s.cell[place(way, line, 0), i],
                        s.cell[place(way, line, 1), i],
                        s.cell[place(way, line, 2), i],
                        s.cell[place(way, line, 3), i],
                    )
                    s.cell[place(way, line, 0), i] = a
                    s.cell[place(way, line, 1), i] = b
                    s.cell[place(way, line, 2), i] = c
                    s.cell[place(way, line, 3), i] = d
                    s.points[i] += points
        if moved:
            drop(s, i)

    @rule
    def mask(s, i, side, m):
        for way in range(4):
            m[way, i] = pushed(s, i, way)

    @rule
    def observe(s, i, side, o):
        for k in range(16):
            for kind in range(KINDS):
                o[k * KINDS + kind, i] = 1.0 if s.cell[k, i] == kind else 0.0

    @rule
    def terminated(s, i):
        return not (pushed(s, i, 0) or pushed(s, i, 1) or pushed(s, i, 2) or pushed(s, i, 3))

    @rule
    def winner(s, i):
        return 0

    @rule
    def merged(s, i, side):
        return float(s.points[i])

    @rule
    def corner(s, i, side):
        """Down, else left, else up, else right."""
        best = 2 if pushed(s, i, 2) else 1
        best = 0 if pushed(s, i, 0) else best
        return 3 if pushed(s, i, 3) else best

    @rule
    def scene(s, i):
        for k in range(16):
            size = 0.04 * float(s.cell[k, i])
            box(float(k % 4) + 0.5, 3.5 - float(k // 4), size, size, 1.0, 0.0, 0.05, 1)
