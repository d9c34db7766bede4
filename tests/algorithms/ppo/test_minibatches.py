"""Which samples a minibatch has: every one once an epoch, by priority, whole sequences in the order of play."""

import dataclasses

import numpy as np
import pytest

from dshq_kernels.run.draws import Draws
from dshq_widget.algorithms.ppo.learners import learner as package
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig

ADVANTAGE = np.random.default_rng(8).standard_normal((105, 16)).astype(np.float32) * np.linspace(0.1, 3, 105)[:, None]


def test_minibatches_cover_each_epoch_once():
    units = np.arange(5, 105)
    hyper = Hyper(minibatch_size=16 * 30, epochs=3)
    order, importance, bounds = package.plan_minibatches(Draws(0), units, ADVANTAGE, hyper)
    assert (importance == 1).all()
    assert len(bounds) == 3 * 3 + 1 and bounds[0] == 0 and bounds[-1] == 300
    for epoch in range(3):
        assert np.array_equal(np.sort(order[epoch * 100 : (epoch + 1) * 100]), units)
    assert not np.array_equal(order[:100], order[100:200])
    assert set(np.diff(bounds)) <= {33, 34}
    in_order = dataclasses.replace(hyper, minibatch_order="sequential")
    order, _, same = package.plan_minibatches(Draws(0), units, ADVANTAGE, in_order)
    assert np.array_equal(order, np.tile(units, 3)) and np.array_equal(same, bounds)


def test_priority_zero_is_uniform():
    chance, factor = package.priorities(ADVANTAGE, 0.0, 0.4)
    assert np.allclose(chance, 1 / 105) and np.allclose(factor, 1)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_units_are_drawn_as_their_priorities_say(alpha):
    """Pearson's chi-squared over many epochs, and the importance weights undo the bias of a mean."""
    units = np.arange(5, 105)
    hyper = Hyper(epochs=100, priority_alpha=alpha, priority_beta=1.0, minibatch_size=160)
    order, importance, _ = package.plan_minibatches(Draws(1), units, ADVANTAGE, hyper)
    size = np.array([sum(abs(float(a)) for a in ADVANTAGE[u]) ** alpha for u in units])  # the spec's formula, slowly
    expected = (size + 1e-6) / (size + 1e-6).sum()
    assert np.allclose(importance, 1 / (100 * expected[order - 5]), rtol=1e-5)
    drawn = np.bincount(order - 5, minlength=100)
    chi_squared = ((drawn - 10_000 * expected) ** 2 / (10_000 * expected)).sum()
    assert chi_squared < 148.2  # 99.9 % of chi-squared with 99 degrees of freedom
    value = np.linspace(-1, 1, 100)
    assert abs((importance * value[order - 5]).mean() - value.mean()) < 0.05 < abs(value[order - 5].mean())


def test_priorities_bear_numbers_that_are_none():
    advantage = ADVANTAGE.copy()
    advantage[3, 5], advantage[4, 0] = np.nan, np.inf
    chance, factor = package.priorities(advantage, 0.7, 0.5)
    assert np.isfinite(chance).all() and np.isfinite(factor).all() and chance[3] == chance[4] == chance.min()


def test_sequences_are_halves_of_a_group_in_the_order_of_play_and_have_priorities_of_their_own():
    units, length = np.arange(3 * 4 * 2), 4
    shaped = units.reshape(3, length, 2).transpose(0, 2, 1).reshape(-1, length)
    assert np.array_equal(package.sequences(units, length), shaped)
    assert np.array_equal(package.sequences(units[::2], length), shaped[::2]), "one side learns"
    advantage = np.zeros((len(units), 16), np.float32)
    advantage[shaped[3, 1]] = 5.0
    hyper = Hyper(epochs=50, minibatch_size=length * 16, priority_alpha=1.0, priority_beta=1.0)
    order, importance, _ = package.plan_minibatches(Draws(0), units, advantage, hyper, length)
    assert (order.reshape(-1, length) == shaped[3]).all(), "all of the advantage lies in it"
    assert (importance == importance[0]).all()


def test_the_correction_of_priorities_rises():
    config = TrainConfig(total_agent_steps=1000, priority_alpha=0.8, priority_beta=0.2)
    betas = [Hyper.at(config, step).priority_beta for step in (0, 500, 1000, 5000)]
    assert betas == pytest.approx([0.2, 0.2 + 0.8 * 0.8 / 2, 0.2 + 0.8 * 0.8, 0.2 + 0.8 * 0.8])
