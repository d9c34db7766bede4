# ruff: noqa: F821  (random, length, circle, ... are words of the rules language)
from dshq_widget import Choice, Drill, Observation, rule
from tests.lessons.attempts import Attempts, one

ROCK = 0.35


class Comet(Drill):
    """The lesson's drill, as far as the check looks at it."""

    name = "comet"
    tick_rate, time_limit = 60, 600
    world = (-1.6, -1.2, 1.6, 1.2)
    palette = ("floor", "accent", "player0", "heading", "pillar")
    state = dict.fromkeys(("x", "y", "vx", "vy", "star_x", "star_y", "caught"), "f32")
    actions = (Choice("engine", ("off", "on")),)
    observations = (Observation("place"),)
    rewards = {"star": 1.0, "hit": -0.1}
    potentials = {"nearness": 0.5}

    @rule
    def reset(s, i):
        s.x[i] = random(s, i)

    @rule
    def tick(s, i):
        s.x[i] += 0.01

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]

    @rule
    def star(s, i, side):
        return s.caught[i]

    @rule
    def nearness(s, i, side):
        return -length(s.star_x[i] - s.x[i], s.star_y[i] - s.y[i])

    @rule
    def hit(s, i, side):
        return 1.0 if length(s.x[i], s.y[i]) < ROCK else 0.0

    @rule
    def scene(s, i):
        circle(0.0, 0.0, ROCK, 4)
        circle(s.star_x[i], s.star_y[i], 0.08, 1)
        circle(s.x[i], s.y[i], 0.1, 2)


class StarIsOne(Comet):
    name = "star_is_one"

    @rule
    def star(s, i, side):
        return 1.0 if s.caught[i] > 0.0 else 0.0


class Unpaid(Comet):
    name, rewards = "unpaid", {"star": 1.0}


class Square(Comet):
    name = "square"

    @rule
    def hit(s, i, side):
        return 1.0 if abs(s.x[i]) < ROCK and abs(s.y[i]) < ROCK else 0.0


class SeenSmaller(Comet):
    name = "seen_smaller"

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 0.2, 4)
        circle(s.star_x[i], s.star_y[i], 0.08, 1)
        circle(s.x[i], s.y[i], 0.1, 2)


class Untranslated(Comet):
    name = "untranslated"

    @rule
    def hit(s, i, side):
        return 1.0 if (s.x[i] ** 2 + s.y[i] ** 2) < ROCK else 0.0


class SignInTheRule(Comet):
    """The rule says what is lost, the weight how much of it."""

    name, rewards = "sign_in_the_rule", {"star": 1.0, "hit": 0.2}

    @rule
    def hit(s, i, side):
        return -1.0 if s.x[i] * s.x[i] + s.y[i] * s.y[i] < ROCK * ROCK else 0.0


class DeeperIsDearer(Comet):
    """A rule of another name, and the middle costs more than the rim."""

    name, rewards = "deeper_is_dearer", {"star": 2.0, "rock": -0.3}

    @rule
    def rock(s, i, side):
        return max(0.0, 1.0 - length(s.x[i], s.y[i]) / ROCK)


WRONG = (StarIsOne, Unpaid, Square, SeenSmaller, Untranslated)
ATTEMPTS = {
    "rock": Attempts(
        one({drill.__name__: drill for drill in WRONG}),
        one({drill.__name__: drill for drill in (SignInTheRule, DeeperIsDearer)}),
    )
}
