"""The settings of one run, checked against its drill, and which of them the user chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_widget.contract import settings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gyms.environment import Environment
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.latest_policy import PolicyVersion


class RunConfig:
    """`values` are the current settings, by default the drill's own; `named` are the ones the user chose."""

    def __init__(self, drill: CompiledDrill | Environment | Any, values: TrainConfig | None = None) -> None:
        self._drill = drill
        self.values = settings.of_drill(drill.spec) if values is None else values
        self.named: set[str] = set()

    def change(self, hyper: Mapping[str, Any]) -> None:
        """Override settings, all or nothing; raises ConfigError."""
        named = self.named | set(settings.canonical(hyper, self.values))
        values = self.values.replace(hyper)
        spec = self._drill.spec
        terms = [term["name"] for term in spec["terms"]]
        values = settings.for_drill(values, named, spec["baselines"], terms, spec["sides"])
        if isinstance(self._drill, Environment):
            self._drill.actions.check(values.action_distribution)
        self.values, self.named = values, named

    def fit(self, gentle: bool) -> None:
        """Fit the settings that the user did not choose to this machine; `gentle` leaves a processor for the page."""
        from dshq_widget.algorithms.ppo import tuning  # numba comes with it; keep it out of the import

        self.values = tuning.fitted(self.values, self._drill.spec, self.named, tuning.Machine.this(gentle))

    def network(self) -> PolicySpec:
        """The network of these settings for the drill."""
        return PolicySpec.for_config(self._drill.spec, self.values)

    def untrained(self) -> PolicyVersion:
        """Version 0 with this seed."""
        network = self.network()
        weights = network.untrained(self.values.seed)
        weights.setflags(write=False)
        return PolicyVersion(0, 0, network.layers, network.activation, weights)
