"""Two magpies and a coin that hops away when it is taken: the one that took more of them in twenty seconds wins."""

from dshq_widget import Choice, Drill, Observation, rule

PUSH, GLIDE, REACH, LIMIT = 0.003, 0.95, 0.2, 1200


@rule
def turned(s, i, side):  # side 1 sees the world, and acts in it, after half a turn
    return 1.0 if side == 0 else -1.0


class Magpie(Drill):
    name = "magpie"
    sides = 2
    mirrored = True
    half_turn = ("x", "y", "vx", "vy", "coin_x", "coin_y", "lead")
    tick_rate = 60
    time_limit = LIMIT
    world = (-1.6, -1.1, 1.6, 1.1)
    palette = ("floor", "target", "player0", "player1")
    state = {**dict.fromkeys(("x", "y", "vx", "vy"), ("f32", 2)), **dict.fromkeys(("coin_x", "coin_y", "lead"), "f32")}
    actions = (Choice("fly", ("glide", "left", "right", "down", "up")),)
    keys = {f"Arrow{way.title()}": ("fly", way) for way in ("left", "right", "down", "up")}
    observations = tuple(Observation(name) for name in ("coin right", "coin up", "vx", "vy"))
    rewards = {"win": 1.0}
    potentials = {"ahead": 0.3, "near": 0.1}
    baselines = ("seeker",)

    @rule
    def reset(s, i):
        s.x[0, i], s.x[1, i] = -1.0, 1.0
        s.coin_y[i] = random(s, i) * 1.6 - 0.8

    @rule
    def tick(s, i):
        for k in range(2):
            fly, push = s.action[k, i], PUSH * turned(s, i, k)
            s.vx[k, i] = GLIDE * s.vx[k, i] + push * (float(fly == 2) - float(fly == 1))
            s.vy[k, i] = GLIDE * s.vy[k, i] + push * (float(fly == 4) - float(fly == 3))
            s.x[k, i] = clamp(s.x[k, i] + s.vx[k, i], -1.5, 1.5)
            s.y[k, i] = clamp(s.y[k, i] + s.vy[k, i], -1.0, 1.0)
        taken = float(near(s, i, 0) > -REACH) - float(near(s, i, 1) > -REACH)  # both at once: nobody takes it
        if taken != 0.0:  # where to turns with the taker, so that a match and its half turn stay alike
            s.lead[i] += taken
            s.coin_x[i] = taken * (random(s, i) * 2.8 - 1.4)
            s.coin_y[i] = taken * (random(s, i) * 1.8 - 0.9)

    @rule
    def observe(s, i, side, o):
        o[0, i] = turned(s, i, side) * (s.coin_x[i] - s.x[side, i]) * 0.5
        o[1, i] = turned(s, i, side) * (s.coin_y[i] - s.y[side, i]) * 0.5
        o[2, i] = turned(s, i, side) * s.vx[side, i] * 20.0
        o[3, i] = turned(s, i, side) * s.vy[side, i] * 20.0

    @rule
    def terminated(s, i):  # the clock decides who has won: it is a real end
        return s.ticks[i] >= LIMIT

    @rule
    def winner(s, i):
        return int(sign(s.lead[i])) if s.ticks[i] >= LIMIT and s.lead[i] != 0.0 else 0

    @rule
    def win(s, i, side):
        return float(winner(s, i)) * turned(s, i, side)

    @rule
    def ahead(s, i, side):
        return s.lead[i] * turned(s, i, side)

    @rule
    def near(s, i, side):
        return -length(s.coin_x[i] - s.x[side, i], s.coin_y[i] - s.y[side, i])

    @rule
    def seeker(s, i, side):  # decides in its own, turned, world
        right = turned(s, i, side) * (s.coin_x[i] - s.x[side, i])
        up = turned(s, i, side) * (s.coin_y[i] - s.y[side, i])
        return (2 if right > 0.0 else 1) if abs(right) > abs(up) else (4 if up > 0.0 else 3)

    @rule
    def scene(s, i):
        box(0.0, 0.0, 1.56, 1.06, 1.0, 0.0, 0.08, 0)
        circle(s.coin_x[i], s.coin_y[i], 0.08, 1)
        for k in range(2):
            circle(s.x[k, i], s.y[k, i], 0.12, 2 + k)
