"""Settings: defaults, aliases, precedence, and errors that say how to mend them."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.contract import settings
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig

ROOT = Path(__file__).parents[2]


def test_every_setting_is_described():
    docs = settings.field_docs()
    assert set(docs) == set(settings.FIELDS)
    for key, entry in settings.schema().items():
        assert entry["label"] and entry["help"].endswith("."), key
        assert entry["effect"] in ("now", "next update", "restart"), key
        assert (entry["min"] is None) == (entry["kind"] in ("bool", "choice", "shares")), key


def test_json_and_back():
    changed = TrainConfig.from_values(
        {"hidden_sizes": "128,128,64", "opponents": "self=1", "reward_weights": {"goal": 2}}
    )
    assert changed.hidden_sizes == (128, 128, 64) and changed.to_json()["hidden_sizes"] == [128, 128, 64]
    assert TrainConfig.from_values(changed.to_json()) == changed
    assert TrainConfig.from_values({}) == TrainConfig()


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ({"T": 16}, "rollout_length", 16),
        ({"lr": "3e-4"}, "learning_rate", 3e-4),
        ({"lambda": 0.9}, "gae_lambda", 0.9),
        ({"batch_size": 1024.0}, "minibatch_size", 1024),
        ({"num_minibatches": 8}, "minibatch_size", 4096),
        ({"num_minibatches": 8, "num_envs": 2048}, "minibatch_size", 8192),
        ({"learning-rate": 0.01}, "learning_rate", 0.01),
        ({"clip_value": "true"}, "clip_value", True),
        ({"clip_value": 0}, "clip_value", False),
        ({"num_envs": np.int64(64)}, "num_envs", 64),
        ({"learning_rate": np.float32(0.5)}, "learning_rate", 0.5),
        ({"clip_value": np.True_}, "clip_value", True),
        ({"clip_value": np.int64(0)}, "clip_value", False),
        ({"hidden_sizes": np.array([32, 16])}, "hidden_sizes", (32, 16)),
        ({"hidden_dim": np.int64(32)}, "hidden_sizes", (32, 32)),
        ({"opponents": {"self": np.float32(1)}}, "opponents", {"self": 1.0}),
        ({"minibatch-order": "Sequential"}, "minibatch_order", "sequential"),
        ({"separate_value_net": "on"}, "separate_value_net", True),
        ({"hidden_sizes": 32}, "hidden_sizes", (32,)),
        ({"hidden_dim": "32"}, "hidden_sizes", (32, 32)),
        ({"decay_learning_rates": False}, "lr_schedule", "constant"),
        ({"decay-learning-rates": "yes"}, "lr_schedule", "linear"),
        ({"standardize_advantages": False}, "normalize_advantages", False),
        ({"device_type": "cpu"}, "device", "cpu"),
        ({"hidden_sizes": [64, 32]}, "hidden_sizes", (64, 32)),
        ({"opponents": "self=.5, chaser=.5"}, "opponents", {"self": 0.5, "chaser": 0.5}),
        ({"opponents": {"self": 1, "random": 0}}, "opponents", {"self": 1.0}),
    ],
)
def test_accepted_on_input(given, key, value):
    got = getattr(TrainConfig.from_values(given), key)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"learnin_rate": 1}, "unknown setting 'learnin_rate'; did you mean 'learning_rate'?"),
        ({"lr": -1}, "learning_rate must be a number from 0 to 1, got -1"),
        ({"lr": "fast"}, "got 'fast'"),
        ({"gamma": float("nan")}, "gamma must be a number from 0 to 1, got nan"),
        ({"gamma": True}, "got True"),
        ({"epochs": 2.5}, "epochs must be a whole number from 1 to 100 passes, got 2.5"),
        ({"num_envs": 1000}, "num_envs must be a multiple of 16, got 1000; use 992 or 1008"),
        ({"num_envs": 1 << 40}, "from 16 to 65,536 games"),
        ({"device": "gpu"}, "device must be one of auto, cpu, cuda, got 'gpu'; did you mean 'cpu'?"),
        ({"clip_value": "maybe"}, "clip_value must be true or false"),
        ({"hidden_sizes": []}, "one to four layer widths"),
        ({"hidden_sizes": "64,0"}, "hidden_sizes must be a whole number from 1 to 1,024"),
        ({"opponents": "self=.5"}, "shares that add to 1"),
        ({"opponents": "self"}, "written like self=.75"),
        ({"opponents": {"<img onerror>": 1}}, "names with numbers"),
        ({"reward_weights": {"goal": "much"}}, "reward_weights[goal] must be a number"),
        ({"T": 16, "num_steps": 32}, "rollout_length is given twice"),
        ({"minibatch": 16, "num_minibatches": 2}, "not both"),
        ({"epochs": 2, "ppo_epochs": 2}, "epochs is given twice, the second time as 'ppo_epochs'"),
        ({"critic-lr": 1e-3}, "'critic-lr': `learning_rate` is that of policy and value"),
        ({"seed": "x" * 10_000}, "..."),
    ],
)
def test_errors_say_how_to_mend_them(given, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)) as caught:
        TrainConfig.from_values(given)
    assert len(str(caught.value)) < 1000 and "\n" not in str(caught.value)


def test_constructing_directly_checks_too():
    with pytest.raises(ConfigError, match="gamma"):
        TrainConfig(gamma=2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().gamma = 0.5


def test_default_opponents_adapt_to_the_drill_and_chosen_ones_must_fit():
    adapted = settings.for_drill(TrainConfig(), set(), [], ["goal"], sides=2).opponents
    assert adapted == pytest.approx({"self": 0.75 / 0.875, "random": 0.125 / 0.875})
    assert settings.for_drill(TrainConfig(), set(), ["chaser"], [], sides=2) == TrainConfig()
    assert settings.for_drill(TrainConfig(), set(), [], [], sides=1).opponents == {"self": 1.0}
    alone = settings.without_opponents(TrainConfig(opponents={"pool": 1.0}), [settings.POOL])
    assert alone.opponents == {"self": 1.0}
    with pytest.raises(ConfigError, match="did you mean 'chaser'"):
        settings.for_drill(TrainConfig(opponents={"chasr": 1.0}), {"opponents"}, ["chaser"], [], sides=2)
    with pytest.raises(ConfigError, match="so there is no opponent"):
        settings.for_drill(TrainConfig(), {"opponents"}, [], [], sides=1)
    with pytest.raises(ConfigError, match="did you mean 'goal'"):
        settings.for_drill(TrainConfig(reward_weights={"goals": 1}), set(), ["chaser"], ["goal"], sides=2)
