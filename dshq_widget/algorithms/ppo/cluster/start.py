"""Starts the learner of a run on a Ray cluster."""

from __future__ import annotations

import dataclasses

from dshq_widget.algorithms.algorithm import Job, OneProcess, OnExit, OnMessage, Processes
from dshq_widget.algorithms.ppo.cluster import requirements
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gpu.device import check_device
from dshq_widget.runtime.machine import Machine
from dshq_widget.runtime.memory import SharedBlock

LEARNER = "dshq_widget.algorithms.ppo.cluster.run:run"


def start(
    drill: Game, config: TrainConfig, weights: SharedBlock, job: Job, on_message: OnMessage, on_exit: OnExit
) -> Processes:
    """A learner whose rollouts are played on a cluster (`algorithm.Start`). Raises RuntimeError with one sentence for a
    device, a package or a token that is missing.
    """
    if not config.deterministic:
        check_device(config.device)
    requirements.check(drill, config)
    machine = Machine.this(bool(job.get("gentle")))
    job = {"machine": dataclasses.asdict(machine), **job}
    data = drill.to_json() | {"javascript": ""}
    return OneProcess(LEARNER, data, config, weights, job, on_message, on_exit, machine.size)
