"""PPO with a network of a person's own, a module of PyTorch: what is declared otherwise than for networks of layers."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, Job, PlayedByProcess
from dshq_widget.contract import settings
from dshq_widget.contract.game_spec import DrillSpec, GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.contract.torch_needed import need_torch
from dshq_widget.policy.own_network import Found
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.runtime.own_modules import found_in

if TYPE_CHECKING:
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.policy.checkpoint import Checkpoint

WHY = "a network of your own"
REFUSES = {
    "recurrent": f"{WHY} gets no memory, it sees one observation at a time: leave out --memory",
    "cuda": f"{WHY} learns on the processor: leave out --device cuda",
    "page": f"{WHY} is Python, which a page does not run: leave out --engine page",
    "onnx": f"{WHY} is not written as ONNX here: use torch.onnx on load_policy(FILE, network=...).to_torch()",
    "html": f"{WHY} is Python, which a page does not run: leave out --html",
    "joint": f"{WHY} learns in one process: leave out --joint",
    "league": f"{WHY} has no league: leave pool out of --opponents",
    "scenes": f"{WHY} practises no scenes, only the drill's own starts",
    "ray": f"{WHY} is played on this machine: leave out --engine ray",
}
UNREAD = ("device", "joint", "workers", "action_deviation", "validate_every", "snapshot_every", "collapse_guard")
"""Shared settings that mean nothing then, beside those of the network's shape."""
COPIES = 4
"""Weights, gradient and Adam's two moments."""
ACTIVATIONS = 8
"""Numbers that a learning step keeps for each number of an observation (assumed: what the network does is unknown)."""


def own_network(spec: GameSpec, job: Job) -> OwnSpec:
    """The network that a person has named for a run, in a process of its own."""
    return OwnSpec.of(spec, Found.from_json(job["network"], found_in))


def needs() -> None:
    """Raises MissingTorch."""
    need_torch("a network of your own")


PLAYED = PlayedByProcess("dshq_widget.algorithms.ppo.own.show:run", lambda spec, section: 0, needs)
"""Of a drill: what acts is what is published."""


def with_own(algorithm: Algorithm, network: OwnSpec, spec: GameSpec) -> Algorithm:
    """See `Algorithm.with_own`."""

    def memory(spec: GameSpec, config: TrainConfig, section: object) -> float:
        from dshq_widget.learning.fitting import sample_bytes  # numba comes with it

        seen = math.prod(network.layout.shape)
        rows = config.num_envs * config.rollout_length * spec.sides
        pictures = 4 * rows * seen if network.pictures else 0
        samples = sample_bytes(spec, config.num_envs, config.rollout_length) + pictures
        states = 4 * spec.words * config.num_envs if isinstance(spec, DrillSpec) else 0
        learning = ACTIVATIONS * min(config.minibatch_size, rows) * seen
        return samples + states + 4 * (COPIES * network.floats + learning)

    def evaluate(
        drill: CompiledDrill, saved: Checkpoint, episodes: int, seed: int, greedy: bool, against: str
    ) -> dict[str, Any]:
        from dshq_widget.algorithms.ppo.own.matches import evaluate_saved  # numba comes with it

        return evaluate_saved(network, drill, saved, episodes, seed, greedy, against)

    unread = {*UNREAD, *(key for key, field in settings.FIELDS.items() if field["network"])}
    return dataclasses.replace(
        algorithm,
        own=network,
        with_own=None,
        engines={},
        refuses=REFUSES,
        reads=tuple(key for key in settings.FIELDS if key not in unread),
        fixed={"action_deviation": "state"},
        memory=memory,
        evaluate=evaluate,
        played=PLAYED if isinstance(spec, DrillSpec) else None,
        prepare=None,
    )
