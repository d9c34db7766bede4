"""A run whose processes are played by the test: it reads the job, publishes policies and sends messages."""

import os
import threading

import numpy as np

from dshq_widget.policy import checkpoint
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.supervisor import Exit
from dshq_widget.training.trainer import Trainer

ENDED = Exit(0, True, False, "", "", "")
MOMENTS = {"adam_step": np.array(3, np.int64)}
"""An optimiser's, to be known again."""
KILLED = Exit(-9, False, False, "the learner was killed", "", "")


class Stand:
    """The `Processes` of a run; `sent` are the commands to its learner."""

    replaceable = True

    def __init__(self, drill, config, weights, job, on_message, on_exit):
        self.drill, self.config, self.job = drill, config, job
        self._weights, self._on_message, self._on_exit = weights, on_message, on_exit
        self.sent: list[dict] = []
        self.stopped: list[float] = []

    def send(self, message):
        self.sent.append(dict(message))

    def stop(self, seconds):
        self.stopped.append(seconds)

    def say(self, kind, **content):
        """A message of the learner."""
        self._on_message(self, {"type": kind, **content})

    def trains(self, **metrics):
        """It begins to train, and reports."""
        self.say("PHASE", phase="training", text="training")
        if metrics:
            self.say("METRICS", values=metrics)

    def publishes(self, trainer: Trainer, version: int):
        """Policies up to this version; the weights of each are its version."""
        size = trainer.latest_policy().weights.size
        slots = WeightSlots.attach(self._weights, size)
        for one in range(slots.latest + 1 if slots.latest else version, version + 1):
            slots.publish(one, 100 * one, np.full(size, one, np.float32))

    def saves(self, trainer: Trainer, path, **state):
        """The newest policy in a file, and says so."""
        made = checkpoint.parse(trainer.policy_file(), "made")
        made.state.update(state)
        checkpoint.save(path, made)
        self.say("CHECKPOINT", path=os.fspath(path))

    def ends(self, end=ENDED):
        """It has ended."""
        self._on_exit(self, end)


class Standing(Trainer):
    """A trainer whose runs are `stands`, the newest last."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.stands: list[Stand] = []
        self._run.starts.brought = self._stand

    def _stand(self, *given):
        self.stands.append(Stand(*given))
        return self.stands[-1]


def beside(work):
    """What a call on a thread of its own returns or raises, in a list, once it has."""
    found = []

    def call():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    threading.Thread(target=call, daemon=True).start()
    return found


def saved(trainer, version, **state):
    """A run that learned up to that version, and was saved as it stopped."""
    trainer.start()
    stand = trainer.stands[-1]
    stand.trains()
    stand.publishes(trainer, version)
    trainer.stop()
    stand.saves(trainer, stand.job["autosave"], **state)
    stand.ends()
