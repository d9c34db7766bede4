"""One setting: what its field says of it, how a value is read and checked, and how both are written for people.

A field's docstring is the help shown for it. Its metadata gives the label, the values it takes and when a change takes
effect: `now`, at the `next update`, or at the next start (`restart`).
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import itertools
import math
import numbers
import reprlib
import textwrap
from collections.abc import Mapping
from typing import Any

from dshq_widget.contract.finite import plain

LONGEST_WORD = 60
"""That may be a slip of the pen."""
MOST_PAIRS = 1000
"""Names with numbers in one setting."""
NOW, NEXT_UPDATE, RESTART = "now", "next update", "restart"

ESSENTIALS = "essentials"
"""Group of the settings that the page shows first; the others are in a fold."""


class ConfigError(ValueError):
    """An invalid setting. The message gives the key, what was expected and what was got."""


def about(
    kind: str,
    label: str,
    effect: str,
    group: str,
    *,
    unit: str = "",
    lo: float | None = None,
    hi: float | None = None,
    multiple: int = 1,
    choices: tuple[str, ...] = (),
    network: bool = False,
) -> dict[str, Any]:
    """A field's metadata; `kind` is int, float, bool, choice, text, sizes, shares or weights; `network`: another value
    needs another network, and what was learned does not fit it.
    """
    return {
        "kind": kind,
        "label": label,
        "effect": effect,
        "group": group,
        "unit": unit,
        "min": lo,
        "max": hi,
        "multiple": multiple,
        "choices": choices,
        "network": network,
    }


def setting(default: Any, kind: str, label: str, effect: str, group: str, **more: Any) -> Any:
    """A dataclass field with an immutable default; `more` as in `about`."""
    return dataclasses.field(default=default, metadata=about(kind, label, effect, group, **more))


def nearest(word: str, words: Any) -> str:
    """`"; did you mean X?"` for the closest of `words`, or `""` if none is close, or `word` is long: to compare that
    takes seconds.
    """
    if len(str(word)) > LONGEST_WORD:
        return ""
    close = difflib.get_close_matches(str(word), list(words), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def spelled(key: Any, aliases: Mapping[str, str]) -> str:
    """A setting's own key by any of its names; flags' dashes are read as underscores."""
    name = str(key).replace("-", "_")
    return aliases.get(name, name)


def parse_value(key: str, value: Any, spec: Mapping[str, Any]) -> Any:
    """`value` (a Python value, or text from a flag, YAML or the page) as the setting's own type; raises ConfigError."""
    return _PARSERS[spec["kind"]](key, plain(value), spec)


def wanted(key: str, what: str, value: Any, hint: str = "") -> ConfigError:
    """The error of a value that is not what the setting takes."""
    return ConfigError(f"{key} must be {what}, got {shown(value)}{hint}")


class _Shown(reprlib.Repr):
    """Values of a file or a page in an error: short, and made without reading a value whole, since a few lines of YAML
    with aliases stand for billions of values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 2, 60, 60, 60

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 256 else f"a whole number of {x.bit_length()} bits"


def shown(value: Any) -> str:
    """`value` as an error shows it, at most 60 characters."""
    text = _Shown().repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def printable(text: object, most: int = 1000) -> str:
    """A text of somebody else's as a terminal may show it: one line of at most so many letters, none of which drives
    it.
    """
    return "".join(letter if letter.isprintable() else " " for letter in str(text)[:most])


def printable_lines(text: object, most: int = 65_536) -> str:
    """The same of several lines, of at most so many letters together."""
    return "\n".join(printable(line, most) for line in str(text)[:most].split("\n"))


def _range(spec: Mapping[str, Any]) -> str:
    lo, hi = spec.get("min"), spec.get("max")
    unit = f" {spec['unit']}" if spec.get("unit") else ""
    return "" if lo is None else f" from {lo:,.12g} to {hi:,.12g}{unit}"


def _number(key: str, value: Any, spec: Mapping[str, Any], what: str) -> float:
    number = math.nan
    if isinstance(value, str):
        try:
            number = float(value.strip().replace("_", ""))
        except ValueError:
            number = math.nan
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond any float
            number = math.inf
    if not math.isfinite(number) or (spec["min"] is not None and not spec["min"] <= number <= spec["max"]):
        raise wanted(key, what + _range(spec), value)
    return number


def _int(key: str, value: Any, spec: Mapping[str, Any]) -> int:
    number = _number(key, value, spec, "a whole number")
    if number != int(number):
        raise wanted(key, "a whole number" + _range(spec), value)
    multiple = spec["multiple"]
    if int(number) % multiple:
        below = max(int(number) // multiple * multiple, int(spec["min"]))
        raise wanted(key, f"a multiple of {multiple}", value, f"; use {below} or {below + multiple}")
    return int(number)


def _float(key: str, value: Any, spec: Mapping[str, Any]) -> float:
    return _number(key, value, spec, "a number")


def _bool(key: str, value: Any, spec: Mapping[str, Any]) -> bool:
    word = str(value).strip().lower() if isinstance(value, (str, bool, int, float)) else ""
    if word in ("true", "1", "yes", "on"):
        return True
    if word in ("false", "0", "no", "off"):
        return False
    raise wanted(key, "true or false", value)


def _choice(key: str, value: Any, spec: Mapping[str, Any]) -> str:
    if isinstance(value, str) and value.strip().lower() in spec["choices"]:
        return value.strip().lower()
    raise wanted(key, "one of " + ", ".join(spec["choices"]), value, nearest(shown(value), spec["choices"]))


def _sizes(key: str, value: Any, spec: Mapping[str, Any]) -> tuple[int, ...]:
    items: Any = value
    if isinstance(value, str):
        items = [part for part in value.strip("()[] ").replace("x", ",").split(",") if part.strip()]
    elif isinstance(value, numbers.Integral) and not isinstance(value, bool):
        items = [value]
    if not isinstance(items, (list, tuple)) or not 1 <= len(items) <= 4:
        raise wanted(key, "one to four layer widths such as 64,64", value)
    return tuple(_int(key, item, {**spec, "multiple": 1}) for item in items)


def _pairs(key: str, value: Any, spec: Mapping[str, Any], example: str) -> dict[str, float]:
    items: Any = value
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        if any(not equals for _, equals, _ in pairs):
            raise wanted(key, f"written like {example}", value)
        items = {name.strip(): number for name, _, number in pairs}
    if not isinstance(items, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in items):
        raise wanted(key, f"names with numbers, like {example}", value)
    if len(items) > MOST_PAIRS:
        raise wanted(key, f"{MOST_PAIRS:,} names at most", value)
    return {name: _number(f"{key}[{name:.60}]", number, spec, "a number") for name, number in items.items()}


def _shares(key: str, value: Any, spec: Mapping[str, Any]) -> dict[str, float]:
    example = "self=.75,chaser=.125,random=.125"
    shares = _pairs(key, value, {**spec, "min": 0.0, "max": 1.0, "unit": ""}, example)
    shares = {name: share for name, share in shares.items() if share > 0}
    if not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-3):
        raise wanted(key, f"shares that add to 1, like {example}", value)
    return shares


def _weights(key: str, value: Any, spec: Mapping[str, Any]) -> dict[str, float]:
    return _pairs(key, value, spec, "goal=1,approach=2.5")


def _text(key: str, value: Any, spec: Mapping[str, Any]) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise wanted(key, "a name or a path", value)


_PARSERS = {
    "text": _text,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "choice": _choice,
    "sizes": _sizes,
    "shares": _shares,
    "weights": _weights,
}


def docs(kind: type) -> dict[str, str]:
    """The same for `kind`, any dataclass of settings, read from its source."""
    found = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
        for field, text in itertools.pairwise(node.body if isinstance(node, ast.ClassDef) else []):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found


def described(key: str, default: Any, spec: Mapping[str, Any]) -> str:
    """A setting's default and range in words: `default 0.003; 0 to 1`."""
    return f"default {written(default)}" + "".join(f"; {part}" for part in [limits(spec)] if part)


def written(value: Any) -> str:
    """A value as it is written in a table or after a flag."""
    if isinstance(value, dict):
        return ",".join(f"{name}={number:g}" for name, number in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:.12g}"


def limits(spec: Mapping[str, Any], unit: bool = True) -> str:
    """The values that a setting takes, with their unit or without."""
    text = " or ".join(spec["choices"])
    if spec["min"] is not None:
        text = f"{spec['min']:.12g} to {spec['max']:.12g}"
        text += f" {spec['unit']}" if unit and spec["unit"] else ""
    return text + (f", multiple of {spec['multiple']}" if spec["multiple"] > 1 else "")
