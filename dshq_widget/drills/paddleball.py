"""PaddleBall: one paddle against three walls, as in the first video games. Twenty balls come in; what share comes back?

Every return makes the ball faster and where it meets the paddle decides its angle; a miss serves a slow one again.
Units: u, seconds; the paddle stands at the left, +y up.
"""
# ruff: noqa: F821  (random, clamp, abs, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule

TICK_RATE = 120
DT = 1 / TICK_RATE
BALLS = 20  # that come in; with the last one the episode ends
TIME_LIMIT = 7200  # ticks: 60 s; twenty of the slowest balls take 58

HALF_LENGTH = 4.0
HALF_WIDTH = 2.6
PADDLE_X = -3.6
HALF_PADDLE = 0.5
PADDLE_SPEED = 5.0  # u/s
PADDLE_STEP = 40.0 * DT  # change of velocity per tick: 40 u/s^2
RADIUS = 0.16
SLOWEST = 4.5  # u/s across the court
FASTEST = 9.0
QUICKER = 0.5  # u/s, with every return
STEEP = 1.1  # most speed along the walls, as a share of that across the court
REACH = HALF_WIDTH - HALF_PADDLE  # of the paddle's middle
TOP = HALF_WIDTH - RADIUS  # of the ball's middle
FACE = PADDLE_X + 0.1 + RADIUS  # where the ball's middle is as it meets the paddle
BACK = HALF_LENGTH - RADIUS

PER_LENGTH = 1 / HALF_LENGTH  # observation scales
PER_WIDTH = 1 / HALF_WIDTH
PER_SPEED = 1 / FASTEST
PER_PADDLE_SPEED = 1 / PADDLE_SPEED

PALETTE = ("mat", "line", "wall", "player0", "ball", "accent", "mark")
MAT, LINE, WALL, PADDLE, BALL, FLASH, MARK = range(len(PALETTE))


@rule
def serve(s, i):
    """A slow ball from the middle, towards the far wall."""
    s.x[i] = 0.0
    s.y[i] = (random(s, i) * 2.0 - 1.0) * 1.5
    s.vx[i] = SLOWEST
    s.vy[i] = (random(s, i) * 2.0 - 1.0) * SLOWEST * STEEP


class PaddleBall(Drill):
    """Twenty balls bounce back from the walls: return as many as you can."""

    name = "paddleball"
    title = "Paddle Ball"
    sides = 1
    tick_rate = TICK_RATE
    action_repeat = 4
    time_limit = TIME_LIMIT
    world = (-4.2, -2.8, 4.2, 2.8)
    palette = PALETTE
    target = 0.95
    algorithm_settings = {  # measured: docs/LOG.md
        "dreamer": {
            "repeat": 4,
            "sequence": 8,
            "horizon": 10,
            "starts": 128,
            "reward_scale": 100.0,
            "discount_horizon": 30.0,
            "ratio": 8.0,
            "rare_shades": 60.0,
            "free_nats": 0.3,
            "learning_rate": 1e-3,
            "behaviour_learning_rate": 6e-4,
        }
    }
    training = {"num_envs": 256, "minibatch_size": 1024, "entropy_coef": 0.0, "min_entropy": 0.0}

    state = {
        "x": "f32",  # the ball
        "y": "f32",
        "vx": "f32",
        "vy": "f32",
        "paddle": "f32",  # y of its middle
        "speed": "f32",  # of the paddle
        "came": "i32",  # balls that have come in
        "returned": "i32",  # of them sent back
        "now": "i32",  # of them sent back during this decision
        "glow": "f32",  # 1 as the paddle strikes, then less and less
    }
    actions = (Choice("move", ("stop", "up", "down")),)
    keys = {
        "ArrowUp": ("move", "up"),
        "ArrowDown": ("move", "down"),
        "KeyW": ("move", "up"),
        "KeyS": ("move", "down"),
    }
    observations = (
        Observation("ball x", scale=HALF_LENGTH, unit="u", help="from the middle, to the right"),
        Observation("ball y", scale=HALF_WIDTH, unit="u", help="from the middle, upward"),
        Observation("ball velocity x", scale=FASTEST, unit="u/s", help="to the right"),
        Observation("ball velocity y", scale=FASTEST, unit="u/s", help="upward"),
        Observation("paddle y", scale=HALF_WIDTH, unit="u", help="its middle, from that of the field, upward"),
        Observation("paddle velocity", scale=PADDLE_SPEED, unit="u/s", help="upward"),
        Observation("ball above paddle", scale=HALF_WIDTH, unit="u", help="from the paddle's middle up to the ball"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"hit": 1.0 / BALLS}
    potentials = {"beside": 0.02}
    baselines = ("follower",)
    drag = (Handle("ball", "x", "y", "vx", "vy", kind="ball"),)

    @rule
    def reset(s, i):
        serve(s, i)
        s.paddle[i] = (random(s, i) * 2.0 - 1.0) * REACH

    @rule
    def decide(s, i):
        """The action is held by the paddle's feet in every tick; here the count of this decision's returns begins."""
        s.now[i] = 0

    @rule
    def tick(s, i):
        """The paddle, the ball, the three walls; then whether the ball met the paddle or went past it."""
        move = s.action[0, i]
        wanted = PADDLE_SPEED if move == 1 else (-PADDLE_SPEED if move == 2 else 0.0)
        speed = s.speed[i] + clamp(wanted - s.speed[i], -PADDLE_STEP, PADDLE_STEP)
        paddle = s.paddle[i] + speed * DT
        s.speed[i] = 0.0 if abs(paddle) > REACH else speed
        s.paddle[i] = clamp(paddle, -REACH, REACH)
        before = s.x[i]
        x = before + s.vx[i] * DT
        y = s.y[i] + s.vy[i] * DT
        vx = -abs(s.vx[i]) if x > BACK else s.vx[i]
        vy = -sign(y) * abs(s.vy[i]) if abs(y) > TOP else s.vy[i]
        x = min(x, BACK)
        y = clamp(y, -TOP, TOP)
        offset = (y - s.paddle[i]) / (HALF_PADDLE + RADIUS)
        arrives = before >= FACE and x < FACE
        hits = arrives and abs(offset) <= 1.0
        faster = min(FASTEST, QUICKER - vx)
        s.x[i] = 2.0 * FACE - x if hits else x
        s.y[i] = y
        s.vx[i] = faster if hits else vx
        s.vy[i] = STEEP * offset * faster if hits else vy
        s.came[i] += 1 if arrives else 0
        s.returned[i] += 1 if hits else 0
        s.now[i] += 1 if hits else 0
        s.glow[i] = 1.0 if hits else 0.96 * s.glow[i]
        if s.x[i] < -HALF_LENGTH:
            serve(s, i)

    @rule
    def observe(s, i, side, o):
        o[0, i] = clamp(s.x[i] * PER_LENGTH, -2.0, 2.0)
        o[1, i] = clamp(s.y[i] * PER_WIDTH, -2.0, 2.0)
        o[2, i] = clamp(s.vx[i] * PER_SPEED, -2.0, 2.0)
        o[3, i] = clamp(s.vy[i] * PER_SPEED, -2.0, 2.0)
        o[4, i] = clamp(s.paddle[i] * PER_WIDTH, -2.0, 2.0)
        o[5, i] = clamp(s.speed[i] * PER_PADDLE_SPEED, -2.0, 2.0)
        o[6, i] = clamp((s.y[i] - s.paddle[i]) * PER_WIDTH, -2.0, 2.0)

    @rule
    def terminated(s, i):
        return s.came[i] >= BALLS

    @rule
    def winner(s, i):
        """+1 for an episode in which none was missed but one at most."""
        return 1 if s.came[i] >= BALLS and s.returned[i] + 1 >= BALLS else 0

    @rule
    def hit(s, i, side):
        """1 for every ball sent back: a reward."""
        return float(s.now[i])

    @rule
    def beside(s, i, side):
        """Whether the paddle is where the ball comes in: a potential."""
        return -abs(s.y[i] - s.paddle[i]) * PER_WIDTH

    @rule
    def follower(s, i, side):
        """Waits in the middle while the ball flies away, then follows its height."""
        wanted = (s.y[i] + 0.1 * s.vy[i] if s.vx[i] < 0.0 else 0.0) - s.paddle[i]
        return 0 if abs(wanted) < 0.15 else (1 if wanted > 0.0 else 2)

    @rule
    def scene(s, i):
        box(0.0, 0.0, HALF_LENGTH, HALF_WIDTH, 1.0, 0.0, 0.0, MAT)
        for k in range(9):
            line(0.0, 0.6 * float(k - 4) - 0.12, 0.0, 0.6 * float(k - 4) + 0.12, 0.02, MARK)
        line(-HALF_LENGTH, HALF_WIDTH + 0.05, HALF_LENGTH + 0.05, HALF_WIDTH + 0.05, 0.05, WALL)
        line(-HALF_LENGTH, -HALF_WIDTH - 0.05, HALF_LENGTH + 0.05, -HALF_WIDTH - 0.05, 0.05, WALL)
        line(HALF_LENGTH + 0.05, -HALF_WIDTH - 0.05, HALF_LENGTH + 0.05, HALF_WIDTH + 0.05, 0.05, WALL)
        for ball in range(BALLS):  # one lamp each, lit once it was sent back
            x = 0.3 * (float(ball) - 0.5 * float(BALLS - 1))
            circle(x, HALF_WIDTH - 0.25, 0.05, MARK)
            circle(x, HALF_WIDTH - 0.25, 0.07, LINE, alpha=1.0 if ball < s.returned[i] else 0.0)
        rim = 0.09 * s.glow[i]
        box(PADDLE_X, s.paddle[i], 0.1 + rim, HALF_PADDLE + rim, 1.0, 0.0, 0.09 + rim, FLASH, alpha=s.glow[i])
        box(PADDLE_X, s.paddle[i], 0.1, HALF_PADDLE, 1.0, 0.0, 0.09, PADDLE)
        circle(s.x[i], s.y[i], RADIUS, BALL)
