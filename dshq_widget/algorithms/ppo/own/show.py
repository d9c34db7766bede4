"""The process that plays a drill's match ahead for the page (env/ahead.py), by a person's own network. Role
`dshq_widget.algorithms.ppo.own.show:run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from dshq_widget.algorithms.ppo.own import own_network
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.ahead import Ahead, Decision, Match, Pages
from dshq_widget.policy.own_policy import OwnPolicy
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots

IDLE_SECONDS = 0.5


class Show(Pages[Ahead[Match]]):
    """See `Pages`. `policy` has version 0 until the slots have another one."""

    def __init__(
        self,
        send: Callable[[dict[str, Any]], object],
        drill: CompiledDrill,
        policy: OwnPolicy,
        slots: WeightSlots,
        seed: int,
    ) -> None:
        super().__init__(send)
        self.drill, self.policy, self.slots, self.seed = drill, policy, slots, seed
        self._version = 0
        self._rng = np.random.default_rng([seed, 0x5707])
        self.renew()

    @property
    def version(self) -> int:
        return self._version

    def renew(self) -> None:
        found = self.slots.read(self._version)
        if found is not None:
            self._version, _, weights = found
            self.policy.take(weights)

    def begin(self, start: Mapping[str, Any], before: Ahead[Match] | None, plan: int) -> Ahead[Match]:
        self._rng = np.random.default_rng([self.seed, 0x5707, int(start["tick"])])
        return Ahead(plan, Match(self.drill, start))

    def decide(self, played: Ahead[Match]) -> Decision:
        batch = played.match.batch

        def chosen() -> int:
            mask = batch.mask()[:, 0] != 0 if batch.spec.masked else None
            return int(self.policy.act(batch.observe()[:, 0], self._rng, mask=mask)[0])

        return played.match.play(chosen)


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Play until stopped. `job`: training/shown.py."""
    torch.set_num_threads(1)
    drill, seed = CompiledDrill.from_json(job["drill"]), int(job["seed"])
    spec = own_network(drill.spec, job)
    policy = OwnPolicy(spec, spec.untrained(seed))
    show = Show(channel.send, drill, policy, WeightSlots.attach(blocks["weights"]), seed)
    while not channel.closed:
        show.follow(channel.poll(0.0 if show.busy else IDLE_SECONDS))
