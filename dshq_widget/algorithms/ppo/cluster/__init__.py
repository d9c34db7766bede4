"""PPO with rollouts on a Ray cluster: what it needs, the nodes that play, the source of their samples, the run; the
design is in docs/ray.md. Only `connection.py` imports ray.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Engine, Message, OneProcess, Processes
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.metrics import Metric

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Exit

LEARNER = "dshq_widget.algorithms.ppo.cluster.run:run"


def start(
    drill: Game,
    config: TrainConfig,
    weights: SharedBlock,
    job: Mapping[str, Any],
    on_message: Callable[[Any, Message], None],
    on_exit: Callable[[Any, Exit], None],
) -> Processes:
    """A learner whose rollouts are played on a cluster (`algorithm.Start`). Raises RuntimeError with one sentence for a
    device, a package or a token that is missing.
    """
    from dshq_widget.algorithms.ppo.cluster import requirements  # the drill's machine code comes with it
    from dshq_widget.gpu.device import check_device
    from dshq_widget.runtime.machine import Machine

    if not config.deterministic:
        check_device(config.device)
    requirements.check(drill, config)
    machine = Machine.this(bool(job.get("gentle")))
    job = {"machine": dataclasses.asdict(machine), **job}
    data = drill.to_json() | {"javascript": ""}
    return OneProcess(LEARNER, data, config, weights, job, on_message, on_exit, machine.size)


METRICS = {"nodes": Metric("ACTOR", "nodes", "Nodes of the Ray cluster that play.")}

RAY = Engine(start, "rollouts on a Ray cluster (`--engine ray`)", METRICS)
