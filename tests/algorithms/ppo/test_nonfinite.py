"""NaN and infinity in rewards, observations, gradients and weights: never published, skipped, in the end taken back."""

from typing import Any

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.drill_run import DrillPPO
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import rule
from dshq_widget.learning import run
from dshq_widget.learning.run import MOST_REVERTS, MOST_SKIPS, Run
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from tests.harness.games.toy_drills import Walk
from tests.harness.processes.faults import SMALL, until
from tests.harness.processes.learner_channel import Turns

pytestmark = pytest.mark.usefixtures("learners_in_threads")


class Stumble(Walk):
    """Now and then the place becomes NaN, and with it the observation and the reward, until the episode ends."""

    name = "stumble"

    @rule
    def decide(s, i):
        lost = random(s, i) < 0.0002  # noqa: F821
        s.x[i] = 0.0 / 0.0 if lost else s.x[i] + (0.1 if s.action[0, i] == 1 else -0.1)


class Jackpot(Walk):
    """At one place the reward is infinite; the observation stays as it should be."""

    name = "jackpot"

    @rule
    def decide(s, i):
        lucky = random(s, i) < 0.0002  # noqa: F821
        s.x[i] = 0.37 if lucky else s.x[i] + (0.1 if s.action[0, i] == 1 else -0.1)

    @rule
    def far(s, i, side):
        return 1.0 / (0.37 - s.x[i])


class Broken(Walk):
    """No reward is ever a number."""

    name = "broken"

    @rule
    def far(s, i, side):
        return 0.0 / 0.0


@pytest.mark.parametrize(
    ("drill", "more"),
    [
        (Stumble, {"normalize_observations": True, "normalize_rewards": True}),
        pytest.param(Stumble, {"workers": 1}, marks=pytest.mark.slow),
        (Jackpot, {}),
    ],
)
def test_a_rare_fault_costs_one_update_and_training_goes_on(drill, more, caplog):
    with Trainer(drill, **{**SMALL, **more}) as trainer:
        trainer.start()
        until(lambda: "an update was skipped" in caplog.text, "a fault")
        seen = trainer.version
        until(lambda: trainer.version > seen + 20, "twenty more versions")
        assert trainer.error == "" and np.isfinite(trainer.latest_policy().weights).all()
        updates = trainer.metrics.get("updates", 0)
        assert trainer.wait(updates=updates + 5, progress=False)
        assert np.isfinite(list(trainer.metrics.values())).all()


def test_a_lasting_fault_ends_training_with_a_sentence(caplog):
    with Trainer(Broken, **SMALL) as trainer:
        before = trainer.latest_policy().weights
        trainer.start()
        with pytest.raises(RuntimeError, match="check the rewards and observations"):
            trainer.wait(updates=1000, progress=False)
        assert caplog.text.count("reverted to version 0") == MOST_REVERTS
        assert "the learning rate times 0.5" in caplog.text and "the learning rate times 0.25" in caplog.text
        assert trainer.status == "error" and trainer.version == 0
        assert np.array_equal(trainer.latest_policy().weights, before)


def test_reward_weights_that_are_no_numbers_are_refused():
    with Trainer(Walk) as trainer:
        for weight in (float("nan"), float("inf"), "nan", 1e30):
            with pytest.raises(ConfigError, match="reward_weights"):
                trainer.set_hyper(reward_weights={"far": weight})


class Sick(FusedPPO):
    """A learner whose weights, or a share of whose gradients, stop being finite when `illness` says so."""

    illness = ""

    def update(self, samples, units, hyper):
        if self.illness == "gradient":
            samples.returns[units] = np.nan
        if self.illness == "one gradient":
            samples.returns[units[0]] = np.nan
        learned = super().update(samples, units, hyper)
        if self.illness == "weights":
            blob = self.blob()
            blob[5] = np.inf
            self.load(blob)
        return learned


class SickPPO(DrillPPO):
    """A run with a sick learner."""

    def make_learner(self, threads=0):
        return Sick(self.spec, seed=self.config.seed, threads=1)


@pytest.fixture
def ward():
    with Trainer(Walk, **SMALL) as trainer:
        config = trainer.config
    drill = compile_drill(Walk)
    spec = PolicySpec.for_config(drill.spec, config)
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    WeightSlots.create(block, spec.floats)
    job = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1}
    yield SickPPO(Turns(10**9), job).compose({"weights": block})
    block.close()


def warnings(ward: Any) -> list[str]:
    return [message["text"] for message in ward.channel.said if message["type"] == "WARNING"]


def turns(ward: Run, count: int) -> None:
    for _ in range(count):
        ward.learn(ward.source.next(ward.learner.player, ward.config, ward.version))


def test_weights_that_are_not_finite_are_taken_back_at_once(ward):
    turns(ward, 3)
    assert ward.version == 3 and warnings(ward) == []
    good, rate = ward.publisher.slots.read(2), ward.learner.hyper(ward.progress).learning_rate
    ward.learner.ppo.illness = "weights"
    turns(ward, 1)
    assert ward.publisher.slots.latest == ward.version == 3 and np.array_equal(ward.learner.blob(), good[2])
    assert "reverted to version 3; continuing with the learning rate times 0.5" in warnings(ward)[0]
    assert ward.learner.hyper(ward.progress).learning_rate == pytest.approx(rate / 2, rel=1e-3)
    ward.learner.ppo.illness = ""
    turns(ward, 2)
    assert ward.publisher.slots.latest == 5 and len(warnings(ward)) == 1


def test_three_skipped_updates_in_a_row_lead_back(ward):
    turns(ward, 2)
    good = ward.publisher.slots.read(1)
    ward.learner.ppo.illness = "gradient"
    turns(ward, MOST_SKIPS - 1)
    assert ward.rate == 1.0 and [text[:21] for text in warnings(ward)] == ["an update was skipped"]
    turns(ward, 1)
    assert ward.rate == 0.5 and "3 updates in a row were skipped" in warnings(ward)[-1]
    assert ward.publisher.slots.latest == 2 and ward.updates == 2 and np.array_equal(ward.learner.blob(), good[2])
    ward.learner.ppo.illness = ""
    turns(ward, 2)
    assert ward.publisher.slots.latest == 4


def test_what_the_other_minibatches_taught_is_published(ward, tmp_path):
    """Else a learner, its file and its own games would have weights that nobody else has, under a version's name."""
    turns(ward, 2)
    before = ward.learner.blob()
    ward.learner.ppo.illness = "one gradient"
    turns(ward, 1)
    assert ward.learner.skipped == ward.config.epochs == 1
    assert not np.array_equal(ward.learner.blob(), before)
    assert (ward.version, ward.updates, ward.skips) == (3, 3, 1)
    assert np.array_equal(ward.publisher.latest()[2], ward.learner.blob())
    assert "an update was skipped in part: 1 minibatches" in warnings(ward)[0]
    turns(ward, MOST_SKIPS - 1)
    assert ward.rate == 0.5, "a lasting fault is told, and slows down"
    ward.learner.ppo.illness = ""
    turns(ward, 1)
    assert (ward.skips, ward.reverts, ward.version) == (0, 0, ward.updates)


def test_untrained_weights_that_are_loaded_again_are_measured_again(tmp_path):
    """They are made for normalised numbers: as they are they would play on raw ones."""
    spec = PolicySpec((3, 8, 3))
    learner = FusedPPO(spec, seed=4, normalizer=Normalizer(spec, observations=True, rewards=True))
    reference = TorchPPO(spec, seed=4, normalizer=Normalizer(spec, observations=True, rewards=True))
    for ppo in (learner, reference):
        assert ppo.normalizer.fresh and ppo.normalizer.measures
        ppo.normalizer.fresh = ppo.normalizer.empty = False  # it has learned
        ppo.load(spec.untrained(4) + np.float32(1e-3))
        assert not ppo.normalizer.fresh and not ppo.normalizer.measures
        ppo.load(spec.untrained(4))
        assert ppo.normalizer.fresh and ppo.normalizer.measures


def test_the_learning_rate_recovers_by_good_updates(ward, monkeypatch, tmp_path):
    """Also where there is no league whose champion could raise it again, and exactly so after a resumption."""
    monkeypatch.setattr(run, "RECOVERY", 3)
    for _ in range(8):
        ward.slow_down()
    assert ward.rate == run.LEAST_RATE
    ward.rate = 0.25
    turns(ward, 2)
    ward.save(tmp_path / "run.dshq")
    assert int(checkpoint.load(tmp_path / "run.dshq").state["train.good"]) == 2 and ward.rate == 0.25
    turns(ward, 1)
    assert ward.rate == 0.5
    turns(ward, 2)
    ward.learner.ppo.illness = "weights"
    turns(ward, 1)
    assert ward.rate == 0.25, "a revert begins the count anew"
    ward.learner.ppo.illness = ""
    turns(ward, 2)
    assert ward.rate == 0.25
    turns(ward, 7)
    assert ward.rate == 1.0


def test_it_gives_up_when_going_back_leads_nowhere(ward):
    turns(ward, 1)
    ward.learner.ppo.illness = "weights"
    turns(ward, MOST_REVERTS)
    with pytest.raises(RuntimeError, match="training failed.*not finite"):
        turns(ward, 1)
    assert ward.publisher.slots.latest == 1 and np.isfinite(ward.publisher.slots.read(0)[2]).all()
