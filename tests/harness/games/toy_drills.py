"""Small drills that tests train and check by hand."""

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule


class Race(Drill):
    """Two runners; the first past 6 wins. `pull` is a potential."""

    name = "race"
    sides = 2
    tick_rate = 60
    action_repeat = 2
    time_limit = 26
    state = {"x": ("f32", 2), "won": "i32"}
    actions = (Choice("pace", ("stand", "walk", "run")),)
    observations = (Observation("self"), Observation("other"), Observation("noise"))
    rewards = {"win": 1.0, "effort": 0.1}
    potentials = {"pull": 0.5}
    baselines = ("walker",)

    @rule
    def reset(s, i):
        s.x[0, i] = random(s, i)
        s.x[1, i] = random(s, i)

    @rule
    def tick(s, i):
        for side in range(2):
            s.x[side, i] += float(s.action[side, i]) * 0.2 * random(s, i)
        lead = 1 if s.x[0, i] > s.x[1, i] else -1
        s.won[i] = lead if max(s.x[0, i], s.x[1, i]) > 3.0 else 0

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[side, i]
        o[1, i] = s.x[1 - side, i]
        o[2, i] = float(s.ticks[i]) * 0.1

    @rule
    def terminated(s, i):
        return s.won[i] != 0

    @rule
    def winner(s, i):
        return s.won[i]

    @rule
    def win(s, i, side):
        return float(s.won[i]) if side == 0 else -float(s.won[i])

    @rule
    def effort(s, i, side):
        return -float(s.action[side, i])

    @rule
    def pull(s, i, side):
        return s.x[side, i]

    @rule
    def walker(s, i, side):
        return 1

    @rule
    def scene(s, i):
        circle(s.x[0, i], 0.0, 0.1, 0)


class Barred(Race):
    """A race in which each side may not do one thing or the other, and now and then only one thing at all."""

    name = "barred"

    @rule
    def mask(s, i, side, m):
        barred = (s.ticks[i] // 2 + side) % 5
        for k in range(3):
            m[k, i] = k != barred
        m[2, i] = s.x[side, i] < 1.5


class Climb(Drill):
    """One side: reach 2 before the time is up."""

    name = "climb"
    time_limit = 40
    state = {"x": "f32"}
    actions = (Choice("step", ("rest", "up")),)
    observations = (Observation("height"),)
    rewards = {"height": 1.0}

    @rule
    def reset(s, i):
        s.x[i] = random(s, i)

    @rule
    def tick(s, i):
        s.x[i] += float(s.action[0, i]) * 0.15 * random(s, i)

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]

    @rule
    def terminated(s, i):
        return s.x[i] > 2.0

    @rule
    def winner(s, i):
        return 1 if s.x[i] > 2.0 else 0

    @rule
    def height(s, i, side):
        return s.x[i]

    @rule
    def scene(s, i):
        circle(s.x[i], 0.0, 0.1, 0)


class Walk(Drill):
    """One side, one step left or right: small enough to compile at once."""

    name = "walk"
    time_limit = 120
    state = {"x": "f32"}
    actions = (Choice("move", ("left", "right")),)
    observations = (Observation("x"),)
    rewards = {"far": 1.0}

    @rule
    def reset(s, i):
        s.x[i] = 0.0

    @rule
    def decide(s, i):
        s.x[i] = s.x[i] + (0.1 if s.action[0, i] == 1 else -0.1)

    @rule
    def tick(s, i):
        s.x[i] = clamp(s.x[i], -1.0, 1.0)

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]

    @rule
    def terminated(s, i):
        return s.x[i] > 0.95

    @rule
    def winner(s, i):
        return 1 if s.x[i] > 0.95 else 0

    @rule
    def far(s, i, side):
        return s.x[i]

    @rule
    def scene(s, i):
        circle(s.x[i], 0.0, 0.1, 0)


class Copying(Drill):
    """Each side is paid for not doing what the other does; the script does what it finds that the other does."""

    name = "copying"
    sides = 2
    tick_rate = 60
    action_repeat = 1
    time_limit = 12
    state = {"done": ("i32", 2)}
    actions = (Choice("number", ("zero", "one", "two", "three")),)
    observations = (Observation("nothing"),)
    rewards = {"differ": 1.0}
    baselines = ("copier",)

    @rule
    def reset(s, i):
        s.done[0, i] = 0

    @rule
    def tick(s, i):
        for side in range(2):
            s.done[side, i] = s.action[side, i]

    @rule
    def observe(s, i, side, o):
        o[0, i] = 1.0

    @rule
    def terminated(s, i):
        return False

    @rule
    def winner(s, i):
        return 0

    @rule
    def differ(s, i, side):
        return 1.0 if s.done[0, i] != s.done[1, i] else 0.0

    @rule
    def copier(s, i, side):
        return s.action[1 - side, i]

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 0.1, 0)
