"""Games whose best play is known, for tests of search."""
# ruff: noqa: F821  (random is a word of the rules language)

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

FOUR = Choice("which", ("a", "b", "c", "d"))


class OneChoice(Drill):
    """One decision; a, b, c and d pay 0, .5, 1 and -1."""

    name = "onechoice"
    tick_rate = 1
    action_repeat = 1
    time_limit = 5
    state = {"paid": "f32", "over": "bool"}
    actions = (FOUR,)
    observations = (Observation("one"),)
    rewards = {"pay": 1.0}

    @rule
    def reset(s, i):
        s.over[i] = False

    @rule
    def tick(s, i):
        a = s.action[0, i]
        s.paid[i] = float(a) * 0.5 if a < 3 else -1.0
        s.over[i] = True

    @rule
    def observe(s, i, side, o):
        o[0, i] = 1.0

    @rule
    def terminated(s, i):
        return s.over[i]

    @rule
    def pay(s, i, side):
        return s.paid[i]


class Chain(Drill):
    """Two decisions; only c and then any but a is paid."""

    name = "chain"
    tick_rate = 1
    action_repeat = 1
    time_limit = 2
    state = {"first": "i32", "second": "i32"}
    actions = (FOUR,)
    observations = (Observation("step"),)
    rewards = {"pay": 1.0}

    @rule
    def reset(s, i):
        s.first[i] = 0

    @rule
    def tick(s, i):
        if s.ticks[i] == 0:
            s.first[i] = s.action[0, i]
        else:
            s.second[i] = s.action[0, i]

    @rule
    def observe(s, i, side, o):
        o[0, i] = float(s.ticks[i])

    @rule
    def terminated(s, i):
        return s.ticks[i] >= 2

    @rule
    def pay(s, i, side):
        return 1.0 if s.ticks[i] >= 2 and s.first[i] == 2 and s.second[i] > 0 else 0.0


class Dice(Drill):
    """Ten times: .6 for certain, or 1 on an even throw. Who foresees the dice takes .8 on average."""

    name = "dice"
    tick_rate = 1
    action_repeat = 1
    time_limit = 10
    state = {"paid": "f32"}
    actions = (Choice("take", ("certain", "throw")),)
    observations = (Observation("one"),)
    rewards = {"pay": 1.0}

    @rule
    def reset(s, i):
        s.paid[i] = 0.0

    @rule
    def tick(s, i):
        thrown = 1.0 if random(s, i) < 0.5 else 0.0
        s.paid[i] = 0.6 if s.action[0, i] == 0 else thrown

    @rule
    def observe(s, i, side, o):
        o[0, i] = 1.0

    @rule
    def terminated(s, i):
        return False

    @rule
    def pay(s, i, side):
        return s.paid[i]


class SmallMaze(Drill):
    """Five by five cells, one way of ten moves from the top left to the top right: down, along, and up again."""

    name = "smallmaze"
    tick_rate = 1
    action_repeat = 1
    time_limit = 60
    state = {"row": "i32", "column": "i32"}
    actions = (Choice("go", ("up", "right", "down", "left")),)
    observations = tuple(Observation(f"{k // 5} {k % 5}") for k in range(25))
    rewards = {"arrived": 1.0}
    target = 1.0
    training = {"gamma": 0.95, "hidden_sizes": (32,)}

    @rule
    def reset(s, i):
        s.row[i] = 0
        s.column[i] = 0

    @rule
    def tick(s, i):
        way = s.action[0, i]
        row = s.row[i] + (-1 if way == 0 else (1 if way == 2 else 0))
        column = s.column[i] + (1 if way == 1 else (-1 if way == 3 else 0))
        inside = row >= 0 and row < 5 and column >= 0 and column < 5
        wall = column == 2 and row < 3
        if inside and not wall:
            s.row[i] = row
            s.column[i] = column

    @rule
    def observe(s, i, side, o):
        for k in range(25):
            o[k, i] = 1.0 if k == s.row[i] * 5 + s.column[i] else 0.0

    @rule
    def terminated(s, i):
        return s.row[i] == 0 and s.column[i] == 4

    @rule
    def arrived(s, i, side):
        return 1.0 if s.row[i] == 0 and s.column[i] == 4 else 0.0
