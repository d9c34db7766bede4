"""The front end of the rules language (docs/reference/rules.md): every verb of a drill becomes a part of one `Program`.

`reading.py` finds and parses rules, `arithmetic.py` decides types and folds constants, `expressions.py`,
`statements.py` and `debugging.py` translate with the names and the block of `scope.py`; here the verbs are put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count, product
from math import prod
from types import MappingProxyType

from dshq_kernels.language import rng
from dshq_kernels.language.arithmetic import FOLD, OutOfRangeError, bounds, convert, fold, settle, zero
from dshq_kernels.language.expressions import SHAPES
from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    Binary,
    Const,
    Expr,
    Field,
    For,
    If,
    Load,
    Origin,
    Out,
    Program,
    Stmt,
    Store,
    Var,
)
from dshq_kernels.language.reading import COMMON_FIELDS, Reader, Source
from dshq_kernels.language.scope import LANE, RESULT, STATE, Argument, Writer, Written
from dshq_kernels.language.statements import UNROLL_TRIPS, Statements
from dshq_kernels.language.subset import DeclarationError, RulesError, rule

__all__ = ["COMMON_FIELDS", "SHAPES", "RulesError", "Source", "rule", "stored_by", "translate", "translate_term"]

KEPT_BY_RESET = 3  # the generator and `practice`
CHANGING = ("reset", "decide", "tick")
"""Rules that may change the game; baselines may keep something in it."""
MOST_VALUES = 65_536  # of an index inside loops that are looked at one by one


def translate(source: Source) -> Program:
    """Flatten every verb of a drill. Raises RulesError with the line and the fix."""
    return _Translation(source).program()


def translate_term(source: Source, name: str) -> tuple[Stmt, ...]:
    """One reward rule of a drill, for all sides. Raises RulesError with the line and the fix."""
    one = _Translation(source)
    return tuple(statement for side in range(source.sides) for statement in one.verb(name, side=side, result=F32))


def stored_by(block: Iterable[Stmt]) -> set[str]:
    """The state fields that a block writes."""
    fields: set[str] = set()
    for statement in block:
        if isinstance(statement, Store):
            fields.add(statement.field)
        elif isinstance(statement, If):
            fields |= stored_by((*statement.body, *statement.orelse))
        elif isinstance(statement, For):
            fields |= stored_by(statement.body)
    return fields


class _Translation:
    def __init__(self, source: Source):
        self.source = source
        self.reader = Reader(source)
        self.numbers = count(1)
        self.taken = {name for f in self.reader.fields.values() for name in names_of(f)}
        self.names: dict[str, str] = {}
        self.places: dict[str, Origin] = {}

    def program(self) -> Program:
        s = self.source
        verbs = {"reset": (*self.cleared(), *self.verb("reset"))}
        if "decide" in s.rules:
            verbs["decide"] = self.verb("decide")
        one_more = Binary("+", Load("ticks", None, I32), Const(1, I32), I32)
        verbs["tick"] = (*self.verb("tick"), Store("ticks", None, one_more))
        for name, kind in (("terminated", BOOL), ("winner", I32)):
            never = (Out(Const(0, I32), zero(kind)),)
            verbs[name] = self.verb(name, result=kind) if name in s.rules else never
        for side in range(s.sides):
            verbs[f"observe:{side}"] = self.observe(side)
            if "mask" in s.rules:
                verbs[f"mask:{side}"] = self.verb("mask", side=side, written=Written("the mask", s.n_actions, BOOL))
            rows = [self.verb(term, side=side, result=F32, at=k) for k, term in enumerate(s.terms)]
            verbs[f"terms:{side}"] = tuple(statement for row in rows for statement in row)
            for name in s.baselines:
                verbs[f"baseline:{name}:{side}"] = self.verb(name, side=side, result=I32)
        verbs["random"] = self.random_actions()
        verbs["scene"] = self.verb("scene") if "scene" in s.rules else ()
        return Program(
            name=s.name,
            sides=s.sides,
            n_obs=len(s.observations),
            n_terms=len(s.terms),
            n_actions=s.n_actions,
            scene_max=s.scene_max,
            baselines=tuple(s.baselines),
            masked="mask" in s.rules,
            fields=tuple(self.reader.fields.values()),
            verbs=verbs,
            names=self.names,
            places=self.places,
        )

    def verb(
        self,
        name: str,
        side: int | None = None,
        result: str | None = None,
        at: int = 0,
        written: Written | None = None,
    ) -> tuple[Stmt, ...]:
        """Translate one top-level rule. Its parameters are (s, i), then `side` if it is called per side, then the
        result array if `written`. Its return value goes to element `at` of the result, as type `result`.
        """
        parameters: dict[str, Argument] = {"s": STATE, "i": LANE}
        if side is not None:
            parameters["side"] = Const(side, I32)
        if written is not None:
            parameters["m" if name == "mask" else "o"] = RESULT
        if name not in self.source.rules:
            mend = f"add `@rule def {name}({', '.join(parameters)}): ...`"
            raise DeclarationError(f"there is no rule {name!r}: {mend}", name)
        parsed = self.reader.parse(self.source.rules[name])
        if len(parsed.params) != len(parameters):
            mend = f"write `def {name}({', '.join(parameters)})`"
            raise parsed.error(parsed.node, f"rule {name!r} takes ({', '.join(parsed.params)})", mend)
        self.places[name] = parsed.origin(parsed.node)
        changes = name in (*CHANGING, *self.source.baselines)
        writer = Writer(self.numbers, self.taken, written, reads="" if changes else name)
        values = Statements(self.reader, writer).inline(parsed, list(parameters.values()))
        if result is not None:
            last = parsed.node.body[-1]
            if len(values) != 1:
                raise parsed.error(last, f"rule {name!r} must return one {result}", "end it with `return value`")
            try:
                value = convert(settle(values[0]), result, last, parsed)
            except OutOfRangeError as error:
                raise parsed.error(last, error.what, error.mend) from None
            writer.append(Out(Const(at, I32), value, at=parsed.origin(last)))
        self.names |= writer.names
        return tuple(writer.block)

    def observe(self, side: int) -> tuple[Stmt, ...]:
        """The verb `observe` of one side. Raises RulesError if an observation may be left unwritten."""
        names = self.source.observations
        block = self.verb("observe", side=side, written=Written("the observation", len(names), F32))
        always, ever = (written_by(block, len(names), join) for join in (set.intersection, set.union))
        for missing, where in ((set(range(len(names))) - ever, ""), (ever - always, " on some paths")):
            if missing:
                parsed = self.reader.parse(self.source.rules["observe"])
                first, *_ = chosen = sorted(missing)
                places = listed(f"o[{k}]" for k in chosen)
                error = f"it does not write {places}{where} ({listed(repr(names[k]) for k in chosen)})"
                mend = f"write `o[{first}, i] = ...`" + (" before the `if`" if where else "")
                raise parsed.error(parsed.node, error, mend)
        return block

    def cleared(self) -> list[Stmt]:
        """What `reset` does before the drill's own rule: every field after the first few is zero."""
        statements: list[Stmt] = []
        for f in list(self.reader.fields.values())[KEPT_BY_RESET:]:
            if f.length > UNROLL_TRIPS:
                k = Var(f"k_{next(self.numbers)}", I32, (0, f.length - 1))
                statements.append(For(k.name, 0, f.length, 1, (Store(f.name, k, zero(f.type)),)))
            else:
                places = [Const(k, I32) if f.length else None for k in range(f.words)]
                statements += [Store(f.name, index, zero(f.type)) for index in places]
        return statements

    def random_actions(self) -> tuple[Stmt, ...]:
        """A uniform action for each side, from the lane's generator; with a mask, 24 random bits from which the back
        ends pick an allowed action.
        """
        writer = Writer(self.numbers, self.taken)
        statements = Statements(self.reader, writer)
        masked = "mask" in self.source.rules
        parsed = self.reader.parse(rng.random_word if masked else rng.random_int)
        limit = [] if masked else [Const(self.source.n_actions, I32)]
        for side in range(self.source.sides):
            (value,) = statements.inline(parsed, [STATE, LANE, *limit])
            writer.append(Out(Const(side, I32), value))
        return tuple(writer.block)


def names_of(field: Field) -> list[str]:
    """What back ends call a field (JavaScript) and its words (CUDA) beside the variables."""
    return [f"f_{field.name}", f"x_{field.name}", *(f"x_{field.name}_{k}" for k in range(field.length))]


def written_by(
    block: Iterable[Stmt],
    length: int,
    join: Callable[[set[int], set[int]], set[int]],
    loops: Mapping[str, range] = MappingProxyType({}),
) -> set[int]:
    """The elements of a result of `length` that a block inside `loops` writes; `join` makes one set of those of an
    `if`'s branches. An index that is unknown at compile time counts as all its possible values.
    """
    places: set[int] = set()
    for statement in block:
        if isinstance(statement, Out):
            places |= elements(statement.index, length, loops)
        elif isinstance(statement, If):
            places |= join(*(written_by(arm, length, join, loops) for arm in (statement.body, statement.orelse)))
        elif isinstance(statement, For):
            rounds = range(statement.start, statement.stop, statement.step)
            places |= written_by(statement.body, length, join, {**loops, statement.var: rounds})
    return places


def elements(index: Expr, length: int, loops: Mapping[str, range]) -> set[int]:
    """What an index into a result of `length` may be: made of loops' indices alone each of its values, else all between
    its least and its largest.
    """
    over = sorted(indices(index))
    if all(name in loops for name in over) and prod(len(loops[name]) for name in over) <= MOST_VALUES:
        values = [
            value_of(index, dict(zip(over, each, strict=True))) for each in product(*(loops[name] for name in over))
        ]
        if None not in values:
            return {value for value in values if value is not None}
    first, last = bounds(index) or (0, length - 1)
    return set(range(first, last + 1))


def indices(index: Expr) -> set[str]:
    """The names of the variables in a sum, product, quotient or remainder."""
    if isinstance(index, Binary):
        return indices(index.a) | indices(index.b)
    return {index.name} if isinstance(index, Var) else set()


def value_of(index: Expr, at: Mapping[str, int]) -> int | None:
    """An i32 made of constants and the numbers `at`; None for anything else."""
    if isinstance(index, Const):
        return int(index.value)
    if isinstance(index, Var):
        return at[index.name]
    if not isinstance(index, Binary) or index.op not in FOLD or index.type != I32:
        return None
    a, b = value_of(index.a, at), value_of(index.b, at)
    return None if a is None or b is None else int(fold(index.op, Const(a, I32), Const(b, I32)).value)


def listed(words: Iterable[str]) -> str:
    """`a, b and c`; for more than four, the first three and the number of the others."""
    words = list(words)
    if len(words) > 4:
        words = [*words[:3], f"{len(words) - 3} more"]
    *some, last = words
    return f"{', '.join(some)} and {last}" if some else last
