"""Whole runs of the page's trainer, in Node: what they report, and files that continue in the page and in Python."""

import base64
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from dshq_kernels.play.records import learner_module
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract import settings
from dshq_widget.contract.metrics import metric_named
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.league.league import League
from dshq_widget.learning.scenes.arranged import key_of, parse
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from tests.harness.games.ball_scenes import OPEN_GOAL, OWN_GOAL
from tests.harness.typescript import run
from tests.harness.wasm_host import fuses

SOURCE = 'export { default as main } from "./js/tests/harness/page_run";'
SMALL = {"num_envs": 64, "rollout_length": 16, "minibatch_size": 512, "hidden_sizes": (32, 32), "snapshot_every": 2}
pytestmark = pytest.mark.slow  # the learner's module is compiled for half a minute, if it is not cached


def page(drill, config, updates, file=b"", relaxed=True, scenes=(), paused=0):
    """What a run in Node said, untrained or from a file, after so many milliseconds at rest; and its own file."""
    found = in_page(SOURCE, drill, config, updates, file, relaxed, scenes, paused)
    return found, base64.b64decode(found["file"])


def in_page(source, drill, config, updates=0, file=b"", relaxed=True, scenes=(), paused=0):
    """What `main` of such a source returns in Node."""
    return run(
        source,
        {
            "spec": drill.spec.to_json(),
            "learner": base64.b64encode(learner_module(relaxed)).decode(),
            "drill": base64.b64encode(drill.wasm(relaxed)).decode(),
            "values": page_protocol.typed(config.to_json()),
            "file": base64.b64encode(file).decode(),
            "updates": updates,
            "scenes": [base64.b64encode(scene).decode() for scene in scenes],
            "paused": paused,
        },
        *(["--experimental-wasm-relaxed-simd"] if relaxed else []),
    )


def setting(name, changes=None):
    drill = compile_drill(get(name))
    return drill, settings.of_drill(drill.spec).replace({**SMALL, **(changes or {})})


class Python:
    """The learner and the games of a run in Python, from a file."""

    def __init__(self, drill, config, saved):
        self.config, self.steps = config, saved.step
        self.learner = FusedPPO(PolicySpec.for_config(drill.spec, config), seed=config.seed)
        self.games = OwnGames(drill, config, 1)
        self.learner.load(saved.weights)
        self.learner.restore(saved.state)
        self.games.restore(saved.state)
        self.games.set_opponents(list(saved.state.get("train.league.opponents", ())))

    def update(self):
        played = self.games.next(self.learner, self.config, 0)
        self.learner.update(played.samples, played.units, Hyper.at(self.config, self.steps))
        self.steps += played.agent_steps


def test_a_file_that_is_asked_for_before_the_run_is_there_comes():
    kinds = in_page('export { askedEarly as main } from "./js/tests/harness/page_run";', *setting("ball"))
    assert [kind for kind in kinds if kind in ("SAVED", "STOPPED", "FAILED")] == ["SAVED", "STOPPED"]


def test_a_run_in_the_page_goes_on_in_python_and_back():
    drill, config = setting("ball")
    found, file = page(drill, config, 3)
    saved = checkpoint.decode(file)
    assert (saved.drill, saved.version, saved.algorithm) == ("ball", 3, "ppo")
    assert settings.TrainConfig.from_values(saved.config) == config
    assert found["kinds"][:2] == ["POLICY", "PHASE"] and found["kinds"].count("POLICY") == 4
    metrics = found["metrics"]["values"]
    assert all(metric_named(name) or name in ("seconds", "agent_steps", "updates", "version") for name in metrics)
    assert metrics["updates"] == 3 and metrics["agent_steps"] == saved.step
    league = League(drill, PolicySpec.for_config(drill.spec, config), config.seed)
    league.restore(saved.state)
    assert [row["name"] for row in league.rows()].count("v0") == 1 and league.champion is not None

    python = Python(drill, config, saved)
    python.update()
    python.update()
    _, there = page(drill, config, 2, file)
    further = checkpoint.decode(there)
    assert further.version == 5 and further.step == python.steps
    if fuses(drill):
        assert further.weights.tobytes() == python.learner.blob().tobytes()
        assert further.state["train.tiles"].tobytes() == python.games.rollouts.tiles.tobytes()
    np.testing.assert_allclose(further.weights, python.learner.blob(), atol=5e-4)
    state = {**python.learner.state(), **python.games.state()}
    written = checkpoint.encode(
        checkpoint.Checkpoint(
            **{**vars(further), "weights": python.learner.blob(), "state": {**further.state, **state}}
        )
    )
    _, back = page(drill, config, 1, written)
    python.update()
    np.testing.assert_allclose(checkpoint.decode(back).weights, python.learner.blob(), atol=5e-4)


def test_targets_that_a_kernel_saw_beaten_stay_in_the_pages_file():
    drill, config = setting("approach")
    _, file = page(drill, config, 1)
    saved = checkpoint.decode(file)
    state = {**saved.state, "train.targets": np.array([12.5])}
    found, further = page(drill, config, 1, checkpoint.encode(dataclasses.replace(saved, state=state)))
    assert checkpoint.decode(further).state["train.targets"].tolist() == [12.5]
    assert checkpoint.decode(further).version == 2 and "WARNING" not in found["kinds"]


def test_a_run_whose_file_has_no_games_plays_others_than_at_its_beginning():
    drill, config = setting("approach")
    _, file = page(drill, config, 1)
    saved = checkpoint.decode(file)
    without = {name: array for name, array in saved.state.items() if name != "train.tiles"}  # as the GPU writes it
    _, further = page(drill, config, 1, checkpoint.encode(dataclasses.replace(saved, state=without)))
    games = OwnGames(drill, config, 1).rollouts.tiles
    keys = []
    for state in (saved.state, checkpoint.decode(further).state):
        games.view(np.uint8).reshape(-1)[:] = state["train.tiles"]
        keys.append(games["rng_key"].copy())
        assert state["train.count"] % config.rollout_length == 0
    assert not (keys[0] == keys[1]).any()
    assert checkpoint.decode(further).state["train.count"] == 2 * config.rollout_length


@pytest.mark.parametrize("name", ["approach", "binpack"])
def test_python_trains_on_from_the_pages_file(tmp_path, name):
    drill, config = setting(name)
    _, file = page(drill, config, 2)
    path = tmp_path / "page.dshq"
    path.write_bytes(file)
    with Trainer(path, workers=0) as trainer:
        assert trainer.version == 2 and trainer.config.num_envs == 64
        trainer.train_for(updates=3, progress=False)
        assert trainer.version == 5
        trainer.save(tmp_path / "python.dshq")
    found, further = page(drill, config, 1, (tmp_path / "python.dshq").read_bytes())
    assert checkpoint.decode(further).version == 6
    assert found["metrics"]["values"]["updates"] == 6


def test_scenes_are_practised_and_measured():
    drill, config = setting("ball", {"scene_share": 0.9})
    scenes = np.stack([parse(drill.spec, state) for state in (OPEN_GOAL, OWN_GOAL)])
    packed = [scene.astype("<u4").tobytes() for scene in scenes]
    found, file = page(drill, config, 2, scenes=packed)
    rows = [(row["key"], row["share"]) for row in found["measured"]["rows"]]
    assert rows == [(key_of(scenes[0]), 1.0), (key_of(scenes[1]), 0.0)]
    assert {row["version"] for row in found["measured"]["rows"]} == {0}, "before anything is learned from them"
    saved = checkpoint.decode(file)
    assert np.array_equal(saved.state["train.scenes"], scenes)

    python = Python(drill, config, saved)
    python.games.practise(scenes)
    for _ in range(3):
        python.update()
    further = checkpoint.decode(page(drill, config, 3, file, scenes=packed)[1])
    if fuses(drill):
        assert further.state["train.tiles"].tobytes() == python.games.rollouts.tiles.tobytes()
    np.testing.assert_allclose(further.weights, python.learner.blob(), atol=5e-4)


def test_a_run_that_rests_says_that_it_is_there():
    drill, config = setting("approach")
    assert "BEAT" not in page(drill, config, 1)[0]["kinds"]
    assert 1 <= page(drill, config, 1, paused=1200)[0]["kinds"].count("BEAT") <= 3  # twice a second


def test_numbers_that_are_not_finite_are_reported_and_mended():
    """Rewards that overflow: the run says so, reverts, and ends with a sentence in place of continuing for ever."""
    drill, config = setting("approach", {"learning_rate": 1.0, "max_grad_norm": 0.0, "reward_weights": {}})
    terms = tuple(dataclasses.replace(term, weight=3e38) for term in drill.spec.terms)
    drill = dataclasses.replace(drill, spec=dataclasses.replace(drill.spec, terms=terms))
    with pytest.raises(AssertionError, match="training failed: it reverted to the last good weights 5 times in a row"):
        page(drill, config, 40)


FORMATS = Path(__file__).parents[1] / "formats"


@pytest.mark.parametrize("path", sorted(FORMATS.rglob("kept.json")), ids=lambda path: path.parent.name)
def test_a_run_that_a_browser_kept_for_a_page_of_any_release_goes_on(path: Path):
    """Where the drill has other rules by now it is not offered; its weights are a policy all the same."""
    kept = json.loads(path.read_text())
    content = base64.b64decode(kept["run"]["file"])
    saved = checkpoint.decode(content)
    drill = compile_drill(get(saved.drill))
    config = settings.TrainConfig.from_values({k: v for k, v in saved.config.items() if k in settings.FIELDS})
    found, file = page(drill, config, 2, content)
    again = checkpoint.decode(file)
    assert (again.version, again.config["seed"]) == (saved.version + 2, saved.config["seed"])
    if saved.rules_hash == drill.rules_hash:
        assert "WARNING" not in found["kinds"], "nothing of it was left out"
    assert len(again.state["train.league.weights"]) >= len(saved.state["train.league.weights"])
