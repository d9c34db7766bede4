"""The nodes that play for a run: one player on each node with processors; who joins is used, who dies is let go."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.algorithms.ppo.cluster.player import NodePlayer
from dshq_widget.contract import settings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.contract.version import __version__
from dshq_widget.drill.compiled import CompiledDrill

LOOK_SECONDS = 1.0
"""Time between two looks at who is in the cluster."""
MOST_FAILURES = 3
"""Failures of a node's players in a row, without a rollout in between, after which the node is left out."""


@dataclasses.dataclass(eq=False)
class Member:
    """A node and its player."""

    node: str
    """Ray's id of the node."""
    name: str
    """Its address, for people."""
    threads: int
    actor: Any
    starting: Any
    """The reference of `NodePlayer.ready`; None once it can play."""
    turn: int = 0
    """When it was asked last: the number of that rollout among all."""


class Crew:
    """The members of one run. `ray` is the connected module; `warn` takes a sentence when a member is lost."""

    def __init__(self, ray: Any, drill: CompiledDrill, config: TrainConfig, warn: Callable[[str], None]) -> None:
        self.members: list[Member] = []
        self._ray, self._config, self.warn = ray, config, warn
        self._drill = ray.put(drill.to_json() | dict.fromkeys(("javascript", "wgsl", *settings.DEVICES), ""))
        self._class = ray.remote(max_restarts=0, max_task_retries=0)(NodePlayer)
        self._hired = 0
        self._failures: Counter[str] = Counter()  # by node
        self._problem = ""  # of the node that failed last
        self._looked = -math.inf

    @property
    def ready(self) -> list[Member]:
        """The members that can play."""
        return [member for member in self.members if member.starting is None]

    def look(self, version: int) -> None:
        """Hire on nodes that joined, and see who has become ready; at most once a second. `version` goes into the seeds
        of new players. Raises RuntimeError if players fail on every node that could play.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        self._see_who_is_ready()
        nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"] and threads_of(node)}
        for member in [member for member in self.members if member.node not in nodes]:
            self.lose(member, "it left the cluster")
        hired = {member.node for member in self.members}
        usable = [name for name in nodes if self._failures[name] < MOST_FAILURES]
        for name in usable:
            if name not in hired:
                self._hire(nodes[name], version)
        if nodes and not usable:
            raise RuntimeError(f"no node of the Ray cluster can play; the last problem was: {self._problem}")

    def lose(self, member: Member, why: object) -> None:
        """Let a member go; what it was asked for is lost. Its node gets a new player if it is still there."""
        if member not in self.members:
            return
        self.members.remove(member)
        self._ray.kill(member.actor)
        self._failures[member.node] += 1
        self._problem = " ".join(str(why).split()) or type(why).__name__
        left = self._failures[member.node] >= MOST_FAILURES
        fate = "it is left out" if left else f"{len(self.members)} continue"
        self.warn(f"the player on node {member.name} is lost, and {fate}: {self._problem:.500}")

    def succeeded(self, member: Member) -> None:
        """A rollout of it has arrived."""
        self._failures.pop(member.node, None)

    def _see_who_is_ready(self) -> None:
        for member in [member for member in self.members if member.starting is not None]:
            if not self._ray.wait([member.starting], timeout=0)[0]:
                continue
            try:
                self._ray.get(member.starting)
                member.starting = None
            except self._ray.exceptions.RayError as error:
                self.lose(member, error)

    def _hire(self, node: Mapping[str, Any], version: int) -> None:
        threads, config = threads_of(node), self._config
        seed = (config.seed * 1_000_003 + self._hired * 7919 + version * 104_729 + 1) & 0xFFFFFFFF
        here = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"num_cpus": threads, "scheduling_strategy": here}
        actor = self._class.options(**options).remote(self._drill, config.to_json(), seed, threads, __version__)
        self._hired += 1
        self.members.append(Member(node["NodeID"], node["NodeManagerAddress"], threads, actor, actor.ready.remote()))


def threads_of(node: Mapping[str, Any]) -> int:
    """Threads that play on a node, a row of `ray.nodes`: the processors that `ray start --num-cpus` gave it."""
    return int(node["Resources"].get("CPU", 0))
