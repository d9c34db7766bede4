"""What a file's settings may take of a machine."""

import dataclasses

import pytest

from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.learning.fitting import affordable, sample_bytes
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.machine import Machine
from dshq_widget.training.trainer import Trainer

SPEC = compiled("ball").spec
SMALL = Machine(0.5, 1e9)


def test_what_a_machine_holds_stays_as_it_is():
    config = TrainConfig(workers=2, num_envs=1024, rollout_length=64)
    assert affordable(config, SPEC, (), Machine(2, 16e9), copies=False) == (config, "")


@pytest.mark.parametrize(
    "asked",
    [{"workers": 256}, {"rollout_length": 4096}, {"num_envs": 65536, "rollout_length": 4096}],
)
def test_what_would_fill_it_is_lowered_and_said(asked):
    config, said = affordable(TrainConfig(**asked), SPEC, (), SMALL, copies=False)
    assert config.workers <= 8 and sample_bytes(SPEC, config.num_envs, config.rollout_length) <= SMALL.memory / 2
    lowered = {key: value for key, value in asked.items() if getattr(config, key) != value}
    assert lowered and all(f"{key}={value}" in said for key, value in lowered.items()) and "instead" in said


def test_what_the_user_chose_stays():
    config = TrainConfig(workers=256)
    assert affordable(config, SPEC, {"workers"}, SMALL, copies=False) == (config, "")


def test_copies_of_an_environment_cost_more():
    config, said = affordable(TrainConfig(num_envs=65536), SPEC, (), SMALL, copies=True)
    assert config.num_envs <= 32 and "num_envs=65536" in said


def test_a_file_starts_no_more_processes_than_memory_is_planned_for(tmp_path, monkeypatch):
    with Trainer("ball", num_envs=64) as trainer:
        saved = checkpoint.load(trainer.save(tmp_path / "bot.dshq"))
    config = {**saved.config, "workers": 256, "num_envs": 4096}
    path = checkpoint.save(tmp_path / "bot.dshq", dataclasses.replace(saved, config=config))
    with Trainer(path) as trainer:
        assert trainer.config.workers <= 8 and trainer.config.num_envs == 4096
        assert "the file asks for workers=256" in trainer.status_text
    with Trainer(path, workers=9) as trainer:
        assert trainer.config.workers == 9
