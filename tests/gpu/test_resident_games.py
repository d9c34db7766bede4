"""The training loop with games that live where the learner does; a processor stands in for the GPU ("cpu:0")."""

import numpy as np
import pytest

from benchmarks.gpu import Run
from dshq_kernels.play.loops import AGENT_STEPS
from dshq_widget.algorithms.ppo import drill_run
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.algorithms.ppo.learners.validation import Validator
from dshq_widget.algorithms.ppo.resident_games import ResidentGames
from dshq_widget.contract.settings import POOL, TrainConfig, of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning import run as runs
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from tests.harness.processes.learner_channel import Turns

SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,)}


@pytest.fixture
def job():
    """Of a learner of the Ball Drill: job, blocks."""
    drill = compiled("ball")
    shares = {"self": 0.5, "chaser": 0.25, "pool": 0.25}
    normal = {"normalize_observations": True, "normalize_rewards": True}
    config = TrainConfig(**SMALL, **normal, opponents=shares, validate_every=2, snapshot_every=2, autosave_seconds=0)
    spec = PolicySpec.for_config(drill.spec, config)
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    WeightSlots.create(block, spec.floats)
    given = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1}
    yield {**given, "machine": {"cpu": 2.0, "memory": 8e9}}, {"weights": block}
    block.close()


def on_a_device(monkeypatch):
    monkeypatch.setattr(drill_run, "choose_device", lambda wanted: "cpu:0")
    monkeypatch.setattr(drill_run, "why_no_rules", lambda device: "")


def test_the_loop_plays_learns_and_reports_where_the_learner_is(job, monkeypatch, tmp_path):
    on_a_device(monkeypatch)
    monkeypatch.setattr(runs, "REPORT_SECONDS", 0.0)
    given, blocks = job
    path = tmp_path / "autosave.dshq"
    channel = Turns(6)
    drill_run.run(channel, {**given, "autosave": str(path)}, blocks)
    assert "WARNING" not in channel.kinds(), channel.said
    phase = next(m for m in channel.said if m["type"] == "PHASE" and m["phase"] == "training")
    assert "the GPU plays and learns" in phase["text"] and phase["tuning"]["workers"] == 0
    rows = [message["values"] for message in channel.said if message["type"] == "METRICS"]
    last = rows[-1]
    assert (last["version"], last["agent_steps"]) == (6, 6 * 8 * 96), "32 games on both sides, 32 on one"
    errors = [row["validation_relative_error"] for row in rows if "validation_relative_error" in row]
    assert errors and max(errors) < 1e-3 and "LEAGUE" in channel.kinds()
    run = drill_run.DrillPPO(Turns(1), {**given, "resume": str(path)}).compose(blocks)
    assert isinstance(run.learner.ppo, ResidentPPO) and isinstance(run.source, ResidentGames)
    assert np.array_equal(run.source.play.games.words(), checkpoint.load(path).state["train.games"])


def test_rules_that_a_gpu_cannot_run_are_played_as_before(job, monkeypatch):
    given, blocks = job
    on_a_device(monkeypatch)

    monkeypatch.setattr(drill_run, "why_no_rules", lambda device: "no compiler")
    run = drill_run.DrillPPO(Turns(1), given).compose(blocks)
    assert isinstance(run.source, OwnGames) and isinstance(run.learner.ppo, ResidentPPO)
    assert "numba cannot use the GPU (no compiler)" in run.channel.said[-1]["text"]


def test_a_network_that_looks_ahead_plays_on_the_processor(monkeypatch):
    drill = compiled("maze")
    config = TrainConfig(**SMALL, opponents={"self": 1.0})
    monkeypatch.setattr(drill_run, "why_no_rules", lambda device: pytest.fail("nobody need ask"))
    learner = ResidentPPO(PolicySpec.for_config(drill.spec, config), seed=0)
    found, trouble = drill_run.own_games(drill, config, learner, "cuda", 1)
    assert isinstance(found, OwnGames) and not trouble


def test_they_go_on_exactly_from_their_state():
    drill = compiled("bandit")
    config = TrainConfig(**SMALL, opponents={"self": 1.0})
    runs = []
    for seed in (0, 1):
        learner = ResidentPPO(PolicySpec.for_config(drill.spec, config), seed=0)
        runs.append((learner, ResidentGames(drill, config.replace({"seed": seed}), learner)))
    (learner, own), (other, others) = runs
    batch = own.next(learner, config, 0)
    assert batch.stats[AGENT_STEPS] == len(batch.units) * 16 == 64 * 8
    learner.update(batch.samples, batch.units, Hyper(minibatch_size=256, minibatch_order="sequential"))
    other.load(learner.blob())
    others.restore(own.state())
    one, two = (g.next(p, config, 1).samples for p, g in runs)
    assert one is not two and np.array_equal(one.obs, two.obs) and np.array_equal(one.action, two.action)
    before = own.play.games.words()
    own.mend(one)
    assert np.array_equal(own.play.games.words(), before), "nothing was broken"
    one.advantage[3, 17] = np.nan
    own.mend(one)
    changed = (own.play.games.words() != before).any(1)
    assert np.flatnonzero(changed).tolist() == [17]


def test_actions_and_minibatches_are_drawn_independently():
    drill = compiled("bandit")
    config = TrainConfig(**SMALL, opponents={"self": 1.0}, seed=3)
    learner = ResidentPPO(PolicySpec.for_config(drill.spec, config), seed=config.seed)
    games = ResidentGames(drill, config, learner)
    states = {generator.get_state().numpy().tobytes() for generator in (games.play.generator, learner._generator)}
    assert len(states) == 2


def test_validation_reads_a_rollout_on_the_device():
    drill = compiled("bandit")
    config = TrainConfig(**SMALL, opponents={"self": 1.0})
    learner = ResidentPPO(PolicySpec.for_config(drill.spec, config), seed=0)
    batch = ResidentGames(drill, config, learner).next(learner, config, 0)
    finding = Validator(learner).compare(learner, batch.samples, batch.units, Hyper(minibatch_size=256), (1, 2))
    assert finding.first is None and finding.largest_relative < 1e-4
    assert batch.samples.mean_return(batch.units) == pytest.approx(float(batch.samples.returns.mean()))


def test_the_benchmark_plays_without_earlier_versions():
    """It has no league, and so nobody who keeps them."""
    drill = compiled("ball")
    config = of_drill(drill.spec).replace(SMALL)
    assert POOL in config.opponents
    run = Run(drill, config, "resident", "cpu")
    run.update()
    assert run.done >= 8 * 64 and run.config.opponents.keys() == config.opponents.keys() - {POOL}
