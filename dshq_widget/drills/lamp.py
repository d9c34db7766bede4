"""Lamp: remember where a lamp glowed, and say so when the gong sounds. The smallest test of a memory.

A T-maze without the maze, after the task that Bakker, "Reinforcement Learning with Long Short-Term Memory", 2002,
solved with an LSTM: the cue is gone long before it counts. Nothing of it is left in the observations.
"""
# ruff: noqa: F821  (random_int, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

GLOW = 5  # decisions for which the lamp glows
DARK, LONGER = 5, 11  # decisions in the dark: at least DARK, and fewer than LONGER more
TIME_LIMIT = 30  # decisions: the gong sounds for nine or more of them

PALETTE = ("floor", "wall", "accent", "target", "player0")
FLOOR, SOCKET, GONG, LIGHT, ANSWER = range(len(PALETTE))


@rule
def sign(side):
    """0 left, 1 right as a place."""
    return 1.0 if side == 1 else -1.0


@rule
def glows(s, i):
    return s.ticks[i] < GLOW


@rule
def sounds(s, i):
    return s.ticks[i] >= s.gong[i]


class Lamp(Drill):
    """A lamp glows and goes out. When the gong sounds, say where it was."""

    name = "lamp"
    title = "Lamp"
    sides = 1
    tick_rate = 5
    action_repeat = 1
    time_limit = TIME_LIMIT
    world = (-2.4, -1.2, 2.4, 1.2)
    palette = PALETTE
    legend = {"target": "lamp; a ring once it was answered", "accent": "gong", "player0": "answer"}
    hint = (
        "The lamp glows only at first, the gong comes later, and then the blue bar must stand under the lamp that "
        "glowed. Without a memory that is a guess: 0.5 is what guessing earns."
    )
    target = 0.95
    training = {
        "num_envs": 128,
        "rollout_length": 32,
        "epochs": 4,
        "minibatch_size": 1024,
        "hidden_sizes": (32,),
        "memory": 32,
        "learning_rate": 3e-3,
        "total_agent_steps": 600_000,
        "gamma": 0.98,
        "entropy_coef": 0.01,
        "min_entropy": 0.0,
        "workers": 0,
    }

    state = {
        "side": "i32",  # of the lamp: 0 left, 1 right
        "gong": "i32",  # the tick at which it begins to sound
        "answer": "i32",  # 0 none yet, 1 left, 2 right
    }
    actions = (Choice("answer", ("wait", "left", "right")),)
    keys = {
        "ArrowLeft": ("answer", "left"),
        "ArrowRight": ("answer", "right"),
        "KeyA": ("answer", "left"),
        "KeyD": ("answer", "right"),
    }
    observations = (
        Observation("lamp", help="-1: it glows on the left, 1: on the right, 0: it is dark"),
        Observation("gong", help="1 while it sounds"),
    )
    observation_range = (-1.0, 1.0)
    rewards = {"right": 1.0}
    baselines = ("keeper",)

    @rule
    def reset(s, i):
        s.side[i] = random_int(s, i, 2)
        s.gong[i] = GLOW + DARK + random_int(s, i, LONGER)

    @rule
    def decide(s, i):
        """An answer before the gong is none."""
        if sounds(s, i):
            s.answer[i] = s.action[0, i]

    @rule
    def tick(s, i):
        """The rules look at the clock alone."""

    @rule
    def observe(s, i, side, o):
        o[0, i] = sign(s.side[i]) if glows(s, i) else 0.0
        o[1, i] = 1.0 if sounds(s, i) else 0.0

    @rule
    def terminated(s, i):
        """Time is a real end, too: lamp and gong tell it."""
        return s.answer[i] != 0 or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return 1 if s.answer[i] == s.side[i] + 1 else 0

    @rule
    def right(s, i, side):
        """1 for the right answer."""
        return 1.0 if s.answer[i] == s.side[i] + 1 else 0.0

    @rule
    def keeper(s, i, side):
        """Knows where the lamp was."""
        return s.side[i] + 1 if sounds(s, i) else 0

    @rule
    def scene(s, i):
        """Two lamps on a table, the gong between them with its waves while it sounds, and the answer. Once it is given,
        a ring shows where the lamp was.
        """
        box(0.0, 0.0, 2.2, 1.0, 1.0, 0.0, 0.2, FLOOR)
        box(-1.3, 0.15, 0.5, 0.5, 1.0, 0.0, 0.16, SOCKET)
        box(1.3, 0.15, 0.5, 0.5, 1.0, 0.0, 0.16, SOCKET)
        circle(
            sign(s.side[i]) * 1.3, 0.15, 0.34, LIGHT, alpha=1.0 if glows(s, i) else (0.0 if s.answer[i] == 0 else 0.3)
        )
        ring(sign(s.side[i]) * 1.3, 0.15, 0.36, 0.03, 1.0, 0.0, LIGHT, alpha=0.0 if s.answer[i] == 0 else 1.0)
        loud = sounds(s, i)
        wave = float((s.ticks[i] - s.gong[i]) % 4) * 0.08
        ring(0.0, 0.15, 0.36 + wave, 0.02, 1.0, 0.0, GONG, alpha=0.8 - 2.0 * wave if loud else 0.0)
        circle(0.0, 0.15, 0.28, GONG, alpha=1.0 if loud else 0.3)
        place = sign(s.answer[i] - 1) * 1.3
        box(place, -0.62, 0.42, 0.09, 1.0, 0.0, 0.06, ANSWER, alpha=0.0 if s.answer[i] == 0 else 1.0)
