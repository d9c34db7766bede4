"""Types and constants of the rules language: which operands mix, what an int literal becomes, what is folded.

Pure functions from expressions to expressions; `node` and `parsed` locate an error.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dshq_kernels.language.ir import BOOL, F32, I32, U32, Binary, Compare, Const, Expr, Logic, Select, Unary, Var
from dshq_kernels.language.reading import Parsed

# The f32 nearest to each end of i32 inside its range: `int(x)` saturates there.
I32_LOW, I32_HIGH = -2147483648.0, 2147483520.0
RANGES = {I32: (-(1 << 31), (1 << 31) - 1), U32: (0, (1 << 32) - 1)}
F32_MOST = float(np.finfo(np.float32).max)
LITERAL = "int literal"  # the type of an int literal until its neighbour or its use decides
BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
FOLD: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": lambda a, b: a << (b & 31), ">>": lambda a, b: a >> (b & 31),
}  # fmt: skip
FOLD_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
MENDS = {
    F32: "write `float(x)` or a literal with a point",
    I32: "write `int(x)`",
    U32: "write `u32(x)`",
    BOOL: "write a comparison",
}
ANNOTATIONS = {
    "float": (F32,), "float32": (F32,), "f32": (F32,), "int": (I32, U32), "int32": (I32,), "i32": (I32,),
    "uint32": (U32,), "u32": (U32,), "bool": (BOOL,),
}  # fmt: skip
"""The types that a word means beside a name; others are for the reader."""
BOOL_ARITHMETIC = "arithmetic on a bool is not allowed"


class OutOfRangeError(ValueError):
    """An int literal that its type cannot hold; whoever knows the line makes it a RulesError."""

    def __init__(self, value: int, kind: str):
        low, high = RANGES[kind]
        self.what = f"{shown(value)} does not fit {kind}, which holds {low} to {high}"
        self.mend = "write `i32(...)` or `u32(...)` around a literal whose 32 bits are meant"


def shown(value: int) -> str:
    """A whole number as an error names it."""
    return str(value) if abs(value) < 10**20 else f"an int of {len(str(abs(value)))} digits"


def round32(value: float) -> float:
    """The nearest float32."""
    return float(np.float32(value))


def wrap(value: int, kind: str) -> int:
    """The low 32 bits of an int, read as i32 or u32."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if kind == I32 and value >= 1 << 31 else value


def literal(value: Any, node: ast.AST, parsed: Parsed) -> Const:
    if isinstance(value, bool):
        return Const(value, BOOL)
    if isinstance(value, (int, np.integer)):
        return whole(int(value), node, parsed)
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            raise parsed.error(node, "NaN is not a number that rules can hold", "keep a flag in a field of its own")
        if F32_MOST < abs(float(value)) < math.inf:
            raise parsed.error(node, f"{value!r} is more than an f32 holds", "write `math.inf`, or at most 3.4e38")
        return Const(round32(float(value)), F32)
    raise parsed.error(node, f"{value!r} is not a number", "rules support only f32, i32, u32 and bool")


def whole(value: int, node: ast.AST, parsed: Parsed) -> Const:
    """An int literal, if any type can hold it."""
    if abs(value) > F32_MOST:
        raise parsed.error(node, f"{shown(value)} is more than any type holds", "write at most 3.4e38, as a float")
    return Const(value, LITERAL)


def zero(kind: str) -> Const:
    return Const({F32: 0.0, BOOL: False}.get(kind, 0), kind)


def settle(value: Expr) -> Expr:
    """Decide an undecided int literal: i32. Raises OutOfRangeError if it is none."""
    return fitted(value, I32) if isinstance(value, Const) and value.type == LITERAL else value


def fitted(value: Const, kind: str) -> Const:
    """An int literal as f32, i32 or u32. Raises OutOfRangeError."""
    if kind == F32:
        return Const(round32(value.value), F32)
    low, high = RANGES[kind]
    if not low <= value.value <= high:
        raise OutOfRangeError(int(value.value), kind)
    return Const(int(value.value), kind)


def convert(value: Expr, wanted: str, node: ast.AST, parsed: Parsed) -> Expr:
    """`value` as `wanted` where no explicit conversion is needed: int literals become f32, i32 or u32."""
    if value.type == wanted:
        return value
    if isinstance(value, Const) and value.type == LITERAL and wanted != BOOL:
        return fitted(value, wanted)
    raise parsed.error(node, f"expected {wanted}, got {value.type}", MENDS[wanted])


def annotated(value: Expr, annotation: ast.expr | None, node: ast.AST, parsed: Parsed) -> Expr:
    """`value`, which an annotation may not contradict; it decides what an int literal becomes."""
    text = "" if annotation is None else ast.unparse(annotation).strip("'").rpartition(".")[2]
    types = ANNOTATIONS.get(text, (value.type,))
    if value.type in types:
        return value
    if value.type == LITERAL and types[0] != BOOL:
        return convert(value, types[0], node, parsed)
    error = f"this is annotated as {text}, but its value is {settle(value).type}"
    raise parsed.error(node, error, f"correct the annotation, or {MENDS[types[0]]}")


def unify(a: Expr, b: Expr, node: ast.AST, parsed: Parsed) -> tuple[Expr, Expr]:
    """Two operands as one type: an int literal takes its neighbour's."""
    if a.type == b.type:
        return a, b
    if a.type == LITERAL:
        return convert(a, b.type, node, parsed), b
    if b.type == LITERAL:
        return a, convert(b, a.type, node, parsed)
    raise parsed.error(node, f"cannot mix {a.type} and {b.type}", "convert one with float(), int(), u32() or i32()")


def compare(op: str, a: Expr, b: Expr) -> Expr:
    """The operation on two operands of one type."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(FOLD_COMPARE[op](a.value, b.value), BOOL)
    return Compare(op, settle(a), settle(b))


def logic(op: str, a: Expr, b: Expr) -> Expr:
    """`and` or `or` of two bools; a constant on either side decides."""
    if isinstance(a, Const):
        return b if bool(a.value) == (op == "and") else a
    if isinstance(b, Const):
        return a if bool(b.value) == (op == "and") else b
    return Logic(op, a, b)


def negate(value: Expr) -> Expr:
    """`not` of a bool."""
    return Const(not value.value, BOOL) if isinstance(value, Const) else Unary("not", value, BOOL)


def unary(value: Expr, node: ast.UnaryOp, parsed: Parsed) -> Expr:
    """`+`, `-` and `~`."""
    if value.type == BOOL:
        raise parsed.error(node, BOOL_ARITHMETIC, "write `1.0 if flag else 0.0`")
    if isinstance(node.op, ast.UAdd):
        return value
    if isinstance(node.op, ast.USub):
        if isinstance(value, Const) and value.type == I32:
            return replace(value, value=wrap(-int(value.value), I32))
        if isinstance(value, Const) and value.type != U32:
            return replace(value, value=-value.value)
        return Unary("neg", value, value.type)
    if value.type == F32:
        raise parsed.error(node, "`~` does not work on floats", "use ints")
    value = settle(value)
    return Unary("inv", value, value.type)


def binary(a: Expr, b: Expr, node: ast.BinOp, parsed: Parsed) -> Expr:
    op = BINARY.get(type(node.op))
    if op is None:
        word = "**" if isinstance(node.op, ast.Pow) else "@"
        raise parsed.error(
            node, f"there is no operator `{word}`", "write `x * x` for powers; see docs/reference/rules.md"
        )
    if BOOL in (a.type, b.type):
        raise parsed.error(node, BOOL_ARITHMETIC, "write `1.0 if flag else 0.0`, or `and` / `or` for logic")
    a, b = unify(a, b, node, parsed)
    if op in ("<<", ">>") and isinstance(b, Const) and b.type != F32 and not 0 <= int(b.value) < 32:
        raise parsed.error(node, f"cannot shift by {b.value}", "shift by 0 to 31")
    if isinstance(a, Const) and isinstance(b, Const) and a.type in (LITERAL, I32):
        if op == "/" and b.value == 0:
            raise parsed.error(node, "this divides by 0", "write the number that is meant, such as `math.inf`")
        value = fold(op, a, b)
        return whole(int(value.value), node, parsed) if value.type == LITERAL else value
    if a.type == F32 and op not in ("+", "-", "*", "/"):
        mend = "use `floor(a / b)`" if op in ("//", "%") else "use ints"
        raise parsed.error(node, f"`{op}` does not work on floats", mend)
    if a.type != F32 and op == "/":
        raise parsed.error(node, "`/` does not work on ints", "write `//`, or `float(a) / float(b)`")
    if op in ("<<", ">>") and not isinstance(b, Const):
        b = Binary("&", b, Const(31, b.type), b.type)
    return Binary(op, a, b, a.type)


def fold(op: str, a: Const, b: Const) -> Const:
    """An operation on two int constants of one type: i32 wraps and literals do not; `/` gives f32; `//` and `%` by
    zero give 0. Raises ZeroDivisionError for `/` by zero.
    """
    x, y = int(a.value), int(b.value)
    if op == "/":
        return Const(round32(x / y), F32)
    value = 0 if op in ("//", "%") and y == 0 else FOLD[op](x, y)
    return Const(wrap(value, I32) if a.type == I32 else value, a.type)


def clamped(value: Var | Const, length: int) -> Select:
    """An index, moved into an array of this length where it is outside."""
    first, last = Const(0, I32), Const(length - 1, I32)
    low = Select(Compare(">", value, first), value, first, I32)
    return Select(Compare("<", value, last), low, last, I32)


def unclamped(index: Expr) -> tuple[Var, Const] | None:
    """What was clamped to make this index, and the last element's index; None if nothing was."""
    match index:
        case Select(a=Select(a=Var() as value), b=Const() as last) if index == clamped(value, int(last.value) + 1):
            return value, last
    return None


def saturated_below(value: Var) -> Select:
    """The first half of `int(x)`: x, or the least number that an i32 holds. What is no number becomes that, too."""
    low = Const(I32_LOW, F32)
    return Select(Compare(">", value, low), value, low, F32)


def unsaturated(value: Expr) -> Var | None:
    """The number that is being made an int, if this is the first half of `int(x)`."""
    return (
        value.a
        if isinstance(value, Select) and isinstance(value.a, Var) and value == saturated_below(value.a)
        else None
    )


def bounds(value: Expr) -> tuple[int, int] | None:
    """The least and the largest value of an i32 made of constants and loop indices, inclusive; None where unknown."""
    if isinstance(value, Const):
        return int(value.value), int(value.value)
    if isinstance(value, Var):
        return value.bounds
    if not isinstance(value, Binary) or value.op not in ("+", "-", "*", "//", "%"):
        return None
    a, b = bounds(value.a), bounds(value.b)
    if a is None or b is None or (value.op in ("//", "%") and b[0] <= 0):
        return None
    if value.op == "%":
        return 0, b[1] - 1
    operation = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}[value.op]
    ends = [operation(x, y) for x in a for y in b]
    inside = wrap(min(ends), I32) == min(ends) and wrap(max(ends), I32) == max(ends)
    return (min(ends), max(ends)) if inside else None
