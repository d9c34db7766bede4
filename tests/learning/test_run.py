"""The loop of a training run, with parts that do almost nothing."""

from types import SimpleNamespace

import numpy as np

from dshq_kernels.play.rollout import empty_stats
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Companion, Run
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


def test_companions_read_a_rollout_before_its_memory_is_given_back():
    weights, source, reader = SharedBlock.create(WeightSlots.nbytes_for(SPEC.floats)), LaneGames(), Reader()
    run = a_run({"limits": {"updates": 3}}, weights, source, reader)
    run.train({})
    assert reader.read == [2.0] * 3 and source.lane.waiting == 0
    source.block.close()
    weights.close()


def a_run(job, weights, source, *companions):
    drill = SimpleNamespace(name="nothing", spec=SimpleNamespace(terms=()))
    return Run(
        Turns(10),
        job,
        drill=drill,
        config=TrainConfig(),
        spec=SPEC,
        learner=RandomSearch(SPEC, TrainConfig(), {}),
        source=source,
        evaluator=SimpleNamespace(solved=False, metrics={}, pause=lambda config: np.inf),
        publisher=Publisher(WeightSlots.create(weights, SPEC.floats)),
        companions=companions,
    )


def test_what_cannot_be_restored_costs_no_more_than_the_training_state(tmp_path):
    """A file says whatever its maker wants; only its weights are sure to fit."""
    own = np.arange(SPEC.floats, dtype=np.float32)
    saved = Checkpoint("nothing", "0" * 16, SPEC.layers, SPEC.activation, own, version=7, step=96)
    weights, source = SharedBlock.create(WeightSlots.nbytes_for(SPEC.floats)), LaneGames()
    source.restore = lambda state: None
    run = a_run({"resume": str(save(tmp_path / "bot.dshq", saved))}, weights, source)
    assert (run.learner.blob() == own).all() and (run.agent_steps, run.updates) == (96, 0)
    (warning,) = [said["text"] for said in run.channel.said if said["type"] == "WARNING"]
    assert warning == "continuing from the weights of version 7 alone: 'train.search'"
    source.block.close()
    weights.close()
