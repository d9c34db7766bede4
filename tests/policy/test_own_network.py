"""A network of a person's own: what it has to keep to, its flat weights, its file, and what a file may not do."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import torch

from dshq_widget.policy import checkpoint, loading, own_spec
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.own_module import OwnModule
from dshq_widget.policy.own_network import MEAN, SCALE, VALUE_SCALE, Found, NetworkError
from dshq_widget.policy.own_policy import OwnGymPolicy
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.policy.saving import save_policy
from dshq_widget.training import given_network
from tests.harness.games import own_networks
from tests.harness.games.policy_files import environment_file, rebuilt

LAYERS = (4, 3)
HERE = "tests.harness.games.own_networks"


def spec_of(make=own_networks.Small, layers=LAYERS, pictures=()) -> OwnSpec:
    return OwnSpec.reading(layers, pictures, Found.of(make))


def file_of(make=own_networks.Small) -> Checkpoint:
    """A file of an untrained network for CartPole."""
    spec = spec_of(make)
    plain = environment_file("gym:CartPole-v1", LAYERS)
    return dataclasses.replace(plain, weights=spec.untrained(0), network=spec.own)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Mute", "has no parameters that learn"),
        ("Column", r"outputs f32 \(2, 2\) and values f32 \(2,\), got float32 \(2, 2\) and float32 \(2, 1\)"),
        ("Narrow", r"outputs f32 \(2, 2\) and values f32 \(2,\), got float32 \(2, 1\) and float32 \(2,\)"),
        ("Single", r"forward has to return outputs .* got float32 \(2, 2\)"),
        ("Double", "wanted float32 on the processor everywhere, got float64 on cpu in body"),
        ("Detached", "its values do not depend on parameters"),
        ("Infinite", "not finite for observations that are 0"),
        ("Broken", "failed in forward: RuntimeError"),
        ("no_module", "has to give a torch.nn.Module, got <function"),
    ],
)
def test_what_does_not_keep_to_the_protocol_is_a_sentence_with_its_name(name, says):
    with pytest.raises(NetworkError, match=f"{HERE}:{name}.*{says}"):
        spec_of(getattr(own_networks, name))


def test_too_many_parameters_are_refused(monkeypatch):
    monkeypatch.setattr(own_spec, "MOST_FLOATS", 100)
    with pytest.raises(NetworkError, match="wanted 100 parameters at most"):
        spec_of()


@pytest.mark.parametrize("make", [own_networks.Small, own_networks.Buffered, own_networks.lazy])
def test_flat_weights_hold_all_that_the_module_computes_with(make):
    spec = spec_of(make)
    first, other = spec.untrained(3), spec.untrained(4)
    assert np.array_equal(first, spec.untrained(3)) and not np.array_equal(first, other)
    assert first.shape == (spec.floats,) and spec.fits(first) and not spec.fits(first[:-1])
    obs = torch.randn(5, 4)
    made, taken = OwnModule.made(spec, 3), OwnModule.made(spec, 4)
    taken.take(first)
    for found, wanted in zip(taken(obs), made(obs), strict=True):
        assert torch.equal(found, wanted)
    assert torch.equal(taken.outputs(torch.from_numpy(other), obs)[:, :-1], OwnModule.made(spec, 4)(obs)[0])
    assert torch.equal(taken(obs)[0], made(obs)[0]), "other weights were for that call alone"


def test_making_one_leaves_chance_as_it_was():
    torch.manual_seed(7)
    wanted = torch.rand(1)
    torch.manual_seed(7)
    spec_of().untrained(1)
    assert torch.equal(torch.rand(1), wanted)


def test_frozen_parameters_and_buffers_do_not_learn():
    spec = spec_of(own_networks.Buffered)
    mask, names = spec.mask(), {name for name, _ in spec.tensors}
    assert {MEAN, SCALE, VALUE_SCALE, "net.noise", "net.frozen", "net.body.4.running_var"} <= names
    assert "net.shared" not in names and "net.body.4.num_batches_tracked" not in names
    for name in (MEAN, SCALE, VALUE_SCALE, "net.noise", "net.frozen", "net.body.4.running_mean"):
        assert not mask[spec.places[name]].any()
    assert mask[spec.places["net.actions.weight"]].all() and mask[spec.places["net.body.4.weight"]].all()


def test_observations_and_values_are_normalised_around_it():
    spec = spec_of()
    module = OwnModule.made(spec)
    weights = module.flat()
    weights[spec.places[MEAN]], weights[spec.places[SCALE]], weights[spec.places[VALUE_SCALE]] = 2, 0.5, 10
    obs = torch.randn(5, 4)
    outputs, values = module.net((obs - 2) * 0.5)
    found = module.outputs(torch.from_numpy(weights), obs)
    assert torch.allclose(found[:, :-1], outputs) and torch.allclose(found[:, -1], 10 * values)


@pytest.mark.parametrize(("layers", "pictures"), [((64, 3), ((2, 6, 8),)), ((64 + 1, 3), ((2, 6, 8),))])
def test_pictures_come_as_floats(layers, pictures):
    from dshq_widget.policy import convolutions

    n = convolutions.features(pictures[0]) + (layers[0] - 64)
    spec = OwnSpec.reading((n, 3), pictures, Found.of(own_networks.Small))
    seen = np.full((3, *spec.layout.shape), 9, np.uint8 if spec.layout.alone else np.float32)
    outputs, values = OwnModule.made(spec).look(seen)
    assert outputs.shape == (3, 2) and values.shape == (3,)


def test_numbers_that_are_not_finite_are_found_later():
    module = OwnModule.made(spec_of(own_networks.Late))
    with pytest.raises(NetworkError, match="Late gave numbers that are not finite"):
        module.look(np.ones((1, 4), np.float32))


class TestGiven:
    def test_a_cell_and_a_local_class_are_refused(self):
        class Local(own_networks.Small):
            pass

        with pytest.raises(NetworkError, match="wanted a class or a function that a module has under its name"):
            Found.of(Local)
        cell = type("Cell", (own_networks.Small,), {"__module__": "__main__"})
        with pytest.raises(NetworkError, match="%%writefile my_network.py"):
            Found.of(cell)

    @pytest.mark.parametrize(
        "network", [3, "Small", "nowhere:Small", "no_file.py:Small", f"{HERE}:Nothing", ":", "a b:c"]
    )
    def test_what_is_no_network_is_a_sentence(self, network):
        with pytest.raises(NetworkError, match="wanted a class or a function"):
            given_network.found(network)

    def test_names_and_files_lead_to_the_class(self, tmp_path, monkeypatch):
        (tmp_path / "mine_alone.py").write_text(f"from {HERE} import Small\n\n\nclass Mine(Small):\n    pass\n")
        monkeypatch.setattr(sys, "path", [*sys.path])
        found = given_network.found(str(tmp_path / "mine_alone.py") + ":Mine")
        assert (found.name, found.folder) == ("mine_alone:Mine", str(tmp_path.resolve()))
        assert given_network.found(f"{HERE}:Small").make is own_networks.Small
        (tmp_path / "json.py").write_text("class Mine: ...\n")
        with pytest.raises(NetworkError, match="hides this file: give it another name"):
            given_network.found(str(tmp_path / "json.py") + ":Mine")
        (tmp_path / "wrong_one.py").write_text("1 / 0\n")
        with pytest.raises(NetworkError, match="ZeroDivisionError"):
            given_network.found(str(tmp_path / "wrong_one.py") + ":Mine")


class TestFile:
    def test_it_is_read_with_its_network_alone(self, tmp_path):
        saved = file_of()
        path = checkpoint.save(tmp_path / "bot.dshq", saved)
        again = checkpoint.load(path)
        assert again.network == saved.network and np.array_equal(again.weights, saved.weights)
        with pytest.raises(CheckpointError, match=f"a network of your own, {HERE}:Small, .* give it, network="):
            loading.load_policy(path)
        policy = loading.load_policy(path, network=own_networks.Small)
        assert isinstance(policy, OwnGymPolicy)
        obs = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
        outputs, values = policy.to_torch()(torch.from_numpy(obs))
        found = policy.forward(obs)
        assert np.allclose(found[0], outputs.detach()) and np.allclose(found[1], values.detach())
        assert policy.act(obs).shape == (6,) and policy.act(obs[0], greedy=True).shape == ()
        with pytest.raises(NetworkError, match="has other parameters than"):
            loading.load_policy(path, network=own_networks.Buffered)
        with pytest.raises(NetworkError, match="it has a network of layers"):
            loading.load_policy("ball:gold", network=own_networks.Small)

    def test_a_changed_module_is_saved_again(self, tmp_path):
        policy = loading.as_policy(file_of(), Found.of(own_networks.Small))
        state = {name: tensor + 1 for name, tensor in policy.to_torch().state_dict().items()}
        changed = policy.with_torch(state)
        assert np.allclose(changed.weights, policy.weights + 1)
        again = loading.load_policy(save_policy(changed, tmp_path / "bot.dshq"), network=own_networks.Small)
        assert np.array_equal(again.weights, changed.weights)
        with pytest.raises(NetworkError, match="net.value.bias"):
            policy.with_torch({name: tensor for name, tensor in state.items() if name != "net.value.bias"})

    @pytest.mark.parametrize(
        "network",
        [
            {"name": "os:system"},
            {"name": "os:system", "tensors": "0" * 16, "more": 1},
            {"name": "os:system", "tensors": "x"},
            {"name": 3, "tensors": "0" * 16},
            {"name": "os.system", "tensors": "0" * 16},
            {"name": "\x1b[2J:x", "tensors": "0" * 16},
            {"name": "a" * 300 + ":x", "tensors": "0" * 16},
            {"name": "../x:y", "tensors": "0" * 16},
            [],
        ],
        ids=str,
    )
    def test_a_description_that_is_none_is_refused(self, network):
        content = checkpoint.encode(file_of())
        bad = rebuilt(content, lambda header: header["__metadata__"].update(network=json.dumps(network)))
        with pytest.raises(CheckpointError):
            checkpoint.decode(bad)

    def test_it_has_no_layers_in_between(self):
        with pytest.raises(CheckpointError, match="its weights and layers are not those of a network"):
            checkpoint.encode(dataclasses.replace(file_of(), layers=(4, 8, 3)))
