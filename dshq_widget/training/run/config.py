"""The settings of one run, checked against its drill, and which of them the user chose."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.contract import sections, setting, settings
from dshq_widget.contract.sections import Section
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gyms.environment import Environment
from dshq_widget.policy import ladder
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.compatibility import check_layers, check_memory, ladder_weights, settings_of, shape_of
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.untrained import Untrained


class RunConfig:
    """`values` are the current settings, by default the drill's own; `named` are the ones the user chose. `section`
    holds the algorithm's own settings, None if it has none; their keys are written `NAME.KEY`.
    """

    def __init__(
        self, drill: CompiledDrill | Environment, algorithm: Algorithm, values: TrainConfig | None = None
    ) -> None:
        self.drill, self.algorithm = drill, algorithm
        if values is None:
            values = settings.of_drill(drill.spec).replace(algorithm.defaults)
        if "recurrent" in algorithm.refuses:
            values = values.replace({"memory": 0})
        if "league" in algorithm.refuses:
            values = settings.without_opponents(values, [settings.POOL])
        self.section: Section | None = algorithm.read(algorithm.suggested(drill.spec))
        self.values = values.replace(algorithm.decided(self.section))
        self.named: set[str] = set()
        self._begun = drill, self.values, self.section

    def begin(self) -> None:
        """A run begins with the settings of now."""
        self._begun = self.drill, self.values, self.section

    def running(self) -> tuple[CompiledDrill | Environment, TrainConfig, Section | None]:
        """Drill and settings of the run that began last: what takes effect at the next start is as it was then."""
        drill, values, section = self._begun
        waiting = {key for key in settings.FIELDS if self.effect(key) == setting.RESTART}
        values = self.values.replace({key: getattr(values, key) for key in waiting})
        values = values.paying_for([term.name for term in drill.spec.terms])
        if section is not None and self.section is not None:
            kind, name = type(section), self.algorithm.name
            waiting = {key for key in sections.fields(kind) if self.effect(f"{name}.{key}") == setting.RESTART}
            section = sections.read(kind, name, self.section.to_json(), {key: getattr(section, key) for key in waiting})
        return drill, values, section

    def change(self, hyper: Mapping[str, Any]) -> None:
        """Override settings, all or nothing; raises ConfigError. The algorithm's own are given as `NAME={...}` or under
        their dotted keys.
        """
        hyper, own = self.split(hyper)
        section = self.section
        if self.algorithm.settings is not None and section is not None:
            section = sections.read(self.algorithm.settings, self.algorithm.name, section.to_json(), own)
        named = self.named | set(settings.canonical(hyper, self.values))
        if any(
            setting.spelled(key, settings.ALIASES) == settings.DIVISOR for key in hyper
        ):  # what was divided stays as it is
            named |= {"num_envs", "rollout_length"}
        decided = self.algorithm.decided(section)
        values = self.values.replace(decided).replace(hyper)
        if self.algorithm.own is not None:
            for key in (key for key, field in settings.FIELDS.items() if field["network"]):
                if getattr(values, key) != getattr(self.values, key):
                    name = self.algorithm.own.name
                    raise setting.ConfigError(f"{key} cannot be set: the network is your own, {name}; remove it")
        for key, fixed in decided.items():
            if getattr(values, key) != fixed:
                name = self.algorithm.name
                raise setting.ConfigError(f"{key} cannot be set: the algorithm {name} needs {fixed!r}; remove it")
        spec = self.drill.spec
        terms = [term.name for term in spec.terms]
        rungs = ladder.rungs(self.drill.name)
        values = settings.for_drill(values, named, spec.baselines, terms, spec.sides, rungs)
        for rung in rungs:
            if rung in values.opponents and self.algorithm.own is not None:
                raise setting.ConfigError(
                    f"opponents: {rung} has the package's own network, and a network of your own plays against itself, "
                    f"scripts, random and idle; got {values.opponents}"
                )
            if rung in values.opponents:
                ladder_weights(rung, self.drill.name, PolicySpec.for_config(spec, values))
        check_memory(spec, values)
        if isinstance(self.drill, Environment):
            self.drill.actions.check(values.action_distribution)
        self.values, self.named, self.section = values, named, section

    def choose(self, keys: Iterable[str]) -> None:
        """The user chose these settings and no others: only others may still be fitted to the machine."""
        self.named = set(keys)

    @contextlib.contextmanager
    def changing(self, hyper: Mapping[str, Any]) -> Iterator[None]:
        """`change` for what the block does with it; taken back if the block raises."""
        before = self.values, self.named, self.section
        try:
            self.change(hyper)
            yield
        except BaseException:
            self.values, self.named, self.section = before
            raise

    def check(self, hyper: Mapping[str, Any]) -> None:
        """Raises ValueError for settings by name that the algorithm cannot have."""
        self.algorithm.check(self.drill.spec, TrainConfig.from_values(self.split(hyper)[0]))

    def turn(self, hyper: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Change settings while a run may continue; raises as `check` and `change` do. Returns what its learner needs:
        the algorithm's own come together, under its name, because some are valid only together. And the keys of those
        that wait for the next start.
        """
        before = self.to_json()
        self.check(hyper)
        self.change(hyper)
        changed = {key: value for key, value in self.to_json().items() if key in before and value != before[key]}
        waiting = [key for key in changed if self.effect(key) == setting.RESTART]
        shared, own = self.split({key: value for key, value in changed.items() if key not in waiting})
        return shared | ({self.algorithm.name: own} if own else {}), waiting

    def changed(self, hyper: Mapping[str, Any]) -> RunConfig:
        """A copy with other settings; raises ConfigError as `change` does."""
        copied = copy.copy(self)
        copied.change(hyper)
        return copied

    def take(self, saved: Checkpoint, name: str) -> None:
        """The settings of a file called `name` in place of these, its algorithm's own included; raises CheckpointError,
        and changes nothing, if they do not give this drill the network of the file.
        """
        try:
            taken = RunConfig(self.drill, self.algorithm, settings_of(saved))
            own = self.algorithm.settings_in(saved)
            taken.change({f"{self.algorithm.name}.{key}": value for key, value in own.items()})
            network = taken.network()
        except ValueError as error:
            raise CheckpointError(f"cannot continue from {name!r}: {error}") from None
        check_layers(saved, name, self.drill.spec, network)
        self.values, self.named, self.section = taken.values, taken.named, taken.section

    def pay_by(self, drill: CompiledDrill) -> None:
        """The same game with other reward terms: weights of those that it lacks are forgotten."""
        self.drill = drill
        self.values = self.values.paying_for([term.name for term in drill.spec.terms])

    def split(self, hyper: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings that every algorithm shares, and the algorithm's own."""
        name = self.algorithm.name
        if self.section is None:
            return dict(hyper), {}
        own = hyper.get(name, {})
        if not isinstance(own, Mapping):
            raise setting.ConfigError(f"{name} must be settings by name such as {{'threshold': 0.5}}, got {own!r:.60}")
        prefix = f"{name}."
        dotted = {key.removeprefix(prefix): value for key, value in hyper.items() if key.startswith(prefix)}
        shared = {key: value for key, value in hyper.items() if key != name and not key.startswith(prefix)}
        return shared, {**own, **dotted}

    def to_json(self) -> dict[str, Any]:
        """All settings by key, the algorithm's own under their dotted keys."""
        own = {} if self.section is None else self.section.to_json()
        return self.values.to_json() | {f"{self.algorithm.name}.{key}": value for key, value in own.items()}

    def shape(self) -> dict[str, Any]:
        """The settings, the algorithm's own under their dotted keys, of which another value needs another network."""
        return {key: value for key, value in self.to_json().items() if self.shapes(key)}

    def shapes(self, key: str) -> bool:
        """Whether another value of this setting needs another network."""
        section, _, own = key.rpartition(".")
        if not section:
            return bool(settings.FIELDS[key]["network"])
        assert self.algorithm.settings is not None, key
        return bool(sections.fields(self.algorithm.settings)[own]["network"])

    def shaped(self, shape: Mapping[str, Any]) -> tuple[TrainConfig, Section | None]:
        """The settings of now, for what was learned by a network of this `shape`."""
        shared, own = self.split(shape)
        section = None if self.section is None else self.algorithm.read(self.section.to_json(), own)
        return self.values.replace(shared), section

    def effect(self, key: str) -> str:
        """When a change of this setting takes effect."""
        return self.algorithm.effect(key)

    def fit(self, gentle: bool) -> None:
        """Fit the settings that the user did not choose to this machine; `gentle` leaves a processor for the page."""
        from dshq_widget.learning.fitting import fitted  # numba comes with it; keep it out of the import
        from dshq_widget.runtime.machine import Machine

        keep = {*self.named, *self.algorithm.defaults}
        self.values = fitted(self.values, self.drill.spec, keep, Machine.this(gentle))

    def afford(self) -> str:
        """Lower what a file's settings would take of this machine's memory; a sentence if that was needed, else ""."""
        from dshq_widget.learning.fitting import affordable
        from dshq_widget.runtime.machine import Machine

        copies = isinstance(self.drill, Environment)
        self.values, said = affordable(self.values, self.drill.spec, self.named, Machine.this(), copies)
        return said

    def network(self, shape: Mapping[str, Any] | None = None) -> PolicySpec:
        """The network of these settings, or of that `shape`, for the drill, or a person's own."""
        if self.algorithm.own is not None:
            return self.algorithm.own
        values, section = (self.values, self.section) if shape is None else self.shaped(shape)
        return PolicySpec.for_config(self.algorithm.shaped(self.drill.spec, section), values)

    def network_of(self, saved: Checkpoint, name: str) -> dict[str, Any]:
        """The settings that give this drill and algorithm the network of a file called `name`; raises CheckpointError
        if there are none.
        """
        if self.algorithm.own is not None:
            check_layers(saved, name, self.drill.spec, self.algorithm.own)
            return {}
        own = {**self.own_shape_of(saved, name), **self.algorithm.of_layers(saved.layers)}
        section = self.algorithm.read(self.section.to_json() if self.section else {}, own)
        shape = shape_of(saved, name, self.algorithm.shaped(self.drill.spec, section))
        return shape | {f"{self.algorithm.name}.{key}": value for key, value in own.items()}

    def own_shape_of(self, saved: Checkpoint, name: str) -> dict[str, Any]:
        """The algorithm's own settings of `shape`, by key, as a file of that algorithm called `name` has them. Raises
        CheckpointError for one that this release does not know.
        """
        kind, algorithm = self.algorithm.settings, self.algorithm.name
        if kind is None or saved.algorithm != algorithm:
            return {}
        keys = [key for key in sections.fields(kind) if self.shapes(f"{algorithm}.{key}")]
        try:
            found = sections.read(kind, algorithm, {k: v for k, v in saved.algorithm_settings.items() if k in keys})
        except setting.ConfigError as error:
            raise CheckpointError(f"{name!r} has settings that this release does not support: {error}") from None
        return {key: getattr(found, key) for key in keys}

    def check_own_shape(self, saved: Checkpoint, name: str) -> None:
        """Raises CheckpointError for a file called `name` that has learned with others of these than the run has."""
        for key, value in self.own_shape_of(saved, name).items():
            now = getattr(self.section, key)
            if now != value:
                raise CheckpointError(
                    f"{name!r} was trained with {self.algorithm.name}.{key} {value!r}, and here it is {now!r}: leave "
                    "that out, or begin a new run"
                )

    def untrained(self, before: PolicyVersion | None = None, shape: Mapping[str, Any] | None = None) -> Untrained:
        """Version 0 with this seed, of `network(shape)`, not drawn yet, unless `before`, whose place it takes, has the
        same weights.
        """
        return Untrained(self.network(shape), self.values.seed, before)
