"""A network of a person's own on environments: trained, saved, resumed, evaluated, shown, and refused."""

import dataclasses
import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.algorithms.algorithm import Refused
from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.own.learner import OwnNormalizer, OwnPPO
from dshq_widget.cli import main
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.making import described
from dshq_widget.gyms.show import Show
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.own_network import MEAN, SCALE, VALUE_SCALE, Found, NetworkError
from dshq_widget.policy.own_policy import OwnGymPolicy
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.drill_widget import DrillWidget
from tests.harness.command import answer, dshq
from tests.harness.games import own_networks
from tests.harness.games.gym_play import WORLDS
from tests.harness.games.own_networks import Small

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "own_network.py"
CART = "gym:CartPole-v1"
QUICK = {"num_envs": 16, "rollout_length": 16, "epochs": 2, "minibatch_size": 64}

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def learner_on(name: str, make=Small, **given):
    """Games, a learner of a person's network, and the settings."""
    environment = described(name)
    config = TrainConfig.from_values({**environment.spec.training, **QUICK, **given})
    spec = OwnSpec.of(environment.spec, Found.of(make))
    normalizer = OwnNormalizer(spec, config.normalize_observations, config.normalize_rewards)
    learner = OwnPPO(spec, environment.actions, config.action_distribution, seed=0, normalizer=normalizer)
    return GymGames(environment, config), learner, config


@pytest.mark.parametrize("name", [CART, "gym:Pendulum-v1", WORLDS + "Several-v0", WORLDS + "Marks-v0"])
def test_it_learns_from_every_kind_of_observation_and_action(name):
    games, learner, config = learner_on(name)
    for _ in range(3):
        played = games.next(learner, config, 0)
        before = learner.blob()
        found = learner.update(played.samples, played.units, Hyper.at(config, 0))
    games.close()
    assert np.isfinite(learner.blob()).all() and not np.array_equal(before, learner.blob())
    assert {"loss_policy", "loss_value", "entropy", "approx_kl", "grad_norm"} <= set(found)


def test_the_moments_travel_with_the_weights():
    games, learner, config = learner_on(CART)
    for _ in range(3):
        played = games.next(learner, config, 0)
        learner.update(played.samples, played.units, Hyper.at(config, 0))
    games.close()
    blob, places = learner.blob(), learner.spec.places
    assert (blob[places[SCALE]] != 1).all() and (blob[places[MEAN]] != 0).any() and blob[places[VALUE_SCALE]] != 1
    _, other, _ = learner_on(CART)
    other.load(blob)
    assert np.allclose(other.normalizer.observations.mean, blob[places[MEAN]])
    assert np.allclose(1 / other.normalizer.observations.deviation, blob[places[SCALE]])
    assert np.allclose(other.normalizer.fold(other.normalizer.unfold(blob)), blob, rtol=1e-5)
    obs = played.samples.obs[0].T.copy()
    assert np.array_equal(other.look(obs)[0], learner.look(obs)[0])


def test_cartpole_is_learned():
    """Far more than chance, which gets about 22, and far less than it would reach."""
    with Trainer(CART, network=Small, seed=1) as trainer:
        assert trainer.algorithm == "ppo"
        trainer.train_for(agent_steps=60_000, stop_when=lambda now: now.get("return_mean", 0) > 120, progress=False)
        assert trainer.metrics["return_mean"] > 80, trainer.metrics


def test_saved_resumed_and_evaluated(tmp_path):
    with Trainer(CART, network=Small, **QUICK) as trainer:
        trainer.train_for(updates=4, progress=False)
        path = trainer.save(tmp_path / "bot.dshq")
        wanted = trainer.latest_policy().weights
    saved = checkpoint.load(path)
    assert saved.network["name"] == "tests.harness.games.own_networks:Small" and saved.algorithm == "ppo"
    assert {"adam_m", "adam_v", "normalizer.observations"} <= set(saved.state)
    with Trainer(path, network=Small) as again:
        assert again.version == saved.version and np.array_equal(again.latest_policy().weights, wanted)
        more = again.save(tmp_path / "again.dshq")
        again.train_for(updates=2, progress=False)
        assert again.metrics["updates"] == 6
    kept = checkpoint.load(more)
    assert set(kept.state) == set(saved.state)
    assert all(np.array_equal(kept.state[name], saved.state[name]) for name in saved.state)
    found = evaluate(path, network=Small, matches=3)
    assert found["episodes"] == 3 and found == evaluate(
        path, network="tests.harness.games.own_networks:Small", matches=3
    )


def test_a_file_is_opened_with_its_network_alone(tmp_path):
    with Trainer(CART, network=Small, **QUICK) as trainer:
        trainer.train_for(updates=2, progress=False)
        own = trainer.save(tmp_path / "own.dshq")
    with Trainer(CART, **QUICK) as plain:
        plain.train_for(updates=2, progress=False)
        layers = plain.save(tmp_path / "layers.dshq")
        for load in (plain.load, plain.resume_from):
            with pytest.raises(
                CheckpointError, match=r"own.dshq.* a network of your own, .*:Small, and a file may not"
            ):
                load(own)
    for open_it in (lambda: Trainer(own), lambda: Trainer(CART, resume=own), lambda: evaluate(own)):
        with pytest.raises(CheckpointError, match="give it, network=... in Python, --network"):
            open_it()
    with pytest.raises(CheckpointError, match="has other parameters than tests.harness.games.own_networks:Buffered"):
        Trainer(own, network=own_networks.Buffered)
    with pytest.raises(CheckpointError, match="it has a network of layers, not"):
        Trainer(layers, network=Small)
    with Trainer(CART, network=Small, **QUICK) as trainer:
        trainer.load(own)
        assert trainer.version == checkpoint.load(own).version
        with pytest.raises(CheckpointError, match="it has a network of layers, not"):
            trainer.load(layers)


@pytest.mark.parametrize("change", [lambda row: row[:-5], lambda row: np.tile(row, 2), lambda row: row[:0]])
def test_a_file_of_other_weights_than_its_parameters_changes_nothing(tmp_path, change):
    """It names the network, has no moments whose length would say it, and what was learned was gone with the load."""
    with Trainer(CART, network=Small, **QUICK) as trainer:
        trainer.train_for(updates=2, progress=False)
        saved = checkpoint.load(trainer.save(tmp_path / "own.dshq"))
        bad = checkpoint.save(
            tmp_path / "bad.dshq", dataclasses.replace(saved, version=9, weights=change(saved.weights), state={})
        )
        before = trainer.latest_policy(), trainer.status, trainer.status_text, trainer.config, trainer.metrics
        for load in (trainer.load, trainer.resume_from):
            with pytest.raises(CheckpointError, match=r"bad.dshq.*Small wants [\d,]+ numbers in one row, got shape"):
                load(bad)
            assert (trainer.latest_policy(), trainer.status, trainer.status_text) == before[:3]
            assert (trainer.config, trainer.metrics) == before[3:]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"memory": 16}, "memory cannot be set: the network is your own"),
        ({"hidden_sizes": (8,)}, "hidden_sizes cannot be set: the network is your own"),
        ({"action_deviation": "free"}, "action_deviation cannot be set"),
        ({"device": "cuda"}, "learns on the processor: leave out --device cuda"),
        ({"joint": True}, "learns in one process: leave out --joint"),
        ({"engine": "ray"}, "is played on this machine: leave out --engine ray"),
        ({"engine": "page"}, "which a page does not run: leave out --engine page"),
    ],
)
def test_what_it_does_not_have_is_refused_in_a_sentence(settings, says):
    with pytest.raises((ConfigError, Refused), match=says):
        Trainer(CART, network=Small, **settings)


def test_other_algorithms_take_none():
    with pytest.raises(Refused, match="spo has a network that it knows: leave out --network"):
        Trainer("maze", algorithm="spo", network=Small)


def test_a_module_that_breaks_ends_training_with_its_name():
    says = "own_networks:Late gave numbers that are not finite"
    with Trainer(CART, network=own_networks.Late, **QUICK) as trainer, pytest.raises(RuntimeError, match=says):
        trainer.train_for(updates=2, progress=False)


def test_a_reset_begins_anew():
    with Trainer(CART, network=Small, seed=5, **QUICK) as trainer:
        first = trainer.latest_policy().weights
        trainer.train_for(updates=2, progress=False)
        trainer.reset_training()
        assert trainer.version == 0 and np.array_equal(trainer.latest_policy().weights, first)


def test_the_page_shows_no_settings_of_a_network():
    with Trainer(CART, network=Small) as trainer:
        schema = page_protocol.config(trainer)["schema"]
    assert {"learning_rate", "gamma", "num_envs", "normalize_rewards"} <= set(schema)
    assert not {"hidden_sizes", "activation", "memory", "separate_value_net", "device", "workers"} & set(schema)


def test_the_show_plays_each_new_version(monkeypatch):
    spec = described(CART).spec
    own = OwnSpec.of(spec, Found.of(Small))
    block = SharedBlock.create(WeightSlots.nbytes_for(own.floats))
    slots = WeightSlots.create(block, own.floats)
    slots.publish(1, 3, own.untrained(0))
    job = {"environment": spec.environment.to_json(), "fps": 50, "seed": 0, "network": own.to_json()}
    job |= {"layers": list(own.layers), "activation": "tanh", "distribution": "gaussian", "made": {}}
    monkeypatch.setattr("dshq_widget.gyms.show.make", lambda name, render, **made: making(name))
    show = Show(SimpleNamespace(send=lambda message: True), job, slots)
    assert isinstance(show.policy, OwnGymPolicy) and show.version == 3
    slots.publish(2, 4, own.untrained(9))
    show.step()
    assert show.version == 4 and np.array_equal(show.policy.to_torch().flat(), own.untrained(9))
    show.env.close()
    block.close()


def making(name: str):
    """An environment that needs no pictures."""
    from dshq_widget.gyms.making import make

    return make(name)


def test_a_widget_takes_it():
    with DrillWidget(CART, network=Small, prepare=False) as widget:
        assert widget.config["algorithm"]["name"] == "ppo" and widget.policy["version"] == 0
    with pytest.raises(NetworkError):
        DrillWidget(CART, network=own_networks.Mute)


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The working folder, with a module that tells when it runs, and a file of its network."""
    text = "open('ran', 'a').write('x')\n" + EXAMPLE.read_text()
    (tmp_path / "beside_it.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("beside_it", None)


def test_the_command_line_trains_resumes_and_evaluates(beside):
    how = ["--num-envs", "16", "--rollout-length", "16", "--updates", "2"]
    said = answer("train", CART, "--network", "beside_it.py:Gated", *how, "--out", "bot.dshq")
    assert said["updates"] == 2 and checkpoint.load("bot.dshq").network["name"] == "beside_it:Gated"
    assert answer("evaluate", "bot.dshq", "--network", "beside_it:Gated", "--matches", "2")["episodes"] == 2
    said = answer("train", "bot.dshq", "--network", "beside_it:Gated", "--updates", "1", "--out", "more.dshq")
    assert said["updates"] == 3
    refused = dshq("train", "--config", "bot.yaml", expect=2).stderr
    assert "runs the Python code of beside_it:Gated" in refused and "--network beside_it:Gated" in refused
    again = answer("train", "--config", "bot.yaml", "--network", "beside_it:Gated", "--out", "again.dshq")
    assert again["updates"] == 2
    assert "got 'beside_it:Nothing'" in dshq("train", CART, "--network", "beside_it:Nothing", expect=2).stderr


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "bot.dshq", "--matches", "1"),
        ("train", "bot.dshq", "--updates", "1"),
        ("play", "bot.dshq", "--no-browser"),
        ("export", "bot.dshq", "--to-json", "x.json"),
        ("export", "bot.dshq", "--onnx", "x.onnx"),
        ("export", "bot.dshq", "--html", "x.html"),
    ],
    ids=lambda command: " ".join(command[::2]),
)
def test_a_file_imports_no_module(beside, command, capsys):
    """Whatever it names: only a person gives a module."""
    spec = OwnSpec.of(described(CART).spec, Found.of(Small))
    with Trainer(CART, network=Small) as trainer:
        saved = trainer.policy_file()
    content = checkpoint.decode(saved)
    hostile = dataclasses.replace(content, network={**spec.own, "name": "beside_it:Gated"})
    checkpoint.save("bot.dshq", hostile)
    before = list(sys.path)
    assert main.main(list(command)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "beside_it:Gated" in said and "a file may not import a module" in said
    assert not os.path.exists("ran") and "beside_it" not in sys.modules and sys.path == before


@pytest.mark.processes
def test_its_process_finds_it(beside):
    """In a folder that no path leads to."""
    folder = beside / "apart"
    folder.mkdir()
    shutil.copy("beside_it.py", folder / "apart_from_it.py")
    with Trainer(CART, network=str(folder / "apart_from_it.py") + ":Gated", **QUICK) as trainer:
        trainer.train_for(updates=2, progress=False)
        path = trainer.save(beside / "bot.dshq")
    assert load_policy(path, network=sys.modules["apart_from_it"].Gated).metadata["version"] == trainer.version
    sys.modules.pop("apart_from_it")


def test_the_network_of_the_page_keeps_to_its_protocol(tmp_path, monkeypatch):
    """docs/howto/own-network.md has it whole."""
    page = (EXAMPLE.parents[1] / "howto" / "own-network.md").read_text()
    [code] = re.findall(r"```python\n# my_network.py\n(.*?)```", page, re.S)
    (tmp_path / "my_network.py").write_text(code)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with Trainer(CART, network=str(tmp_path / "my_network.py") + ":MyNet", **QUICK) as trainer:
        trainer.train_for(updates=1, progress=False)
        assert trainer.network == {"name": "my_network:MyNet", "folder": str(tmp_path.resolve())}
    sys.modules.pop("my_network")


def test_json_of_the_package_is_not_changed_by_a_file_without_one():
    plain = checkpoint.encode(checkpoint.load("ball:gold"))
    assert b'"network"' not in plain[: 8 + int.from_bytes(plain[:8], "little")]
    assert json.loads(json.dumps(checkpoint.load("ball:gold").network)) == {}
