"""JavaScript back end: a `Program` as the body of a JavaScript function that creates the game (docs/architecture.md,
"JavaScript form").

`Math.fround` after every float operation, `| 0` and `>>> 0` after every integer one, so each intermediate is the same
32 bits as on the CPU: a double
result of + - * / or sqrt on float32 operands, rounded once more to float32, is the correctly rounded float32 result
(Figueroa 1995).
"""

from __future__ import annotations

import json

import numpy as np

from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    U32,
    Assign,
    Binary,
    Cast,
    Compare,
    Const,
    Emit,
    Expr,
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

ARRAYS = {F32: "Float32Array", I32: "Int32Array", U32: "Uint32Array", BOOL: "Int32Array"}
WRAP = {I32: "({} | 0)", U32: "({} >>> 0)"}

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
    fields, offset = [], 0
    for f in program.fields:
        fields.append(f"    {f.name}: new {ARRAYS[f.type]}(buffer, {4 * offset}, {f.words}),")
        offset += f.words
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
        _function("reset", "s", verbs["reset"], program),
        _function("decide", "s", verbs.get("decide", ()), program),
        _function("tick", "s", verbs["tick"], program),
    ]
    for name in ("terminated", "winner"):
        parts.append(_function(name, "s", verbs[name], program, result="scalar"))
    parts.append(_function("words_drawn" if program.masked else "random", "s, out", verbs["random"], program))
    if program.masked:
        parts.append(MASK.format(n_actions=program.n_actions, sides=program.sides))
    parts.append(_function("scene", "s, out", verbs["scene"], program, result="scene"))
    for name, verb in (
        ("observe", "observe"),
        ("terms", "terms"),
        *((("mask_rows", "mask"),) if program.masked else ()),
    ):
        for side in range(program.sides):
            parts.append(_function(f"{name}_{side}", "s, out", verbs[f"{verb}:{side}"], program))
        parts.append(_by_side(name, "s, side, out", "s, out", program.sides))
    for name in program.baselines:
        for side in range(program.sides):
            parts.append(
                _function(f"baseline_{name}_{side}", "s", verbs[f"baseline:{name}:{side}"], program, result="scalar")
            )
        parts.append(_by_side(f"baseline_{name}", "s, side", "s", program.sides))
    baselines = ", ".join(f"{name}: baseline_{name}" for name in program.baselines)
    verbs_made = "reset, decide, tick, observe, terms, terminated, winner, random, scene"
    verbs_made += ", mask" if program.masked else ""
    parts.append(f"return {{ words, fields, create, {verbs_made}, baselines: {{ {baselines} }} }};")
    return "\n".join(parts) + "\n"


def _by_side(name: str, params: str, args: str, sides: int) -> str:
    call = f"side === 1 ? {name}_1({args}) : {name}_0({args})" if sides == 2 else f"{name}_0({args})"
    return f"function {name}({params}) {{\n  return {call};\n}}"


def _function(name: str, params: str, statements: tuple[Stmt, ...], program: Program, result: str = "array") -> str:
    names: list[str] = []
    used: list[str] = []
    body = _block(statements, 1, names, used, result)
    lines = [f"function {name}({params}) {{"]
    lines += [f"  const f_{field} = s.{field};" for field in sorted(set(used))]
    if names:
        lines.append(f"  let {', '.join(dict.fromkeys(names))};")
    if result == "scene":
        lines.append("  let n = 0;")
    lines += body
    if result == "scene":
        lines.append("  return n;")
    lines.append("}")
    return "\n".join(lines)


def _block(statements: tuple[Stmt, ...], depth: int, names: list[str], used: list[str], result: str) -> list[str]:
    lines: list[str] = []
    pad = "  " * depth

    def e(value: Expr) -> str:
        return _expr(value, used)

    for statement in statements:
        if isinstance(statement, Assign):
            names.append(statement.name)
            lines.append(f"{pad}{statement.name} = {e(statement.value)};")
        elif isinstance(statement, Store):
            used.append(statement.field)
            value = e(statement.value)
            value = f"({value} ? 1 : 0)" if statement.value.type == BOOL else value
            lines.append(f"{pad}f_{statement.field}[{e(statement.index) if statement.index else 0}] = {value};")
        elif isinstance(statement, Out):
            value = e(statement.value)
            lines.append(
                f"{pad}return {value};" if result == "scalar" else f"{pad}out[{e(statement.index)}] = {value};"
            )
        elif isinstance(statement, Emit):
            lines.append(f"{pad}n = emit(out, n, {', '.join(map(e, statement.values))});")
        elif isinstance(statement, If):
            lines.append(f"{pad}if ({e(statement.test)}) {{")
            lines += _block(statement.body, depth + 1, names, used, result)
            if statement.orelse:
                lines.append(f"{pad}}} else {{")
                lines += _block(statement.orelse, depth + 1, names, used, result)
            lines.append(f"{pad}}}")
        else:
            assert isinstance(statement, For)
            v = statement.var
            names.append(v)
            sign = "<" if statement.step > 0 else ">"
            lines.append(f"{pad}for ({v} = {statement.start}; {v} {sign} {statement.stop}; {v} += {statement.step}) {{")
            lines += _block(statement.body, depth + 1, names, used, result)
            lines.append(f"{pad}}}")
    return lines


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


def _expr(value: Expr, used: list[str]) -> str:
    def e(part: Expr) -> str:
        return _expr(part, used)

    if isinstance(value, Const):
        return number(value.value, value.type)
    if isinstance(value, Var):
        return value.name
    if isinstance(value, Load):
        used.append(value.field)
        text = f"f_{value.field}[{e(value.index) if value.index else 0}]"
        return f"({text} !== 0)" if value.type == BOOL else text
    if isinstance(value, Unary):
        a = e(value.a)
        if value.op == "not":
            return f"(!{a})"
        if value.op == "inv":
            return WRAP[value.type].format(f"~{a}")
        if value.op == "neg":
            return f"(-{a})" if value.type == F32 else WRAP[value.type].format(f"-{a}")
        return f"fround(sqrt({a}))" if value.op == "sqrt" else f"{value.op}({a})"
    if isinstance(value, Binary):
        return _binary(value, e(value.a), e(value.b))
    if isinstance(value, Compare):
        op = {"==": "===", "!=": "!=="}.get(value.op, value.op)
        return f"({e(value.a)} {op} {e(value.b)})"
    if isinstance(value, Logic):
        return f"({e(value.a)} {'&&' if value.op == 'and' else '||'} {e(value.b)})"
    if isinstance(value, Select):
        return f"({e(value.test)} ? {e(value.a)} : {e(value.b)})"
    assert isinstance(value, Cast)
    a = e(value.a)
    return f"fround({a})" if value.type == F32 else WRAP[value.type].format(a)


def _binary(value: Binary, a: str, b: str) -> str:
    if value.type == F32:
        return f"fround({a} {value.op} {b})"
    wrap = WRAP[value.type]
    if value.op == "hash32":
        return f"hash32({a}, {b})"
    if value.op == "*":
        return wrap.format(f"imul({a}, {b})")
    if value.op == "//":
        return wrap.format(f"floor({a} / {b})")
    if value.op == "%":
        return wrap.format(f"({a} - floor({a} / {b}) * {b})")
    if value.op == ">>" and value.type == U32:
        return f"({a} >>> {b})"
    return wrap.format(f"({a} {value.op} {b})")
