"""Bandit: one bit is shown, and the same bit is the right answer. The simplest test of a learner.

The diagnostic of the fast-RL specification's SimpleBandit: nothing carries over from one step to the next, so only the
policy gradient itself is at work.
"""
# ruff: noqa: F821  (random_int, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

PALETTE = ("wall", "player0", "target")
SEAT, ANSWER, LAMP = range(len(PALETTE))


@rule
def place(bit):
    """Where a bit is drawn: 0 left, 1 right."""
    return 1.0 if bit == 1 else -1.0


class Bandit(Drill):
    """A lamp shines left or right; say which. A hundred times, one point each."""

    name = "bandit"
    title = "Bandit"
    sides = 1
    tick_rate = 5
    action_repeat = 1
    time_limit = 100
    world = (-2.2, -1.1, 2.2, 1.1)
    palette = PALETTE
    legend = {"target": "lamp; a ring where it shone before", "player0": "answer, pale where it was wrong"}
    target = 99.0
    training = {  # what one answer earns is all there is to know: no discount, no traces
        "num_envs": 64,
        "rollout_length": 32,
        "epochs": 4,
        "minibatch_size": 256,
        "total_agent_steps": 100_000,
        "gamma": 0.0,
        "entropy_coef": 0.0,
        "min_entropy": 0.0,
        "workers": 0,
    }

    state = {
        "bit": "i32",
        "answer": "i32",
        "hit": "i32",  # 1: the last answer was right
    }
    actions = (Choice("answer", ("left", "right")),)
    keys = {
        "ArrowLeft": ("answer", "left"),
        "ArrowRight": ("answer", "right"),
        "KeyA": ("answer", "left"),
        "KeyD": ("answer", "right"),
    }
    observations = (Observation("lamp", help="-1: on the left, 1: on the right"),)
    observation_range = (-1.0, 1.0)
    rewards = {"right": 1.0}
    baselines = ("copycat",)

    @rule
    def reset(s, i):
        s.bit[i] = random_int(s, i, 2)

    @rule
    def decide(s, i):
        s.answer[i] = s.action[0, i]

    @rule
    def tick(s, i):
        s.hit[i] = 1 if s.answer[i] == s.bit[i] else 0
        s.bit[i] = random_int(s, i, 2)

    @rule
    def observe(s, i, side, o):
        o[0, i] = place(s.bit[i])

    @rule
    def terminated(s, i):
        return False

    @rule
    def winner(s, i):
        return 0

    @rule
    def right(s, i, side):
        """1 for the right answer."""
        return float(s.hit[i])

    @rule
    def copycat(s, i, side):
        """Says what it sees."""
        return s.bit[i]

    @rule
    def scene(s, i):
        """The lamp, a ring where it shone before, and the answer that it got there: pale where it was wrong."""
        box(-1.0, 0.0, 0.7, 0.7, 1.0, 0.0, 0.15, SEAT)
        box(1.0, 0.0, 0.7, 0.7, 1.0, 0.0, 0.15, SEAT)
        circle(place(s.bit[i]), 0.2, 0.3, LAMP)
        before = s.answer[i] if s.hit[i] == 1 else 1 - s.answer[i]
        ring(place(before), 0.2, 0.38, 0.02, 1.0, 0.0, LAMP, alpha=0.0 if s.ticks[i] == 0 else 0.5)
        box(place(s.answer[i]), -0.4, 0.3, 0.1, 1.0, 0.0, 0.05, ANSWER, alpha=0.4 + 0.6 * float(s.hit[i]))
