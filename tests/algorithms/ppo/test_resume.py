"""The same bits: twice from the same seed, and from a file in a new process as if nothing had happened."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dshq_widget.algorithms.ppo import drill_run
from dshq_widget.algorithms.ppo.processes import Shares, share_out
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.cartpole import CartPole
from dshq_widget.learning.run import Run
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from tests.harness.games.toy_drills import Race
from tests.harness.processes.learner_channel import Turns
from tests.harness.processes.lockstep import hashes
from tests.harness.processes.lockstep_runs import SMALL, assert_goes_on, assert_same

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def test_lock_step_has_one_thread_and_no_rollout_process():
    assert share_out(TrainConfig(deterministic=True, workers=3), 16, 64e9) == Shares((), 1)


def test_the_same_seed_gives_the_same_bits_twice():
    """Two trainers at once and a third one with another seed, none of which disturbs the others."""
    trainers = [Trainer("ball", seed=seed, deterministic=True, **SMALL) for seed in (7, 7, 8)]
    try:
        with ThreadPoolExecutor(3) as pool:
            seen = list(pool.map(lambda trainer: hashes(trainer, 60), trainers))
    finally:
        for trainer in trainers:
            trainer.close()
    assert_same(seen[0], seen[1], 50)
    assert not set(seen[0].values()) & set(seen[2].values())


@pytest.mark.parametrize("deterministic", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_new_process_goes_on_to_the_bit(tmp_path, deterministic):
    """Schedules, optimiser, minibatch order, games and their generators: all of it is in the file."""
    with Trainer("ball", seed=3, workers=0, deterministic=deterministic, **SMALL) as trainer:
        saved = assert_goes_on(trainer, tmp_path / "half.dshq")
        assert saved.version >= 12 and saved.step > 0
        assert trainer.metrics["learning_rate"] < 0.9 * trainer.config.learning_rate, "the schedule was under way"


def test_the_autosave_carries_a_new_learner_on_if_nothing_came_after_it(tmp_path):
    drill, config = compile_drill(CartPole), TrainConfig(num_envs=64, rollout_length=8, opponents={"self": 1.0})
    spec = PolicySpec.for_config(drill.spec, config)
    path = tmp_path / "autosave.dshq"
    job = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1}
    job["machine"] = {"cpu": 1.0, "memory": 8e9}
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    slots = WeightSlots.create(block, spec.floats)

    calm = Turns(3)
    drill_run.run(calm, {**job, "autosave": str(path)}, {"weights": block})
    assert "CHECKPOINT" not in calm.kinds(), "ten seconds have not passed"
    busy = Turns(3)
    often = {**job, "hyper": {**job["hyper"], "autosave_seconds": 0.0}}
    drill_run.run(busy, {**often, "autosave": str(path)}, {"weights": block})
    assert busy.kinds().count("CHECKPOINT") >= 2
    saved = checkpoint.load(path)
    assert saved.version == slots.latest == 6

    class AskedFirst(Turns):
        """The order to save comes one update before the end."""

        def poll(self, timeout: float = 0.0) -> list[dict]:
            super().poll(timeout)
            return [{"type": "SAVE", "path": str(path)}] if self.left == 1 else []

    asked = AskedFirst(3)
    drill_run.run(asked, {**job, "autosave": str(path)}, {"weights": block})
    assert asked.kinds().count("CHECKPOINT") == 2 and checkpoint.load(path).version == slots.latest
    drill_run.run(Turns(3), {**often, "autosave": str(path)}, {"weights": block})
    saved = checkpoint.load(path)

    class AskedAtOnce(Turns):
        """It is to stop before it has learned anything."""

        def poll(self, timeout: float = 0.0) -> list[dict]:
            return [{"type": "SAVE", "path": str(other)}]

    other, fresh = tmp_path / "bot.dshq", SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    other.write_text("another run")
    for slots_before, more in ((0, {}), (1, {}), (0, {"resume": str(path)})):
        before = WeightSlots.create(fresh, spec.floats)
        for _ in range(slots_before):
            before.publish(1, 0, spec.untrained(1))  # as a run with rollout processes does
        asked = AskedAtOnce(0)
        drill_run.run(asked, {**job, **more, "autosave": str(other)}, {"weights": fresh})
        assert other.read_text() == "another run" and "CHECKPOINT" not in asked.kinds()
    fresh.close()

    again = drill_run.DrillPPO(Turns(1), {**job, "resume": str(path)}).compose({"weights": block})
    assert "WARNING" not in again.channel.kinds()
    assert np.array_equal(again.learner.state()["adam_m"], saved.state["adam_m"])
    slots.publish(saved.version + 1, saved.step + 1, saved.weights)
    later = drill_run.DrillPPO(Turns(1), {**job, "resume": str(path), "updates": 7}).compose({"weights": block})
    assert f"from version {saved.version + 1} with a fresh optimiser" in later.channel.said[-1]["text"]
    assert (later.updates, later.agent_steps) == (7, saved.step + 1)
    block.close()


def test_a_learner_that_replaces_a_dead_one_keeps_all_but_what_came_after_the_file(tmp_path):
    """Weights, agent steps and version are the newest, the moments are fresh, the rest is the file's."""
    drill, path = compile_drill(Race), tmp_path / "autosave.dshq"
    config = TrainConfig(
        num_envs=64, rollout_length=8, opponents={"pool": 0.5, "self": 0.5}, normalize_rewards=True, hidden_sizes=(8,)
    )
    job = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1, "machine": {"cpu": 1.0, "memory": 8e9}}
    spec = PolicySpec.for_config(drill.spec, config)
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    WeightSlots.create(block, spec.floats)

    killed = drill_run.DrillPPO(Turns(1), job).compose({"weights": block})
    exploration, rounds, _, targets, _ = killed.companions
    for companion in killed.companions:
        companion.begin(killed)
    turn(killed, 3)
    rounds._hold_round(killed)
    rounds.league.succession.test.tests = 5
    targets.beaten, exploration.guard.bonus = [1.5], 0.02
    killed.rate, killed.good, killed.seconds = 0.25, 7, 9.0
    killed.save(path)
    saved = checkpoint.load(path)
    turn(killed, 2)

    more = {"resume": str(path), "updates": 4, "seconds": 12.0}
    following = drill_run.DrillPPO(Turns(1), {**job, **more}).compose({"weights": block})
    assert (following.version, following.agent_steps) == (5, killed.agent_steps) and saved.version == 3
    assert np.array_equal(following.learner.blob(), killed.learner.blob())
    assert following.learner.state()["adam_step"] == 0 and not following.learner.state()["adam_v"].any()
    kept = {name: row for name, row in saved.state.items() if not name.startswith(("adam", "train.updates"))}
    now = {**following.learner.state(), **following.source.state()}
    for companion in following.companions:
        now |= companion.state()
    now |= {"train.rate": np.array(following.rate), "train.good": np.array(following.good)}
    assert {"train.league.weights", "train.targets", "train.entropy", "normalizer.returns", "train.tiles"} <= set(kept)
    assert [name for name, row in kept.items() if not np.array_equal(now[name], row)] == []
    assert following.companions[1].league.rows() == rounds.league.rows()
    assert (following.updates, following.seconds) == (4, 12.0), "the kernel's counts are newer than the file's"
    assert following.channel.said[-1]["text"] == (
        "continuing from version 5 with a fresh optimiser; the rest is from the file of version 3"
    )

    following.companions[1].begin(following)
    assert len(following.companions[1].league.snapshots) == 2, "the league is behind, not ahead"
    paid = {**job, **more, "hyper": {**job["hyper"], "reward_weights": {drill.spec.terms[0].name: 9.0}}}
    other = drill_run.DrillPPO(Turns(1), paid).compose({"weights": block})
    assert other.companions[1].league.succession.anew, "who was paid otherwise is no champion to be held to"
    block.close()

    wider = config.replace({"hidden_sizes": (16,)})
    spec = PolicySpec.for_config(drill.spec, wider)
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    WeightSlots.create(block, spec.floats).publish(5, 4000, spec.untrained(1))
    another = drill_run.DrillPPO(Turns(1), {**job, **more, "hyper": wider.to_json()}).compose({"weights": block})
    assert another.channel.said[-1]["text"] == "continuing from version 5 with a fresh optimiser"
    assert another.companions[1].league.snapshots == [], "a file of another network says nothing of this one"
    block.close()


def turn(run: Run, updates: int) -> None:
    """Play and learn so often."""
    for _ in range(updates):
        run.learn(run.source.next(run.learner.player, run.config, run.version))
