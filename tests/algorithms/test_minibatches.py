"""Segments as units of minibatches (`benchmarks/minibatches.py`): which units they have, and how they are drawn."""

import dataclasses

import numpy as np
import pytest

from benchmarks.minibatches import SegmentPPO, summary
from dshq_widget.algorithms.ppo.learners.learner import Hyper, sequences
from dshq_widget.policy.network import PolicySpec

GROUPS, LENGTH = 3, 4


@dataclasses.dataclass
class Advantages:
    """The one array of samples that decides what is drawn."""

    advantage: np.ndarray


@pytest.fixture
def learner():
    made = SegmentPPO(PolicySpec((3, 8, 3), "tanh"))
    made.length = LENGTH
    return made


def test_a_segment_is_one_half_of_a_group_in_the_order_of_play():
    units = np.arange(GROUPS * LENGTH * 2)
    rows = sequences(units, LENGTH)
    shaped = units.reshape(GROUPS, LENGTH, 2).transpose(0, 2, 1).reshape(-1, LENGTH)
    assert np.array_equal(rows, shaped)
    one_sided = units.reshape(GROUPS, LENGTH, 2)[:, :, 0].ravel()
    assert np.array_equal(sequences(one_sided, LENGTH), shaped[::2])


def test_whole_segments_are_drawn_each_once_an_epoch(learner):
    units = np.arange(GROUPS * LENGTH * 2)
    samples = Advantages(np.ones((len(units), 16), np.float32))
    hyper = Hyper(epochs=2, minibatch_size=2 * LENGTH * 16)
    order, importance, bounds = learner._drawn(samples, units, hyper)
    assert bounds.tolist() == [0, 8, 16, 24, 32, 40, 48] and (importance == 1).all()
    for epoch in order.reshape(2, -1, LENGTH):
        assert sorted(map(tuple, epoch)) == sorted(map(tuple, sequences(units, LENGTH)))


def test_priorities_are_of_segments(learner):
    units = np.arange(GROUPS * LENGTH * 2)
    advantage = np.zeros((len(units), 16), np.float32)
    loud = sequences(units, LENGTH)[3]
    advantage[loud[1]] = 5.0
    hyper = Hyper(epochs=50, minibatch_size=LENGTH * 16, priority_alpha=1.0, priority_beta=1.0)
    order, importance, _ = learner._drawn(Advantages(advantage), units, hyper)
    assert (order.reshape(-1, LENGTH) == loud).all(), "all of the advantage lies in it"
    assert (importance.reshape(-1, LENGTH) == importance[0]).all()


def test_the_summary_compares_with_the_first_variant(capsys):
    rows = [
        {"drill": "ball", "variant": variant, "seed": 0, "skilled": True, "seconds": seconds, "agent_steps": 10}
        for variant, seconds in (("random", 2.0), ("sequential", 3.0))
    ]
    found = summary(rows, ["ball"], ["random", "sequential"])
    assert [row["ratio_of_medians"]["seconds"] for row in found] == [1.0, 1.5]
    assert "x1.50" in capsys.readouterr().out
