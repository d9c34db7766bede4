"""Expressions of the rules language: syntax to typed IR. Calls to other rules are inlined where they stand."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any

from dshq_kernels.language.arithmetic import (
    COMPARE,
    I32_HIGH,
    I32_LOW,
    LITERAL,
    RANGES,
    OutOfRangeError,
    annotated,
    binary,
    bounds,
    clamped,
    compare,
    convert,
    literal,
    logic,
    negate,
    round32,
    saturated_below,
    settle,
    unary,
    unify,
    wrap,
    zero,
)
from dshq_kernels.language.ir import BOOL, F32, I32, U32, Binary, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from dshq_kernels.language.reading import BUILTIN, Parsed, Reader
from dshq_kernels.language.scope import LANE, RESULT, Argument, Marker, Scope, Undefined, Writer
from dshq_kernels.language.unknown import no_rule, no_value, suggest

# The scene's shapes: kind, then the slot of each argument in the 12 floats (docs/architecture.md, Scene).
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
SAID = {
    "ListComp": "a list comprehension",
    "GeneratorExp": "a generator",
    "List": "a list",
    "Dict": "a dict",
    "Set": "a set",
    "Tuple": "a tuple",
    "JoinedStr": "an f-string",
    "NamedExpr": "`:=`",
    "FunctionDef": "`def`",
}
FOREIGN = {
    "print": "put `print(...)` on a line of its own",
    "breakpoint": "put `breakpoint()` on a line of its own",
    "len": "write the length as a constant",
    "sum": "write a `for` loop",
    "random": "write `random(s, i)`",
    "uniform": "write `a + (b - a) * random(s, i)`",
    "clip": "write `clamp(x, low, high)`",
    "tan": "write `sin(x) / cos(x)`",
    "tanh": "write `1.0 - 2.0 / (exp(2.0 * x) + 1.0)`",
    "where": "write `a if condition else b`",
    "maximum": "write `max(a, b)`",
    "minimum": "write `min(a, b)`",
    "arctan2": "write `atan2(y, x)`",
    **dict.fromkeys(("atan", "arctan"), "write `atan2(x, 1.0)`"),
    **dict.fromkeys(("hypot", "norm"), "write `length(x, y)`"),
    **dict.fromkeys(("round", "rint"), "write `floor(x + 0.5)`"),
    **dict.fromkeys(("pow", "power", "square"), "write `x * x`"),
    **dict.fromkeys(("randrange", "randint", "choice", "integers"), "write `random_int(s, i, n)`"),
}
"""What to write instead of functions of Python and numpy, by their names without the module's."""
ELSEWHERE: dict[type[ast.cmpop], str] = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
"""Comparisons of Python that the language lacks."""
CASTS = {"float": F32, "int": I32, "u32": U32, "i32": I32, "bool": BOOL}

Inline = Callable[[Parsed, Sequence[Argument], tuple[Callable[..., Any], ...]], tuple[Expr, ...]]


def outside(node: ast.AST) -> tuple[str, str]:
    """The error and the fix for a piece of syntax that the language does not support."""
    name = type(node).__name__
    said = SAID.get(name, f"`{name.lower()}`")
    return f"{said} is not in the rules language", MENDS.get(
        name, "see docs/reference/rules.md for the syntax it supports"
    )


class Expressions:
    """Translates expressions of one verb. `inline` writes a called rule's body and returns its value."""

    def __init__(self, reader: Reader, writer: Writer, inline: Inline):
        self.reader, self.writer, self.inline = reader, writer, inline

    def expr(self, node: ast.expr, scope: Scope) -> Expr:
        match node:
            case ast.Constant():
                return literal(node.value, node, scope.parsed)
            case ast.Name() if node.id in scope.names:
                return self.local(node, scope)
            case ast.Name() | ast.Attribute():
                return self.constant(node, scope)
            case ast.Subscript():
                return self.subscript(node, scope)
            case ast.BinOp():
                return binary(self.expr(node.left, scope), self.expr(node.right, scope), node, scope.parsed)
            case ast.UnaryOp(op=ast.Not()):
                return negate(self.boolean(node.operand, scope))
            case ast.UnaryOp():
                return unary(self.expr(node.operand, scope), node, scope.parsed)
            case ast.Compare():
                return self.comparison(node, scope)
            case ast.BoolOp():
                return self.logic(node, scope)
            case ast.IfExp():
                return self.conditional(node, scope)
            case ast.Call():
                values = self.call(node, scope)
                if len(values) != 1:
                    raise scope.error(node, f"this call returns {len(values)} values", "unpack them: `a, b = f(...)`")
                return values[0]
        raise scope.error(node, *outside(node))

    def boolean(self, node: ast.expr, scope: Scope) -> Expr:
        value = self.expr(node, scope)
        if value.type != BOOL:
            mend = "write a comparison such as `x != 0`"
            raise scope.error(node, f"a condition must be bool, not {value.type}", mend)
        return value

    # -- names

    def local(self, node: ast.Name, scope: Scope) -> Expr:
        value = scope.names[node.id]
        if isinstance(value, Undefined):
            mend = f"give {value.name!r} a value before the block"
            raise scope.error(node, f"{value.name!r} has a value on some paths only", mend)
        if isinstance(value, Marker):
            mend = "write `s.field[i]`; the lane is only for indexing"
            raise scope.error(node, f"the {value.what} cannot be used as a value", mend)
        return value

    def constant(self, node: ast.Name | ast.Attribute, scope: Scope) -> Const:
        if isinstance(node, ast.Name) and node.id in scope.parsed.own:
            mend = f"give it one first; a rule that assigns to {node.id!r} sees no constant of that name"
            raise scope.error(node, f"the variable {node.id!r} has no value here", mend)
        value = self.reader.value(node, scope.parsed)
        if value is None or isinstance(value, (types.FunctionType, types.ModuleType, str)):
            raise scope.error(node, *no_value(node, value, scope, self.reader))
        return literal(value, node, scope.parsed)

    # -- elements of the state, of the result and of constant tables

    def subscript(self, node: ast.Subscript, scope: Scope) -> Expr:
        owner = node.value
        if scope.marks(owner, RESULT):
            raise scope.error(node, "the result can be written, but not read", "keep the value in a variable")
        if not scope.marks_field(owner) and not (isinstance(owner, ast.Name) and owner.id in scope.names):
            table = self.reader.value(owner, scope.parsed)
            if isinstance(table, (tuple, list)):
                index = settle(self.expr(node.slice, scope))
                if index.type != I32:
                    raise scope.error(node, *not_an_index(index))
                if not isinstance(index, Const) or not 0 <= int(index.value) < len(table):
                    mend = "use an array field, or conditional expressions"
                    raise scope.error(node, "a table of constants needs a constant index in range", mend)
                return literal(table[int(index.value)], node, scope.parsed)
        place = self.place(node, scope)
        assert isinstance(place, Load)
        return self.writer.assign(place.field, place)

    def place(self, node: ast.Subscript, scope: Scope) -> Load | Expr:
        """A state element as `Load`, or the index expression of an element of the result."""
        owner = node.value
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not scope.marks(parts[-1], LANE):
            mend = "write `s.field[i]`, or `s.field[k, i]` for array fields"
            raise scope.error(node, "the last index of a state field is the lane", mend)
        if isinstance(owner, ast.Name) and scope.marks(owner, RESULT):
            if len(parts) != 2:
                raise scope.error(node, "the result has two indices", f"write `{owner.id}[k, i]`")
            assert self.writer.result is not None
            return self.index(parts[0], self.writer.result.length, self.writer.result.what, node, scope)
        if not isinstance(owner, ast.Attribute) or not scope.marks_field(owner):
            raise scope.error(node, "only state fields and the result can be indexed", "write `s.field[i]`")
        f = self.reader.fields.get(owner.attr)
        if f is None:
            mend = suggest(owner.attr, self.reader.fields, f"declare it in `state` ({', '.join(self.reader.fields)})")
            raise scope.error(node, f"the state has no field {owner.attr!r}", mend)
        if (f.length > 0) != (len(parts) == 2):
            shape, form = (f"an array of {f.length}", "[k, i]") if f.length else ("a scalar", "[i]")
            raise scope.error(node, f"field {f.name!r} is {shape}", f"write `s.{f.name}{form}`")
        index = self.index(parts[0], f.length, f"field {f.name!r}", node, scope) if f.length else None
        return Load(f.name, index, f.type)

    def index(self, part: ast.expr, length: int, what: str, node: ast.AST, scope: Scope) -> Expr:
        """An index into `what`, checked now where it is constant or bounded, else clamped into the array."""
        value = settle(self.expr(part, scope))
        if value.type != I32:
            raise scope.error(node, *not_an_index(value))
        if isinstance(value, Const):
            if not 0 <= value.value < length:
                error = f"index {value.value} is outside {what} of length {length}"
                mend = f"use 0 to {length - 1}" if length > 1 else "use 0"
                if what == "field 'action'" and length == 1:
                    mend += "; is `sides = 2` missing?"
                raise scope.error(node, error, mend)
            return value
        ends = bounds(value)
        if ends is not None and ends[0] >= 0 and ends[1] < length:
            return value
        return clamped(self.writer.hold("k", value), length)

    # -- comparisons and choices

    def comparison(self, node: ast.Compare, scope: Scope) -> Expr:
        if len(node.ops) != 1:
            raise scope.error(node, "comparisons cannot be chained", "write `a < b and b < c`")
        op = COMPARE.get(type(node.ops[0]))
        if op is None:
            raise scope.error(node, f"there is no `{ELSEWHERE[type(node.ops[0])]}`", "write `x == 1 or x == 2`")
        left, right = unify(self.expr(node.left, scope), self.expr(node.comparators[0], scope), node, scope.parsed)
        if left.type == BOOL and op not in ("==", "!="):
            raise scope.error(node, f"bools have no order: `{op}` compares numbers", "write `b and not a` for `a < b`")
        return compare(op, left, right)

    def logic(self, node: ast.BoolOp, scope: Scope) -> Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        value = self.boolean(node.values[0], scope)
        for part in node.values[1:]:
            value = logic(op, value, self.boolean(part, scope))
        return value

    def conditional(self, node: ast.IfExp, scope: Scope) -> Expr:
        test = self.boolean(node.test, scope)
        if isinstance(test, Const):
            return self.expr(node.body if test.value else node.orelse, scope)
        a, b = unify(self.expr(node.body, scope), self.expr(node.orelse, scope), node, scope.parsed)
        a, b = settle(a), settle(b)
        return Select(test, a, b, a.type)

    # -- calls

    def call(self, node: ast.Call, scope: Scope) -> tuple[Expr, ...]:
        """All values that a call returns."""
        name = ast.unparse(node.func)
        if name in scope.parsed.own:
            raise scope.error(node, *a_variable(name))
        callee = self.reader.lookup(node.func, scope.parsed)
        if node.keywords:
            raise scope.error(node, "rules do not support keyword arguments", "pass them by position")
        if isinstance(callee, str) and callee in BUILTIN.values():
            return (self.builtin(callee, node, scope),)
        if isinstance(callee, types.FunctionType):
            parsed = self.reader.parse(callee)
            if len(parsed.params) != len(node.args):
                error = f"{name} takes ({', '.join(parsed.params)}), got {len(node.args)} arguments"
                raise scope.error(node, error, "pass as many as it takes")
            given = zip(node.args, parsed.node.args.args, strict=True)
            return self.inline(parsed, [self.argument(a, p.annotation, scope) for a, p in given], scope.callers)
        if name in SHAPES:
            raise scope.error(
                node, f"{name} draws a shape and returns no value", "put it on a line of its own, in `scene`"
            )
        what, mend = no_rule(name, scope, self.reader)
        raise scope.error(node, what, FOREIGN.get(name.rpartition(".")[2], mend))

    def argument(self, node: ast.expr, annotation: ast.expr | None, scope: Scope) -> Argument:
        """An argument: a value, or the state, the lane or the result."""
        passed = scope.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(passed, Marker):
            return passed
        return annotated(self.expr(node, scope), annotation, node, scope.parsed)

    def builtin(self, name: str, node: ast.Call, scope: Scope) -> Expr:
        args = [self.expr(a, scope) for a in node.args]
        if name in ("min", "max"):
            return self.extreme(name, args, node, scope)
        if name == "hash32" and len(args) == 2:
            a, b = (convert(arg, U32, node, scope.parsed) for arg in args)
            return Binary("hash32", a, b, U32)
        if len(args) != 1:
            wanted = "two values" if name == "hash32" else "one value"
            raise scope.error(node, f"{name} takes {wanted}, got {len(args)}", "pass as many as it takes")
        (a,) = args
        if name in CASTS:
            if isinstance(a, Const) and a.type == LITERAL:
                if name == "int":
                    return settle(a)
                if name in ("i32", "u32") and not RANGES[I32][0] <= a.value <= RANGES[U32][1]:
                    raise OutOfRangeError(int(a.value), name)
            return self.cast(a, CASTS[name])
        if name == "abs" and a.type in (I32, LITERAL):
            a = settle(a)
            a = a if isinstance(a, Var) else self.writer.assign("m", a)
            return Select(Compare("<", a, zero(I32)), Unary("neg", a, I32), a, I32)
        return Unary(name, convert(a, F32, node, scope.parsed), F32)

    def extreme(self, name: str, args: list[Expr], node: ast.Call, scope: Scope) -> Expr:
        """`min` or `max` of two values or more."""
        if len(args) < 2:
            raise scope.error(node, f"{name} needs two values or more", "pass them as arguments")
        op = "<" if name == "min" else ">"
        value = args[0]
        for other in args[1:]:
            a, b = unify(value, other, node, scope.parsed)
            if a.type == BOOL:
                mend = "write `a and b` or `a or b`"
                raise scope.error(node, f"bools have no order: `{name}` compares numbers", mend)
            if isinstance(a, Const) and isinstance(b, Const):
                value = (min if name == "min" else max)(a, b, key=lambda c: c.value)
            else:
                a, b = self.writer.hold("m", settle(a)), self.writer.hold("m", settle(b))
                value = Select(Compare(op, b, a), b, a, a.type)
        return value

    def cast(self, value: Expr, wanted: str) -> Expr:
        """Conversion of a value by `float`, `int`, `i32`, `u32` or `bool`."""
        if isinstance(value, Const):
            return cast_constant(value, wanted)
        if value.type == wanted:
            return value
        if wanted == BOOL:
            return Compare("!=", value, zero(value.type))
        if value.type == BOOL:
            return Select(value, Const(1.0 if wanted == F32 else 1, wanted), zero(wanted), wanted)
        if value.type == F32:
            high = Const(I32_HIGH, F32)
            x = value if isinstance(value, Var) else self.writer.assign("x", value)
            x = self.writer.assign("x", saturated_below(x))
            number = Cast(Select(Compare("<", x, high), x, high, F32), I32)
            return Cast(number, U32) if wanted == U32 else number
        return Cast(value, wanted)


def a_variable(name: str) -> tuple[str, str]:
    """The error and the fix, where it is called."""
    return f"{name!r} is a variable in this rule and cannot be called", "give the variable another name"


def not_an_index(value: Expr) -> tuple[str, str]:
    """The error and the fix."""
    return f"an index must be i32, not {value.type}", "write `int(x)`, or `//` instead of `/`"


def cast_constant(value: Const, wanted: str) -> Const:
    if wanted == F32:
        return Const(round32(value.value), F32)
    if wanted == BOOL:
        return Const(bool(value.value), BOOL)
    number = max(I32_LOW, min(value.value, I32_HIGH)) if value.type == F32 else value.value
    return Const(wrap(int(number), wanted), wanted)
