"""The front end of the rules language: reads rules' syntax trees, checks the subset, types them, and flattens each
verb into one `Program`.

Calls between rules are inlined here, loops over small constant ranges unrolled and small `if` blocks turned into
selects, so that every back end
receives straight-line statements with every type decided. The language is described in docs/rules.md.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from dshq_kernels import maths, rng
from dshq_kernels.ir import (
    BOOL,
    F32,
    I32,
    TYPES,
    U32,
    Assign,
    Binary,
    Cast,
    Compare,
    Const,
    Emit,
    Expr,
    Field,
    For,
    If,
    Load,
    Logic,
    Out,
    Program,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from dshq_kernels.subset import RulesError, rule

__all__ = ["COMMON_FIELDS", "SHAPES", "RulesError", "Source", "rule", "translate"]

UNROLL_TRIPS = (
    16  # loops of at most this many rounds are unrolled: the lane loop around them vectorises only then (measured)
)
MAX_LOOP = 1 << 20
MAX_STATEMENTS = 20_000
LITERAL = "int literal"  # the type of an int literal until its neighbour or its use decides
BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
LIBRARY = {
    name: value for module in (rng, maths) for name, value in vars(module).items() if hasattr(value, "__dshq_rule__")
}
# A shape's arguments in its 12 floats (docs/architecture.md, Scene): kind, then the slot of each argument.
SHAPES: dict[str, tuple[int, tuple[int, ...]]] = {
    "circle": (0, (2, 3, 4, 1)),
    "box": (1, (2, 3, 4, 5, 6, 7, 8, 1)),
    "line": (2, (2, 3, 4, 5, 6, 1)),
    "ring": (3, (2, 3, 4, 5, 6, 7, 1)),
    "tag": (4, (2, 3, 4, 10, 1)),
}
MENDS = {
    "While": "write `for attempt in range(16):` with a flag instead of `while`",
    "Break": "carry a flag (`done = done or ...`) instead of `break`",
    "Continue": "put the rest of the loop under an `if` instead of `continue`",
    "ListComp": "write a `for` loop over an array field instead",
    "List": "declare an array field in `state` and write `s.name[k, i]` instead",
    "Dict": "use module constants instead",
    "Try": "rules cannot fail; remove the `try`",
    "Lambda": "write a function marked @rule instead",
    "JoinedStr": "rules have no strings; use an int and name it in the drill",
    "Global": "keep it in a state field instead",
    "NamedExpr": "assign on a line of its own instead",
}


def common_fields(sides: int) -> tuple[Field, ...]:
    """The fields every state begins with, in order."""
    scalars = (("rng_key", U32), ("rng_count", U32), ("practice", I32), ("ticks", I32))
    return (*(Field(name, kind, 0) for name, kind in scalars), Field("action", I32, sides))


COMMON_FIELDS = tuple(f.name for f in common_fields(2))
KEPT_BY_RESET = 3


@dataclass(frozen=True)
class Source:
    """What `translate` needs of a drill: rules by name and the constants they may read (class attributes), beside
    each rule's own globals.
    """

    name: str
    sides: int
    state: Mapping[str, str | tuple[str, int]]
    n_obs: int
    n_actions: int
    terms: Sequence[str]
    baselines: Sequence[str]
    rules: Mapping[str, Callable]
    constants: Mapping[str, Any] = field(default_factory=dict)
    scene_max: int = 64


@dataclass(frozen=True)
class Parsed:
    """A rule's syntax tree with what an error message needs."""

    function: Callable
    node: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    first: int
    params: tuple[str, ...]


class State:
    """Marks a parameter as the state, the lane or the verb's result in a translation environment."""

    def __init__(self, what: str):
        self.what = what


STATE, LANE, RESULT = State("state"), State("lane"), State("result")


def translate(source: Source) -> Program:
    """Flatten every verb of a drill. Raises RulesError with the line and the mend."""
    return _Translator(source).program()


class _Translator:
    def __init__(self, source: Source):
        self.source = source
        self.fields = {f.name: f for f in (*common_fields(source.sides), *_declared(source))}
        self.parsed: dict[Callable, Parsed] = {}
        self.counter = 0
        self.statements = 0
        self.stack: list[Parsed] = []
        self.block: list[Stmt] = []
        self.defined: dict[str, str] = {}
        self.selects = True

    def program(self) -> Program:
        s = self.source
        verbs: dict[str, tuple[Stmt, ...]] = {"reset": self.verb("reset", selects=False)}
        clear: list[Stmt] = []
        for f in list(self.fields.values())[KEPT_BY_RESET:]:
            zero = Const(0.0, F32) if f.type == F32 else Const(0, f.type) if f.type != BOOL else Const(False, BOOL)
            clear += [Store(f.name, Const(k, I32) if f.length else None, zero) for k in range(f.words)]
        verbs["reset"] = (*clear, *verbs["reset"])
        if "decide" in s.rules:
            verbs["decide"] = self.verb("decide")
        ticks = Load("ticks", None, I32)
        verbs["tick"] = (*self.verb("tick"), Store("ticks", None, Binary("+", ticks, Const(1, I32), I32)))
        for name, kind in (("terminated", BOOL), ("winner", I32)):
            verbs[name] = (
                self.verb(name, result=kind)
                if name in s.rules
                else (Out(Const(0, I32), Const(*((False, BOOL) if kind == BOOL else (0, I32)))),)
            )
        for side in range(s.sides):
            verbs[f"observe:{side}"] = self.verb("observe", side=side)
            rows = [self.verb(term, side=side, result=F32, at=k) for k, term in enumerate(s.terms)]
            verbs[f"terms:{side}"] = tuple(statement for row in rows for statement in row)
            for name in s.baselines:
                verbs[f"baseline:{name}:{side}"] = self.verb(name, side=side, result=I32)
        verbs["random"] = self.random_actions()
        verbs["scene"] = self.verb("scene", selects=False) if "scene" in s.rules else ()
        return Program(
            s.name,
            s.sides,
            s.n_obs,
            len(s.terms),
            s.n_actions,
            s.scene_max,
            tuple(s.baselines),
            tuple(self.fields.values()),
            verbs,
        )

    def verb(
        self, name: str, side: int | None = None, result: str | None = None, at: int = 0, selects: bool = True
    ) -> tuple[Stmt, ...]:
        """Translate one top-level rule. Its parameters are (s, i), then `side` if it is asked per side, then the
        result array if it writes one.
        """
        if name not in self.source.rules:
            raise RulesError(
                f"drill {self.source.name!r} has no rule {name!r}: add `@rule def {name}(s, i{'' if side is None else ', side'}): ...`"
            )
        function = self.source.rules[name]
        parsed = self.parse(function)
        wanted = ["s", "i"] + (["side"] if side is not None else []) + (["o"] if name == "observe" else [])
        if len(parsed.params) != len(wanted):
            raise self.error(
                parsed.node,
                f"rule {name!r} takes ({', '.join(parsed.params)})",
                f"write `def {name}({', '.join(wanted)})`",
                parsed,
            )
        args: list[Any] = (
            [STATE, LANE] + ([Const(side, I32)] if side is not None else []) + ([RESULT] if name == "observe" else [])
        )
        self.block, self.defined, self.statements, self.selects = [], {}, 0, selects
        values = self.inline(parsed, args)
        if result is not None:
            if len(values) != 1:
                raise self.error(
                    parsed.node, f"rule {name!r} must return one {result}", "end it with `return value`", parsed
                )
            value = self.convert(self.settle(values[0]), result, parsed.node, parsed)
            self.block.append(Out(Const(at, I32), value))
        return tuple(self.block)

    def random_actions(self) -> tuple[Stmt, ...]:
        self.block, self.defined, self.statements, self.selects = [], {}, 0, True
        for side in range(self.source.sides):
            (value,) = self.inline(self.parse(rng.random_int), [STATE, LANE, Const(self.source.n_actions, I32)])
            self.block.append(Out(Const(side, I32), value))
        return tuple(self.block)

    # -- reading functions
    # ------------------------------------------------------------------------------------------------------------

    def parse(self, function: Callable) -> Parsed:
        if function in self.parsed:
            return self.parsed[function]
        name = getattr(function, "__name__", str(function))
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise RulesError(
                f"the source of rule {name!r} cannot be read ({error}): define it in a file or a notebook cell"
            ) from error
        node = ast.parse(textwrap.dedent("".join(lines))).body[0]
        file = inspect.getsourcefile(function) or "?"
        if not isinstance(node, ast.FunctionDef):
            raise RulesError(
                f"{file}:{first}: rule {name!r} is not a plain function: write `def {name}(s, i): ...` under @rule"
            )
        a = node.args
        parsed = Parsed(function, node, file, tuple(lines), first, tuple(p.arg for p in a.args))
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
            raise self.error(node, "rules take plain positional parameters only", "remove defaults, * and **", parsed)
        self.parsed[function] = parsed
        return parsed

    def error(self, node: ast.AST, what: str, mend: str, parsed: Parsed | None = None) -> RulesError:
        parsed = parsed or self.stack[-1]
        row = getattr(node, "lineno", 1) - 1
        text = parsed.lines[row].strip() if row < len(parsed.lines) else ""
        return RulesError(
            f"{parsed.file}:{parsed.first + row}: in rule {parsed.node.name!r}: {what}\n    {text}\n{mend[:1].upper()}{mend[1:]}."
        )

    def lookup(self, node: ast.expr, parsed: Parsed) -> Any:
        """The Python object a name or dotted name stands for in a rule, or None."""
        if isinstance(node, ast.Attribute):
            owner = self.lookup(node.value, parsed)
            if isinstance(owner, types.ModuleType) and owner.__name__ in ("math", "numpy"):
                return LIBRARY.get(node.attr, BUILTIN.get(node.attr, getattr(owner, node.attr, None)))
            return getattr(owner, node.attr, None) if isinstance(owner, (type, types.ModuleType)) else None
        if not isinstance(node, ast.Name):
            return None
        name = node.id
        function: Any = parsed.function
        closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        scopes: list[Mapping[str, Any]] = [function.__globals__]
        if function in self.source.rules.values():
            scopes = [self.source.rules, self.source.constants, *scopes]
        found: Any = (
            closure[name].cell_contents
            if name in closure
            else next((scope[name] for scope in scopes if name in scope), None)
        )
        if isinstance(found, types.FunctionType):
            return found
        if name in LIBRARY or name in BUILTIN:
            return LIBRARY.get(name, BUILTIN.get(name))
        return found

    # -- inlining
    # ------------------------------------------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"

    def append(self, statement: Stmt, node: ast.AST | None = None) -> None:
        self.statements += 1
        if self.statements > MAX_STATEMENTS:
            raise self.error(
                node or self.stack[-1].node,
                f"the verb grows past {MAX_STATEMENTS} statements",
                "use shorter loops or fewer nested rules",
            )
        self.block.append(statement)

    def assign(self, stem: str, value: Expr) -> Var:
        """A new variable that holds `value` from here on."""
        value = self.settle(value)
        var = Var(self.fresh(stem), value.type)
        self.defined[var.name] = value.type
        self.append(Assign(var.name, value))
        return var

    def inline(self, parsed: Parsed, args: Sequence[Any]) -> tuple[Expr, ...]:
        """Translate a call: bind the parameters, translate the body into the current block, return the returned
        expressions.
        """
        if any(p.function is parsed.function for p in self.stack):
            raise self.error(parsed.node, "rules cannot call themselves", "write a loop over a constant range", parsed)
        written = {n.id for n in ast.walk(parsed.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        env: dict[str, Any] = {}
        for name, arg in zip(parsed.params, args, strict=True):
            if isinstance(arg, (State, Const)) and name not in written:
                env[name] = arg
            elif isinstance(arg, State):
                raise self.error(
                    parsed.node, f"{name!r} is the {arg.what} and cannot be assigned", "use another name", parsed
                )
            else:
                env[name] = self.assign(name, arg)
        self.stack.append(parsed)
        body = parsed.node.body
        result: tuple[Expr, ...] = ()
        for k, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                if k != len(body) - 1:
                    raise self.error(
                        statement,
                        "`return` must be the last statement",
                        "keep the value in a variable and return it at the end",
                    )
                node = statement.value
                parts = node.elts if isinstance(node, ast.Tuple) else [] if node is None else [node]
                values: list[Expr] = []
                for part in parts:
                    values.extend(
                        self.call(part, env)
                        if isinstance(part, ast.Call) and len(parts) == 1
                        else [self.expr(part, env)]
                    )
                result = tuple(v if isinstance(v, (Var, Const)) else self.assign("r", v) for v in values)
            else:
                self.statement(statement, env)
        self.stack.pop()
        return result

    # -- statements
    # -------------------------------------------------------------------------------------------------------------------------

    def statement(self, node: ast.stmt, env: dict[str, Any]) -> None:
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                return
            if isinstance(node.value, ast.Call):
                if (
                    isinstance(node.value.func, ast.Name)
                    and node.value.func.id in SHAPES
                    and node.value.func.id not in self.source.rules
                ):
                    self.shape(node.value, env)
                else:
                    self.call(node.value, env)
                return
            raise self.error(node, "an expression that does nothing", "assign it or remove it")
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise self.error(node, "one assignment to several targets", "write one line for each")
            self.assignment(node.targets[0], node.value, env, node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assignment(node.target, node.value, env, node)
        elif isinstance(node, ast.AugAssign):
            read = ast.copy_location(_as_load(node.target), node)
            self.assignment(node.target, ast.copy_location(ast.BinOp(read, node.op, node.value), node), env, node)
        elif isinstance(node, ast.If):
            self.branch(node, env)
        elif isinstance(node, ast.For):
            self.loop(node, env)
        elif isinstance(node, ast.Return):
            raise self.error(node, "`return` inside a block", "keep the value in a variable and return it at the end")
        else:
            name = type(node).__name__
            raise self.error(
                node, f"`{name.lower()}` is not in the rules language", MENDS.get(name, "see docs/rules.md for what is")
            )

    def assignment(self, target: ast.expr, value: ast.expr, env: dict[str, Any], node: ast.stmt) -> None:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple):
                values = tuple(self.expr(part, env) for part in value.elts)
            elif isinstance(value, ast.Call):
                values = self.call(value, env)
            else:
                raise self.error(node, "only a call or a tuple can be unpacked", "assign each name on its own line")
            if len(values) != len(target.elts):
                raise self.error(node, f"{len(target.elts)} names for {len(values)} values", "make them equal")
            values = tuple(self.assign("t", v) for v in values)
            for part, v in zip(target.elts, values, strict=True):
                self.bind(part, v, env, node)
        else:
            self.bind(target, self.expr(value, env), env, node)

    def bind(self, target: ast.expr, value: Expr, env: dict[str, Any], node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            name = target.id
            old = env.get(name)
            if isinstance(old, State):
                raise self.error(node, f"{name!r} is the {old.what} and cannot be assigned", "use another name")
            if isinstance(old, Var) and old.bounds is None:
                value = self.convert(value, old.type, node)
                self.defined[old.name] = old.type
                self.append(Assign(old.name, value), node)
            else:
                env[name] = self.assign(name, value)
        elif isinstance(target, ast.Subscript):
            place = self.place(target, env)
            if isinstance(place, Load):
                self.append(Store(place.field, place.index, self.convert(value, place.type, node)), node)
            else:
                self.append(Out(place, self.convert(value, F32, node)), node)
        else:
            raise self.error(node, "this cannot be assigned to", "assign to a name, `s.field[i]` or `o[k, i]`")

    def place(self, node: ast.Subscript, env: dict[str, Any]) -> Load | Expr:
        """A state element as `Load`, or the index expression of an element of the result."""
        owner = node.value
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        lane = parts[-1]
        if not (isinstance(lane, ast.Name) and env.get(lane.id) is LANE):
            raise self.error(
                node,
                "the last index of a state field is the lane",
                "write `s.field[i]`, or `s.field[k, i]` for array fields",
            )
        if isinstance(owner, ast.Name) and env.get(owner.id) is RESULT:
            if len(parts) != 2:
                raise self.error(node, "the result has two indices", f"write `{owner.id}[k, i]`")
            return self.index(parts[0], self.source.n_obs, env, node, "the observation")
        if not (
            isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and env.get(owner.value.id) is STATE
        ):
            raise self.error(node, "only state fields and the result can be indexed", "write `s.field[i]`")
        f = self.fields.get(owner.attr)
        if f is None:
            near = get_close_matches(owner.attr, self.fields, 1)
            raise self.error(
                node,
                f"the state has no field {owner.attr!r}",
                f"did you mean {near[0]!r}?" if near else f"declare it in `state` ({', '.join(self.fields)})",
            )
        if (f.length > 0) != (len(parts) == 2):
            form = f"s.{f.name}[k, i]" if f.length else f"s.{f.name}[i]"
            raise self.error(
                node, f"field {f.name!r} is {f'an array of {f.length}' if f.length else 'a scalar'}", f"write `{form}`"
            )
        index = self.index(parts[0], f.length, env, node, f"field {f.name!r}") if f.length else None
        return Load(f.name, index, f.type)

    def index(self, part: ast.expr, length: int, env: dict[str, Any], node: ast.AST, what: str) -> Expr:
        value = self.settle(self.expr(part, env))
        if value.type != I32:
            raise self.error(node, f"an index must be i32, not {value.type}", "write `int(x)`")
        if isinstance(value, Const):
            if not 0 <= value.value < length:
                raise self.error(
                    node, f"index {value.value} is outside {what} of length {length}", f"use 0 to {length - 1}"
                )
            return value
        if isinstance(value, Var) and value.bounds and value.bounds[0] >= 0 and value.bounds[1] < length:
            return value
        zero, last = Const(0, I32), Const(length - 1, I32)
        value = value if isinstance(value, Var) else self.assign("k", value)
        low = Select(Compare(">", value, zero), value, zero, I32)
        return Select(Compare("<", value, last), low, last, I32)

    def branch(self, node: ast.If, env: dict[str, Any]) -> None:
        test = self.boolean(node.test, env)
        if isinstance(test, Const):
            for statement in node.body if test.value else node.orelse:
                self.statement(statement, env)
            return
        test = self.assign("test", test)
        outer, before, names = self.block, set(self.defined), dict(env)
        blocks, envs = [], []
        for body in (node.body, node.orelse):
            self.block, branch_env = [], dict(names)
            for statement in body:
                self.statement(statement, branch_env)
            blocks.append(self.block)
            envs.append(branch_env)
        self.block = outer
        merged: list[tuple[Var, Expr, Expr]] = []
        for name in (*envs[0], *(n for n in envs[1] if n not in envs[0])):
            a, b = envs[0].get(name), envs[1].get(name)
            if a is b or a == b:
                env[name] = a
            elif a is not None and b is not None and not isinstance(a, State) and not isinstance(b, State):
                if a.type != b.type and LITERAL not in (a.type, b.type):
                    raise self.error(
                        node,
                        f"{name!r} is {a.type} in one branch and {b.type} in the other",
                        "make them equal with float(), int() or u32()",
                    )
                a, b = (
                    (self.settle(a), self.convert(b, self.settle(a).type, node))
                    if a.type != LITERAL
                    else (self.convert(a, self.settle(b).type, node), self.settle(b))
                )
                var = Var(self.fresh(name), a.type)
                merged.append((var, a, b))
                env[name] = var
            else:
                env[name] = Undefined(name)
        for var, a, b in merged:
            blocks[0].append(Assign(var.name, a))
            blocks[1].append(Assign(var.name, b))
        if self.selects and all(_selectable(statement) for block in blocks for statement in block):
            merged_names = {var.name for var, _, _ in merged}
            other: Expr = Unary("not", test, BOOL)
            for condition, block in ((test, blocks[0]), (other, blocks[1])):
                for statement in block:
                    if isinstance(statement, Assign) and statement.name in merged_names:
                        continue
                    self.append(_guard(statement, condition, before), node)
            for var, a, b in merged:
                self.append(Assign(var.name, Select(test, a, b, var.type)), node)
        else:
            self.append(If(test, tuple(blocks[0]), tuple(blocks[1])), node)
        for var, _, _ in merged:
            self.defined[var.name] = var.type

    def loop(self, node: ast.For, env: dict[str, Any]) -> None:
        call = node.iter
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "range"
            and isinstance(node.target, ast.Name)
        ):
            raise self.error(node, "loops run over `range` of constants", "write `for k in range(10):`")
        if node.orelse:
            raise self.error(node, "`else` on a loop", "use a flag")
        bounds = [self.settle(self.expr(a, env)) for a in call.args]
        if not all(isinstance(b, Const) and b.type == I32 for b in bounds) or not 1 <= len(bounds) <= 3:
            raise self.error(
                node, "the bounds of `range` must be constants", "loop to a constant and put the rest under an `if`"
            )
        rounds = range(*(int(b.value) for b in bounds if isinstance(b, Const)))
        if len(rounds) > MAX_LOOP:
            raise self.error(node, f"{len(rounds)} rounds", f"at most {MAX_LOOP} are allowed")
        if len(rounds) <= UNROLL_TRIPS:
            for k in rounds:
                env[node.target.id] = Const(k, I32)
                for statement in node.body:
                    self.statement(statement, env)
            return
        var = Var(self.fresh(node.target.id), I32, (min(rounds), max(rounds)))
        outer, self.block = self.block, []
        inner = dict(env)
        for (
            name,
            value,
        ) in env.items():  # a constant bound to a name that the loop rebinds must be a variable from the start
            if isinstance(value, Const) and any(
                isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name
                for b in node.body
                for n in ast.walk(b)
            ):
                self.block = outer
                env[name] = inner[name] = self.assign(name, value)
                self.block = []
        inner[node.target.id] = var
        for statement in node.body:
            self.statement(statement, inner)
        body, self.block = tuple(self.block), outer
        for name, value in inner.items():
            if name not in env:
                env[name] = Undefined(name)
            elif env[name] is not value and env[name] != value:
                raise self.error(
                    node,
                    f"{name!r} changes its variable inside the loop",
                    f"give {name!r} its first value before the loop",
                )
        self.append(For(var.name, rounds.start, rounds.stop, rounds.step, body), node)

    def shape(self, node: ast.Call, env: dict[str, Any]) -> None:
        name = node.func.id  # type: ignore[attr-defined]
        kind, slots = SHAPES[name]
        alpha = [k for k in node.keywords if k.arg == "alpha"]
        if len(node.args) not in (len(slots), len(slots) + 1) or len(alpha) != len(node.keywords):
            raise self.error(
                node,
                f"{name} takes {len(slots)} arguments and an optional alpha, got {len(node.args)}",
                "see the scene rules in docs/rules.md",
            )
        values: list[Expr] = [Const(0.0, F32)] * 12
        values[0], values[9] = Const(float(kind), F32), Const(1.0, F32)
        for slot, part in zip((*slots, 9), [*node.args, *(k.value for k in alpha)], strict=False):
            value = self.expr(part, env)
            values[slot] = self.cast(value, F32) if slot in (1, 10) else self.convert(value, F32, node)
        self.append(Emit(tuple(values)), node)

    # -- expressions
    # -------------------------------------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr, env: dict[str, Any]) -> Expr:
        if isinstance(node, ast.Constant):
            return self.literal(node.value, node)
        if isinstance(node, ast.Name) and node.id in env:
            return self.local(node, env[node.id])
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.constant(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node, env)
        if isinstance(node, ast.BinOp):
            return self.binary(node, self.expr(node.left, env), self.expr(node.right, env))
        if isinstance(node, ast.UnaryOp):
            return self.unary(node, env)
        if isinstance(node, ast.Compare):
            if len(node.ops) != 1 or type(node.ops[0]) not in COMPARE:
                raise self.error(node, "one comparison at a time", "write `a < b and b < c`")
            a, b = self.unify(self.expr(node.left, env), self.expr(node.comparators[0], env), node)
            if isinstance(a, Const) and isinstance(b, Const):
                return Const(_compare(COMPARE[type(node.ops[0])], a.value, b.value), BOOL)
            return Compare(COMPARE[type(node.ops[0])], self.settle(a), self.settle(b))
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            value = self.boolean(node.values[0], env)
            for part in node.values[1:]:
                other = self.boolean(part, env)
                if isinstance(value, Const):
                    value = other if bool(value.value) == (op == "and") else value
                elif isinstance(other, Const):
                    value = value if bool(other.value) == (op == "and") else other
                else:
                    value = Logic(op, value, other)
            return value
        if isinstance(node, ast.IfExp):
            test = self.boolean(node.test, env)
            if isinstance(test, Const):
                return self.expr(node.body if test.value else node.orelse, env)
            a, b = self.unify(self.expr(node.body, env), self.expr(node.orelse, env), node)
            a, b = self.settle(a), self.settle(b)
            return Select(test, a, b, a.type)
        if isinstance(node, ast.Call):
            values = self.call(node, env)
            if len(values) != 1:
                raise self.error(node, f"this call gives {len(values)} values", "unpack them: `a, b = f(...)`")
            return values[0]
        name = type(node).__name__
        raise self.error(
            node, f"`{name}` is not in the rules language", MENDS.get(name, "see docs/rules.md for what is")
        )

    def local(self, node: ast.expr, value: Any) -> Expr:
        if isinstance(value, Undefined):
            raise self.error(
                node, f"{value.name!r} has a value on some paths only", f"give {value.name!r} a value before the block"
            )
        if isinstance(value, State):
            raise self.error(
                node, f"the {value.what} cannot be used as a value", "write `s.field[i]`; the lane is only for indexing"
            )
        return value

    def literal(self, value: Any, node: ast.AST) -> Const:
        if isinstance(value, bool):
            return Const(value, BOOL)
        if isinstance(value, (int, np.integer)):
            return Const(int(value), LITERAL)
        if isinstance(value, (float, np.floating)):
            return Const(float(np.float32(value)), F32)
        raise self.error(node, f"{value!r} is not a number", "rules know f32, i32, u32 and bool only")

    def constant(self, node: ast.expr) -> Expr:
        value = self.lookup(node, self.stack[-1])
        if value is None or isinstance(value, (types.FunctionType, types.ModuleType, str)):
            name = ast.unparse(node)
            known = [
                n
                for n, v in {**self.stack[-1].function.__globals__, **self.source.constants}.items()
                if isinstance(v, (int, float))
            ]
            near = get_close_matches(name, known, 1)
            raise self.error(
                node,
                f"{name!r} is not a local, a constant or a rule",
                f"did you mean {near[0]!r}?" if near else "define it as a module or class constant",
            )
        return self.literal(value, node)

    def subscript(self, node: ast.Subscript, env: dict[str, Any]) -> Expr:
        owner = node.value
        if isinstance(owner, ast.Name) and env.get(owner.id) is RESULT:
            raise self.error(node, "the result can only be written", "keep the value in a variable")
        if not (
            isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and env.get(owner.value.id) is STATE
        ):
            table = (
                self.lookup(owner, self.stack[-1]) if not (isinstance(owner, ast.Name) and owner.id in env) else None
            )
            if isinstance(table, (tuple, list)):
                index = self.settle(self.expr(node.slice, env))
                if not isinstance(index, Const) or not 0 <= int(index.value) < len(table):
                    raise self.error(
                        node,
                        "a table of constants needs a constant index in range",
                        "use an array field, or conditional expressions",
                    )
                return self.literal(table[int(index.value)], node)
        place = self.place(node, env)
        assert isinstance(place, Load)
        return self.assign(place.field, place)

    def unary(self, node: ast.UnaryOp, env: dict[str, Any]) -> Expr:
        if isinstance(node.op, ast.Not):
            value = self.boolean(node.operand, env)
            return Const(not value.value, BOOL) if isinstance(value, Const) else Unary("not", value, BOOL)
        value = self.expr(node.operand, env)
        if value.type == BOOL:
            raise self.error(node, "arithmetic on a bool", "write `1.0 if flag else 0.0`")
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(value, Const) and (value.type == F32 or isinstance(node.op, ast.USub)) and value.type != U32:
            return replace(value, value=-value.value)
        if isinstance(node.op, ast.USub):
            return Unary("neg", value, value.type)
        value = self.settle(value)
        if value.type == F32:
            raise self.error(node, "`~` on a float", "use ints")
        return Unary("inv", value, value.type)

    def binary(self, node: ast.BinOp, a: Expr, b: Expr) -> Expr:
        op = BINARY.get(type(node.op))
        if op is None:
            raise self.error(node, f"operator {type(node.op).__name__}", "write `x * x` for powers; see docs/rules.md")
        if BOOL in (a.type, b.type):
            raise self.error(node, "arithmetic on a bool", "write `1.0 if flag else 0.0`, or `and` / `or` for logic")
        a, b = self.unify(a, b, node)
        if a.type == LITERAL and isinstance(a, Const) and isinstance(b, Const):
            return self.fold(op, int(a.value), int(b.value), node)
        if isinstance(a, Const) and isinstance(b, Const) and a.type == I32:
            folded = self.fold(op, int(a.value), int(b.value), node)
            return Const(_wrap(int(folded.value), I32), I32) if folded.type == LITERAL else folded
        if a.type == F32 and op not in ("+", "-", "*", "/"):
            raise self.error(
                node, f"`{op}` on floats", "use `floor(a / b)` and friends" if op in ("//", "%") else "use ints"
            )
        if a.type != F32 and op == "/":
            raise self.error(node, "`/` on ints", "write `//`, or `float(a) / float(b)`")
        if op in ("<<", ">>"):
            if isinstance(b, Const):
                if not 0 <= int(b.value) < 32:
                    raise self.error(node, f"a shift by {b.value}", "shift by 0 to 31")
            else:
                b = Binary("&", b, Const(31, b.type), b.type)
        return Binary(op, a, b, a.type)

    def fold(self, op: str, a: int, b: int, node: ast.AST) -> Const:
        if op == "/":
            return Const(float(np.float32(a / b)), F32) if b else self.literal(float("inf"), node)
        if op in ("//", "%") and b == 0:
            return Const(0, LITERAL)
        ops: dict[str, Callable[[int, int], int]] = {
            "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: a // b, "%": lambda: a % b,
            "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b, "<<": lambda: a << (b & 31), ">>": lambda: a >> (b & 31),
        }  # type: ignore[dict-item] # fmt: skip
        return Const(ops[op](), LITERAL)  # type: ignore[call-arg]

    def boolean(self, node: ast.expr, env: dict[str, Any]) -> Expr:
        value = self.expr(node, env)
        if value.type != BOOL:
            raise self.error(node, f"a condition must be bool, not {value.type}", "write a comparison such as `x != 0`")
        return value

    def unify(self, a: Expr, b: Expr, node: ast.AST) -> tuple[Expr, Expr]:
        if a.type == b.type:
            return a, b
        if a.type == LITERAL:
            return self.convert(a, b.type, node), b
        if b.type == LITERAL:
            return a, self.convert(b, a.type, node)
        raise self.error(node, f"{a.type} and {b.type} do not mix", "convert one with float(), int(), u32() or i32()")

    def settle(self, value: Expr) -> Expr:
        """Decide an undecided int literal: i32."""
        return Const(_wrap(int(value.value), I32), I32) if isinstance(value, Const) and value.type == LITERAL else value

    def convert(self, value: Expr, wanted: str, node: ast.AST, parsed: Parsed | None = None) -> Expr:
        """`value` as `wanted` where no explicit conversion is needed: int literals become f32, i32 or u32."""
        if value.type == wanted:
            return value
        if isinstance(value, Const) and value.type == LITERAL and wanted in (F32, I32, U32):
            return (
                Const(float(np.float32(value.value)), F32)
                if wanted == F32
                else Const(_wrap(int(value.value), wanted), wanted)
            )
        mend = {
            F32: "write `float(x)` or a literal with a point",
            I32: "write `int(x)`",
            U32: "write `u32(x)`",
            BOOL: "write a comparison",
        }[wanted]
        raise self.error(node, f"wanted {wanted}, got {value.type}", mend, parsed)

    def cast(self, value: Expr, wanted: str) -> Expr:
        if isinstance(value, Const):
            if wanted == F32:
                return Const(float(np.float32(value.value)), F32)
            if wanted == BOOL:
                return Const(bool(value.value), BOOL)
            number = (
                int(max(-2147483648.0, min(float(value.value), 2147483520.0)))
                if value.type == F32
                else int(value.value)
            )
            return Const(_wrap(number, wanted), wanted)
        if value.type == wanted:
            return value
        if wanted == BOOL:
            return Compare("!=", value, Const(0.0, F32) if value.type == F32 else Const(0, value.type))
        if value.type == BOOL:
            one, zero = (Const(1.0, F32), Const(0.0, F32)) if wanted == F32 else (Const(1, wanted), Const(0, wanted))
            return Select(value, one, zero, wanted)
        if value.type == F32:
            value = value if isinstance(value, Var) else self.assign("x", value)
            low, high = Const(-2147483648.0, F32), Const(2147483520.0, F32)
            clamped: Expr = self.assign("x", Select(Compare(">", value, low), value, low, F32))
            clamped = Cast(Select(Compare("<", clamped, high), clamped, high, F32), I32)
            return Cast(clamped, U32) if wanted == U32 else clamped
        return Cast(value, wanted)

    def call(self, node: ast.Call, env: dict[str, Any]) -> tuple[Expr, ...]:
        callee = self.lookup(node.func, self.stack[-1])
        name = ast.unparse(node.func)
        if node.keywords:
            raise self.error(node, "keyword arguments", "pass them by position")
        if isinstance(callee, str) and callee in BUILTIN.values():
            return (self.builtin(callee, node, env),)
        if isinstance(callee, types.FunctionType):
            parsed = self.parse(callee)
            if len(parsed.params) != len(node.args):
                raise self.error(
                    node,
                    f"{name} takes ({', '.join(parsed.params)}), got {len(node.args)} arguments",
                    "pass as many as it takes",
                )
            args = [
                env[a.id] if isinstance(a, ast.Name) and isinstance(env.get(a.id), State) else self.expr(a, env)
                for a in node.args
            ]
            return self.inline(parsed, args)
        if name in SHAPES:
            raise self.error(node, f"{name} draws and gives no value", "put it on a line of its own, in `scene`")
        near = get_close_matches(name, [*LIBRARY, *BUILTIN, *self.source.rules], 1)
        raise self.error(
            node,
            f"{name!r} is not a rule",
            f"did you mean {near[0]!r}?" if near else "define it as a function marked @rule",
        )

    def builtin(self, name: str, node: ast.Call, env: dict[str, Any]) -> Expr:
        args = [self.expr(a, env) for a in node.args]
        if name in ("min", "max"):
            if len(args) < 2:
                raise self.error(node, f"{name} needs two values or more", "pass them as arguments")
            value = args[0]
            for other in args[1:]:
                a, b = self.unify(value, other, node)
                if isinstance(a, Const) and isinstance(b, Const):
                    value = (min if name == "min" else max)(a, b, key=lambda c: c.value)
                    continue
                a, b = (
                    x if isinstance(x, (Var, Const)) else self.assign("m", x) for x in (self.settle(a), self.settle(b))
                )
                value = Select(Compare("<" if name == "min" else ">", b, a), b, a, a.type)
            return value
        if len(args) != 1:
            raise self.error(node, f"{name} takes one value, got {len(args)}", "pass one")
        (a,) = args
        if name in ("float", "int", "u32", "i32", "bool"):
            return self.cast(a, {"float": F32, "int": I32, "u32": U32, "i32": I32, "bool": BOOL}[name])
        if name == "abs" and a.type in (I32, LITERAL):
            a = self.settle(a)
            a = a if isinstance(a, Var) else self.assign("m", a)
            return Select(Compare("<", a, Const(0, I32)), Unary("neg", a, I32), a, I32)
        return Unary(name, self.convert(a, F32, node), F32)


BUILTIN = {n: n for n in ("min", "max", "abs", "sqrt", "floor", "float", "int", "bool", "u32", "i32")} | {
    "fabs": "abs",
    "float32": "float",
    "int32": "i32",
    "uint32": "u32",
}


class Undefined:
    """A name that has a value on some paths only."""

    def __init__(self, name: str):
        self.name = name


def _declared(source: Source) -> list[Field]:
    fields = []
    for name, kind in source.state.items():
        type_, length = (kind, 0) if isinstance(kind, str) else kind
        if type_ not in TYPES or not isinstance(length, int) or length < 0 or not name.isidentifier():
            raise RulesError(
                f"state field {name!r} of drill {source.name!r}: wanted a type of {', '.join(TYPES)} or (type, length), got {kind!r}"
            )
        if name in COMMON_FIELDS:
            raise RulesError(
                f"state field {name!r} of drill {source.name!r}: every state has that field already; choose another name"
            )
        fields.append(Field(name, type_, length))
    return fields


def _as_load(target: ast.expr) -> ast.expr:
    copy = ast.parse(ast.unparse(target), mode="eval").body
    for n in ast.walk(copy):
        ast.copy_location(n, target)
    return copy


def _wrap(value: int, kind: str) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if kind == I32 and value >= 1 << 31 else value


def _compare(op: str, a: Any, b: Any) -> bool:
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]


def _selectable(statement: Stmt) -> bool:
    """Whether a branch of this statement can run unconditionally, its writes guarded: no loops, no drawing, no
    computed array index.
    """
    if isinstance(statement, (If, For, Emit, Out)):
        return False
    if isinstance(statement, Store):
        return statement.index is None or isinstance(statement.index, Const)
    return True


def _guard(statement: Stmt, condition: Expr, before: set[str]) -> Stmt:
    """The statement with its write made conditional; a variable born inside the branch needs no guard."""
    if isinstance(statement, Store):
        kind = statement.value.type
        return replace(
            statement, value=Select(condition, statement.value, Load(statement.field, statement.index, kind), kind)
        )
    assert isinstance(statement, Assign)
    if statement.name not in before:
        return statement
    kind = statement.value.type
    return replace(statement, value=Select(condition, statement.value, Var(statement.name, kind), kind))
