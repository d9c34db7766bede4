"""The same bits: twice from the same seed, and from a file in a new process as if nothing had happened."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dshq_widget.algorithms.ppo import drill_run
from dshq_widget.algorithms.ppo.processes import Shares, share_out
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.cartpole import CartPole
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.learner_channel import Turns
from tests.harness.processes.lockstep import hashes
from tests.harness.processes.lockstep_runs import LOCKSTEP, SMALL, assert_same

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
        hashes(trainer, 12)
        path = trainer.save(tmp_path / "half.dshq")
        saved = checkpoint.load(path)
        assert saved.version >= 12 and saved.step > 0
        last = saved.version + 30
        ahead = hashes(trainer, last, saved.version)
        rate = trainer.metrics["learning_rate"]
    answer = subprocess.run([sys.executable, LOCKSTEP, path, str(last)], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    after = {int(version): digest for version, digest in json.loads(answer.stdout).items()}
    assert_same(ahead, after, saved.version + 15)
    assert rate < 0.9 * trainer.config.learning_rate, "the schedule was under way"


def test_a_stop_and_a_start_count_on(tmp_path):
    with Trainer("ball", seed=3, workers=0, **{**SMALL, "pace": 0}) as trainer:
        trainer.start()
        assert trainer.wait(updates=5, progress=False)
        trainer.stop()
        assert trainer.join(300)
        stopped = trainer.latest_policy()
        path = trainer.save(tmp_path / "stopped.dshq")
        saved = checkpoint.load(path)
        assert (saved.version, saved.step) == (stopped.version, stopped.step)
        assert {"adam_m", "adam_v", "train.tiles"} <= set(saved.state), "stopping saves what going on needs"
        updates = trainer.metrics["updates"]
        trainer.start()
        assert trainer.wait(updates=updates + 5, progress=False)
        assert trainer.version > stopped.version and np.isfinite(trainer.latest_policy().weights).all()


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

    again = drill_run.DrillPPO(Turns(1), {**job, "resume": str(path)}).compose({"weights": block})
    assert "WARNING" not in again.channel.kinds()
    assert np.array_equal(again.learner.state()["adam_m"], saved.state["adam_m"])
    slots.publish(saved.version + 1, saved.step + 1, saved.weights)
    later = drill_run.DrillPPO(Turns(1), {**job, "resume": str(path), "updates": 7}).compose({"weights": block})
    assert f"from version {saved.version + 1} with a fresh optimiser" in later.channel.said[-1]["text"]
    assert (later.updates, later.agent_steps) == (7, saved.step + 1)
    block.close()
