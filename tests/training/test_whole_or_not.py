"""`starting` ends in training or in a sentence, and a load happens whole or not at all."""

import dataclasses
import errno
import os
from pathlib import Path

import numpy as np
import pytest

from dshq_widget import algorithms
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.saved.generator import pack_generator, unpack_generator
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.runtime.supervisor import Exit
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.run.control import ABANDON_SECONDS, MOST_LEAVING
from dshq_widget.training.trainer import Trainer
from tests.harness.browser.recorded_widget import until

RELEASED = Path(__file__).parents[1] / "formats" / "0.1.0" / "bot.dshq"
ENDED = Exit(0, True, False, "", "", "")


class Stand:
    """Stands for the processes of a run."""

    replaceable = True

    def __init__(self):
        self.stopped, self.patience = False, 100.0

    def send(self, message):
        pass

    def stop(self, seconds):
        self.stopped, self.patience = True, seconds


class Undone(Trainer):
    """Starts no process: `processes` is what it has instead, or an error."""

    processes: object = None

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self._run.starts.processes = self._none

    def _none(self, *_orders):
        if isinstance(self.processes, BaseException):
            raise self.processes
        return self.processes


@pytest.fixture
def trainer():
    with Undone("ball", hidden_sizes=(8,)) as made:
        yield made


def full(*_arguments, **_more):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EMFILE, "Too many open files"),
        KeyError("x"),
        SystemExit("enough"),
    ],
    ids=str,
)
def test_a_start_that_fails_says_why_and_can_be_tried_again(trainer, error):
    trainer.processes = error
    with pytest.raises(RuntimeError, match="training cannot start"):
        trainer.train_for(updates=1, progress=False)
    assert trainer.status == "error" and str(error) in trainer.error
    trainer.processes = Stand()
    trainer.start()
    assert trainer.status == "starting" and trainer._run.control.processes is trainer.processes


def test_a_replacement_that_cannot_start_is_a_failed_run(trainer):
    trainer.processes = first = Stand()
    trainer.start()
    trainer.processes = OSError(errno.ENOSPC, "No space left on device")
    trainer._run.on_exit(first, Exit(-9, False, False, "the learner was killed", "", ""))
    assert trainer.status == "error" and "No space left" in trainer.error and "No space left" in trainer.status_text
    assert trainer.join(0)


@pytest.fixture
def arriving(trainer, tmp_path):
    """A file that fits, with other weights and a scene."""
    saved = checkpoint.load(trainer.save(tmp_path / "bot.dshq"))
    return dataclasses.replace(saved, version=9, weights=saved.weights + np.float32(1))


def snapshot(trainer):
    return trainer.latest_policy(), trainer.status, trainer.status_text, trainer.config, trainer.scenes, trainer.metrics


BROKEN = {
    "scenes of another drill": {"train.scenes": np.zeros((1, 3), np.uint32)},
    "scenes of another type": {"train.scenes": np.zeros((1, 3), np.float32)},
    "updates that are no count": {"train.updates": np.zeros(3, np.int64)},
    "moments of another network": {"adam_m": np.zeros(1, np.float32), "adam_v": np.zeros(1, np.float32)},
    "a mean square below 0": {"adam_v": "weights"},
    "steps that are no number": {"adam_step": np.zeros(3, np.int64)},
    "a generator without words": {"generator_update": np.zeros(0, np.uint64)},
    "a generator of other words": {"generator_update": np.full(6, 2**63, np.uint64)},
    "a normaliser's shape": {"normalizer.observations": np.zeros((3, 1))},
    "a normaliser's variance": {"normalizer.returns": np.array([0.0, -1.0, 1.0])},
    "a count of games": {"train.count": np.zeros(2, np.int64)},
    "a learning rate": {"train.rate": np.array(0.0)},
    "a guard's memory": {"train.guard": np.zeros(1)},
    "a guard's count": {"train.guard": np.array([0.0, 1e30, 0.0])},
    "an entropy's memory": {"train.entropy": np.array([0.0, 1e300, 0.0])},
    "an entropy's count": {"train.entropy": np.array([1e30, 0.0, 0.0])},
    "weights of another network": {"train.awake": np.zeros(2, np.float32)},
    "targets": {"train.targets": np.zeros((2, 2))},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_load_that_fails_changes_nothing(trainer, arriving, what):
    before = snapshot(trainer)
    state = {name: arriving.weights - 9 if isinstance(tensor, str) else tensor for name, tensor in BROKEN[what].items()}
    with pytest.raises(CheckpointError):
        trainer.load_checkpoint(dataclasses.replace(arriving, state=state), "bot.dshq")
    assert snapshot(trainer) == before


@pytest.mark.parametrize("metrics", [{"seconds": "x"}, {"seconds": -1}, {"updates": [1]}, {"updates": None}], ids=str)
def test_nor_does_one_whose_metrics_cannot_be_gone_on_from(trainer, arriving, metrics):
    before = snapshot(trainer)
    with pytest.raises(CheckpointError, match="metric"):
        trainer.load_checkpoint(dataclasses.replace(arriving, metrics=metrics), "bot.dshq")
    assert snapshot(trainer) == before


def test_what_a_run_saves_is_what_is_wanted():
    """Of the algorithms of the package, each beside the bounds that it declares."""
    spo = algorithms.get("spo").tensors
    assert spo["train.spo.target"](np.ones(5, np.float32), 5) and not spo["train.spo.target"](np.ones(5), 5)
    gate = algorithms.get("gate").tensors
    rng = pack_generator(np.random.default_rng(1))
    assert gate["train.gate.rng"](rng, 5) and not gate["train.gate.rng"](rng[:5], 5)
    assert gate["train.gate.clock"](np.full(3, 2.0**53), 5) and not gate["train.gate.clock"](np.full(3, 1e30), 5)
    saved = checkpoint.load(RELEASED)
    saved_state.check(saved.state, saved.metrics, saved.weights.size, {})
    assert {"adam_m", "train.entropy", "train.guard", "train.awake", "generator_update"} <= set(saved.state)


@pytest.mark.parametrize(("word", "value"), [(3, 0), (3, 2), (4, 2), (5, 1 << 32)])
def test_a_generator_that_may_draw_0_for_ever_is_none(word, value):
    """numpy draws again where a number is not one that it wants: the learner of a gate stood still for good, and held
    the interpreter's lock.
    """
    rng = pack_generator(np.random.default_rng(1))
    assert unpack_generator(rng).random() == np.random.default_rng(1).random()
    broken = rng.copy()
    broken[word] = value
    for wrong in (broken, rng[:5], rng.astype(np.int64), np.zeros(6, np.uint64)):
        assert not saved_state.generator(wrong, 5)
        with pytest.raises(ValueError, match="generator"):
            unpack_generator(wrong)


@pytest.mark.parametrize("step", ["put", "set_aside"])
def test_a_load_onto_a_full_disk_changes_nothing(trainer, arriving, monkeypatch, step):
    before = snapshot(trainer)
    with monkeypatch.context() as patch:
        if step == "put":
            patch.setattr(trainer._run.files, "autosave", full)
        else:
            patch.setattr(trainer._run.files, "set_aside", full)
        with pytest.raises(CheckpointError, match="No space left"):
            trainer.load_checkpoint(arriving, "bot.dshq")
    assert snapshot(trainer) == before
    assert [name for name in os.listdir(trainer._run.files.autosave().parent) if name.endswith(".dshq")] == []
    trainer.load_checkpoint(arriving, "bot.dshq")
    assert trainer.version == 9 and os.path.basename(trainer._run.files.resume) == "loaded.dshq"


@pytest.mark.parametrize("kept", ["saved", "set aside"])
def test_what_a_learner_that_was_killed_had_saved_stays_beside_its_newest_weights(trainer, arriving, tmp_path, kept):
    """The file of the run is written anew with weights that were published after it."""
    state = {"adam_step": np.array(9, np.int64), "train.targets": np.array([1.5]), "train.updates": np.array(9)}
    path = checkpoint.save(tmp_path / "autosave.dshq", dataclasses.replace(arriving, state=state, step=900))
    trainer._run.state.adopt(checkpoint.load(path), path)
    newest = dataclasses.replace(trainer.latest_policy(), version=12, step=1200, weights=arriving.weights + 1)
    trainer._run.latest.replace(newest)
    trainer._run.status.metrics |= {"updates": 11, "version": 11, "agent_steps": 1100}
    again = trainer.save(path) if kept == "saved" else trainer._run.state._set_aside("replaced.dshq")
    found = checkpoint.load(again)
    assert (found.version, found.step) == (12, 1200) and np.array_equal(found.weights, newest.weights)
    assert {name: row.tolist() for name, row in found.state.items()} == {
        "adam_step": 0,
        "train.targets": [1.5],
        "train.updates": 12,
    }


def test_who_starts_and_forgets_in_turn_leaves_few_processes(trainer):
    """Each has a learner's memory, and had two seconds to end: a page can say both fifty times a second."""

    def begun_and_forgotten():
        trainer.processes = Stand()
        trainer.start()
        trainer.reset_training()
        return trainer.processes

    begun = [begun_and_forgotten() for _ in range(20)]
    forced = [stand.patience == 0 for stand in begun]
    assert forced == [True] * (20 - MOST_LEAVING) + [False] * MOST_LEAVING
    trainer._run.on_exit(begun[-1], ENDED)
    begun_and_forgotten()
    assert begun[-MOST_LEAVING].patience == ABANDON_SECONDS, "one was gone by itself"


def test_only_agent_steps_are_something_learned(trainer):
    """Version 1 of a run with rollout processes is untrained: nothing is kept of it, and the settings still count."""
    begun = trainer.latest_policy()
    trainer._run.latest.replace(PolicyVersion(1, 0, begun.layers, begun.activation, begun.weights))
    assert trainer._run.state._set_aside("replaced.dshq") is None
    trainer.set_hyper(hidden_sizes=(4,))
    assert trainer.version == 0 and trainer.latest_policy().layers[1] == 4


def test_a_loaded_policy_that_a_new_network_replaces_is_named(trainer, arriving, tmp_path):
    heard: list[str] = []
    trainer.on_warning(heard.append)
    trainer.load(checkpoint.save(tmp_path / "bot.dshq", arriving))
    trainer.set_hyper(hidden_sizes=(4,))
    trainer._run.starts.begin()
    (said,) = heard
    assert trainer.version == 0 and said.startswith("a new network begins; version 9, which is in ")
    assert checkpoint.load(said.split(" is in ")[1].split(",")[0]).version == 9


def test_what_came_while_training_ran_and_cannot_be_loaded_holds_nobody_up(trainer, arriving, monkeypatch):
    trainer.processes = running = Stand()
    trainer.start()
    heard: list[str] = []
    trainer.on_warning(heard.append)
    notified: list[str] = []
    trainer.on_change(lambda: notified.append(trainer.status))
    trainer.load_checkpoint(arriving, "bot.dshq")
    assert running.stopped and "then loading bot.dshq" in trainer.status_text
    monkeypatch.setattr(
        trainer._run.files, "put", lambda saved: (_ for _ in ()).throw(CheckpointError("cannot save: full"))
    )
    trainer.start()
    trainer.processes = Stand()
    trainer._run.on_exit(running, ENDED)
    until(lambda: "starting" in notified)
    assert any("bot.dshq was not loaded: cannot save: full" in text for text in heard)
    assert trainer.version == 0 and trainer.status == "starting", "the start that was asked for happens"
    trainer._run.on_exit(trainer.processes, ENDED)
    assert trainer.join(0)
