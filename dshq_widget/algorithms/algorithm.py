"""What an algorithm declares: a name, a function that starts the processes of a run, and all that others show of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from dshq_widget.contract import metrics, sections, setting, settings
from dshq_widget.contract.curves import Curve
from dshq_widget.contract.game_spec import DrillSpec, Game, GameSpec
from dshq_widget.contract.json_fields import Entry
from dshq_widget.contract.metrics import Metric
from dshq_widget.contract.panel import Panel
from dshq_widget.contract.places import found_at
from dshq_widget.contract.sections import Section
from dshq_widget.contract.setting import ConfigError

if TYPE_CHECKING:
    from dshq_widget.algorithms.measured import Measured
    from dshq_widget.algorithms.torchrun import Place
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.learning.saved.saved_state import Fits
    from dshq_widget.policy.checkpoint import Checkpoint
    from dshq_widget.policy.own_spec import OwnSpec
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Child, Exit

Job = Mapping[str, Any]
"""What a run is asked to do."""
Message = Mapping[str, Any]
OnMessage = Callable[[Any, Message], None]
OnExit = Callable[[Any, "Exit"], None]
"""How a run reports on its learner, as `Start` says."""
Check = tuple[bool, str, str]
"""A finding of `dshq doctor`: whether it is well, what was found, what to do."""


class Processes(Protocol):
    """The processes of one run. Their messages arrive on the supervisor's thread through the callbacks of `Start`."""

    replaceable: bool
    """Whether a learner that dies may be replaced by one that continues from the last published weights."""

    def send(self, message: Message) -> None:
        """Send a command to the learner (protocol.py, kernel_to_learner), and to workers if it concerns them."""
        ...

    def stop(self, seconds: float) -> None:
        """Ask all to end, by force after `seconds`. Returns at once."""
        ...


class Start(Protocol):
    """Starts the processes of a run. Raises MemoryError, or RuntimeError for what is missing on this machine.

    The learner publishes in `weights`; `job` holds the trainer's orders (learning/run.py). `on_message(processes,
    message)` and `on_exit(processes, exit)` report on the learner.
    """

    def __call__(
        self,
        drill: Game,
        config: TrainConfig,
        weights: SharedBlock,
        job: Job,
        on_message: OnMessage,
        on_exit: OnExit,
    ) -> Processes: ...


def imported(place: str) -> Callable[..., Any]:
    """The function at "module:function". Its module, with which numba may come, is imported at the first call."""

    return lambda *given: found_at(place)(*given)


def one_process(
    role: str,
    threads: Callable[[TrainConfig, Message], int] = lambda config, job: 1,
    needs: Callable[[], None] = lambda: None,
) -> Start:
    """A `Start` for a learner that does everything in one process of `role`. `threads(config, job)`: how many it has;
    `needs` raises RuntimeError for what is missing on this machine. Raises ValueError for a role that no other process
    can import.
    """
    if role.partition(":")[0] == "__main__":
        raise ValueError(
            "an algorithm runs in a process of its own, which cannot import a notebook's cell or a script that runs: "
            "write it into a file (`%%writefile my_algorithm.py`) and import that"
        )

    def start(
        drill: Game, config: TrainConfig, weights: SharedBlock, job: Job, on_message: OnMessage, on_exit: OnExit
    ) -> Processes:
        needs()
        return OneProcess(role, drill.to_json(), config, weights, job, on_message, on_exit, threads(config, job))

    return start


FEATURES = {
    "two sides": "drills of two sides",
    "gym": "environments of Gymnasium (`gym:ID`)",
    "recurrent": "networks with memory (`--memory`)",
    "cuda": "learning on a CUDA device (`--device cuda`)",
    "page": "training in the page (`DrillWidget(engine='page')`, `dshq play --engine page`)",
    "onnx": "`dshq export --onnx`",
    "html": "`dshq export --html`",
    "joint": "several processes that learn one network (`--joint true`)",
    "league": "a league of earlier policies, which are also opponents (`--opponents pool=...`)",
}
"""What an algorithm may have, for the table in docs/reference/algorithms.md."""


@dataclass(frozen=True)
class Engine:
    """Another place than this machine where runs of an algorithm take place."""

    start: Start
    text: str
    """What it is, for the table in docs/reference/algorithms.md."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """What only its runs report."""


class Refused(ValueError):
    """An algorithm does not have what was asked for. The message is the sentence that it declares."""


@dataclass(frozen=True)
class PlayedByProcess:
    """How the match on the page is played by a policy that is more than the network in its files: a process of the
    kernel decides, a little ahead of the page (widget/policy_show.py).
    """

    role: str
    """That process: "module:function". Its job: training/shown.py."""
    floats: Callable[[GameSpec, Any], int]
    """`floats(spec, settings)`: how many weights it plays with. The learner publishes them beside the policy; its job
    has `acting`, the offset of their slots in `weights`, 0 if nobody watches.
    """
    needs: Callable[[], None]
    """Raises RuntimeError for what is missing on this machine."""


EVERY_RUN = ("seed", "pace", "evaluate_seconds", "autosave_seconds")
"""The shared settings that the loop and the evaluator of every run read."""


@dataclass(frozen=True)
class Algorithm:
    """All that is said of an algorithm anywhere: nothing outside its folder names it, but one line of the registry.
    Raises ValueError for a setting that is not there, or a metric whose name means something else already.
    """

    name: str
    """Its name in `Trainer(algorithm=...)`, and the section of its own settings."""
    start: Start
    settings: type[Section] | None = None
    """Its own settings (contract/sections.py); their section has the algorithm's name. None: it has none. `start` finds
    them, checked, as JSON in `job["algorithm_settings"]`.
    """
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Shared settings that suit it better than a drill's own `training`; the user may choose others."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Shared settings that it decides itself, such as the shape of its network; nobody can choose others."""
    network: Callable[[Any], tuple[tuple[int, ...], tuple[int, ...]]] | None = None
    """`network(settings)`: what stands in front of its network, as encoded in `layers`
    (dshq_kernels/network/layers.py), and the hidden sizes. None: what the drill and the shared settings say.
    """
    with_own: Callable[[Algorithm, OwnSpec, GameSpec], Algorithm] | None = None
    """`with_own(algorithm, network, spec)`: the same algorithm for a game where a person's own network takes the place
    of the one that settings describe; its `start` finds `job["network"]`, "name" and "folder" of the factory. None:
    there is no such.
    """
    own: OwnSpec | None = None
    """That network."""
    of_layers: Callable[[Sequence[int]], Mapping[str, Any]] = lambda layers: {}
    """Its own settings that give it the network of these layers. They win over those of a file: an older one may not
    have them.
    """
    reads: tuple[str, ...] | None = None
    """The shared settings (contract/settings.py) that it reads besides `EVERY_RUN`; the page shows these. None: all."""
    at_start: frozenset[str] = frozenset()
    """Those of them that it reads once, where other algorithms take a change while they train."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """What it reports beyond the metrics of every run."""
    curves: tuple[Curve, ...] = ()
    """The charts of these."""
    panel: Panel | None = None
    """Its panel on the page; None: it has none, or a feature of the page is its panel."""
    summary: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda metrics: {}
    """What `dshq train --json` says of a run beyond what it says of every run, from the run's last metrics."""
    answers: Mapping[str, Entry] = field(default_factory=dict)
    """What those fields of that are that are no metrics under their own name (contract/json_fields.py)."""
    suits: Callable[[GameSpec], None] = lambda spec: None
    """Raises ValueError for a drill's `spec` that it cannot train for another reason."""
    engines: Mapping[str, Engine] = field(default_factory=dict)
    """By the name that `engine=` calls each by."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Feature (a key of `FEATURES`, an engine's name, or `scenes`) -> the sentence with which it is refused. All others
    work.
    """

    tensors: Mapping[str, Fits] = field(default_factory=dict)
    """What it saves by names of its own that begin with `train.`, and what these must be
    (learning/saved/saved_state.py): a file with others is refused. Names that are not here are not looked at before it
    restores them.
    """
    evaluate: Callable[[CompiledDrill, Checkpoint, int, int, bool, str], dict[str, Any]] | None = None
    """`evaluate(drill, saved, episodes, seed, greedy, against)` for policies that are more than the network in their
    file: the numbers of policy/evaluate.py. None: that network plays.
    """
    searches: Callable[[Checkpoint], Mapping[str, Any]] = lambda saved: {}
    """`searches(saved)`: how a policy of its files searches where it is asked to, by keywords of
    dshq_kernels/search/searcher.py (`how`); what is left out is as there. Raises ValueError for a wrong file.
    """
    played: PlayedByProcess | None = None
    """None: the page plays the network that is published."""
    memory: Callable[[GameSpec, TrainConfig, Any], float] = field(
        default_factory=lambda: imported("dshq_widget.learning.fitting:rollout_bytes")
    )
    """`memory(spec, config, settings)`: about how many bytes a run with these settings takes, of what grows with them.
    More than this machine has free is refused at the start, and for a page more than half of it.
    """
    prepare: Callable[[Game, TrainConfig], None] | None = None
    """Starts to compile, in processes of low priority, what the first run of a drill needs. Returns at once."""
    follow: Callable[[Place], object] | None = None
    """What the processes of rank 1, 2, ... do that torchrun starts beside the one of the run (`--joint`), until that
    ends. None: there are none.
    """
    checks: Mapping[str, Callable[[], Check]] = field(default_factory=dict)
    """What `dshq doctor` says of it on this machine, by the name of a line."""
    benches: Mapping[str, Callable[..., Measured]] = field(default_factory=dict)
    """What `dshq bench --device` measures of its learner, by the device: `(drill, seconds)` on "cpu", and on "cuda"
    `(drill, on, precision, kernels)`, where `on` measures (gpu/cuda/bench.py).
    """
    ingests: Callable[[CompiledDrill, float, bool, str], dict[str, Any]] | None = None
    """`ingests(drill, seconds, guard, device)`: the answer of `dshq ingest`, where it learns from frames. Raises
    ValueError for a drill without any, RuntimeError for what is missing on this machine.
    """

    def __post_init__(self) -> None:
        if not re.fullmatch(sections.NAME, self.name, re.ASCII):
            raise ValueError(f"an algorithm's name is one to 31 of a-z, 0-9 and _, a letter first; got {self.name!r}")
        for key in {*(self.reads or ()), *self.at_start, *self.defaults, *self.fixed} - {*settings.FIELDS}:
            raise ValueError(
                f"{self.name} names a shared setting {key!r} that is not there{setting.nearest(key, settings.FIELDS)}"
            )
        for own in (self.metrics, *(engine.metrics for engine in self.engines.values())):
            metrics.declare(own, self.name)
        for what, names in (
            *(("a curve", curve.lines) for curve in self.curves),
            ("a panel", self.panel.rows if self.panel else ()),
        ):
            for name in names:
                if metrics.metric_named(name) is None:
                    raise ValueError(f"{self.name} has {what} of {name!r}, which is no metric: declare it in `metrics`")

    @property
    def shared_settings(self) -> list[str]:
        """The shared settings that it reads, in the order of settings.py."""
        used = settings.FIELDS if self.reads is None else {*EVERY_RUN, *self.reads}
        return [key for key in settings.FIELDS if key in used]

    def effect(self, key: str) -> str:
        """When a change of a setting takes effect: of a shared one, or of its own, called `name.key`."""
        section, _, own = key.rpartition(".")
        if section:
            assert self.settings is not None, key
            return str(sections.fields(self.settings)[own]["effect"])
        return setting.RESTART if key in self.at_start else str(settings.FIELDS[key]["effect"])

    def schema(self) -> dict[str, dict[str, Any]]:
        """`settings.schema` of the shared settings that it reads."""
        whole = settings.schema()
        return {key: {**whole[key], "effect": self.effect(key)} for key in self.shared_settings}

    def with_network(self, network: OwnSpec, spec: GameSpec) -> Algorithm:
        """The same with a person's own network, for a game. Raises Refused if it does not take one."""
        if self.with_own is None:
            raise Refused(f"{self.name} has a network that it knows: leave out --network, or choose the algorithm ppo")
        return self.with_own(self, network, spec)

    @property
    def plays_alone(self) -> bool:
        """Whether its policy is the network in its file. Else that network stands in for it, and plays at random."""
        return self.played is None or self.own is not None

    def require(self, feature: str) -> None:
        """Raises Refused, with the declared sentence, if the algorithm does not have this feature."""
        assert feature in FEATURES, feature
        if feature in self.refuses:
            raise Refused(self.refuses[feature])

    def start_on(self, engine: str) -> Start:
        """How its runs start on this engine. Raises Refused if it has no such one."""
        if engine == "local":
            return self.start
        if engine not in self.engines:
            usual = f"{self.name} does not run on the engine {engine}: leave out --engine {engine}"
            raise Refused(self.refuses.get(engine, usual))
        return self.engines[engine].start

    def check(self, spec: GameSpec, config: TrainConfig | None = None) -> None:
        """Raises Refused if it cannot train a drill or environment with this `spec`, or not with these settings."""
        if not isinstance(spec, DrillSpec):
            self.require("gym")
        elif spec.sides == 2:
            self.require("two sides")
        self.suits(spec)
        if config is not None and config.memory:
            self.require("recurrent")
        if config is not None and config.device in settings.DEVICES:
            self.require(config.device)
        if config is not None and config.joint:
            self.require("joint")
        if config is not None and "pool" in config.opponents:
            self.require("league")

    def check_file(self, saved: Checkpoint, name: str) -> None:
        """Raises CheckpointError for a file whose policy only another algorithm can play."""
        from dshq_widget.policy.checkpoint import CheckpointError

        if saved.algorithm != self.name and (saved.stands_in or not self.plays_alone):
            raise CheckpointError(
                f"{name!r} is of the algorithm {saved.algorithm}, and here {self.name} trains: open the file by itself"
            )

    def settings_in(self, saved: Checkpoint) -> dict[str, Any]:
        """Its own settings in a file; empty for a file of another algorithm."""
        return {**saved.algorithm_settings, **self.of_layers(saved.layers)} if saved.algorithm == self.name else {}

    def shaped(self, spec: GameSpec, section: Section | None) -> GameSpec:
        """A drill's `spec` with what stands in front of this algorithm's network, by its own settings."""
        return spec if self.network is None else replace(spec, front=self.network(section)[0])

    def decided(self, section: Section | None) -> Mapping[str, Any]:
        """`fixed`, and the hidden sizes where its own settings decide them."""
        return self.fixed if self.network is None else {**self.fixed, "hidden_sizes": self.network(section)[1]}

    def suggested(self, spec: GameSpec) -> Mapping[str, Any]:
        """The algorithm's own settings that suit a drill better than the defaults, as the drill says."""
        found: Mapping[str, Any] = spec.algorithm_settings.get(self.name, {})
        return found

    def read(self, *layers: Mapping[str, Any] | None) -> Section | None:
        """Its own settings: the defaults, overridden by each mapping in turn; None if it has none. Raises ConfigError
        for a wrong one, and for any if it has none.
        """
        if self.settings is not None:
            return sections.read(self.settings, self.name, *layers)
        given = [key for layer in layers for key in layer or {}]
        if given:
            raise ConfigError(f"{self.name} has no settings of its own, got {given[0]!r}: leave it out")
        return None


class OneProcess:
    """A run whose learner does everything in one process, the role `role` ("module:function")."""

    replaceable = True

    def __init__(
        self,
        role: str,
        drill: Mapping[str, Any],
        config: TrainConfig,
        weights: SharedBlock,
        job: Job,
        on_message: OnMessage,
        on_exit: OnExit,
        threads: int = 1,
        **how: Any,
    ) -> None:
        """`drill` is the drill as JSON; `how` goes to `Supervisor.start`."""
        from dshq_widget.runtime.supervisor import supervisor

        self._on_message, self._training = on_message, False
        self._stuck_seconds: float | None = how.get("stuck_seconds")
        self.workers: list[Child] = []
        self.learner: Child = supervisor(os.getpid()).start(
            role,
            {"drill": drill, "hyper": config.to_json(), "threads": threads, **job},
            {"weights": weights},
            self._receive,
            lambda _child, end: on_exit(self, end),
            threads,
            **how,
        )

    def _receive(self, _child: Child, message: Message) -> None:
        """A learner that starts or ends is silent for a while, because importing torch, or leaving a Ray cluster, holds
        the interpreter lock; that is not reported. One that is stuck is reported with the seconds that its run allows.
        """
        if message["type"] in ("PHASE", "STOPPED"):
            self._training = message.get("phase") == "training"
        if message["type"] != "HEALTH":
            self._on_message(self, message)
        elif self._training:
            allowed = {} if self._stuck_seconds is None else {"seconds": self._stuck_seconds}
            self._on_message(self, {**message, **allowed})

    def send(self, message: Message) -> None:
        """Send a command to the learner."""
        self.learner.send(dict(message))

    def stop(self, seconds: float) -> None:
        """Ask it to end, by force after `seconds`. Returns at once."""
        self.learner.stop(seconds)
