"""Statements of the rules language: calls are inlined and short loops over `range` unrolled. `debugging.py` translates
what is only for debugging.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from dshq_kernels.language.arithmetic import LITERAL, annotated, binary, convert, settle, unify
from dshq_kernels.language.debugging import debug, only_debugs
from dshq_kernels.language.expressions import SHAPES, Expressions, a_variable, outside
from dshq_kernels.language.ir import F32, I32, Assign, Const, Emit, Expr, For, If, Load, Out, Var
from dshq_kernels.language.reading import Parsed, Reader, stored_names
from dshq_kernels.language.scope import RESULT, Argument, Marker, Scope, Undefined, Value, Writer
from dshq_kernels.language.subset import RulesError

# Loops of at most this many rounds are unrolled: the lane loop around them vectorises only then (measured).
UNROLL_TRIPS = 16
MAX_LOOP = 1 << 20
SHAPE_COLOUR, SHAPE_ALPHA, SHAPE_TAG, SHAPE_FLOATS = 1, 9, 10, 12

Merged = list[tuple[Var, Expr, Expr]]


class Statements:
    """Translates statements of one verb into `writer`."""

    def __init__(self, reader: Reader, writer: Writer):
        self.reader, self.writer = reader, writer
        self.expressions = Expressions(reader, writer, self.inline)

    def inline(
        self, parsed: Parsed, args: Sequence[Argument], callers: tuple[Callable[..., Any], ...] = ()
    ) -> tuple[Expr, ...]:
        """Translate a call: bind the parameters, write the body into the current block, return its value."""
        if parsed.function in callers:
            raise parsed.error(parsed.node, "rules cannot call themselves", "write a loop over a constant range")
        scope = Scope(parsed, {}, (*callers, parsed.function), self.writer.at)
        self.check_size(parsed.node, scope)
        written = stored_names(parsed.node)
        for name, arg in zip(parsed.params, args, strict=True):
            fixed = isinstance(arg, (Marker, Const)) or (isinstance(arg, Var) and arg.bounds is not None)
            if fixed and name not in written:
                scope.names[name] = arg
            elif isinstance(arg, Marker):
                raise unassignable(name, arg, parsed.node, scope)
            else:
                scope.names[name] = self.writer.assign(name, arg)
        *body, last = parsed.node.body
        for statement in body:
            if isinstance(statement, ast.Return):
                mend = "keep the value in a variable and return it at the end"
                raise scope.error(statement, "`return` must be the last statement", mend)
            self.statement(statement, scope)
        if isinstance(last, ast.Return):
            with self.writer.on(scope.origin(last)), scope.located(last):
                return self.returned(last, scope)
        self.statement(last, scope)
        return ()

    def returned(self, node: ast.Return, scope: Scope) -> tuple[Expr, ...]:
        values: tuple[Expr, ...]
        match node.value:
            case None:
                values = ()
            case ast.Call():
                values = self.expressions.call(node.value, scope)
            case ast.Tuple():
                values = tuple(self.expressions.expr(part, scope) for part in node.value.elts)
            case _:
                values = (self.expressions.expr(node.value, scope),)
        if len(values) == 1:
            values = (annotated(values[0], scope.parsed.node.returns, node, scope.parsed),)
        return tuple(self.writer.hold("r", value) for value in values)

    def check_size(self, node: ast.AST, scope: Scope) -> None:
        most = self.reader.source.most_statements
        if self.writer.written > most:
            error = f"the rule expands to more than {most} statements"
            raise scope.error(node, error, "use shorter loops or fewer nested rules")

    def body(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        with self.writer.on(scope.origin(node)), scope.located(node):
            if only_debugs(node, scope, self.reader):
                debug(node, scope, self)
            else:
                self.translated(node, scope)
        self.check_size(node, scope)

    def translated(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call() as call):
                self.call(call, scope)
            case ast.Expr():
                raise scope.error(node, "this expression does nothing", "assign it or remove it")
            case ast.Assign(targets=[target]):
                self.assignment(target, node.value, node, scope)
            case ast.Assign():
                raise scope.error(node, "an assignment can have only one target", "write one line per target")
            case ast.AnnAssign(value=ast.expr() as value):
                found = annotated(self.expressions.expr(value, scope), node.annotation, node, scope.parsed)
                self.bind(node.target, found, node, scope)
            case ast.AugAssign():
                self.augmented(node, scope)
            case ast.If():
                self.branch(node, scope)
            case ast.For():
                self.loop(node, scope)
            case ast.Return():
                mend = "keep the value in a variable and return it at the end"
                raise scope.error(node, "`return` is not allowed inside a block", mend)
            case _:
                raise scope.error(node, *outside(node))

    # -- assignments

    def assignment(self, target: ast.expr, value: ast.expr, node: ast.stmt, scope: Scope) -> None:
        if not isinstance(target, ast.Tuple):
            self.bind(target, self.expressions.expr(value, scope), node, scope)
            return
        if isinstance(value, ast.Tuple):
            values = tuple(self.expressions.expr(part, scope) for part in value.elts)
        elif isinstance(value, ast.Call):
            values = self.expressions.call(value, scope)
        else:
            raise scope.error(node, "only a call or a tuple can be unpacked", "assign each name on its own line")
        if len(values) != len(target.elts):
            raise scope.error(node, f"{len(target.elts)} names for {len(values)} values", "use as many names as values")
        held = [self.writer.assign("t", v) for v in values]  # all are read before any is written: `a, b = b, a`
        for part, v in zip(target.elts, held, strict=True):
            self.bind(part, v, node, scope)

    def augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        """`x += y`. The element is chosen once, before `y`: its index, or `y`, may call a rule that changes what the
        index is made of.
        """
        target = node.target
        updated = ast.copy_location(ast.BinOp(as_load(target), node.op, node.value), node)
        calls = any(isinstance(part, ast.Call) for part in (*ast.walk(target), *ast.walk(node.value)))
        if not isinstance(target, ast.Subscript) or scope.marks(target.value, RESULT) or not calls:
            self.assignment(target, updated, node, scope)
            return
        place = self.expressions.place(target, scope)
        assert isinstance(place, Load)
        index = place.index
        steady = index is None or isinstance(index, Const) or (isinstance(index, Var) and index.bounds is not None)
        if index is not None and not steady:
            index = self.writer.assign("k", index)  # a variable of the rule's own may be another number after `y`
        place = Load(place.field, index, place.type)
        before = self.writer.assign(place.field, place)
        value = binary(before, self.expressions.expr(node.value, scope), updated, scope.parsed)
        value = convert(value, place.type, node, scope.parsed)
        self.writer.store(place, value)

    def bind(self, target: ast.expr, value: Expr, node: ast.stmt, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            name, old = target.id, scope.names.get(target.id)
            if isinstance(old, Marker):
                raise unassignable(name, old, node, scope)
            if isinstance(old, Var) and old.bounds is None:
                self.writer.append(Assign(old.name, convert(value, old.type, node, scope.parsed), at=self.writer.at))
            else:
                scope.names[name] = var = self.writer.assign(name, value)
                self.writer.name(var.name, name, scope)
        elif isinstance(target, ast.Subscript):
            place = self.expressions.place(target, scope)
            if isinstance(place, Load):
                value = convert(value, place.type, node, scope.parsed)
                self.writer.store(place, value)
            else:
                assert self.writer.result is not None
                value = convert(value, self.writer.result.type, node, scope.parsed)
                self.writer.append(Out(place, value, at=self.writer.at))
        else:
            raise scope.error(node, "this cannot be assigned to", "assign to a name, `s.field[i]` or `o[k, i]`")

    # -- control flow

    def branch(self, node: ast.If, scope: Scope) -> None:
        test = self.expressions.boolean(node.test, scope)
        if isinstance(test, Const):
            self.body(node.body if test.value else node.orelse, scope)
            return
        test = self.writer.assign("test", test)
        then_scope, else_scope = scope.fork(), scope.fork()
        with self.writer.nested() as then:
            self.body(node.body, then_scope)
        with self.writer.nested() as orelse:
            self.body(node.orelse, else_scope)
        merged = self.merge(then_scope.names, else_scope.names, node, scope)
        then += [Assign(var.name, a) for var, a, _ in merged]
        orelse += [Assign(var.name, b) for var, _, b in merged]
        self.writer.append(If(test, tuple(then), tuple(orelse), at=self.writer.at))

    def merge(self, then: dict[str, Value], orelse: dict[str, Value], node: ast.If, scope: Scope) -> Merged:
        """Give `scope` the names as they are after both branches: new variables with the value of each branch where
        the two differ.
        """
        merged: Merged = []
        for name in {**then, **orelse}:
            a, b = then.get(name), orelse.get(name)
            if a is not None and a == b:
                scope.names[name] = a
            elif a is None or b is None or isinstance(a, (Marker, Undefined)) or isinstance(b, (Marker, Undefined)):
                scope.names[name] = Undefined(name)
            else:
                if a.type != b.type and LITERAL not in (a.type, b.type):
                    error = f"{name!r} is {a.type} in one branch and {b.type} in the other"
                    raise scope.error(node, error, "make them equal with float(), int() or u32()")
                a, b = unify(a, b, node, scope.parsed)
                var = Var(self.writer.fresh(name), settle(a).type)
                merged.append((var, settle(a), settle(b)))
                scope.names[name] = var
                self.writer.name(var.name, name, scope)
        return merged

    def loop(self, node: ast.For, scope: Scope) -> None:
        target, rounds, kept = self.rounds(node, scope)
        if len(rounds) <= UNROLL_TRIPS and not (kept and rounds):
            for k in rounds:
                scope.names[target] = Const(k, I32)
                self.body(node.body, scope)
            return
        var = Var(self.writer.fresh(target), I32, (min(rounds), max(rounds)))
        rebound = stored_names(*node.body)
        for name, value in scope.names.items():
            if isinstance(value, Const) and name in rebound:  # must be a variable from the start
                scope.names[name] = first = self.writer.assign(name, value)
                self.writer.name(first.name, name, scope)
        self.writer.name(var.name, target, scope)
        inner = scope.fork()
        inner.names[target] = var
        with self.writer.nested() as block:
            self.body(node.body, inner)
        for name, after in inner.names.items():
            if name == target or isinstance(scope.names.get(name, Undefined(name)), Undefined):
                scope.names[name] = Undefined(name)
            elif (old := scope.names[name]) == after:
                continue
            elif isinstance(old, Var) and isinstance(after, Const) and not old.bounds and old.type == after.type:
                block.append(Assign(old.name, after, at=self.writer.at))  # a short loop's index
            elif isinstance(after, Undefined):
                error = f"{name!r} has a value before this loop, and on some paths only after a round of it"
                raise scope.error(node, error, f"give {name!r} another name in the loop")
            else:
                error = f"{name!r} first gets its value inside the loop"
                raise scope.error(node, error, f"give {name!r} its first value before the loop")
        self.writer.append(For(var.name, rounds.start, rounds.stop, rounds.step, tuple(block), at=self.writer.at))

    def rounds(self, node: ast.For, scope: Scope) -> tuple[str, range, bool]:
        """The index's name and the constant range of a loop, and whether it says `loop`: to be kept as a loop."""
        call = node.iter
        word = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if word in scope.parsed.own:
            raise scope.error(node, *a_variable(word))
        over_range = word in ("range", "loop")
        if not isinstance(call, ast.Call) or not over_range or not isinstance(node.target, ast.Name) or call.keywords:
            raise scope.error(node, "loops must run over a `range` of constants", "write `for k in range(10):`")
        if node.orelse:
            raise scope.error(node, "loops cannot have an `else`", "use a flag")
        bounds = [settle(self.expressions.expr(a, scope)) for a in call.args]
        numbers = [int(b.value) for b in bounds if isinstance(b, Const) and b.type == I32]
        if len(numbers) != len(bounds) or not 1 <= len(bounds) <= 3:
            mend = "loop to a constant and put the rest under an `if`"
            raise scope.error(node, "the bounds of `range` must be constants", mend)
        if len(numbers) == 3 and numbers[2] == 0:
            raise scope.error(node, "the step of a loop cannot be 0", "write 1, or -1 to count down")
        rounds = range(*numbers)
        if rounds and not -(1 << 31) <= rounds[-1] + rounds.step < 1 << 31:
            raise scope.error(node, "the index of this loop would leave i32", "loop over smaller numbers, and add")
        if len(rounds) > MAX_LOOP:
            raise scope.error(node, f"a loop of {len(rounds)} rounds is too long", f"at most {MAX_LOOP} are allowed")
        return node.target.id, rounds, word == "loop"

    # -- calls for their effect

    def call(self, node: ast.Call, scope: Scope) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in SHAPES and name not in scope.parsed.own and not self.reader.has_rule(node.func, scope.parsed):
            self.shape(name, node, scope)
        else:
            self.expressions.call(node, scope)

    def shape(self, name: str, node: ast.Call, scope: Scope) -> None:
        if self.writer.reads != "scene":
            raise scope.error(node, f"{name} draws a shape, and only the rule `scene` draws", "move it there")
        kind, slots = SHAPES[name]
        alpha = [k.value for k in node.keywords if k.arg == "alpha"]
        if len(node.args) not in (len(slots), len(slots) + 1) or len(alpha) != len(node.keywords):
            error = f"{name} takes {len(slots)} arguments and an optional alpha, got {len(node.args)}"
            raise scope.error(node, error, "see the scene in docs/reference/rules.md")
        values: list[Expr] = [Const(0.0, F32)] * SHAPE_FLOATS
        values[0], values[SHAPE_ALPHA] = Const(float(kind), F32), Const(1.0, F32)
        for slot, part in zip((*slots, SHAPE_ALPHA), [*node.args, *alpha], strict=False):
            value = self.expressions.expr(part, scope)
            is_number = slot in (SHAPE_COLOUR, SHAPE_TAG)
            values[slot] = self.expressions.cast(value, F32) if is_number else convert(value, F32, node, scope.parsed)
        self.writer.append(Emit(tuple(values), at=self.writer.at))


def unassignable(name: str, marker: Marker, node: ast.AST, scope: Scope) -> RulesError:
    return scope.error(node, f"{name!r} is the {marker.what} and cannot be assigned", "use another name")


def as_load(target: ast.expr) -> ast.expr:
    """The target of an assignment, as an expression on the same line."""
    copy = ast.parse(ast.unparse(target), mode="eval").body
    for n in ast.walk(copy):
        ast.copy_location(n, target)
    return copy
