"""Presets: what they set, where they stand between a drill's own settings and a person's, and that they train."""

import shutil

import pytest

from dshq_widget import drills
from dshq_widget.algorithms.ppo.processes import share_out
from dshq_widget.contract import presets, settings
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.training.trainer import Trainer

DRILLS = sorted(drills.drills)
HALF_A_PROCESSOR, LITTLE_MEMORY = 0.5, 1 << 30


@pytest.mark.parametrize("preset", presets.PRESETS)
@pytest.mark.parametrize("drill", DRILLS)
def test_every_preset_is_valid_for_every_drill(preset, drill):
    with Trainer(drill, preset=preset) as t, Trainer(drill) as without:
        values = presets.values(preset, settings.of_drill(t.drill.spec))
        assert set(values) == set(presets.KEYS) <= set(settings.FIELDS)
        changed = {key for key, value in t.config.to_json().items() if value != without.config.to_json()[key]}
        assert changed <= set(presets.KEYS), "where and how much is computed, never what is learned"


def test_keywords_stand_above_a_preset_and_a_preset_above_the_drill():
    with Trainer("cartpole", preset="classroom", num_steps=16, workers=2) as t:
        assert (t.config.num_envs, t.config.rollout_length, t.config.workers, t.config.device) == (256, 16, 2, "cpu")
        assert t.config.gamma == 0.98, "the drill's own"


def test_one_preset_leaves_nothing_of_another_behind():
    base = TrainConfig()
    classroom = base.replace(presets.values("classroom", base))
    assert classroom.pace > 0
    assert classroom.replace(presets.values("laptop", base)) == base
    assert classroom.replace(presets.values("gpu", base)).pace == 0


def test_an_unknown_preset_is_one_sentence():
    with pytest.raises(ConfigError, match="did you mean 'classroom'"):
        Trainer("ball", preset="clasroom")
    with pytest.raises(ConfigError, match="preset must be one of 'laptop', 'classroom', 'gpu', got 7"):
        Trainer("ball", preset=7)


def test_a_classroom_needs_half_a_processor_and_no_process_beside_the_learner():
    shares = share_out(
        TrainConfig.from_values(presets.values("classroom", TrainConfig())), HALF_A_PROCESSOR, LITTLE_MEMORY
    )
    assert (shares.games, shares.threads) == ((), 1)


def test_a_classroom_learns():
    with Trainer("bandit", preset="classroom", hidden_sizes=(16,)) as t:
        t.start()
        assert t.wait(updates=3, progress=False)
        assert (t.device, t.workers) == ("cpu", 0)


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there may be a GPU here")
def test_a_gpu_that_is_not_there_is_one_sentence():
    with Trainer("bandit", preset="gpu") as t:
        t.start()
        with pytest.raises(
            RuntimeError, match="device=cuda is set, but this machine has no NVIDIA GPU.*: use device=auto"
        ):
            t.wait(updates=1, progress=False)
        assert t.status == "error" and "\n" not in t.error
        t.start(**presets.values("classroom", t.config))
        assert t.wait(updates=1, progress=False), "another preset mends it"
