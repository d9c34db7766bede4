"""LLVM back end: a `Program` as LLVM code, from which the processor's and WebAssembly's machine code are made
(docs/architecture.md, "CPU form").

A verb is a C function of addresses. State is one tile: every field has 16 lanes side by side, so a field's place is a
constant, and LLVM turns the loop over lanes into vector code. The code is written directly, not by way of numba, whose
inference of types took more than nine tenths of the seconds of compiling a drill (docs/LOG.md).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from dshq_kernels.backends.walk import Spelling, Walk
from dshq_kernels.language.ir import BOOL, F32, I32, U32, Cast, Const, Expr, For, If, Program, Stmt
from dshq_kernels.simd.lanes import LANES

SHAPE_FLOATS = 12
TYPES = {F32: "float", I32: "i32", U32: "i32", BOOL: "i1"}
FLOAT_OPERATIONS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
INT_OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl"}
FLOAT_COMPARE = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
INT_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
SPELT: Spelling = {
    **{(op, F32): f"{word} float {{}}, {{}}" for op, word in FLOAT_OPERATIONS.items()},
    **{op: f"{word} i32 {{}}, {{}}" for op, word in INT_OPERATIONS.items()},
    **{(op, F32): f"fcmp {word} float {{}}, {{}}" for op, word in FLOAT_COMPARE.items()},
    **{(op, I32): f"icmp s{word} i32 {{}}, {{}}" for op, word in INT_COMPARE.items()},
    **{(op, U32): f"icmp u{word} i32 {{}}, {{}}" for op, word in INT_COMPARE.items()},
    **{("==", kind): f"icmp eq {TYPES[kind]} {{}}, {{}}" for kind in (I32, U32, BOOL)},
    **{("!=", kind): f"icmp ne {TYPES[kind]} {{}}, {{}}" for kind in (I32, U32, BOOL)},
    **{("select", kind): f"select i1 {{}}, {name} {{}}, {name} {{}}" for kind, name in TYPES.items()},
    (">>", I32): "ashr i32 {}, {}",
    (">>", U32): "lshr i32 {}, {}",
    ("//", I32): "call i32 @floor_divide(i32 {}, i32 {})",
    ("%", I32): "call i32 @floor_modulo(i32 {}, i32 {})",
    ("//", U32): "call i32 @divide_unsigned(i32 {}, i32 {})",
    ("%", U32): "call i32 @modulo_unsigned(i32 {}, i32 {})",
    "hash32": "call i32 @hash32(i32 {}, i32 {})",
    ("neg", F32): "fneg float {}",
    "neg": "sub i32 0, {}",
    "inv": "xor i32 {}, -1",
    "not": "xor i1 {}, true",
    "and": "and i1 {}, {}",
    "or": "or i1 {}, {}",
    "abs": "call float @llvm.fabs.f32(float {})",
    "sqrt": "call float @llvm.sqrt.f32(float {})",
    "floor": "call float @llvm.floor.f32(float {})",
    (F32, I32): "sitofp i32 {} to float",
    (F32, U32): "uitofp i32 {} to float",
    (I32, F32): "fptosi float {} to i32",
}


def _unsigned(name: str, instruction: str) -> str:
    return f"""
define internal i32 @{name}(i32 %a, i32 %b) alwaysinline {{
  %none = icmp eq i32 %b, 0
  %by = select i1 %none, i32 1, i32 %b
  %word = {instruction} i32 %a, %by
  %result = select i1 %none, i32 0, i32 %word
  ret i32 %result
}}
"""


PRELUDE = (
    f"""\
declare float @llvm.fabs.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)

define internal i32 @mix(i32 %x) alwaysinline {{
  %a = lshr i32 %x, 16
  %b = xor i32 %x, %a
  %c = mul i32 %b, {0x7FEB352D}
  %d = lshr i32 %c, 15
  %e = xor i32 %c, %d
  %f = mul i32 %e, {0x846CA68B - (1 << 32)}
  %g = lshr i32 %f, 16
  %h = xor i32 %f, %g
  ret i32 %h
}}

define internal i32 @hash32(i32 %key, i32 %count) alwaysinline {{
  %a = mul i32 %count, {0x9E3779B9 - (1 << 32)}
  %b = add i32 %a, %key
  %first = call i32 @mix(i32 %b)
  %c = mul i32 %key, {0x85EBCA6B - (1 << 32)}
  %d = add i32 %c, {0x27D4EB2F}
  %e = xor i32 %first, %d
  %word = call i32 @mix(i32 %e)
  ret i32 %word
}}

define internal i32 @floor_divide(i32 %a, i32 %b) alwaysinline {{
  %none = icmp eq i32 %b, 0
  %by = select i1 %none, i32 1, i32 %b
  %wide = sext i32 %a to i64
  %wide_by = sext i32 %by to i64
  %q = sdiv i64 %wide, %wide_by
  %back = mul i64 %q, %wide_by
  %rest = icmp ne i64 %back, %wide
  %signs = xor i64 %wide, %wide_by
  %negative = icmp slt i64 %signs, 0
  %down = and i1 %rest, %negative
  %less = sext i1 %down to i64
  %floored = add i64 %q, %less
  %word = trunc i64 %floored to i32
  %result = select i1 %none, i32 0, i32 %word
  ret i32 %result
}}

define internal i32 @floor_modulo(i32 %a, i32 %b) alwaysinline {{
  %none = icmp eq i32 %b, 0
  %by = select i1 %none, i32 1, i32 %b
  %wide = sext i32 %a to i64
  %wide_by = sext i32 %by to i64
  %r = srem i64 %wide, %wide_by
  %signs = xor i64 %r, %wide_by
  %negative = icmp slt i64 %signs, 0
  %rest = icmp ne i64 %r, 0
  %up = and i1 %rest, %negative
  %more = select i1 %up, i64 %wide_by, i64 0
  %floored = add i64 %r, %more
  %word = trunc i64 %floored to i32
  %result = select i1 %none, i32 0, i32 %word
  ret i32 %result
}}

define internal i64 @emit(ptr %out, i64 %n, i64 %most, {", ".join(f"float %v{k}" for k in range(SHAPE_FLOATS))}) {{
  %room = icmp slt i64 %n, %most
  br i1 %room, label %append, label %full
append:
  %at = mul i64 %n, {4 * SHAPE_FLOATS}
  %shape = getelementptr i8, ptr %out, i64 %at
"""
    + "".join(
        f"  %p{k} = getelementptr i8, ptr %shape, i64 {4 * k}\n  store float %v{k}, ptr %p{k}, align 4\n"
        for k in range(SHAPE_FLOATS)
    )
    + """\
  %more = add i64 %n, 1
  ret i64 %more
full:
  ret i64 %n
}
"""
    + _unsigned("divide_unsigned", "udiv")
    + _unsigned("modulo_unsigned", "urem")
)


def llvm_source(program: Program) -> str:
    """All verbs: `reset(tile, lane)`, `decide(tile)`, `tick(tile, n)`, `scene(tile, lane, out)`, and `(tile, out)` for
    the others. Addresses are i64. The table of results is in docs/architecture.md.
    """
    verbs, sides = program.verbs, range(program.sides)
    parts = [PRELUDE]
    with Verb(program, "reset", ("tile", "lane")).written(parts) as code:
        code.block(verbs["reset"])
    with Verb(program, "decide", ("tile",)).written(parts) as code, code.lanes():
        code.block(verbs.get("decide", ()))
    with Verb(program, "tick", ("tile", "n")).written(parts) as code, code.times("%n"), code.lanes():
        code.block(verbs["tick"])
    for name, rows in (("observe", program.n_obs), ("terms", program.n_terms)):
        with Verb(program, name, ("tile", "out")).written(parts) as code:
            for side in sides:
                with code.lanes():
                    code.block(verbs[f"{name}:{side}"], first=side * max(1, rows))
    with Verb(program, "status", ("tile", "out")).written(parts) as code:
        for row, name in enumerate(("terminated", "winner")):
            with code.lanes():
                code.block(verbs[name], first=row)
    if program.masked:
        parts.append(_choice(program))
        with Verb(program, "mask", ("tile", "out")).written(parts) as code:
            code.clear(program.sides * program.n_actions * LANES)
            for side in sides:
                with code.lanes():
                    code.block(verbs[f"mask:{side}"], first=side * program.n_actions)
            code.line("call void @allow_some(ptr %o)")
    with Verb(program, "random", ("tile", "out")).written(parts) as code:
        with code.lanes():
            code.block(verbs["random"])
        if program.masked:
            place = code.room(f"[{program.sides * program.n_actions * LANES} x i32]")
            address = code.value(f"ptrtoint ptr {place} to i64")
            code.line(f"call void @mask(i64 %tile, i64 {address})")
            code.line(f"call void @pick(ptr %o, ptr {place})")
    with Verb(program, "scene", ("tile", "lane", "out"), result="i64").written(parts) as code:
        code.block(verbs["scene"])
    for name in program.baselines:
        with Verb(program, f"baseline_{name}", ("tile", "out")).written(parts) as code:
            for side in sides:
                with code.lanes():
                    code.block(verbs[f"baseline:{name}:{side}"], first=side)
    return "\n".join(parts)


def _choice(program: Program) -> str:
    """`allow_some` allows everything in lanes of a mask that allow nothing; `pick` turns 24 random bits of each lane
    into one of its allowed actions, like `random_int`. Both take i32 [sides, n_actions, 16].
    """
    n = program.n_actions
    parts: list[str] = []
    with _Code("allow_some", "ptr %m").written(parts) as code, code.times(program.sides) as side, code.lanes() as lane:
        count, row = code.counted(side, lane, n)
        none = code.value(f"icmp eq i32 {count}, 0")
        with code.when(none), code.times(n) as k:
            code.line(f"store i32 1, ptr {code.word(row, k)}, align 4")
    with (
        _Code("pick", "ptr %o, ptr %m").written(parts) as code,
        code.times(program.sides) as side,
        code.lanes() as lane,
    ):
        count, row = code.counted(side, lane, n)
        own = code.value(f"mul i64 {side}, {LANES}")
        own = code.value(f"add i64 {own}, {lane}")
        action = code.value(f"getelementptr i32, ptr %o, i64 {own}")
        bits = code.value(f"load i32, ptr {action}, align 4")
        share = code.value(f"sitofp i32 {bits} to float")
        share = code.value(f"fmul float {share}, {_float(2.0**-24)}")
        many = code.value(f"sitofp i32 {count} to float")
        share = code.value(f"fmul float {share}, {many}")
        drawn = code.value(f"fptosi float {share} to i32")
        last = code.value(f"sub i32 {count}, 1")
        late = code.value(f"icmp slt i32 {last}, {drawn}")
        left = code.room("i32")
        code.line(f"store i32 {code.value(f'select i1 {late}, i32 {last}, i32 {drawn}')}, ptr {left}")
        with code.times(n) as k:
            allowed = code.value(f"load i32, ptr {code.word(row, k)}, align 4")
            with code.when(code.value(f"icmp ne i32 {allowed}, 0")):
                now = code.value(f"load i32, ptr {left}")
                with code.when(code.value(f"icmp eq i32 {now}, 0")):
                    code.line(f"store i32 {code.value(f'trunc i64 {k} to i32')}, ptr {action}, align 4")
                code.line(f"store i32 {code.value(f'sub i32 {now}, 1')}, ptr {left}")
    return "\n".join(parts)


class _Code:
    """One function as it is written. Variables live in memory of its stack, which LLVM turns into registers."""

    def __init__(self, name: str, parameters: str, result: str = "void", internal: bool = True):
        self._head = f"define {'internal ' if internal else ''}{result} @{name}({parameters}) {{"
        self._rooms: list[str] = []
        self._lines: list[str] = []
        self._count = 0

    @contextmanager
    def written(self, parts: list[str]) -> Iterator[Self]:
        """Write the body in the block; the whole function is appended to `parts`."""
        yield self
        self.line(self.end())
        parts.append("\n".join([self._head, *self._rooms, *self._lines, "}\n"]))

    def end(self) -> str:
        """The last instruction."""
        return "ret void"

    def line(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def value(self, instruction: str) -> str:
        """A new value, by its name."""
        name = self.name()
        self._lines.append(f"  {name} = {instruction}")
        return name

    def room(self, kind: str) -> str:
        """The address of memory of the stack for one value."""
        name = self.name()
        self._rooms.append(f"  {name} = alloca {kind}")
        return name

    def label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        self._lines.append(f"{label}:")

    @contextmanager
    def times(self, count: int | str, start: int = 0, step: int = 1) -> Iterator[str]:
        """The block once for each of start, start + step, ..., `count` left out; gives the number, an i64."""
        place, test, body, end = self.room("i64"), self.label(), self.label(), self.label()
        self.line(f"store i64 {start}, ptr {place}")
        self.line(f"br label %{test}")
        self.begin(test)
        number = self.value(f"load i64, ptr {place}")
        more = self.value(f"icmp {'slt' if step > 0 else 'sgt'} i64 {number}, {count}")
        self.line(f"br i1 {more}, label %{body}, label %{end}")
        self.begin(body)
        yield number
        following = self.value(f"add nsw i64 {number}, {step}")
        self.line(f"store i64 {following}, ptr {place}")
        self.line(f"br label %{test}")
        self.begin(end)

    @contextmanager
    def lanes(self) -> Iterator[str]:
        """The block for each of the 16 lanes."""
        with self.times(LANES) as lane:
            yield lane

    @contextmanager
    def when(self, test: str) -> Iterator[None]:
        """The block if `test`."""
        then, end = self.label(), self.label()
        self.line(f"br i1 {test}, label %{then}, label %{end}")
        self.begin(then)
        yield
        self.line(f"br label %{end}")
        self.begin(end)

    def counted(self, side: str, lane: str, n_actions: int) -> tuple[str, str]:
        """How many actions the mask `%m` allows in a lane, and the address of its first word there."""
        at = self.value(f"mul i64 {side}, {n_actions * LANES}")
        at = self.value(f"add i64 {at}, {lane}")
        row = self.value(f"getelementptr i32, ptr %m, i64 {at}")
        total = self.room("i32")
        self.line(f"store i32 0, ptr {total}")
        with self.times(n_actions) as k:
            word = self.value(f"load i32, ptr {self.word(row, k)}, align 4")
            so_far = self.value(f"load i32, ptr {total}")
            self.line(f"store i32 {self.value(f'add i32 {so_far}, {word}')}, ptr {total}")
        return self.value(f"load i32, ptr {total}"), row

    def word(self, row: str, k: str) -> str:
        """The address of word `k` of a lane: one in 16."""
        at = self.value(f"mul i64 {k}, {LANES}")
        return self.value(f"getelementptr i32, ptr {row}, i64 {at}")


class Verb(_Code, Walk):
    """One verb of a program. Parameters are addresses and numbers, i64: of `tile`, `lane`, `n` and `out`."""

    spelt = SPELT

    def __init__(self, program: Program, name: str, parameters: Sequence[str], result: str = "void"):
        super().__init__(name, ", ".join(f"i64 %{one}" for one in parameters), result, internal=False)
        self._rows = program.rows
        self._scene_max = program.scene_max
        self._lane = "%lane"
        self._first = 0
        self._places: dict[str, tuple[str, str]] = {}
        self._shapes = ""
        self.line("%s = inttoptr i64 %tile to ptr")
        if "out" in parameters:
            self.line("%o = inttoptr i64 %out to ptr")
        if result != "void":
            self._shapes = self.room("i64")
            self.line(f"store i64 0, ptr {self._shapes}")

    def end(self) -> str:
        return f"ret i64 {self.value(f'load i64, ptr {self._shapes}')}" if self._shapes else "ret void"

    @contextmanager
    def lanes(self) -> Iterator[str]:
        with super().lanes() as lane:
            self._lane = lane
            yield lane

    def clear(self, words: int) -> None:
        """Zeros in the first words of the result."""
        with self.times(words) as k:
            self.line(f"store i32 0, ptr {self.value(f'getelementptr i32, ptr %o, i64 {k}')}, align 4")

    def block(self, statements: Sequence[Stmt], first: int = 0) -> None:
        """The statements for one lane; rows of the result are counted from row `first`."""
        self._first = first
        self.statements(statements)

    def assign(self, name: str, value: Expr) -> None:
        self._keep(name, self.expr(value), value.type)

    def _keep(self, name: str, operand: str, kind: str) -> None:
        if name not in self._places:
            self._places[name] = self.room(TYPES[kind]), TYPES[kind]
        place, written = self._places[name]
        self.line(f"store {written} {operand}, ptr {place}")

    def store(self, field: str, index: Expr | None, value: Expr) -> None:
        self._put(self._address(field, index), value)

    def out(self, index: Expr, value: Expr) -> None:
        self._put(self._lane_of("%o", self._index(index, self._first)), value)

    def _put(self, address: str, value: Expr) -> None:
        """Store a value as the four bytes that it has in memory: a bool is an i32 of 0 or 1."""
        operand, kind = self.expr(value), TYPES[value.type]
        if value.type == BOOL:
            operand, kind = self.value(f"zext i1 {operand} to i32"), "i32"
        self.line(f"store {kind} {operand}, ptr {address}, align 4")

    def emit(self, values: Sequence[Expr]) -> None:
        count = self.value(f"load i64, ptr {self._shapes}")
        words = ", ".join(f"float {self.expr(value)}" for value in values)
        more = self.value(f"call i64 @emit(ptr %o, i64 {count}, i64 {self._scene_max}, {words})")
        self.line(f"store i64 {more}, ptr {self._shapes}")

    def branch(self, it: If) -> None:
        test = self.expr(it.test)
        then, orelse, end = self.label(), self.label(), self.label()
        self.line(f"br i1 {test}, label %{then}, label %{orelse}")
        for label, body in ((then, it.body), (orelse, it.orelse)):
            self.begin(label)
            self.statements(body)
            self.line(f"br label %{end}")
        self.begin(end)

    def loop(self, it: For) -> None:
        with self.times(it.stop, it.start, it.step) as number:
            self._keep(it.var, self.value(f"trunc i64 {number} to i32"), I32)
            self.statements(it.body)

    # -- places in memory

    def _lane_of(self, base: str, row: str) -> str:
        """The address of this lane in row `row` (an i64) of 16 words each, counted from `base`."""
        at = self.value(f"mul i64 {row}, {LANES}") if row.startswith("%") else str(int(row) * LANES)
        return self.value(
            f"getelementptr i32, ptr {self.value(f'getelementptr i32, ptr {base}, i64 {at}')}, i64 {self._lane}"
        )

    def _index(self, index: Expr | None, first: int = 0) -> str:
        if index is None or isinstance(index, Const):
            return str(first + (int(index.value) if index is not None else 0))
        wide = self.value(f"sext i32 {self.expr(index)} to i64")
        return self.value(f"add i64 {wide}, {first}") if first else wide

    def _address(self, field: str, index: Expr | None) -> str:
        base = self.value(f"getelementptr i8, ptr %s, i64 {4 * LANES * self._rows[field]}")
        return self._lane_of(base, self._index(index))

    # -- expressions

    def expr(self, value: Expr) -> str:
        if isinstance(value, Cast) and F32 not in (value.type, value.a.type):
            return self.expr(value.a)  # i32 <-> u32: the same bits
        return super().expr(value)

    def operation(self, op: str, kind: str, *operands: str) -> str:
        return self.value(super().operation(op, kind, *operands))

    def variable(self, name: str) -> str:
        place, kind = self._places[name]
        return self.value(f"load {kind}, ptr {place}")

    def constant(self, value: Const) -> str:
        if value.type == F32:
            return _float(float(value.value))
        if value.type == BOOL:
            return "true" if value.value else "false"
        number = int(value.value) & 0xFFFFFFFF
        return str(number - (1 << 32) if number >= 1 << 31 else number)

    def load(self, field: str, index: Expr | None, kind: str) -> str:
        word = self.value(f"load {'float' if kind == F32 else 'i32'}, ptr {self._address(field, index)}, align 4")
        return self.value(f"icmp ne i32 {word}, 0") if kind == BOOL else word


def _float(value: float) -> str:
    """A float32 as LLVM writes it: the bits of the double of the same value."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
