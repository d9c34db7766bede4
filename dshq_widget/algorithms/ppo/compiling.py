"""Compiles what the first training on a machine needs, in two processes: how games are played in one, how it learns in
the other. It is the same for every drill, whose rules take less than a second (measured: docs/LOG.md).
Role `dshq_widget.algorithms.ppo.compiling:run` does it before anybody presses Train.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dshq_kernels.backends.own_python import own_python
from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.games import OwnGames, Player
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime import budget, compiling
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role

PLAY, LEARN = "play", "learn"
LAYERS = (4, 16, 3)
"""Of the network that learns once; machine code is the same for every network."""


def is_compiled() -> bool:
    """Whether all of it has been compiled on this machine."""
    return all(compiling.stamp(piece).exists() for piece in (PLAY, LEARN))


def play(drill: CompiledDrill, config: TrainConfig, learner: Player, waits: Callable[[], None] | None = None) -> None:
    """Compile how games are played, by playing a few."""
    with compiling.turn(PLAY, waits=waits):
        OwnGames(drill, config.replace({"num_envs": 64, "rollout_length": 2}), 1).next(learner, config, 0)


def learn(waits: Callable[[], None] | None = None) -> None:
    """Compile how it learns, by learning once from nothing."""
    with compiling.turn(LEARN, waits=waits):
        samples = Samples.new(8, LAYERS[0])
        for name in ("obs", "action", "log_prob", "value", "advantage", "returns"):
            getattr(samples, name)[:] = 0
        learner, units = learners["fused"](PolicySpec(LAYERS), threads=1), np.arange(8)
        learner.correct_lag(samples, units)
        learner.update(samples, units, Hyper(learning_rate=0.0))


class Helper:
    """A process that compiles how it learns, beside this one; none where it is compiled already, or where there is one
    processor only. It ends with this process.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if not compiling.stamp(LEARN).exists() and budget.cpu_budget() >= 1.5:
            command = own_python("-c", "from dshq_widget.algorithms.ppo.compiling import _help; _help()")
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        """Wait for it. What it compiled lies on disk."""
        if self._process is not None:
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()


def _help() -> None:
    """The helper's own work."""
    end_with_input()
    learn()
    os._exit(0)


def end_with_input() -> None:
    """End this process when its input ends, as it does with the process that started this one."""

    def follow() -> None:
        while os.read(sys.stdin.fileno(), 1 << 12):  # not `sys.stdin.read`: an interpreter that ends waits for its lock
            pass
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()


def everything(drill: CompiledDrill, config: TrainConfig) -> None:
    """Compile all of it, in two processes where there are two processors."""
    helper = Helper()
    spec = PolicySpec.for_config(drill.spec, config)
    learner = learners["fused"](spec, seed=0, threads=1)
    play(drill, config, learner)
    Evaluator(drill, spec, 0).warm_up(learner.blob())
    helper.close()


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Compile everything, at the low priority that every child has. `job`: the drill and settings, as a learner gets
    them.
    """
    everything(CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"]))


def job_of(drill: CompiledDrill, config: TrainConfig) -> dict[str, Any]:
    """The job of `run`."""
    return json.loads(json.dumps({"drill": drill.to_json() | {"javascript": ""}, "hyper": config.to_json()}))
