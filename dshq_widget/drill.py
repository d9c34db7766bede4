"""What a drill is: a class of declarations and rules, and `compile_drill`, which turns it into plain data that
travels anywhere.

Nothing downstream of `CompiledDrill` needs the author's class or source: the kernel, worker processes and the page
all run what is in it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, ClassVar

import numpy as np

from dshq_kernels.cpu import CpuGame, python_source
from dshq_kernels.cuda import CudaGame, cuda_source
from dshq_kernels.javascript import javascript_source
from dshq_kernels.layers import Front, Grid, Pairs, written
from dshq_kernels.rules import Source, translate
from dshq_kernels.subset import DeclarationError, RulesError, rule
from dshq_widget import declarations
from dshq_widget.declarations import Choice, Handle, Observation

__all__ = [
    "Choice",
    "CompiledDrill",
    "Drill",
    "Grid",
    "Handle",
    "Observation",
    "Pairs",
    "RulesError",
    "compile_drill",
    "rule",
]


class Drill:
    """Base class of games. Subclasses declare these attributes and write rules (docs/rules.md).

    name            an identifier of its own: .dshq files find the drill by it
    title           what people read; made of the name where it is empty
    sides           1 or 2
    tick_rate       ticks per second
    action_repeat   ticks per decision
    time_limit      ticks after which an unfinished episode is truncated, a multiple of action_repeat
    world           x0, y0, x1, y1 of what is drawn, in world units; y points up
    mirrored        side 1 observes the world turned by half a turn, so that one policy plays both sides: your rules
                    turn it, in `observe` and where they read side 1's action, and `dshq check` compares
    half_turn       state fields that change sign in that half turn. Array fields of length 2 hold one value a side and
                    swap them, named here or not
    state           field -> type ("f32", "i32", "u32", "bool") or, for an array field, (type, length); 0 at first
    actions         Choice(name, options): an action is one option of each
    keys            KeyboardEvent.code -> (choice, option)
    observations    Observation(name, scale, unit): one number each, in the order of o[0, i], o[1, i], ...
    rewards         reward rule -> weight: the rule's value is paid once per decision
    potentials      potential rule -> weight: gamma * phi(after) - phi(before) is paid once per decision (Ng, Harada
                    & Russell 1999)
    baselines       rules that play: opponents, and the yardstick
    drag            Handle(name, x, y, vx, vy, index): what a pointer may drag
    palette         names of paints (dshq_widget/palette.py); `scene` writes their indices
    shades          paint -> 0 .. 3: its shade in frames of four, where the usual one does not do
    tags            texts; `tag` in `scene` writes their indices
    scene_max       one more, at least, than the shapes that `scene` draws
    target          one side: the mean return (rewards, not potentials) at which the drill counts as solved
    front           what stands in front of the network's dense layers: a `Grid` that looks ahead, for a game on
                    cells, or `Pairs`, for one whose action is an item and a space (dshq_kernels/layers.py)
    training        settings of TrainConfig that suit this drill better; what a user gives goes before them
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    sides: ClassVar[int] = 1
    tick_rate: ClassVar[int] = 120
    action_repeat: ClassVar[int] = 4
    time_limit: ClassVar[int] = 1200
    world: ClassVar[tuple[float, float, float, float]] = (-1.0, -1.0, 1.0, 1.0)
    mirrored: ClassVar[bool] = False
    half_turn: ClassVar[tuple[str, ...]] = ()
    state: ClassVar[Mapping[str, str | tuple[str, int]]] = {}
    actions: ClassVar[tuple[Choice, ...]] = ()
    keys: ClassVar[Mapping[str, tuple[str, str]]] = {}
    observations: ClassVar[tuple[Observation, ...]] = ()
    rewards: ClassVar[Mapping[str, float]] = {}
    potentials: ClassVar[Mapping[str, float]] = {}
    baselines: ClassVar[tuple[str, ...]] = ()
    drag: ClassVar[tuple[Handle, ...]] = ()
    palette: ClassVar[tuple[str, ...]] = ()
    shades: ClassVar[Mapping[str, int]] = {}
    tags: ClassVar[tuple[str, ...]] = ()
    scene_max: ClassVar[int] = 64
    target: ClassVar[float | None] = None
    front: ClassVar[Front | None] = None
    training: ClassVar[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class CompiledDrill:
    """A drill as plain data: `spec` (JSON-able; keys in docs/architecture.md) and the rules as generated Python,
    JavaScript and CUDA source.
    """

    spec: dict[str, Any]
    python: str
    javascript: str
    cuda: str = ""

    @property
    def name(self) -> str:
        return self.spec["name"]

    @property
    def rules_hash(self) -> str:
        """Changes whenever the rules, the observations or the actions do."""
        return self.spec["rules_hash"]

    def game(self) -> CpuGame:
        """Compile for this machine, or load what was compiled before."""
        return CpuGame(self.python, self.spec)

    def cuda_game(self) -> CudaGame:
        """The same for the GPU. Raises RuntimeError where there is none."""
        return CudaGame(self.cuda, self.spec)

    def term_weights(self, overrides: Mapping[str, float] | None = None) -> np.ndarray:
        """f32 (n_terms,): the drill's weights, replaced by name. Raises ValueError for a term that the drill lacks."""
        values = {term["name"]: float(term["weight"]) for term in self.spec["terms"]}
        unknown = sorted(set(overrides or {}) - set(values))
        if unknown:
            raise ValueError(
                f"drill {self.name!r} has no reward term {unknown[0]!r}: it has {', '.join(values) or 'none'}"
            )
        return np.array(list({**values, **(overrides or {})}.values()), np.float32)

    def to_json(self) -> dict[str, Any]:
        return {"spec": self.spec, "python": self.python, "javascript": self.javascript, "cuda": self.cuda}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CompiledDrill:
        return CompiledDrill(dict(data["spec"]), data["python"], data.get("javascript", ""), data.get("cuda", ""))


@lru_cache(maxsize=64)
def compile_drill(drill: type[Drill]) -> CompiledDrill:
    """Check and translate a drill. Raises RulesError for rules outside the subset and ValueError for wrong
    declarations; both name the line and the mend.
    """
    try:
        declarations.check(drill, Drill)
        return _compile(drill)
    except RulesError as error:
        raise RulesError(_named_cell(str(error))) from None  # the frames of the translator say nothing to an author
    except DeclarationError as error:
        raise ValueError(_named_cell(f"{declarations.place(drill, error)}drill {drill.__name__}: {error}")) from None


def _compile(drill: type[Drill]) -> CompiledDrill:
    members: dict[str, Any] = {}
    for base in reversed(drill.__mro__):
        if base not in (object, Drill):
            members.update(vars(base))
    rules: dict[str, Callable] = {name: value for name, value in members.items() if hasattr(value, "__dshq_rule__")}
    terms = [*drill.rewards, *drill.potentials]
    declared = declarations.attributes(Drill)
    source = Source(
        name=drill.name,
        sides=drill.sides,
        state=drill.state,
        observations=[observation.name for observation in drill.observations],
        n_actions=prod(len(choice.options) for choice in drill.actions),
        terms=terms,
        baselines=drill.baselines,
        rules=rules,
        constants={
            name: value
            for name, value in members.items()
            if name not in declared and name not in rules and not name.startswith("_")
        },
        scene_max=drill.scene_max,
    )
    program = translate(source)
    javascript, python, cuda = javascript_source(program), python_source(program), cuda_source(program)
    spec: dict[str, Any] = {
        "name": drill.name,
        "title": drill.title or drill.name.replace("_", " ").capitalize(),
        "sides": drill.sides,
        "tick_rate": drill.tick_rate,
        "action_repeat": drill.action_repeat,
        "time_limit": drill.time_limit,
        "world": list(drill.world),
        "mirrored": drill.mirrored,
        "half_turn": list(drill.half_turn),
        "fields": [[f.name, f.type, f.length] for f in program.fields],
        "actions": [{"name": c.name, "options": list(c.options)} for c in drill.actions],
        "n_actions": source.n_actions,
        "masked": program.masked,
        "keys": {code: list(pair) for code, pair in drill.keys.items()},
        "observations": [{"name": o.name, "scale": o.scale, "unit": o.unit} for o in drill.observations],
        "n_obs": program.n_obs,
        "terms": [
            {"name": name, "weight": weight, "kind": kind, "help": _first_paragraph(rules[name])}
            for kind, terms in (("reward", drill.rewards), ("potential", drill.potentials))
            for name, weight in terms.items()
        ],
        "baselines": list(drill.baselines),
        "drag": [{"name": h.name, "x": h.x, "y": h.y, "vx": h.vx, "vy": h.vy, "index": h.index} for h in drill.drag],
        "palette": list(drill.palette),
        "shades": dict(drill.shades),
        "tags": list(drill.tags),
        "scene_max": drill.scene_max,
        "target": drill.target,
        "front": list(written(drill.front)),
        "training": {k: list(v) if isinstance(v, tuple) else v for k, v in drill.training.items()},
    }
    meaning = {
        k: spec[k]
        for k in ("name", "sides", "tick_rate", "action_repeat", "time_limit", "fields", "actions", "observations")
    }
    digest = hashlib.sha256((json.dumps(meaning, sort_keys=True) + javascript).encode()).hexdigest()
    return CompiledDrill({**spec, "rules_hash": digest[:16]}, python, javascript, cuda)


def _first_paragraph(rule: Callable) -> str:
    return " ".join((inspect.getdoc(rule) or "").partition("\n\n")[0].split())


def _named_cell(message: str) -> str:
    """`FILE:LINE: ...` with a notebook cell called In[3], as IPython calls it, not by the file that stands for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    file, found, rest = message.partition(".py:")
    named = shell.compile.format_code_name(file + ".py") if shell and found else None
    if not named:
        return message
    line, _, said = rest.partition(":")
    return f"cell {named[1]}, line {line}:{said}"
