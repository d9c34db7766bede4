"""PPO on a drill with rollouts on a Ray cluster. Role `dshq_widget.algorithms.ppo.cluster.run:run`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dshq_widget.algorithms.ppo import tuning
from dshq_widget.algorithms.ppo.cluster.connection import connected
from dshq_widget.algorithms.ppo.cluster.crew import Crew, threads_of
from dshq_widget.algorithms.ppo.cluster.games import ClusterGames
from dshq_widget.algorithms.ppo.drill_run import DrillPPO
from dshq_widget.algorithms.ppo.learners.learner import Learner
from dshq_widget.learning.run import Companion, Run, announce, warn
from dshq_widget.runtime.machine import Machine
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role

WAIT_SECONDS = 0.2
"""Time between two looks at whether a node is ready."""


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped. `job` is made by processes.py, with `ray_address`; `blocks` are the `weights`."""
    announce(channel, "connecting to the Ray cluster")
    with connected(job["ray_address"]) as ray:
        here = ray.get_runtime_context().get_node_id()
        playing = sum(threads_of(node) for node in ray.nodes() if node["NodeID"] == here)
        ppo = ClusterPPO(ray, channel, {**job, "threads": max(1, int(job["threads"]) - playing)})
        training = ppo.compose(blocks)
        ready = ppo.warm_up(training)
        if ready is not None:
            training.train(ready)


class NodesPlaying(Companion):
    """Says how many nodes play."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    @property
    def metrics(self) -> dict[str, float]:
        return {"nodes": len(self._crew.ready)}


class ClusterPPO(DrillPPO):
    """Builds the parts of one run; its nodes begin to compile at once."""

    def __init__(self, ray: Any, channel: Channel, job: Mapping[str, Any]) -> None:
        super().__init__(channel, job)
        self.crew = Crew(ray, self.drill, self.config, partial(warn, channel))
        self.crew.look(0)
        self._ray = ray

    def compose(self, blocks: Mapping[str, SharedBlock]) -> Run:
        training = super().compose(blocks)
        training.companions += (NodesPlaying(self.crew),)
        return training

    @property
    def games(self) -> int:
        return self.config.num_envs * self.workers

    def _make_source(self, learner: Learner, blocks: Mapping[str, SharedBlock]) -> ClusterGames:
        return ClusterGames(self._ray, self.drill, self.crew, self.config)

    def _tune(self, training: Run) -> dict[str, Any]:
        """Wait for the first node. There is nothing to choose."""
        self._wait_for_a_node(training)
        self.workers = len(self.crew.ready)
        machine = Machine(**self.job["machine"])
        report = tuning.report(self.config, machine, None, tuning.Allocation(self.workers, self.threads))
        return report | {"why": "one process on each node of a Ray cluster"}

    def _wait_for_a_node(self, training: Run) -> None:
        """Returns once a node can play, or at a stop. Raises RuntimeError if players fail on every node."""
        said = ""
        while not self.channel.closed and not self.crew.ready:
            text = "waiting for a node of the Ray cluster: none has processors for games (`ray start --num-cpus`)"
            if self.crew.members:
                text = f"waiting for the first of {len(self.crew.members)} nodes of the Ray cluster to be ready"
            if text != said:
                announce(self.channel, text)
                said = text
            training.receive(WAIT_SECONDS)
            self.crew.look(training.version)
