"""Policies in other programs: the ONNX model says what the policy says."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dshq_widget.policy import checkpoint
from dshq_widget.policy import network as policies
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.policy.network import Policy

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def trained_like(layers, seed=0) -> np.ndarray:
    """Weights as far from their beginning as training brings them."""
    rng = np.random.default_rng(seed)
    weights = policies.initial_weights(layers, seed)
    return (weights + rng.normal(0, 0.3, weights.shape)).astype(np.float32)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("layers", [(28, 64, 64, 31), (4, 3), (9, 32, 24, 40, 6)])
def test_the_model_says_what_the_policy_says(layers, activation):
    from dshq_widget.policy.export_onnx import to_onnx

    policy = Policy(layers, activation, trained_like(layers), {"drill": "ball", "version": 7})
    session = runtime.InferenceSession(to_onnx(policy).SerializeToString(), providers=["CPUExecutionProvider"])
    for batch in (1, 257):
        obs = np.random.default_rng(batch).standard_normal((batch, layers[0]), np.float32)
        logits, value = session.run(["logits", "value"], {"observations": obs})
        wanted_logits, wanted_value = policy.forward(obs)
        assert logits.shape == wanted_logits.shape and value.shape == wanted_value.shape == (batch,)
        assert np.allclose(logits, wanted_logits, rtol=1e-5, atol=1e-5)
        assert np.allclose(value, wanted_value, rtol=1e-5, atol=1e-5)
    clear = np.abs(np.diff(np.sort(wanted_logits)[:, -2:])[:, 0]) > 1e-4
    assert np.array_equal(logits.argmax(-1)[clear], policy.act(obs, greedy=True)[clear])
    assert session.get_modelmeta().custom_metadata_map == {"drill": "ball", "version": "7"}


def run(*arguments):
    command = [sys.executable, "-m", "dshq_widget.cli", "export", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_command(tmp_path):
    layers = (4, 16, 3)
    saved = Checkpoint("cartpole", "0123456789abcdef", layers, "tanh", trained_like(layers), version=3, step=50)
    path = checkpoint.save(tmp_path / "bot.dshq", saved)
    said = run(path, "--onnx", tmp_path / "bot.onnx", "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["onnx"] == str(tmp_path / "bot.onnx")
    obs = np.ones((2, 4), np.float32)
    logits, _ = runtime.InferenceSession(tmp_path / "bot.onnx").run(None, {"observations": obs})
    assert np.allclose(logits, checkpoint.load_policy(path).forward(obs)[0], atol=1e-5)
    for arguments, words in [
        ((path, "--onnx", tmp_path / "no" / "bot.onnx"), "cannot write"),
        ((tmp_path / "none.dshq", "--onnx", "x.onnx"), "none.dshq"),
        ((path,), "--onnx"),
    ]:
        wrong = run(*arguments)
        assert wrong.returncode == 2 and words in wrong.stderr and len(wrong.stderr.splitlines()) == 1
