"""`compile_drill` turns a drill into plain data. The kernel, worker processes and the page need only `CompiledDrill`,
not the author's class or source.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, cast

import numpy as np

from dshq_kernels.backends.cpu import CpuGame
from dshq_kernels.backends.javascript import javascript_source
from dshq_kernels.backends.llvm_source import llvm_source
from dshq_kernels.backends.reference import reference_source
from dshq_kernels.backends.reference_game import REFERENCE, SWITCH, ReferenceGame, wanted
from dshq_kernels.backends.wasm import drill_module
from dshq_kernels.backends.wgsl import wgsl_source
from dshq_kernels.language.ir import Program
from dshq_kernels.language.rules import Source, translate
from dshq_kernels.language.scope import TOO_DEEP
from dshq_kernels.language.selects import with_selects
from dshq_kernels.language.subset import DeclarationError, RulesError
from dshq_kernels.network.layers import written
from dshq_widget.contract.game_spec import Choice, DrillSpec, Field, FieldType, Term
from dshq_widget.drill import checks
from dshq_widget.drill.declaration import Drill
from dshq_widget.drill.devices import DEVICES

MEANING = ("name", "sides", "tick_rate", "action_repeat", "time_limit", "fields", "actions", "observations")
"""Of a drill's spec, what `rules_hash` is of, with the rules themselves; the helps of observations are not."""


@dataclass(frozen=True)
class CompiledDrill:
    """A drill as plain data: `spec`, what it is, and the rules as generated JavaScript, LLVM and WGSL source, and as
    that of `devices`. In the process that translated it, it has the `program` too.
    """

    spec: DrillSpec
    javascript: str
    llvm: str
    wgsl: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)
    plain: str = field(default="", repr=False, compare=False)
    """What `reference` says, where it came with the other sources."""
    program: Program | None = field(default=None, repr=False, compare=False)
    author: type[Drill] | None = field(default=None, repr=False, compare=False)
    """The class that it was made from, in the process that translated it."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def rules_hash(self) -> str:
        """Changes when the rules, the observations or the actions change."""
        return self.spec.rules_hash

    @cached_property
    def reference(self) -> str:
        """The source of the reference back end, written when it is first asked for. Raises RuntimeError in a process
        that did not translate the drill and was not sent it.
        """
        if not self.plain and self.program is None:
            raise RuntimeError(
                f"the rules of {self.name!r} came here without those for the reference: compile the drill's class "
                f"here, or set {SWITCH}={REFERENCE} where it was sent from"
            )
        return self.plain or reference_source(self.program)  # type: ignore[arg-type]

    def game(self, *, reference: bool | None = None) -> CpuGame:
        """Compile for this machine, or load the cached machine code. `reference`: have Python run the rules as they are
        written, and compile nothing (by default if DSHQ_RULES=reference).
        """
        if wanted() if reference is None else reference:
            return ReferenceGame(self.reference, self.spec)
        return CpuGame(self.llvm, self.spec)

    def device_game(self, name: str) -> Any:
        """The same for a device (devices.py), "cuda". Raises RuntimeError if there is none."""
        return DEVICES[name].game(self.devices.get(name, ""), self.spec)

    def wasm(self, relaxed: bool = False) -> bytes:
        """The same as a WebAssembly module; `relaxed`: one that may use relaxed SIMD. Raises RuntimeError if this numba
        or llvmlite cannot make one.
        """
        return drill_module(self.llvm, self.spec, relaxed)

    def term_weights(self, overrides: Mapping[str, float] | None = None) -> np.ndarray:
        """f32 (n_terms,): the drill's weights, with some replaced by name. Raises ValueError for an unknown term."""
        values = {term.name: float(term.weight) for term in self.spec.terms}
        unknown = sorted(set(overrides or {}) - set(values))
        if unknown:
            raise ValueError(
                f"drill {self.name!r} has no reward term {unknown[0]!r}: it has {', '.join(values) or 'none'}"
            )
        return np.array(list({**values, **(overrides or {})}.values()), np.float32)

    def to_json(self) -> dict[str, Any]:
        return {
            "spec": self.spec.to_json(),
            "javascript": self.javascript,
            "llvm": self.llvm,
            "wgsl": self.wgsl,
            **self.devices,
            **({"reference": self.reference} if wanted() else {}),
        }

    def __reduce__(self) -> tuple[Callable[[Mapping[str, Any]], CompiledDrill], tuple[dict[str, Any]]]:
        """A pickle or a copy is what travels: the program stays."""
        return CompiledDrill.from_json, (self.to_json(),)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CompiledDrill:
        return CompiledDrill(
            DrillSpec.from_json(data["spec"]),
            data.get("javascript", ""),
            data.get("llvm", ""),
            data.get("wgsl", ""),
            {name: data.get(name, "") for name in DEVICES},
            data.get("reference", ""),
        )


@lru_cache(maxsize=64)
def compile_drill(drill: type[Drill]) -> CompiledDrill:
    """Check and translate a drill. Raises RulesError for rules outside the subset and ValueError for wrong
    declarations; both name the line and the fix.
    """
    return compile_anew(drill)


def compile_anew(drill: type[Drill]) -> CompiledDrill:
    """The same of a class that nobody asks for again: some MB of source are not kept."""
    try:
        checks.check(drill, Drill)
        return _compile(drill)
    except RulesError as error:
        raise RulesError(_named_cell(str(error))) from None  # hide the translator's stack frames from the author
    except RecursionError:
        what, mend = TOO_DEEP
        raise RulesError(f"the rules of drill {drill.__name__}: {what}. {mend[:1].upper()}{mend[1:]}.") from None
    except DeclarationError as error:
        raise ValueError(_named_cell(f"{checks.place(drill, error)}drill {drill.__name__}: {error}")) from None


def source_of(drill: type[Drill]) -> Source:
    """What the front end needs of a drill whose declarations are right."""
    members: dict[str, Any] = {}
    for base in reversed(drill.__mro__):
        if base not in (object, Drill):
            members.update(vars(base))
    rules: dict[str, Callable[..., Any]] = {
        name: value for name, value in members.items() if hasattr(value, "__dshq_rule__")
    }
    declared = checks.attributes(Drill)
    return Source(
        name=drill.name,
        sides=drill.sides,
        state=drill.state,
        observations=[observation.name for observation in drill.observations],
        n_actions=prod(len(choice.options) for choice in drill.actions),
        terms=[*drill.rewards, *drill.potentials],
        baselines=drill.baselines,
        rules=rules,
        constants={
            name: value
            for name, value in members.items()
            if name not in declared and name not in rules and not name.startswith("_")
        },
        scene_max=drill.scene_max,
    )


def _compile(drill: type[Drill]) -> CompiledDrill:
    source = source_of(drill)
    rules = source.rules
    plain = translate(source)
    program = with_selects(plain)
    javascript = javascript_source(program)
    x0, y0, x1, y1 = drill.world
    low, high = drill.observation_range or (0.0, 0.0)
    spec = DrillSpec(
        name=drill.name,
        title=drill.title or drill.name.replace("_", " ").capitalize(),
        about=_first_paragraph(drill) if drill.__dict__.get("__doc__") else "",
        sides=drill.sides,
        tick_rate=drill.tick_rate,
        action_repeat=drill.action_repeat,
        time_limit=drill.time_limit,
        world=(x0, y0, x1, y1),
        mirrored=drill.mirrored,
        half_turn=tuple(drill.half_turn),
        fields=tuple(Field(f.name, cast(FieldType, f.type), f.length) for f in program.fields),
        actions=tuple(Choice(choice.name, tuple(choice.options)) for choice in drill.actions),
        n_actions=source.n_actions,
        masked=program.masked,
        keys={code: (choice, option) for code, (choice, option) in drill.keys.items()},
        observations=tuple(drill.observations),
        n_obs=program.n_obs,
        observation_range=(low, high) if drill.observation_range else None,
        terms=(
            *(Term(name, weight, "reward", _first_paragraph(rules[name])) for name, weight in drill.rewards.items()),
            *(
                Term(name, weight, "potential", _first_paragraph(rules[name]))
                for name, weight in drill.potentials.items()
            ),
        ),
        baselines=tuple(drill.baselines),
        drag=tuple(drill.drag),
        cells=drill.cells,
        show_speed=drill.show_speed,
        palette=tuple(drill.palette),
        shades=dict(drill.shades),
        pointed=tuple(drill.pointed),
        legend=dict(drill.legend),
        hint=drill.hint,
        tags=tuple(drill.tags),
        scene_max=drill.scene_max,
        drawn="scene" in rules,
        target=drill.target,
        optimum=drill.optimum,
        front=written(drill.front),
        algorithm=drill.algorithm,
        algorithm_settings={name: dict(own) for name, own in drill.algorithm_settings.items()},
        training={key: list(value) if isinstance(value, tuple) else value for key, value in drill.training.items()},
        rules_hash="",
    )
    spec = replace(spec, rules_hash=_hash_of(spec, javascript))
    llvm, wgsl = llvm_source(program), wgsl_source(program)
    devices = {name: rules.source(program) for name, rules in DEVICES.items()}
    return CompiledDrill(spec, javascript, llvm, wgsl, devices, program=plain, author=drill)


def _hash_of(spec: DrillSpec, javascript: str) -> str:
    """16 hex digits of the rules and of what the spec says that has a meaning in them (`MEANING`)."""
    said = spec.to_json()
    said["observations"] = [{key: row[key] for key in ("name", "scale", "unit")} for row in said["observations"]]
    digest = hashlib.sha256((json.dumps({key: said[key] for key in MEANING}, sort_keys=True) + javascript).encode())
    return digest.hexdigest()[:16]


def _first_paragraph(documented: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())


def _named_cell(message: str) -> str:
    """`FILE:LINE: ...`, with In[3] for a notebook cell instead of its temporary file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    file, found, rest = message.partition(".py:")
    named = shell.compile.format_code_name(file + ".py") if shell and found else None
    if not named:
        return message
    line, _, said = rest.partition(":")
    return f"cell {named[1]}, line {line}:{said}"
