"""WGSL back end: a `Program` as one module of WebGPU compute shaders, one thread a game (docs/architecture.md, "WGSL
form").

The state of n games is one u32 buffer `[words, n]`, as on CUDA. Elements with a known index live in private variables
while a kernel runs; array fields with an index that is unknown at compile time stay in the buffer. WGSL has 32-bit
numbers only, which is all that rules have. It may fuse products with sums, and its `/` and `sqrt` may miss the last
bits: floats are near the processor's, not equal to them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np

from dshq_kernels.backends.walk import AS_C, Braces, OnRows, Rows, Spelling
from dshq_kernels.language.arithmetic import FOLD, wrap
from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    U32,
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Program,
    Stmt,
)

GROUP = 64
"""Threads in a workgroup (assumed: WebGPU's own advice)."""

# hash32 equals the one in lanes.py. `/` of integers truncates in WGSL and floors in the rules. `%` of negative integers
# is not used: where WGSL becomes GLSL it is wrong (measured: llvmpipe through wgpu).
HEADER = """\
// Generated from the rules of "{name}".
struct Size {{ games: u32, ticks: u32 }}
@group(0) @binding(0) var<uniform> size: Size;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> floats: array<f32>;
@group(0) @binding(3) var<storage, read_write> whole: array<i32>;
var<private> game: u32;
var<private> shapes: u32;
var<private> legal: array<u32, {legal}>;
var<private> infinity: u32 = 0x7f800000u;
fn mix(given: u32) -> u32 {{
  var x = (given ^ (given >> 16u)) * 0x7feb352du;
  x = (x ^ (x >> 15u)) * 0x846ca68bu;
  return x ^ (x >> 16u);
}}
fn hash32(key: u32, count: u32) -> u32 {{
  return mix(mix(count * 0x9e3779b9u + key) ^ (key * 0x85ebca6bu + 0x27d4eb2fu));
}}
fn quotient_i32(a: i32, b: i32) -> i32 {{
  if (b == 0i) {{ return 0i; }}
  let q = a / b;
  let rest = a - q * b;
  return select(q, q - 1i, rest != 0i && (rest < 0i) != (b < 0i));
}}
fn rest_i32(a: i32, b: i32) -> i32 {{
  return select(a - quotient_i32(a, b) * b, 0i, b == 0i);
}}
fn quotient_u32(a: u32, b: u32) -> u32 {{
  return select(a / max(b, 1u), 0u, b == 0u);
}}
fn rest_u32(a: u32, b: u32) -> u32 {{
  return select(a % max(b, 1u), 0u, b == 0u);
}}
"""
# `allow_some` and `pick` equal those in lanes.py; one bit an action, the first action lowest
MASK = """\
fn allow(action: i32, allowed: bool) {{
  let bit = 1u << (u32(action) & 31u);
  legal[action >> 5u] = select(legal[action >> 5u] & ~bit, legal[action >> 5u] | bit, allowed);
}}
fn allow_some() -> u32 {{
  var count = 0u;
  for (var k = 0u; k < {words}u; k++) {{ count += countOneBits(legal[k]); }}
  if (count > 0u) {{ return count; }}
  for (var k = 0i; k < {n_actions}i; k++) {{ allow(k, true); }}
  return {n_actions}u;
}}
fn pick(word: i32, count: u32) -> i32 {{
  var left = min(i32(f32(word) * 5.9604644775390625e-08f * f32(count)), i32(count) - 1i);
  for (var k = 0i; k < {n_actions}i; k++) {{
    if (((legal[k >> 5u] >> (u32(k) & 31u)) & 1u) != 0u) {{
      if (left == 0i) {{ return k; }}
      left -= 1i;
    }}
  }}
  return 0i;
}}
"""
EMIT = """\
fn emit(values: array<f32, 12>) {{
  if (shapes == {most}u) {{ return; }}
  for (var k = 0u; k < 12u; k++) {{ floats[(shapes * 12u + k) * size.games + game] = values[k]; }}
  shapes += 1u;
}}
"""
SPELT: Spelling = {
    **AS_C,
    **{op: f"({{}} {op} u32({{}}))" for op in ("<<", ">>")},
    **{("//", kind): f"quotient_{kind}({{}}, {{}})" for kind in (I32, U32)},
    **{("%", kind): f"rest_{kind}({{}}, {{}})" for kind in (I32, U32)},
    ("neg", U32): "(0u - {})",
    "select": "select({2}, {1}, {0})",
}


def wgsl_source(program: Program) -> str:
    """One module; see the table in docs/architecture.md for its kernels and what they read and write."""
    return _Module(program).text()


def mask_words(n_actions: int) -> int:
    """Words of a mask of one bit an action."""
    return -(-n_actions // 32)


class _Module(Rows):
    """The text under construction, and the words of the state."""

    def __init__(self, program: Program):
        super().__init__(program, (statement for verb in program.verbs.values() for statement in verb))
        self._program = program

    def word(self, field: str, place: int | str) -> str:
        at = f"{place}u" if isinstance(place, int) else place
        return f"state[({self.rows[field]}u + u32({at})) * size.games + game]"

    def number(self, word: str, kind: str) -> str:
        if kind == BOOL:
            return f"({word} != 0u)"
        return word if kind == U32 else f"bitcast<{kind}>({word})"

    def bits(self, value: str, kind: str) -> str:
        if kind == BOOL:
            return f"select(0u, 1u, {value})"
        return value if kind == U32 else f"bitcast<u32>({value})"

    def text(self) -> str:
        program, sides = self._program, range(self._program.sides)
        words = mask_words(program.n_actions)
        parts = [HEADER.format(name=program.name, legal=words)]
        if program.masked:
            parts.append(MASK.format(words=words, n_actions=program.n_actions))
        parts.append(EMIT.format(most=program.scene_max))
        parts += self._registers()
        rows = {"observe": program.n_obs, "terms": program.n_terms}
        for key, statements in program.verbs.items():
            verb, _, rest = key.partition(":")
            place = "whole[{}u * size.games + game]"
            if verb in rows:
                place = f"floats[({int(rest) * rows[verb]}u + u32({{}})) * size.games + game]"
            elif verb == "random":
                place = "whole[u32({}) * size.games + game]"
            elif verb == "mask":
                place = ""
            else:
                place = place.format({"winner": 1}.get(verb, int(rest.rpartition(":")[2] or 0)))
            parts.append(self._function(key, statements, place))
        parts += [text for side in sides for text in self._masked(side)] if program.masked else []
        terms, seen = [f"terms:{k}" for k in sides], [f"observe:{k}" for k in sides]
        ends = ["terminated", "winner"]
        chosen = "whole[game] != 0i"
        decide = ["decide"] if "decide" in program.verbs else []
        parts.append(self._kernel("reset", ["reset"], chosen))
        parts.append(self._kernel("decide", decide))
        parts.append(self._kernel("tick", ["tick"]))
        parts.append(self._kernel("observe", seen))
        parts.append(self._kernel("terms", terms))
        parts.append(self._kernel("status", ends))
        parts.append(self._kernel("turn", [*decide, "tick", *terms, *ends]))
        parts.append(self._kernel("renew", ["reset", *terms], chosen))
        parts.append(self._kernel("random", ["random"], after=self._picked() if program.masked else ()))
        if program.masked:
            parts.append(self._kernel("mask", [f"mask:{k}" for k in sides], shown=True))
        parts.append(self._kernel("scene", ["scene"], after=["whole[game] = i32(shapes);"]))
        for name in program.baselines:
            parts.append(self._kernel(f"baseline_{name}", [f"baseline:{name}:{k}" for k in sides]))
        return "\n".join(parts)

    def _registers(self) -> Iterator[str]:
        """A private variable for each element of the state that does not stay in the buffer."""
        for field in self._program.fields:
            if field.name not in self.in_memory:
                for index in range(field.words):
                    yield f"var<private> {self.register(field.name, index)}: {field.type};"

    def _kernel(
        self, name: str, verbs: Sequence[str], test: str = "", after: Sequence[str] = (), shown: bool = False
    ) -> str:
        """An entry point: loads the registers that the verbs touch, calls them and stores what they may have changed.
        `shown`: each verb is a mask, and its words go into `whole`.
        """
        run = (*verbs, *(self._mask_verbs() if name == "random" else ()))
        touched, written = self.touched(statement for verb in run for statement in self._program.verbs[verb])
        lines = [f"@compute @workgroup_size({GROUP})", f"fn {name}(@builtin(global_invocation_id) id: vec3u) {{"]
        lines += ["  game = id.x;", "  if (game >= size.games) { return; }"]
        lines += [f"  if (!({test})) {{ return; }}"] if test else []
        lines += [f"  {line};" for line in self.loads(touched)]
        for side, verb in enumerate(verbs):
            call = f"{_name(verb)}();"
            if verb == "tick":
                call = f"for (var k = 0u; k < size.ticks; k++) {{ {call} }}"
            lines.append(f"  show_{side}();" if shown else f"  {call}")
        lines += [f"  {line}" for line in after]
        lines += [f"  {line};" for line in self.stores(key for key in touched if key in written)]
        return "\n".join([*lines, "}"]) + "\n"

    def _mask_verbs(self) -> list[str]:
        return [f"mask:{k}" for k in range(self._program.sides)] if self._program.masked else []

    def _masked(self, side: int) -> list[str]:
        """The functions that make a side's mask, and that write it into `whole`, i32 `[sides, words, n]`."""
        words = mask_words(self._program.n_actions)
        cleared = f"for (var k = 0u; k < {words}u; k++) {{ legal[k] = 0u; }}"
        shown = f"whole[({side * words}u + k) * size.games + game] = bitcast<i32>(legal[k]);"
        return [
            f"fn legal_{side}() -> u32 {{\n  {cleared}\n  {_name(f'mask:{side}')}();\n  return allow_some();\n}}",
            f"fn show_{side}() {{\n  _ = legal_{side}();\n  for (var k = 0u; k < {words}u; k++) {{ {shown} }}\n}}",
        ]

    def _picked(self) -> list[str]:
        """Draws become allowed actions."""
        place = "whole[{}u * size.games + game]"
        return [
            f"{place.format(side)} = pick({place.format(side)}, legal_{side}());" for side in range(self._program.sides)
        ]

    def _function(self, key: str, statements: Sequence[Stmt], place: str) -> str:
        """A verb as a function. A name that is given a value once is a constant where that happens; the language lets
        nobody read it elsewhere.
        """
        count: dict[str, int] = {}
        kinds: dict[str, str] = {}
        for statement in _assignments(statements):
            count[statement.name] = count.get(statement.name, 0) + 1
            kinds[statement.name] = statement.value.type
        several = [name for name, times in count.items() if times > 1]
        code = _Function(self, place, several)
        code.statements(statements)
        return "\n".join(
            [f"fn {_name(key)}() {{", *(f"  var v_{name}: {kinds[name]};" for name in several), *code.lines, "}"]
        )


class _Function(OnRows, Braces):
    """A verb as it is written. `place`: of an element of its result, "" for a mask; `several`: the variables that are
    given a value more than once.
    """

    spelt, flag, declared, suffix = SPELT, "select(0i, 1i, {})", "var ", "i"

    def __init__(self, state: _Module, place: str, several: Container[str]):
        super().__init__(state)
        self._place, self._several = place, several

    def assign(self, name: str, value: Expr) -> None:
        self.line(f"{'' if name in self._several else 'let '}v_{name} = {self.expr(value)};")

    def store(self, field: str, index: Expr | None, value: Expr) -> None:
        self.line(f"{self.stored(field, index, value)};")

    def out(self, index: Expr, value: Expr) -> None:
        if self._place:
            self.line(f"{self._place.format(self.expr(index))} = {self.as_number(value)};")
        else:
            self.line(f"allow({self.expr(index)}, {self.expr(value)});")

    def emit(self, values: Sequence[Expr]) -> None:
        self.line(f"emit(array<f32, 12>({', '.join(map(self.expr, values))}));")

    def expr(self, value: Expr) -> str:
        return super().expr(folded(value))

    def variable(self, name: str) -> str:
        return f"v_{name}"

    def constant(self, value: Const) -> str:
        return number(value.value, value.type)


def folded(value: Expr) -> Expr:
    """An operation on two constants as its result, rounded as the processor does: WGSL refuses constant expressions
    that overflow.
    """
    if not isinstance(value, Binary) or value.op == "hash32":
        return value
    a, b = folded(value.a), folded(value.b)
    if not (isinstance(a, Const) and isinstance(b, Const)):
        return Binary(value.op, a, b, value.type)
    if value.type == F32:
        x, y = np.float32(a.value), np.float32(b.value)
        with np.errstate(all="ignore"):
            result = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[value.op](x, y)
        return Const(float(result), F32) if not np.isnan(result) else value
    if value.op in ("//", "%") and b.value == 0:
        return Const(0, value.type)
    return Const(wrap(FOLD[value.op](int(a.value), int(b.value)), value.type), value.type)


def number(value: float | int | bool, kind: str) -> str:
    """A literal of exactly this value."""
    if kind == BOOL:
        return "true" if value else "false"
    if kind == F32:
        if np.isinf(value):
            return "bitcast<f32>(infinity)" if value > 0 else "(-bitcast<f32>(infinity))"
        text = f"{float(value)!r}f"
    else:
        text = f"{int(value)}{'i' if kind == I32 else 'u'}"
        text = "i32(-2147483648)" if text == "-2147483648i" else text
    return f"({text})" if text.startswith("-") else text


def _name(verb: str) -> str:
    return "do_" + verb.replace(":", "_")


def _assignments(statements: Sequence[Stmt]) -> Iterator[Assign]:
    for statement in statements:
        if isinstance(statement, Assign):
            yield statement
        elif isinstance(statement, If):
            yield from _assignments((*statement.body, *statement.orelse))
        elif isinstance(statement, For):
            yield from _assignments(statement.body)
