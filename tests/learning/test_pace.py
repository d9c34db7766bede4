"""The learning pace, and updates fed by hand: the arithmetic alone, then a learner that keeps to it."""

import math
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.learning.pace import Pace
from dshq_widget.policy import checkpoint
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import PATIENCE, SMALL, until

pytestmark = pytest.mark.usefixtures("learners_in_threads")

STEPS = SMALL["num_envs"] * SMALL["rollout_length"]  # agent steps of one update of a drill of one side


def running(**hyper) -> Trainer:
    """A trainer whose learner has begun."""
    trainer = Trainer("bandit", **{**SMALL, **hyper})
    trainer.start()
    assert trainer.wait(seconds=0, progress=False)
    return trainer


def updates(trainer: Trainer) -> int:
    return int(trainer.metrics.get("updates", 0))


def settled(trainer: Trainer, folder: Path) -> int:
    """The version at which a paused learner stays: once it has saved twice, the update that had begun has ended."""
    for _ in range(2):
        version = checkpoint.load(trainer.save(folder / "settled.dshq")).version
    until(lambda: trainer.version == version)
    return version


def test_a_pace_counts_from_when_the_update_began_and_a_new_one_counts_at_once():
    pace = Pace()
    assert pace.rest(5.0, 100.0) == 0.0, "the first update waits for nothing"
    pace.made(began=10.0, steps=1000)
    assert pace.rest(10.0, 0.0) == 0.0, "full speed never rests"
    assert pace.rest(10.5, 100.0) == pytest.approx(9.5)
    assert pace.rest(10.5, 1000.0) == pytest.approx(0.5)
    assert pace.rest(10.5, 1e9) == 0.0


def test_paused_it_waits_to_be_asked():
    pace = Pace()
    pace.paused = True
    assert pace.rest(0.0, 0.0) == math.inf
    pace.next_update()
    pace.next_update()
    for _ in range(2):
        assert pace.rest(0.0, 1.0) == 0.0, "what is asked for by hand keeps to no pace"
        pace.made(0.0, 1000)
    assert pace.rest(0.0, 0.0) == math.inf
    pace.next_update()
    pace.resume()
    assert (pace.rest(0.0, 0.0), pace.asked) == (0.0, 0)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_learner_keeps_to_the_pace_and_feels_a_new_one_at_once(workers, tmp_path):
    """The limit itself is no speed: a slow machine stays below it, too."""
    with running(workers=workers, pace=4 * STEPS) as t:
        until(lambda: updates(t) >= 2)
        before, begin = updates(t), time.monotonic()
        until(lambda: updates(t) >= before + 4)
        assert time.monotonic() - begin > 0.5, "four updates a second, of which one may have been under way"
        t.set_hyper(pace=STEPS / 3600)
        slow = settled(t, tmp_path)
        time.sleep(0.5)
        assert settled(t, tmp_path) == slow, "one update an hour"
        before = updates(t)
        t.set_hyper(pace=0)
        until(lambda: updates(t) > before + 20, "full speed out of a rest of an hour")
        assert t.metrics["dropped_chunks"] == 0


def test_a_learner_that_rests_hears_stop_at_once():
    with running(pace=1e-3) as t:
        until(lambda: updates(t) >= 1)
        t.stop()
        assert t.join(PATIENCE) and t.status == "stopped"
        assert t.version >= 1


def test_the_pace_changes_no_bit(tmp_path):
    """Lock-step with a pace, and the same updates by hand at full speed: the same weights."""
    with Trainer("bandit", **SMALL, deterministic=True, pace=20 * STEPS) as paced:
        paced.start()
        assert paced.wait(updates=3, progress=False)
        paced.pause_training()
        settled(paced, tmp_path)
        wanted = paced.latest_policy()
    with Trainer("bandit", **SMALL, deterministic=True) as fed:
        for _ in range(wanted.version):
            fed.next_update()
        until(lambda: fed.version == wanted.version)
        assert np.array_equal(fed.latest_policy().weights, wanted.weights)


@pytest.mark.slow
def test_pause_next_update_resume_stop(tmp_path):
    with running() as t:
        until(lambda: updates(t) >= 3)
        t.pause_training()
        assert t.paused and t.status == "training" and "paused" in t.status_text
        held = settled(t, tmp_path)
        until(lambda: t.metrics["version"] == held, "all that was learned is told")
        time.sleep(0.5)
        assert settled(t, tmp_path) == held == t.metrics["version"], "nothing is learned"
        t.next_update()
        until(lambda: t.version == held + 1 and t.metrics["version"] == held + 1)
        t.next_update()
        t.next_update(learning_rate=0.01)
        until(lambda: t.version == held + 3 and t.metrics["version"] == held + 3)
        assert settled(t, tmp_path) == held + 3 and t.paused
        saved = checkpoint.load(t.save(tmp_path / "held.dshq"))
        assert saved.version == held + 3
        t.resume_training()
        assert not t.paused
        until(lambda: t.version > held + 10)
        assert "paused" not in t.status_text
        t.pause_training()
        t.stop()
        assert t.join(PATIENCE) and t.status == "stopped" and not t.paused
        t.start()
        before = t.version
        until(lambda: t.version > before + 3, "learning after a stop while paused")


@pytest.mark.processes
def test_a_learner_that_dies_while_it_is_paused_comes_back_paused(tmp_path):
    with running() as t:
        until(lambda: updates(t) >= 1)
        t.pause_training()
        held, victim = settled(t, tmp_path), t._run.control.processes.learner.pid
        os.kill(victim, signal.SIGKILL)
        until(lambda: t.status == "training" and t._run.control.processes.learner.pid not in (victim, None))
        assert t.paused and settled(t, tmp_path) == held
        t.next_update()
        until(lambda: t.version == held + 1)


def test_the_first_update_of_all_by_hand(tmp_path):
    with Trainer("bandit", **SMALL) as t:
        for act in (t.pause_training, t.resume_training):
            with pytest.raises(RuntimeError, match="call train"):
                act()
        t.next_update()
        assert t.paused and t.status == "starting"
        until(lambda: t.version == 1 and t.status == "training")
        assert settled(t, tmp_path) == 1
        t.start()
        assert not t.paused
        until(lambda: t.version > 3)
