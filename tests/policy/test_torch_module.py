"""A policy and torch's module of it compute the same, both ways, for every kind of network."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
import torch
from torch import nn

import dshq_widget
from dshq_kernels.network.layers import Grid, Pairs, Places, written
from dshq_widget.contract import torch_needed
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from dshq_widget.policy.recurrent import RecurrentPolicy

FRONTS = {
    "grid": ((17, *written(Grid(2, 2, 3, 2, 2)), 8, 5), 17),
    "pairs": ((12, *written(Pairs(2, 2, 3, 2, 8, 8)), 8, 7), 12),
    "places": ((14, *written(Places(2, 3, 3, 4, 5, 2, 2)), 8, 13), 14),
    "dense": ((6, 8, 8, 4), 6),
    "no hidden layer": ((6, 4), 6),
}


def drawn(spec: PolicySpec, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(spec.floats, np.float32) * np.float32(0.5)


def same(found: torch.Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", FRONTS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_module_computes_what_the_policy_computes(kind, activation):
    layers, n_obs = FRONTS[kind]
    policy = Policy(layers, activation, drawn(PolicySpec(layers)))
    obs = np.random.default_rng(1).random((5, n_obs), np.float32)
    logits, values = policy.to_torch()(torch.from_numpy(obs))
    wanted = policy.forward(obs)
    same(logits, wanted[0])
    same(values, wanted[1])
    back = policy.with_torch(policy.to_torch().state_dict())
    assert np.array_equal(back.weights, policy.weights)


def test_a_memory_goes_on_from_its_state():
    layers = (3, 8, -4, 3)
    policy = RecurrentPolicy(layers, "tanh", drawn(PolicySpec(layers)))
    module, state = policy.to_torch(), None
    for k in range(4):
        obs = np.random.default_rng(k).random((5, 3), np.float32)
        logits, values, state = module(torch.from_numpy(obs), state)
        wanted = policy.forward(obs)
        same(logits, wanted[0])
        same(values, wanted[1])
    trained = module.state_dict()
    trained["memory.bias_hh"] += 0.5  # a module that torch trained has both biases
    assert np.allclose(policy.with_torch(trained).weights.sum(), policy.weights.sum() + 0.5 * 16, atol=1e-3)
    with pytest.raises(ValueError, match="no memory"):
        Policy((3, 2), "tanh", drawn(PolicySpec((3, 2)))).to_torch()(torch.zeros(1, 3), state)


def chain(*sizes: int) -> nn.Sequential:
    torch.manual_seed(sum(sizes))
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def test_two_networks_made_elsewhere_become_one():
    actor, critic = chain(6, 8, 8, 3), chain(6, 8, 8, 1)
    policy = Policy.from_torch(actor.state_dict(), critic.state_dict(), metadata={"drill": "mine"})
    obs = torch.rand(5, 6)
    logits, values = policy.forward(obs.numpy())
    same(actor(obs), logits)
    same(critic(obs)[:, 0], values)
    assert policy.spec.layers == (6, 16, 16, 4) and policy.metadata["drill"] == "mine"


def apart(*, bandit: bool = False) -> Policy:
    spec = compiled("bandit").spec
    n_obs, n_actions = (spec.n_obs, spec.n_actions) if bandit else (6, 3)
    actor, critic = chain(n_obs, 8, 8, n_actions), chain(n_obs, 8, 8, 1)
    return Policy.from_torch(actor.state_dict(), critic.state_dict(), metadata={"drill": "bandit"})


def test_training_in_torch_keeps_two_networks_apart(tmp_path):
    policy = apart(bandit=True)
    module = copy.deepcopy(policy.to_torch())
    obs = torch.rand(16, policy.spec.layers[0])
    optimiser = torch.optim.AdamW(module.parameters(), 1e-2)
    for _ in range(3):
        optimiser.zero_grad()
        logits, values = module(obs)
        (values.pow(2).mean() + logits.pow(2).mean()).backward()
        optimiser.step()
    learned = policy.with_torch(module.state_dict())
    assert learned.declared.separate and learned.declared.fits(learned.weights)
    assert not np.allclose(learned.weights, policy.weights)
    for got, wanted in zip(module(obs), learned.forward(obs.numpy()), strict=True):
        same(got, wanted)
    with dshq_widget.Trainer(dshq_widget.save_policy(learned, tmp_path / "mine.dshq")) as trainer:
        assert trainer.config.separate_value_net
        assert np.array_equal(trainer.latest_policy().weights, learned.weights)


def test_weights_between_two_networks_are_refused():
    policy = apart()
    state = policy.to_torch().state_dict()
    with pytest.raises(ValueError, match="wants 0 for the 160 weights .* got 160 other numbers"):
        policy.with_torch({name: tensor + 1 for name, tensor in state.items()})
    with pytest.raises(ValueError, match="set separate_value_net to false"):
        policy.with_weights(policy.weights + 1).to_torch()


def test_a_file_whose_weights_do_not_fit_is_neither_written_nor_continued_from(tmp_path):
    policy = apart(bandit=True)
    wrong = policy.with_weights(policy.weights + 1)
    with pytest.raises(dshq_widget.CheckpointError, match="wants 0 for .* got .* other numbers"):
        dshq_widget.save_policy(wrong, tmp_path / "mine.dshq")
    fine = checkpoint.load(dshq_widget.save_policy(policy, tmp_path / "fine.dshq"))
    odd = dataclasses.replace(fine, weights=wrong.weights)
    short = dataclasses.replace(fine, weights=fine.weights[:-1])
    checkpoint.save(tmp_path / "odd.dshq", odd)
    with pytest.raises(dshq_widget.CheckpointError, match="wants 0 for .* got .* other numbers"):
        dshq_widget.Trainer(tmp_path / "odd.dshq")
    with dshq_widget.Trainer("bandit") as trainer:
        for saved, said in ((odd, "wants 0 for"), (short, "want .* weights in one row, got shape")):
            with pytest.raises(dshq_widget.CheckpointError, match=said):
                trainer.load_checkpoint(saved, "mine")
        with pytest.raises(dshq_widget.CheckpointError, match="wants 0 for"):
            trainer.resume_from(tmp_path / "odd.dshq")


def test_one_network_is_not_continued_from_as_two(tmp_path):
    """The layers are the same."""
    spec = compiled("bandit").spec
    one = Policy.from_torch(chain(spec.n_obs, 16, spec.n_actions + 1).state_dict(), metadata={"drill": "bandit"})
    path = dshq_widget.save_policy(one, tmp_path / "one.dshq")
    with pytest.raises(dshq_widget.CheckpointError, match="wants 0 for"):
        dshq_widget.Trainer(path, separate_value_net=True, hidden_sizes=(8,))
    known = dshq_widget.load_policy(path).metadata
    other = Policy.from_torch(chain(6, 8, 4).state_dict(), metadata=known)
    with pytest.raises(dshq_widget.CheckpointError, match="observations and"):
        dshq_widget.save_policy(other, tmp_path / "other.dshq")


def test_one_chain_is_one_network_unless_it_has_nothing_between_its_halves():
    policy = apart()
    again = Policy.from_torch(policy.to_torch().state_dict(), metadata=policy.metadata)
    assert again.declared.separate and np.array_equal(again.weights, policy.weights)
    for sizes in ((6, 16, 16, 4), (6, 15, 4)):
        made = chain(*sizes)
        joined = Policy.from_torch(made.state_dict(), metadata=policy.metadata)
        logits, values = joined.forward(np.ones((2, 6), np.float32))
        same(made(torch.ones(2, 6)), np.concatenate([logits, values[:, None]], 1))
        assert not joined.declared.separate and joined.to_torch()(torch.zeros(1, 6))
    with pytest.raises(ValueError, match="an empty state dict"):
        Policy.from_torch(chain(6, 8, 3).state_dict(), {})


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_a_state_of_any_floats_is_taken(kind):
    made = chain(6, 8, 4).to(kind)
    policy = Policy.from_torch(made.state_dict())
    assert np.array_equal(policy.weights, Policy.from_torch(made.float().state_dict()).weights)
    state = {name: tensor.to(kind) for name, tensor in policy.to_torch().state_dict().items()}
    assert np.allclose(policy.with_torch(state).weights, policy.weights, atol=0.01)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, "an empty state dict"),
        ({"a.weight": torch.zeros(3, 2)}, "wanted a linear layer"),
        ({"a.weight": torch.zeros(3, 2), "a.bias": torch.zeros(3), "running_mean": torch.zeros(3)}, "alone"),
        ({"a.weight": torch.full((3, 2), torch.nan), "a.bias": torch.zeros(3)}, "finite"),
        ({"a.weight": torch.full((3, 2), 1e300, dtype=torch.float64), "a.bias": torch.zeros(3)}, "finite"),
        ({"a.weight": np.full((3, 2), 1e300), "a.bias": np.zeros(3)}, "finite"),
        ({"a.weight": torch.zeros(3, 2, dtype=torch.int64), "a.bias": torch.zeros(3)}, "floating-point.*, got int64"),
        ({**chain(2, 3).state_dict(), **{f"b.{k}": v for k, v in chain(4, 3).state_dict().items()}}, "reads 4 numbers"),
    ],
)
def test_what_is_no_chain_of_linear_layers_is_refused(state, said):
    with pytest.raises(ValueError, match=said):
        Policy.from_torch(state)


def test_networks_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="the same hidden layers"):
        Policy.from_torch(chain(6, 8, 3).state_dict(), chain(6, 4, 1).state_dict())
    policy = Policy((6, 8, 4), "tanh", drawn(PolicySpec((6, 8, 4))))
    with pytest.raises(ValueError, match=r"hidden\.0\.weight: wanted shape \[8, 6\], got nothing of that name"):
        policy.with_torch(chain(6, 8, 4).state_dict())
    with pytest.raises(ValueError, match=r"wanted shape \[8, 6\], got shape \[8, 5\]"):
        policy.with_torch({**policy.to_torch().state_dict(), "hidden.0.weight": torch.zeros(8, 5)})


def test_without_torch_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(torch_needed, "torch_missing", lambda what: f"{what} needs PyTorch, which is not installed")
    with pytest.raises(torch_needed.MissingTorch, match=r"Policy\.to_torch needs PyTorch"):
        Policy((6, 4), "tanh", drawn(PolicySpec((6, 4)))).to_torch()


def test_a_saved_policy_keeps_its_algorithm_and_its_settings(tmp_path):
    with dshq_widget.Trainer("bandit", algorithm="spo", algorithm_settings={"spo": {"num_particles": 6}}) as trainer:
        policy = dshq_widget.load_policy(trainer.save(tmp_path / "run.dshq"))
        own = trainer.algorithm_settings
    assert policy.metadata["algorithm"] == "spo"
    with dshq_widget.Trainer(dshq_widget.save_policy(policy, tmp_path / "mine.dshq")) as trainer:
        assert trainer.algorithm == "spo" and trainer.algorithm_settings == own


def test_numpys_numbers_in_metadata_are_written(tmp_path):
    known = {"drill": "bandit", "step": np.int64(5), "config": {"gamma": np.float32(0.5), "clip_value": np.True_}}
    policy = apart(bandit=True).with_weights(apart(bandit=True).weights)
    policy.metadata.update(known | {"metrics": {"updates": np.int64(3), "loss": np.float32(np.nan)}})
    again = dshq_widget.load_policy(dshq_widget.save_policy(policy, tmp_path / "mine.dshq")).metadata
    assert (again["step"], again["config"], again["metrics"]) == (5, {"gamma": 0.5, "clip_value": True}, {"updates": 3})
    dshq_widget.save_json(policy, tmp_path / "mine.json")
    policy.metadata["config"] = {"gamma": object()}
    with pytest.raises(TypeError, match="not JSON serializable"):
        dshq_widget.save_policy(policy, tmp_path / "mine.dshq")


def test_a_policy_that_does_not_say_what_it_plays_is_not_saved(tmp_path):
    policy = Policy.from_torch(chain(6, 8, 4).state_dict())
    with pytest.raises(dshq_widget.CheckpointError, match="does not say what it plays"):
        dshq_widget.save_policy(policy, tmp_path / "mine.dshq")
    other = Policy.from_torch(chain(6, 8, 4).state_dict(), metadata={"drill": "bandit"})
    with pytest.raises(dshq_widget.CheckpointError, match="observations and"):
        dshq_widget.save_policy(other, tmp_path / "mine.dshq")
