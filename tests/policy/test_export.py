"""Policies in other programs: the ONNX model says what the policy says, for every kind of policy."""

import json
import os

import numpy as np
import pytest
from gymnasium import spaces

from dshq_kernels.network.layers import Grid, Pairs, Places, written
from dshq_widget.contract.game_spec import to_plain
from dshq_widget.env.batch import compiled
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy import network as policies
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.policy.export_onnx import ExportError, save_onnx, to_onnx
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.command import process

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def trained_like(layers, seed=0) -> np.ndarray:
    """Weights as far from their beginning as training brings them."""
    rng = np.random.default_rng(seed)
    weights = policies.PolicySpec(tuple(layers)).untrained(seed)
    return (weights + rng.normal(0, 0.3, weights.shape)).astype(np.float32)


OBSERVATIONS = 1000
GRID, PAIRS = Grid(rows=4, columns=5, planes=2, maps=3, sweeps=3), Pairs(4, 3, 5, 2, 8, 16)
PLACES = Places(rows=4, columns=5, places=3, of_place=3, traits=8, reaches=4, kinds=2)
DRILLS = {
    "dense": (28, 64, 64, 31),
    "no hidden layer": (4, 3),
    "many layers": (9, 32, 24, 40, 6),
    "grid": (GRID.inputs, *written(GRID), 16, 5),
    "grid and more": (GRID.inputs + 3, *written(GRID), 16, 5),
    "pairs": (PAIRS.inputs, *written(PAIRS), 24, 21),
    "places": (PLACES.inputs, *written(PLACES), 24, PLACES.actions + 1),
    "places and more": (PLACES.inputs + 2, *written(PLACES), 24, PLACES.actions + 1),
    "pairs and more": (PAIRS.inputs + 2, *written(PAIRS), 24, 21),
}
BOUNDED = spaces.Box(np.array([-2, 0, -1], np.float32), np.array([2, 10, 5], np.float32))
HALF = spaces.Box(np.array([-2, -np.inf, 0], np.float32), np.array([2, np.inf, np.inf], np.float32))
WIDEST = spaces.Box(-float(np.finfo(np.float32).max), float(np.finfo(np.float32).max), (2,))
ENVIRONMENTS = {
    "discrete": (spaces.Discrete(4, start=-1), "gaussian", ()),
    "multi-discrete": (spaces.MultiDiscrete(np.array([[2, 3], [4, 2]])), "gaussian", ()),
    "multi-binary": (spaces.MultiBinary(5), "gaussian", ()),
    "gaussian": (BOUNDED, "gaussian", ()),
    "gaussian without bounds": (HALF, "gaussian", ()),
    "gaussian of a matrix": (spaces.Box(-1, 3, (2, 3), np.float32), "gaussian", ()),
    "gaussian between the widest bounds": (WIDEST, "gaussian", ()),
    "beta": (BOUNDED, "beta", ()),
    "pixels": (spaces.Discrete(6), "gaussian", (4, 36, 44)),
    "pixels, gaussian": (BOUNDED, "gaussian", (1, 40, 40)),
    "picture and numbers": (spaces.Discrete(6), "gaussian", ((4, 36, 44),)),
    "pictures": (spaces.Discrete(3), "gaussian", ((2, 6, 8), (1, 40, 40))),
}


def environment_policy(kind) -> GymPolicy:
    space, distribution, pixels = ENVIRONMENTS[kind]
    actions = Actions.of(space)
    row = kind in ("picture and numbers", "pictures")
    pictures = pixels if row else (pixels,) if pixels else ()
    n_obs = sum(map(convolutions.features, pictures)) + (0 if kind == "pictures" or "pixels" in kind else 7)
    spec = PolicySpec((n_obs, 32, actions.outputs + 1), "tanh", pictures=pictures)
    rng = np.random.default_rng(3)
    weights = (spec.untrained(0) + rng.normal(0, 0.02 if pixels else 0.3, spec.floats)).astype(np.float32)
    described = {
        "id": "Mine-v0",
        "actions": actions.to_json(),
        "pixels": [] if row else list(pixels),
        "pictures": list(map(list, pictures)) if row else [],
        "wrappers": ["FlattenObservation"],
    }
    known = {"drill": "gym:Mine-v0", "rules_hash": "0123456789abcdef", "version": 7, "step": 50}
    return GymPolicy(spec.layers, "tanh", weights, described, distribution, known)


def answers(policy, obs, **more) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(to_onnx(policy).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"observation": obs, **more}), strict=True))


def seen(rng, policy, front=None) -> np.ndarray:
    layout = policy.spec.layout
    if layout.pictures:
        shades = rng.integers(0, 256, (OBSERVATIONS, *layout.shape), np.uint8)
        return shades if layout.alone else shades.astype(np.float32) / 50  # so that numbers do not drown the rest
    obs = rng.standard_normal((OBSERVATIONS, policy.spec.layers[0]), np.float32)
    if isinstance(front, Grid):
        obs[:, front.planes * front.cells : front.inputs] = np.eye(front.cells)[rng.integers(0, front.cells, len(obs))]
    if isinstance(front, Places):
        places = obs[:, : front.inputs].reshape(-1, front.places, front.of_place)
        places[..., 0] = rng.integers(0, front.cells, places.shape[:2]) / (front.cells - 1)
        places[rng.random(places.shape[:2]) < 0.3] = 0
        obs[:, : front.inputs] = places.reshape(len(obs), -1)
    return obs


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-5)
    assert found.shape == wanted.shape


def clear(logits) -> np.ndarray:
    """Rows whose likeliest option is likeliest by more than rounding."""
    return np.abs(np.diff(np.sort(logits)[:, -2:])[:, 0]) > 1e-3


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("kind", DRILLS)
def test_a_drills_model_says_what_the_policy_says(kind, activation):
    layers = DRILLS[kind]
    policy = Policy(layers, activation, trained_like(layers), {"drill": "mine", "version": 7})
    obs = seen(np.random.default_rng(1), policy, policy.spec.front)
    found = answers(policy, obs)
    logits, value = policy.forward(obs)
    assert list(found) == ["logits", "action", "value"] and found["action"].shape == (OBSERVATIONS,)
    close(found["logits"], logits)
    close(found["value"], value)
    sure = clear(logits)
    assert sure.mean() > 0.9
    assert np.array_equal(found["action"][sure], policy.act(obs, greedy=True)[sure])
    close(answers(policy, obs[:1])["logits"], logits[:1])
    mask = np.random.default_rng(2).random(logits.shape) < 0.5
    mask[:, 0] = True
    found, wanted = answers(policy, obs, action_mask=mask), policy.logits(obs, mask)
    close(found["logits"], wanted)
    sure = clear(np.where(mask, logits, logits.min() - 1))
    assert np.array_equal(found["action"][sure], policy.act(obs, greedy=True, mask=mask)[sure])


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_an_environments_model_says_what_the_policy_says(kind):
    policy = environment_policy(kind)
    obs = seen(np.random.default_rng(1), policy)
    found, (outputs, value) = answers(policy, obs), policy.forward(obs)
    close(found["value"], value)
    greedy = policy.act(obs, greedy=True)
    if "logits" in found:
        assert list(found) == ["logits", "action", "value"]
        close(found["logits"], outputs)
        parts = np.split(outputs, np.cumsum(policy.actions.sizes)[:-1], -1)
        sure = np.logical_and.reduce([clear(part) for part in parts])
        assert sure.mean() > 0.9 and found["action"].shape == greedy.shape
        assert np.array_equal(found["action"][sure], greedy[sure])
        return
    close(found["action"], greedy)
    first, second = np.split(outputs, 2, -1)
    if policy.distribution == "beta":
        close(found["action_alpha"], 1 + np.logaddexp(0, first))
        close(found["action_beta"], 1 + np.logaddexp(0, second))
        return
    close(found["action_mean"], first)
    drawn = np.stack([policy.actions.draw(outputs, "gaussian", np.random.default_rng(k)) for k in range(400)])
    spread = (drawn - first).std(0) / found["action_deviation"]
    assert 0.8 < spread.min() < spread.max() < 1.2 and abs(spread.mean() - 1) < 0.01, "drawn as far as it says"


def test_the_metadata_says_what_comes_out():
    def said(policy):
        return {one.key: one.value for one in to_onnx(policy).metadata_props}

    ball = said(load_policy("ball:bronze"))
    drill = compiled("ball")
    assert ball["drill"] == "ball" and ball["rules_hash"] == drill.rules_hash
    assert json.loads(ball["action_names"]) == to_plain(drill.spec.actions)
    assert json.loads(ball["observation_names"])[0] == drill.spec.observations[0].name
    assert "action_mask" not in ball and json.loads(ball["outputs"]) == ["logits", "action", "value"]
    drill = compiled("snake")
    layers = PolicySpec.for_drill(drill.spec, (8,)).layers
    snake = Policy(layers, "tanh", trained_like(layers), {"drill": "snake", "rules_hash": drill.rules_hash})
    assert "optional" in said(snake)["action_mask"] and "observation_names" in said(snake)
    box = said(environment_policy("gaussian without bounds"))
    assert box["environment"] == "Mine-v0" and box["distribution"] == "gaussian"
    assert json.loads(box["action_low"]) == [-2, "-inf", 0] and "clipped to -1..1" in box["action_scaling"]
    assert said(environment_policy("pixels"))["normalization"].startswith("pixels are divided by 255")
    row = said(environment_policy("picture and numbers"))
    assert json.loads(row["layout"]) == {"pictures": [[4, 36, 44]], "numbers": 7} and "divided" in row["normalization"]
    other = Policy((4, 3), "tanh", trained_like((4, 3)), {"drill": "ball", "rules_hash": "other"})
    assert "action_names" not in said(other), "a drill of the same name with other rules"
    policy = environment_policy("discrete")
    policy.metadata["config"] = {"normalize_observations": True}
    assert "part of the weights" in said(policy)["normalization"]
    assert json.loads(said(policy)["choice_sizes"]) == [4] and said(policy)["action_start"] == "-1"


def test_what_cannot_be_written_leaves_no_file(tmp_path, monkeypatch):
    class Stranger(Policy):
        pass

    broken = trained_like((4, 3))
    broken[0] = np.nan
    unknown, misfit = environment_policy("gaussian"), environment_policy("discrete")
    unknown.distribution, misfit.actions = "cauchy", Actions.of(spaces.Discrete(9))
    for policy, words in [
        (Stranger((4, 3), "tanh", trained_like((4, 3))), "a Stranger cannot be written"),
        (Policy((4, 3), "tanh", broken), "not finite"),
        (unknown, "expected one of gaussian, beta"),
        (misfit, "4 outputs but its actions need 9"),
    ]:
        with pytest.raises(ExportError, match=words):
            save_onnx(policy, tmp_path / "bot.onnx")
    assert os.listdir(tmp_path) == []
    policy = Policy((4, 3), "tanh", trained_like((4, 3)))
    with pytest.raises(ExportError, match="reads 4 observations and has 2 actions, but 'ball' has 28 and 30"):
        save_onnx(policy, tmp_path / "bot.onnx", compiled("ball"))
    assert os.listdir(tmp_path) == []
    (tmp_path / "bot.onnx").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            save_onnx(policy, tmp_path / "bot.onnx")
    assert os.listdir(tmp_path) == ["bot.onnx"] and (tmp_path / "bot.onnx").read_bytes() == b"old"
    save_onnx(policy, tmp_path / "bot.onnx")
    assert os.listdir(tmp_path) == ["bot.onnx"]


def test_the_command(tmp_path):
    layers = (4, 16, 3)
    saved = Checkpoint("cartpole", "0123456789abcdef", layers, "tanh", trained_like(layers), version=3, step=50)
    path = checkpoint.save(tmp_path / "bot.dshq", saved)
    said = process("export", path, "--onnx", tmp_path / "bot.onnx", "--json").stdout
    assert json.loads(said)["onnx"] == str(tmp_path / "bot.onnx")
    obs = np.ones((2, 4), np.float32)
    logits, _, _ = runtime.InferenceSession(tmp_path / "bot.onnx").run(None, {"observation": obs})
    assert np.allclose(logits, load_policy(path).forward(obs)[0], atol=1e-5)
    for arguments, words in [
        ((path, "--onnx", tmp_path / "no" / "bot.onnx"), "cannot write"),
        ((tmp_path / "none.dshq", "--onnx", "x.onnx"), "none.dshq"),
        ((path,), "--onnx"),
    ]:
        wrong = process("export", *arguments, expect=2).stderr
        assert words in wrong and len(wrong.splitlines()) == 1
