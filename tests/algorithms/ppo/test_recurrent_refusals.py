"""What a network with a memory cannot be: settings, algorithms, shapes and files that refuse it."""

import numpy as np
import pytest

from dshq_kernels.network.mlp import ACTIVATIONS
from dshq_kernels.play.players import IDLE, POLICY
from dshq_kernels.play.rollout import Player, play_matches
from dshq_widget import ConfigError, ExportError, Trainer, evaluate, load_policy, save_json, save_onnx
from dshq_widget.algorithms.algorithm import Refused
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.widget import page_protocol

pytestmark = pytest.mark.usefixtures("learners_in_threads")

LAMP = compiled("lamp")


@pytest.mark.parametrize(
    "drill, more, why",
    [
        ("maze", {}, "other layers than dense ones"),
        ("bandit", {"separate_value_net": True}, "separate_value_net must be false"),
    ],
)
def test_settings_that_have_no_memory_beside_them(drill, more, why):
    with pytest.raises(ConfigError, match=f"memory must be 0 here, got 8: .*{why}"):
        Trainer(drill, memory=8, **more)


def test_algorithms_without_one():
    with pytest.raises(Refused, match="spo has no networks with memory: leave out --memory"):
        Trainer("bandit", algorithm="spo", memory=8)
    with Trainer("lamp", algorithm="spo") as trainer:
        assert trainer.config.memory == 0, "the drill's own setting is for algorithms that have one"


def test_networks_that_cannot_have_one():
    with pytest.raises(ValueError, match="share one memory"):
        PolicySpec((2, 6, -4, 4), separate=True)
    with pytest.raises(ValueError, match="set memory to 0"):
        PolicySpec.for_drill(compiled("maze").spec, (32,), memory=8)


def test_the_page_keeps_what_is_remembered():
    kept = {"state": b"12", "tick": 3, "memory": memoryview(b"3456")}
    assert page_protocol.snapshot(kept, {}) == {"state": b"12", "tick": 3, "memory": b"3456"}
    assert "memory" not in page_protocol.snapshot({"state": b"12"}, {})
    for wrong in ("text", b"0" * 9000, None):
        with pytest.raises(ValueError, match="a memory of at most 8192 bytes, or none"):
            page_protocol.snapshot({"state": b"12", "memory": wrong}, {})


def test_files_and_what_they_cannot_become(tmp_path):
    config = of_drill(LAMP.spec)
    spec = PolicySpec.for_config(LAMP.spec, config)
    weights = np.random.default_rng(0).normal(0, 0.6, spec.floats).astype(np.float32)
    saved = checkpoint.Checkpoint(
        "lamp", LAMP.rules_hash, spec.layers, "tanh", weights, config=config.to_json(), version=1
    )
    path = checkpoint.save(tmp_path / "lamp.dshq", saved)
    assert checkpoint.load(path).memory == 32
    policy = load_policy(path)
    for save in (save_onnx, save_json):
        with pytest.raises(ExportError, match="a network with a memory cannot be written as"):
            save(policy, tmp_path / "file")
    with pytest.raises(ValueError, match="a network with a memory cannot search"):
        evaluate(path, matches=4, search="4,2")
    player = Player(POLICY, spec.layers, ACTIVATIONS[spec.activation], weights)
    played = play_matches(LAMP.game(), LAMP.spec, player, Player(IDLE), 40, seed=0)
    assert evaluate(path, matches=40)["return_mean"] == pytest.approx(float(played.returns.mean()))
    assert 0 < played.returns.mean() < 1, "it can be told from one that forgets"
    with Trainer("lamp", resume=path, memory=32) as trainer:
        assert trainer.config.memory == 32 and trainer.latest_policy().layers == (2, 32, -32, 4)
