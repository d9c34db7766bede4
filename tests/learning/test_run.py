"""The loop of a training run, with parts that do almost nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import empty_stats
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning import run as run_module
from dshq_widget.learning.exploration import UPDATES, Exploration
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Companion, Run
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import Checkpoint, save
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots
from tests.harness.games.random_search import RandomSearch
from tests.harness.processes.learner_channel import Turns

SPEC = PolicySpec((2, 4, 3))


class OverwrittenLane(Lane):
    """A producer fills the room of each chunk as soon as it is given back."""

    def release(self):
        chunk = self.peek()
        super().release()
        chunk.arrays["returns"][:] = np.nan


class LaneGames:
    """A source of one chunk after the other, which lie in a lane."""

    dropped, memory_mb = 0, 0.0

    def __init__(self):
        fields = {"returns": ("f4", (16,))}
        self.block = SharedBlock.create(Lane.nbytes_for(fields, 2))
        self.lane = OverwrittenLane.create(self.block, fields, 2)

    def next(self, learner, config, version):
        self.lane.reserve().arrays["returns"][:] = 2.0
        self.lane.commit(version)
        returns = self.lane.peek().arrays["returns"]
        samples = SimpleNamespace(mean_return=lambda units: float(returns.mean()))
        return Experience(samples, np.zeros(1, np.int64), empty_stats(0), 0, self.lane.release)


class Reader(Companion):
    """Reads each rollout after the update, as the guard of exploration does."""

    def __init__(self):
        self.read = []

    def after_update(self, run, experience, learned):
        self.read.append(experience.samples.mean_return(experience.units))


@pytest.fixture
def weights():
    block = SharedBlock.create(WeightSlots.nbytes_for(SPEC.floats))
    yield block
    block.close()


def test_companions_read_a_rollout_before_its_memory_is_given_back(weights):
    source, reader = LaneGames(), Reader()
    run = a_run({"limits": {"updates": 3}}, weights, source, reader)
    run.train({})
    assert reader.read == [2.0] * 3 and source.lane.waiting == 0
    source.block.close()


def a_run(job, weights, source, *companions, evaluator=None, terms=(), **settings):
    drill = SimpleNamespace(name="nothing", rules_hash="0" * 16, spec=SimpleNamespace(terms=terms, environment_json={}))
    return Run(
        Turns(10),
        job,
        drill=drill,
        config=TrainConfig(**settings),
        spec=SPEC,
        learner=RandomSearch(SPEC, TrainConfig(), {}),
        source=source,
        evaluator=evaluator or SimpleNamespace(solved=False, metrics={}, pause=lambda config: np.inf),
        publisher=Publisher(WeightSlots.create(weights, SPEC.floats)),
        companions=companions,
    )


def test_what_cannot_be_restored_costs_no_more_than_the_training_state(tmp_path, weights):
    """A file says whatever its maker wants; only its weights are sure to fit."""
    own = np.arange(SPEC.floats, dtype=np.float32)
    saved = Checkpoint("nothing", "0" * 16, SPEC.layers, SPEC.activation, own, version=7, step=96)
    source = LaneGames()
    source.restore = lambda state: None
    run = a_run({"resume": str(save(tmp_path / "bot.dshq", saved))}, weights, source)
    assert (run.learner.blob() == own).all() and (run.agent_steps, run.updates) == (96, 0)
    (warning,) = [said["text"] for said in run.channel.said if said["type"] == "WARNING"]
    assert warning == "continuing from the weights of version 7 alone: 'train.search'"
    source.block.close()


@pytest.mark.parametrize(
    ("games", "says"),
    [
        ({"train.running": np.array([0.0, np.inf]), "train.ring": np.zeros(9)}, "train.running has numbers that are"),
        ({"train.ring": np.zeros(2000, np.uint8)}, "the games and the replay are not saved, since"),
    ],
)
def test_what_was_learned_is_saved_where_what_was_played_cannot_be(tmp_path, weights, monkeypatch, games, says):
    """Of a world model, whose weights are in the run's files alone, nothing was left: *version 95 saved*."""
    monkeypatch.setattr(checkpoint, "MOST_TENSOR_BYTES", 1500)
    source, guard = LaneGames(), Companion()
    source.state, guard.state = lambda: games, lambda: {"train.guard": 3.5}
    run = a_run({}, weights, source, guard, Broken())
    run.learner.state = lambda: {"train.model": [1.0, 1.0]}  # of a person's own
    run.save(str(tmp_path / "bot.dshq"))
    saved = checkpoint.load(tmp_path / "bot.dshq")
    counts = {"train.updates", "train.rate", "train.good"}
    assert set(saved.state) == {"train.model", "train.guard", *counts} and (saved.state["train.model"] == 1).all()
    said = [said["text"] for said in run.channel.said if said["type"] == "WARNING"]
    assert len(said) == 2 and said[0].startswith("train.broken has numbers") and said[1].startswith(says)
    games |= {"train.running": np.zeros(2), "train.ring": np.zeros(9)}
    run.save(str(tmp_path / "bot.dshq"))
    assert set(games) <= set(checkpoint.load(tmp_path / "bot.dshq").state)
    source.block.close()


class Broken(Companion):
    """Has counted what is no number."""

    def state(self):
        return {"train.broken": np.array([np.nan])}


class Aim(Companion):
    """Hears that rewards are paid otherwise than before."""

    def __init__(self):
        self.heard = 0

    def rewards_changed(self):
        self.heard += 1


@pytest.mark.parametrize(("now", "heard"), [({}, 1), ({"goal": 2.0}, 0), ({"goal": 2.0, "other": 3.0}, 0)])
def test_a_run_that_goes_on_for_other_rewards_forgets_what_was_reached_for_the_old(tmp_path, weights, now, heard):
    """A champion of another aim would be held against its followers, and their returns against its."""
    learner = RandomSearch(SPEC, TrainConfig(), {})
    state = {name: np.nan_to_num(found) for name, found in learner.state().items()}
    config = {"reward_weights": {"goal": 2.0}}
    of = {"version": 7, "step": 96, "state": state, "config": config}
    saved = Checkpoint("nothing", "0" * 16, SPEC.layers, SPEC.activation, learner.blob(), **of)
    source, aim = LaneGames(), Aim()
    source.restore = lambda state: None
    resume = {"resume": str(save(tmp_path / "bot.dshq", saved))}
    run = a_run(resume, weights, source, aim, terms=(SimpleNamespace(name="goal", weight=1.0),), reward_weights=now)
    assert run.agent_steps == 96 and not run.channel.said
    assert aim.heard == heard
    source.block.close()


def test_the_clock_and_the_updates_of_a_learner_that_died_go_on(weights):
    run = a_run({"updates": 5, "seconds": 12.5, "limits": {"updates": 7}}, weights, TimedGames(Clock()))
    run.train({})
    last = [said["values"] for said in run.channel.said if said["type"] == "METRICS"][-1]
    assert last["updates"] == 7 and last["seconds"] >= 12.5


class Clock:
    """Time that passes only where somebody takes it."""

    now = 100.0

    def monotonic(self):
        return self.now

    def takes(self, seconds, result=None):
        def spend(*_given, **_named):
            self.now += seconds
            return result

        return spend


class TimedGames:
    """A rollout of 100 agent steps in a quarter of a second."""

    dropped, memory_mb = 0, 0.0

    def __init__(self, clock):
        self.clock = clock

    def next(self, learner, config, version):
        self.clock.now += 0.25
        stats = empty_stats(0)
        stats[STATS.index("agent_steps")] = 100
        return Experience(SimpleNamespace(mean_return=lambda units: 0.0), np.zeros(1, np.int64), stats)

    def state(self):
        return {}


def test_rates_are_those_of_training_without_evaluation_matches_and_files(weights, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(run_module, "time", clock)
    monkeypatch.setattr(run_module, "FIRST_AUTOSAVE_SECONDS", 10.0)
    monkeypatch.setattr(run_module.checkpoint, "save", clock.takes(7.0))
    evaluator = SimpleNamespace(solved=False, metrics={}, pause=lambda config: 4.0, play=clock.takes(5.0))
    matches, job = Companion(), {"autosave": "x.dshq", "limits": {"updates": 9}}
    matches.after_update = clock.takes(1.0)
    run = a_run(job, weights, TimedGames(clock), matches, evaluator=evaluator)
    run.train({})
    rows = [said["values"] for said in run.channel.said if said["type"] == "METRICS"]
    assert [said["path"] for said in run.channel.said if said["type"] == "CHECKPOINT"], "it was saved in between, too"
    assert len(rows) == 5 and rows[-1]["seconds"] == 9 * 0.25
    assert [row["agent_steps_per_second"] for row in rows] == pytest.approx([400.0] * 5)
    assert [row["updates_per_second"] for row in rows] == pytest.approx([4.0] * 5)


def test_a_run_that_goes_on_may_be_told_to_end_when_it_is_solved(weights):
    solved = SimpleNamespace(solved=True, metrics={}, pause=lambda config: np.inf)
    run = a_run({}, weights, TimedGames(Clock()), evaluator=solved)
    polled = run.channel.poll
    orders = {4: [{"type": "UNTIL_SOLVED"}]}
    run.channel.poll = lambda seconds=0.0: [*polled(seconds), *orders.pop(run.updates, [])]
    run.train({})
    assert run.updates == 5 and not run.channel.closed


class Seen(TimedGames):
    """Games that note what they are to discard."""

    def __init__(self, clock):
        super().__init__(clock)
        self.oldest = 0

    def forget_before(self, version):
        self.oldest = version


def test_other_weights_discard_what_is_in_flight(weights):
    """Whoever replaces them, as the guard of exploration and the league do."""
    source, guard = Seen(Clock()), Exploration()
    run = a_run({}, weights, source, guard, min_entropy=0.1)
    run.learn(source.next(None, run.config, 0))
    guard.guard.awake, guard.guard.usual = run.learner.blob() + 1, 1.0
    for _ in range(UPDATES):
        assert source.oldest == 0
        guard.after_update(run, source.next(None, run.config, run.version), {"entropy": 0.0})
    assert source.oldest == run.version == 2 and (run.publisher.latest()[2] == guard.guard.awake).all()


class Waiting(Companion):
    """Counts how often the run rests."""

    rests = 0

    def resting(self, run):
        self.rests += 1


@pytest.mark.parametrize(("paused", "rests"), [(True, 10), (False, 0)])
def test_companions_hear_that_a_run_rests(weights, monkeypatch, paused, rests):
    monkeypatch.setattr(run_module, "REST_SECONDS", 0.0)
    heard = Waiting()
    run = a_run({"paused": paused}, weights, TimedGames(Clock()), heard)
    run.train({})
    assert heard.rests == rests


def test_a_file_for_which_there_is_no_memory_ends_no_run(tmp_path, weights):
    source = LaneGames()
    run = a_run({"spare": str(tmp_path / "spare.dshq"), "autosave": str(tmp_path / "bot.dshq")}, weights, source)

    def no_room():
        raise MemoryError

    run.learner.state = no_room
    run.autosave()
    assert [said["text"] for said in run.channel.said if said["type"] == "WARNING"] == ["not saved: MemoryError"] * 2
    source.block.close()
