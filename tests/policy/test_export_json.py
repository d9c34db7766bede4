"""A small policy as JSON: the reader of docs/howto/export.md computes what the policy computes."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from dshq_kernels.network.layers import Grid, Pairs, written
from dshq_widget.cli.main import main
from dshq_widget.contract.game_spec import to_plain
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint, loading
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.export_json import save_json, to_json
from dshq_widget.policy.export_onnx import ExportError
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "export.md"
GRID, PAIRS = Grid(rows=4, columns=5, planes=2, maps=3, sweeps=3), Pairs(4, 3, 5, 2, 8, 16)


@pytest.fixture(scope="module")
def reader() -> dict:
    [code] = re.findall(r"This is a complete reader.*?```python\n(.*?)```", PAGE.read_text(), re.S)
    names: dict = {}
    exec(code, names)
    return names


@pytest.mark.parametrize(("activation", "hidden"), [("tanh", (24, 16)), ("relu", (32,)), ("tanh", ())])
def test_the_reader_of_the_page_computes_what_the_policy_computes(reader, tmp_path, activation, hidden):
    drill = compiled("ball")
    spec = PolicySpec.for_drill(drill.spec, hidden, activation)
    rng = np.random.default_rng(2)
    weights = (spec.untrained(0) + rng.normal(0, 0.3, spec.floats)).astype(np.float32)
    policy = Policy(spec.layers, activation, weights, {"drill": "ball", "rules_hash": drill.rules_hash, "version": 3})
    read = reader["load"](save_json(policy, tmp_path / "bot.json"))
    obs = rng.standard_normal((50, spec.layers[0]), np.float32)
    found = np.array([reader["logits"](read, row.tolist()) for row in obs])
    np.testing.assert_allclose(found, policy.forward(obs)[0], rtol=1e-4, atol=2e-5)
    sizes = [len(choice.options) for choice in drill.spec.actions]
    for row, taken in zip(obs, policy.act(obs, greedy=True), strict=True):
        wanted = [c.options[k] for c, k in zip(drill.spec.actions, np.unravel_index(taken, sizes), strict=True)]
        assert list(reader["act"](read, row.tolist()).values()) == wanted
    allowed = [k == 7 for k in range(spec.n_actions)]
    found = reader["act"](read, obs[0].tolist(), allowed)
    options = [choice["options"][k] for choice, k in zip(read["actions"], np.unravel_index(7, sizes), strict=True)]
    assert list(found.values()) == options
    back = [np.float32(part) for layer in read["layers"] for part in (layer["weights"], layer["bias"])]
    assert np.array_equal(np.concatenate([part.ravel() for part in back]), weights), "every bit is kept"


def test_it_names_what_goes_in_and_comes_out():
    drill, said = compiled("ball"), to_json(load_policy("ball:bronze"))
    named = to_plain(drill.spec.observations)
    assert said["observations"] == [{key: row[key] for key in ("name", "scale", "unit")} for row in named]
    assert {"name", "scale", "unit"} == {*said["observations"][0]}
    assert said["actions"] == to_plain(drill.spec.actions) and said["masked"] is False
    assert (said["drill"], said["rules_hash"], said["activation"]) == ("ball", drill.rules_hash, "tanh")
    unknown = Policy((4, 3), "tanh", PolicySpec((4, 3)).untrained(0), {"drill": "mine"})
    assert "actions" not in to_json(unknown) and "observations" not in to_json(unknown)


def test_what_does_not_fit_is_refused_and_leaves_no_file(tmp_path):
    def policy(*layers):
        return Policy(layers, "tanh", PolicySpec(layers).untrained(0))

    spec = PolicySpec((7, 8, 5))
    described = {"id": "Mine-v0", "actions": Actions.of(spaces.Discrete(4)).to_json(), "pixels": [], "wrappers": []}
    gym = GymPolicy(spec.layers, "tanh", spec.untrained(0), described, "gaussian", {})
    broken = policy(4, 3)
    broken.weights[0] = np.nan
    for wrong, words in [
        (policy(GRID.inputs, *written(GRID), 16, 5), "a layer Grid in front.*--onnx"),
        (policy(PAIRS.inputs, *written(PAIRS), 24, 21), "a layer Pairs in front"),
        (policy(300, 600, 600, 4), "weights, and JSON is for at most 200,000"),
        (gym, "Gymnasium environment cannot be written as JSON"),
        (broken, "not finite"),
    ]:
        with pytest.raises(ExportError, match=words):
            save_json(wrong, tmp_path / "bot.json")
    with pytest.raises(ExportError, match="name the drill that it was trained on"):
        save_json(policy(4, 3), tmp_path / "bot.json", compiled("ball"))
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path, capsys):
    file = tmp_path / "bot.json"
    assert main(["export", "ball:bronze", "--to-json", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to_json"] == str(file)
    assert json.loads(file.read_text()) == to_json(load_policy("ball:bronze"))
    assert main(["export", "ball:bronze"]) == 2
    assert "--to-json" in capsys.readouterr().err


def test_a_world_model_is_refused():
    saved = dataclasses.replace(checkpoint.load("ball:bronze"), algorithm="dreamer", stands_in=True)
    with pytest.raises(CheckpointError, match="more than the network in its file"):
        to_json(loading.as_policy(saved))
