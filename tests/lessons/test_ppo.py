"""The lessons' PPO: one run in this process, the same again from the same seed."""

import numpy as np
import pytest

from dshq_widget import ConfigError
from dshq_widget.lessons.parts import evaluate_alone
from dshq_widget.lessons.ppo import PPO

SMALL = {"num_envs": 32, "rollout_length": 16, "minibatch_size": 256}


def test_a_run_makes_its_steps_learns_and_can_be_repeated():
    runs = [PPO("bandit", seed=3, **SMALL) for _ in range(2)]
    untrained = runs[0].weights.copy()
    rows = [run.train(2000) for run in runs]
    assert rows[0][-1, 0] == runs[0].agent_steps >= 2000 and (np.diff(rows[0][:, 0]) == 32 * 16).all()
    assert np.array_equal(runs[0].weights, runs[1].weights) and not np.array_equal(runs[0].weights, untrained)
    played = evaluate_alone(runs[0].drill, runs[0].player, 20)
    assert played["return_mean"] == evaluate_alone(runs[1].drill, runs[1].player, 20)["return_mean"]


def test_settings_change_between_rollouts_and_wrong_ones_are_refused():
    run = PPO("bandit", **SMALL)
    batch = run.rollout()
    slopes = run.gradient(batch)
    assert slopes.shape == (run.spec.floats,) and np.abs(slopes).max() > 0
    run.set_hyper(value_coef=0.0)
    assert not np.allclose(run.gradient(batch), slopes)
    with pytest.raises(ConfigError, match="gamma"):
        run.set_hyper(gamma=2.0)
    assert run.train(1000, seconds=0).size == 0 and run.agent_steps == 0
