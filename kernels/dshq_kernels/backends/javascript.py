"""JavaScript back end: a `Program` as the body of a JavaScript function that creates the game (docs/architecture.md,
"JavaScript form").

`Math.fround` after every float operation, `| 0` and `>>> 0` after every integer one, so each intermediate is the same
32 bits as on the CPU: a double
result of + - * / or sqrt on float32 operands, rounded once more to float32, is the correctly rounded float32 result
(Figueroa 1995).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from dshq_kernels.backends.walk import ARITHMETIC, AS_C, Braces, Spelling
from dshq_kernels.language.ir import BOOL, F32, I32, U32, Const, Expr, For, Program, Stmt

ARRAYS = {F32: "Float32Array", I32: "Int32Array", U32: "Uint32Array", BOOL: "Int32Array"}
WRAP = {I32: "({} | 0)", U32: "({} >>> 0)"}
WHOLE = {
    **{op: f"({{0}} {op} {{1}})" for op in ("+", "-", "&", "|", "^", "<<", ">>")},
    "*": "imul({0}, {1})",
    "//": "floor({0} / {1})",
    "%": "({0} - floor({0} / {1}) * {1})",
    "neg": "-{0}",
    "inv": "~{0}",
}
"""Operations on whole numbers before they are wrapped."""
SPELT: Spelling = {
    **AS_C,
    **{(op, F32): f"fround({{}} {op} {{}})" for op in ARITHMETIC},
    **{(op, kind): wrap.format(text) for op, text in WHOLE.items() for kind, wrap in WRAP.items()},
    **WRAP,
    (">>", U32): "({} >>> {})",
    "==": "({} === {})",
    "!=": "({} !== {})",
    "sqrt": "fround(sqrt({}))",
    "select": "({} ? {} : {})",
    F32: "fround({})",
}

# hash32 equals the one in lanes.py: two rounds of lowbias32
PRELUDE = """\
function mix(x) {
  x = imul(x ^ (x >>> 16), 0x7feb352d);
  x = imul(x ^ (x >>> 15), 0x846ca68b);
  return x ^ (x >>> 16);
}
function hash32(key, count) {
  return mix(mix((imul(count, 0x9e3779b9) + key) | 0) ^ (imul(key, 0x85ebca6b) + 0x27d4eb2f)) >>> 0;
}
function emit(out, n, kind, colour, x, y, a, b, c, d, e, alpha, tag, spare) {
  const k = n * 12;
  if (k >= out.length) return n;
  out[k] = kind; out[k + 1] = colour; out[k + 2] = x; out[k + 3] = y; out[k + 4] = a; out[k + 5] = b;
  out[k + 6] = c; out[k + 7] = d; out[k + 8] = e; out[k + 9] = alpha; out[k + 10] = tag; out[k + 11] = spare;
  return n + 1;
}"""


# pick equals the one in lanes.py; a mask that allows nothing allows everything
MASK = """\
const legal = new Uint8Array({n_actions});
function allowSome(out) {{
  for (let k = 0; k < out.length; k++) if (out[k]) return;
  out.fill(1);
}}
function pick(word) {{
  let count = 0;
  for (let k = 0; k < legal.length; k++) count += legal[k];
  let left = Math.min(floor(fround(fround(word * 2 ** -24) * fround(count))), count - 1);
  for (let k = 0; k < legal.length; k++) if (legal[k] && left-- === 0) return k;
}}
function mask(s, side, out) {{
  out.fill(0);
  mask_rows(s, side, out);
  allowSome(out);
}}
function random(s, out) {{
  words_drawn(s, out);
  for (let side = 0; side < {sides}; side++) {{
    mask(s, side, legal);
    out[side] = pick(out[side]);
  }}
}}"""


def javascript_source(program: Program) -> str:
    """The source; `new Function(source)()` returns the game. It is built only from checked syntax trees, so every name
    in it is an identifier.
    """
    rows = program.rows
    fields = [f"    {f.name}: new {ARRAYS[f.type]}(buffer, {4 * rows[f.name]}, {f.words})," for f in program.fields]
    table = json.dumps([[f.name, f.type, f.length] for f in program.fields])
    verbs = program.verbs
    parts = [
        '"use strict";',
        "const fround = Math.fround, imul = Math.imul, sqrt = Math.sqrt, abs = Math.abs, floor = Math.floor;",
        PRELUDE,
        f"const words = {program.words};",
        f"const fields = {table};",
        f"function create(buffer = new ArrayBuffer({4 * program.words})) {{\n  return {{\n    buffer,",
        *fields,
        "  };\n}",
        _function("reset", "s", verbs["reset"]),
        _function("decide", "s", verbs.get("decide", ())),
        _function("tick", "s", verbs["tick"]),
    ]
    for name in ("terminated", "winner"):
        parts.append(_function(name, "s", verbs[name], result="scalar"))
    parts.append(_function("words_drawn" if program.masked else "random", "s, out", verbs["random"]))
    if program.masked:
        parts.append(MASK.format(n_actions=program.n_actions, sides=program.sides))
    parts.append(_function("scene", "s, out", verbs["scene"], result="scene"))
    for name, verb in (
        ("observe", "observe"),
        ("terms", "terms"),
        *((("mask_rows", "mask"),) if program.masked else ()),
    ):
        for side in range(program.sides):
            parts.append(_function(f"{name}_{side}", "s, out", verbs[f"{verb}:{side}"]))
        parts.append(_by_side(name, "s, side, out", "s, out", program.sides))
    for name in program.baselines:
        for side in range(program.sides):
            parts.append(_function(f"baseline_{name}_{side}", "s", verbs[f"baseline:{name}:{side}"], result="scalar"))
        parts.append(_by_side(f"baseline_{name}", "s, side", "s", program.sides))
    baselines = ", ".join(f"{name}: baseline_{name}" for name in program.baselines)
    verbs_made = "reset, decide, tick, observe, terms, terminated, winner, random, scene"
    verbs_made += ", mask" if program.masked else ""
    parts.append(f"return {{ words, fields, create, {verbs_made}, baselines: {{ {baselines} }} }};")
    return "\n".join(parts) + "\n"


def _by_side(name: str, params: str, args: str, sides: int) -> str:
    call = f"side === 1 ? {name}_1({args}) : {name}_0({args})" if sides == 2 else f"{name}_0({args})"
    return f"function {name}({params}) {{\n  return {call};\n}}"


def _function(name: str, params: str, statements: Sequence[Stmt], result: str = "array") -> str:
    code = _Function(result)
    code.statements(statements)
    lines = [f"function {name}({params}) {{"]
    lines += [f"  const f_{field} = s.{field};" for field in sorted(code.used)]
    if code.names:
        lines.append(f"  let {', '.join(dict.fromkeys(code.names))};")
    if result == "scene":
        lines.append("  let n = 0;")
    lines += code.lines
    if result == "scene":
        lines.append("  return n;")
    lines.append("}")
    return "\n".join(lines)


class _Function(Braces):
    """A verb as it is written: its variables' `names` and the fields that are `used`."""

    spelt, flag = SPELT, "({} ? 1 : 0)"

    def __init__(self, result: str):
        super().__init__()
        self._result = result
        self.names: list[str] = []
        self.used: set[str] = set()

    def assign(self, name: str, value: Expr) -> None:
        self.names.append(name)
        self.line(f"{name} = {self.expr(value)};")

    def store(self, field: str, index: Expr | None, value: Expr) -> None:
        self.line(f"{self._place(field, index)} = {self.as_number(value)};")

    def out(self, index: Expr, value: Expr) -> None:
        here = "return" if self._result == "scalar" else f"out[{self.expr(index)}] ="
        self.line(f"{here} {self.expr(value)};")

    def emit(self, values: Sequence[Expr]) -> None:
        self.line(f"n = emit(out, n, {', '.join(map(self.expr, values))});")

    def loop(self, it: For) -> None:
        self.names.append(it.var)
        super().loop(it)

    def constant(self, value: Const) -> str:
        return number(value.value, value.type)

    def load(self, field: str, index: Expr | None, kind: str) -> str:
        place = self._place(field, index)
        return f"({place} !== 0)" if kind == BOOL else place

    def _place(self, field: str, index: Expr | None) -> str:
        self.used.add(field)
        return f"f_{field}[{self.expr(index) if index else 0}]"


def number(value: float | int | bool, kind: str) -> str:
    """A literal of exactly this value."""
    if kind == BOOL:
        return "true" if value else "false"
    if kind != F32:
        return f"({int(value)})" if value < 0 else str(int(value))
    if np.isinf(value):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text
