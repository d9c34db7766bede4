"""CartPole: a pole on a cart, kept upright by pushing the cart left or right.

Constants, the order of Euler's steps, the bounds, the starts and the reward are those of Gymnasium's CartPole-v1
(`gymnasium/envs/classic_control/cartpole.py`, after Barto, Sutton & Anderson 1983); a test steps both side by side.
Units: m, s, kg, rad; +x to the right, a positive angle leans right.
"""
# ruff: noqa: F821  (random, clamp, sin, box, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

TAU = 0.02  # seconds per tick
TIME_LIMIT = 500  # ticks
GRAVITY = 9.8
POLE_MASS = 0.1
TOTAL_MASS = 1.1  # the cart's 1.0 and the pole's
HALF_POLE = 0.5  # half of the pole's length
POLE_MOMENT = POLE_MASS * HALF_POLE
FORCE = 10.0
START = 0.05  # each of the four numbers begins uniform in -START .. START
FAR = 2.4
LEAN = 12 * 2 * 3.14159265358979 / 360

PER_FAR = 1 / FAR  # observation scales
PER_LEAN = 1 / LEAN
PER_SPEED = 1 / 3
PER_SWING = 1 / 3

PALETTE = ("line", "mark", "wall", "player0", "target", "ball")
LINE, MARK, WALL, CART, POLE, AXLE = range(len(PALETTE))


@rule
def start(s, i):
    """f32 uniform in [-START, START)."""
    return (random(s, i) * 2.0 - 1.0) * START


class CartPole(Drill):
    """Keep the pole within 12 degrees of upright and the cart on its track for ten seconds."""

    name = "cartpole"
    title = "CartPole"
    sides = 1
    tick_rate = 50
    action_repeat = 1
    time_limit = TIME_LIMIT
    world = (-2.8, -0.7, 2.8, 1.5)
    palette = PALETTE
    target = 475.0  # Gymnasium's reward_threshold
    training = {  # measured: docs/LOG.md
        "num_envs": 128,
        "rollout_length": 32,
        "epochs": 1,
        "minibatch_size": 64,
        "learning_rate": 5e-3,
        "separate_value_net": True,
        "total_agent_steps": 300_000,
        "gamma": 0.98,
        "gae_lambda": 0.9,
        "entropy_coef": 0.0,
        "min_entropy": 0.0,
        "workers": 0,
    }

    state = {"x": "f32", "vx": "f32", "angle": "f32", "swing": "f32"}
    actions = (Choice("push", ("left", "right")),)
    keys = {
        "ArrowLeft": ("push", "left"),
        "ArrowRight": ("push", "right"),
        "KeyA": ("push", "left"),
        "KeyD": ("push", "right"),
    }
    observations = (
        Observation("cart position", scale=FAR, unit="m", help="from the middle, to the right"),
        Observation("cart velocity", scale=3, unit="m/s", help="to the right"),
        Observation("pole angle", scale=LEAN, unit="rad", help="from upright, to the right"),
        Observation("pole angular velocity", scale=3, unit="rad/s", help="to the right"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"upright": 1.0}
    baselines = ("balancer",)

    @rule
    def reset(s, i):
        s.x[i] = start(s, i)
        s.vx[i] = start(s, i)
        s.angle[i] = start(s, i)
        s.swing[i] = start(s, i)

    @rule
    def decide(s, i):
        """The action is the push of the whole tick: `tick` reads it."""

    @rule
    def tick(s, i):
        """Positions move by the old velocities, and only then do the velocities change, as in Gymnasium."""
        force = FORCE if s.action[0, i] == 1 else -FORCE
        sine = sin(s.angle[i])
        cosine = cos(s.angle[i])
        push = (force + POLE_MOMENT * s.swing[i] * s.swing[i] * sine) / TOTAL_MASS
        turn = (GRAVITY * sine - cosine * push) / (HALF_POLE * (4.0 / 3.0 - POLE_MASS * cosine * cosine / TOTAL_MASS))
        pull = push - POLE_MOMENT * turn * cosine / TOTAL_MASS
        s.x[i] += TAU * s.vx[i]
        s.vx[i] += TAU * pull
        s.angle[i] += TAU * s.swing[i]
        s.swing[i] += TAU * turn

    @rule
    def observe(s, i, side, o):
        o[0, i] = clamp(s.x[i] * PER_FAR, -2.0, 2.0)
        o[1, i] = clamp(s.vx[i] * PER_SPEED, -2.0, 2.0)
        o[2, i] = clamp(s.angle[i] * PER_LEAN, -2.0, 2.0)
        o[3, i] = clamp(s.swing[i] * PER_SWING, -2.0, 2.0)

    @rule
    def terminated(s, i):
        return abs(s.x[i]) > FAR or abs(s.angle[i]) > LEAN

    @rule
    def winner(s, i):
        """+1 for a pole that stands at the time limit."""
        fallen = abs(s.x[i]) > FAR or abs(s.angle[i]) > LEAN
        return 1 if s.ticks[i] >= TIME_LIMIT and not fallen else 0

    @rule
    def upright(s, i, side):
        """1 for every step, the last one too."""
        return 1.0

    @rule
    def balancer(s, i, side):
        """Pushes towards where the pole falls, and a little against where the cart is going (gains tuned by hand)."""
        lean = s.angle[i] + 0.5 * s.swing[i] + 0.02 * s.x[i] + 0.05 * s.vx[i]
        return 1 if lean > 0.0 else 0

    @rule
    def scene(s, i):
        line(-FAR, 0.0, FAR, 0.0, 0.015, LINE)
        line(-FAR, -0.12, -FAR, 0.12, 0.02, WALL)
        line(FAR, -0.12, FAR, 0.12, 0.02, WALL)
        line(0.0, -0.06, 0.0, 0.06, 0.01, MARK)
        x = s.x[i]
        box(x, 0.0, 0.25, 0.12, 1.0, 0.0, 0.05, CART)
        line(x, 0.1, x + 2.0 * HALF_POLE * sin(s.angle[i]), 0.1 + 2.0 * HALF_POLE * cos(s.angle[i]), 0.045, POLE)
        circle(x, 0.1, 0.06, AXLE)
