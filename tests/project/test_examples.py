"""The examples in docs/examples run, learn and obey masks; so does what the documents show of searching."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from dshq_widget.cli import drill_argument
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.env import check
from dshq_widget.env.gym_envs import DrillVectorEnv
from dshq_widget.env.making import make_vec
from dshq_widget.policy.evaluate import evaluate, opponent
from dshq_widget.training.evaluation import evaluate as evaluate_file
from dshq_widget.training.trainer import Trainer

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"


class Watched(DrillVectorEnv):
    """Refuses actions that its last mask forbade."""

    def reset(self, **options):
        seen, infos = super().reset(**options)
        self.allowed = infos["action_mask"]
        return seen, infos

    def step(self, actions):
        assert self.allowed[np.arange(len(self.allowed)), actions].all()
        found = super().step(actions)
        self.allowed = found[-1]["action_mask"]
        return found


def test_the_documents_list_every_example():
    listed = re.findall(r"\(\.\./examples/(\w+\.py)\)", (DOCS / "howto" / "examples.md").read_text())
    assert listed == sorted(path.name for path in EXAMPLES.glob("*.py"))


def example(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ppo() -> Iterator[ModuleType]:
    """The example on one thread, as its own command line has it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield example("ppo_on_make_vec")
    torch.set_num_threads(threads)


def test_ppo_in_one_file_learns_the_bandit(ppo):
    history = ppo.train("bandit", 40_000, length=100)
    assert np.mean(history[-2:]) > np.mean(history[:2]) + 20, history


@pytest.mark.parametrize("drill", ["maze", "snake"])
def test_ppo_in_one_file_obeys_masks(ppo, monkeypatch, drill):
    monkeypatch.setattr(ppo, "make_vec", Watched)
    ppo.train(drill, 2 * 16 * 64, num_envs=16, length=64)
    assert "action_mask" in make_vec(drill, 1).reset(seed=0)[1]


def test_no_example_is_without_a_test():
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py"} == {
        *("magpie.py", "ppo_on_make_vec.py", "self_play.py", "until_solved.py"),
        *("search_ahead.py", "gated.py", "from_pixels.py", "gymnasium_env.py"),
        "reinforce.py",  # tests/algorithms/test_own_algorithm.py
        "own_network.py",  # tests/gyms/test_own_network.py
    }


SMALL = {"num_envs": 32, "rollout_length": 8, "hidden_sizes": (8,), "workers": 0}


@pytest.mark.usefixtures("learners_in_threads")
class TestFamilies:
    """A family of games each: the example trains it for a moment, saves, and says how good it is."""

    def test_two_sides(self, tmp_path):
        found = example("self_play").learn("ball", str(tmp_path / "bot.dshq"), 16, SMALL, updates=2)
        assert {rival: result["matches"] for rival, result in found.items()} == {"random": 16, "scripted": 16}

    def test_one_side(self, tmp_path):
        path = tmp_path / "bot.dshq"
        found = example("until_solved").solve("bandit", str(path), 16, SMALL, updates=2)
        assert found == {"agent_steps": 2 * 32 * 8, **evaluate_file(path, matches=16)}

    def test_search(self, tmp_path):
        found = example("search_ahead").learn("bandit", str(tmp_path / "bot.dshq"), 4, SMALL, updates=2)
        assert set(found) == {"0,0", "4,4", "16,4"}

    def test_the_gate(self, tmp_path):
        own = {"territories": 4, "reward_threshold": 0.5}
        assert "send_share_untrained" in example("gated").learn(str(tmp_path / "bot.dshq"), own, updates=20)

    @pytest.mark.slow
    def test_pixels(self, tmp_path):
        own = {"games": 8, "batch": 4, "sequence": 8, "prefill": 64, "starts": 16}
        path = tmp_path / "bot.dshq"
        found = example("from_pixels").learn("bandit", str(path), 2, own, updates=1)
        assert found == evaluate_file(path, matches=2)["return_mean"]

    def test_gymnasium(self, tmp_path):
        module, path = example("gymnasium_env"), str(tmp_path / "bot.dshq")
        module.learn("CartPole-v1", path, {**SMALL, "minibatch_size": 64}, updates=1)
        assert module.play("CartPole-v1", path) >= 1


@pytest.mark.parametrize(("updates", "share"), [(2, None), pytest.param(200, 0.6, marks=pytest.mark.slow)])
def test_a_whole_game_keeps_every_promise_and_beats_its_script(updates, share, tmp_path):
    file = EXAMPLES / "magpie.py"
    magpie = drill_argument.drill(str(file))
    assert [finding for finding in check.suite(magpie) if finding.ok is False] == []
    with Trainer(magpie, seed=0) as trainer:
        trainer.start()
        assert trainer.wait(updates=updates, progress=False)
        saved = trainer.save(tmp_path / "magpie.dshq")
    drill = compile_drill(magpie)
    result = evaluate(drill, opponent(saved, drill), opponent("seeker", drill), 200)
    assert share is None or result["win_rate"] > share


def test_the_search_of_the_drills_page_runs():
    [code] = re.findall(
        r"## For search.*?```python\n(.*?)```", (DOCS / "howto" / "other-libraries.md").read_text(), re.S
    )
    names: dict = {}
    exec(code, names)
    made = names["made"]
    assert made.observations.shape[0] == len(names["particles"]) == 64 * 16
    assert names["kept"].live == 64, "copies were released, roots were not"
