"""Games of the reference back end: `CpuGame`'s interface, with rules that Python runs as they are written.

Several tens of thousands of times slower than machine code, and there at once: for debugging, for tests of logic, and
to hold the other back ends to its bits. With DSHQ_RULES=reference in the environment every game of this process and of
its children is played so.
"""

from __future__ import annotations

import ast
import ctypes
import json
import linecache
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import CodeType, SimpleNamespace, TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.cpu import VERB_NAMES, CpuGame, tile_dtype
from dshq_kernels.backends.reference import INNER
from dshq_kernels.backends.spec import RulesSpec
from dshq_kernels.language.ir import F32
from dshq_kernels.language.scope import TOO_DEEP
from dshq_kernels.language.subset import RulesError
from dshq_kernels.simd.lanes import LANES

SWITCH, REFERENCE = "DSHQ_RULES", "reference"
MOST_VIEWS = 4096
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
WHOLE = np.float32(2**23)
"""From here on every float32 is a whole number."""
WORD = 0xFFFFFFFF


def wanted() -> bool:
    """Whether the environment asks for the reference. Raises ValueError for another word than "reference"."""
    asked = os.environ.get(SWITCH, "")
    if asked not in ("", REFERENCE):
        raise ValueError(f"{SWITCH}: expected {REFERENCE!r} or nothing, got {asked!r}")
    return asked == REFERENCE


# -- the words of the generated code


def quotient(a: int, b: int) -> int:
    """`//` of two i32 or two u32: by zero 0, and the one that leaves i32 wraps."""
    if b == 0:
        return 0
    return a // b if b != -1 or a != -(2**31) else a


def remainder(a: int, b: int) -> int:
    """`%` of two i32 or two u32: by zero 0."""
    return a % b if b else 0


def inside(index: int, last: int) -> int:
    """An index, moved into an array whose last element is `last`."""
    return 0 if index < 0 else min(index, last)


def saturated(x: np.float32) -> np.float32:
    """The first half of `int(x)` (dshq_kernels/language/arithmetic.py)."""
    return x if x > -2147483648.0 else np.float32(-2147483648.0)


def root(x: np.float32) -> np.float32:
    """The square root: a double's, rounded once more, is the correctly rounded one (Figueroa 1995)."""
    return np.float32(math.sqrt(x)) if x >= 0 else np.sqrt(x)


def floor(x: np.float32) -> np.float32:
    if -WHOLE < x < WHOLE and x != 0:
        return np.float32(math.floor(x))
    return x


def mix(x: int) -> int:
    x = (x ^ x >> 16) * 0x7FEB352D & WORD
    x = (x ^ x >> 15) * 0x846CA68B & WORD
    return x ^ x >> 16


def hash32(key: int, count: int) -> int:
    """As dshq_kernels/backends/lanes.py."""
    return mix(mix((count * 0x9E3779B9 + key) & WORD) ^ (key * 0x85EBCA6B + 0x27D4EB2F) & WORD)


def emit(out: NDArray[Any], count: int, *shape: float) -> int:
    """Append a shape to f32 `[scene_max, 12]` if there is room; returns the new count."""
    if count < len(out):
        out[count] = shape
        count += 1
    return count


WORDS: dict[str, Any] = {
    "f32": np.float32,
    "quotient": quotient,
    "remainder": remainder,
    "inside": inside,
    "saturated": saturated,
    "root": root,
    "floor": floor,
    "hash32": hash32,
    "emit": emit,
}


# -- loading


class Loaded:
    """The verbs of one drill as Python functions `(s, i, o)`. `words` replaces words of the generated code."""

    def __init__(self, text: str, words: Mapping[str, Any] | None = None):
        data = json.loads(text)
        floats = np.array(data["floats"], np.uint32).view(np.float32)
        self._names = {**WORDS, **(words or {}), **{f"F{k}": value for k, value in enumerate(floats)}}
        self._written = {verb["key"]: verb for verb in data["verbs"]}
        self._loaded: dict[str, Callable[..., Any]] = {}
        self.inner: dict[CodeType, list[str]] = {}

    def verb(self, key: str) -> Callable[..., Any] | None:
        """A verb's function, or None where it does nothing."""
        if key in self._written and key not in self._loaded:
            verb, made = self._written[key], dict[str, Callable[..., Any]]()
            try:
                exec(compile(on_rows(verb["code"], verb["rows"]), verb["file"], "exec"), self._names, made)
            except (SyntaxError, RecursionError) as error:
                raise too_deep(verb, error) from None
            (function,) = made.values()
            self.inner[function.__code__] = verb["inner"]
            self._loaded[key] = function
        return self._loaded.get(key)

    def inner_place(self, code: CodeType, names: Mapping[str, Any]) -> str:
        """Where the line that a verb is at was inlined from, by the verb's code and local names; "" for its own."""
        places = self.inner.get(code, [""])
        return places[names.get(INNER, 0)]

    def note(self, error: BaseException, trace: TracebackType | None) -> None:
        """Say of an error where the lines of rules on its way come from."""
        while trace:
            place = self.inner_place(trace.tb_frame.f_code, trace.tb_frame.f_locals)
            if place:
                error.add_note(f"{place[:1].upper()}{place[1:]}")
            trace = trace.tb_next


def too_deep(verb: Mapping[str, Any], error: SyntaxError | RecursionError) -> RulesError:
    """That a verb cannot be run, with the line where Python gave up, if it said that."""
    line = verb["rows"][error.lineno - 1] if isinstance(error, SyntaxError) and error.lineno else verb["line"]
    what, mend = TOO_DEEP
    return RulesError(
        f"{verb['file']}:{line}: in rule {verb['name']!r}: {what} for Python to run ({error.args[0]})\n"
        f"    {linecache.getline(verb['file'], line).strip()}\n{mend[:1].upper()}{mend[1:]}."
    )


def on_rows(code: str, rows: Sequence[int]) -> ast.Module:
    """The syntax tree of generated code, each line put on the row of the author's file that it comes from."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            row = rows[node.lineno - 1]  # type: ignore[attr-defined]
            node.lineno = node.end_lineno = row  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    return tree


# -- playing


class State(SimpleNamespace):
    """The fields of one tile by name, indexed as rules do: `s.x[i]`, `s.row[k, i]`."""


class Verbs:
    """The verbs of one drill on tiles at addresses, and as C functions.

    `lanes`: those that are played. `floats`: what happens where a float operation leaves the numbers, as in
    `np.errstate`. Machine code calls the C functions; an error in one is kept for `raise_kept`.
    """

    def __init__(
        self,
        rules: Loaded,
        spec: RulesSpec,
        lanes: Iterable[int] = range(LANES),
        floats: Mapping[str, Any] | None = None,
    ):
        self.rules, self.spec, self.lanes = rules, spec, tuple(lanes)
        self.floats: Mapping[str, Any] = floats or {"all": "ignore"}
        self.sides, self.masked = range(spec.sides), spec.masked
        self.n_actions = spec.n_actions
        self.dtype = tile_dtype(spec)
        names = (*VERB_NAMES, *(f"baseline:{name}" for name in spec.baselines), *(("mask",) if self.masked else ()))
        self.by_number = [self.method(name) for name in names]
        self.kept: BaseException | None = None
        self.callbacks = [CALLBACK(self.guarded(number)) for number in range(len(names))]
        self.addresses = np.array([ctypes.cast(call, ctypes.c_void_p).value for call in self.callbacks], np.int64)
        self._states: dict[int, State] = {}

    def method(self, name: str) -> Callable[[int, int], None]:
        """A verb as `void(tile, argument)`."""
        if name.startswith("baseline:"):
            return lambda tile, out: self.actions(name, tile, out)
        return getattr(self, name)

    def guarded(self, number: int) -> Callable[[int, int], None]:
        def call(tile: int, argument: int) -> None:
            if self.kept is None:
                try:
                    self.run(number, tile, argument)
                except BaseException as error:  # raised where the machine code has returned
                    self.kept = error

        return call

    def raise_kept(self) -> None:
        """Raise what a C function could not."""
        error, self.kept = self.kept, None
        if error is not None:
            raise error

    def run(self, number: int, tile: int, argument: int) -> Any:
        """Call a verb by its number."""
        return self.safely(self.by_number[number], tile, argument)

    def safely(self, verb: Callable[..., Any], *arguments: int) -> Any:
        """Call a function of rules under the arithmetic of the rules, where nothing is an error."""
        try:
            with np.errstate(**self.floats):
                return verb(*arguments)
        except BaseException as error:
            self.rules.note(error, error.__traceback__)
            raise

    def state(self, address: int) -> State:
        """The tile at an address."""
        state = self._states.get(address)
        if state is None:
            if len(self._states) > MOST_VIEWS:
                self._states.clear()
            tile = array(address, (), self.dtype)
            views = {name: tile[name] for name in self.dtype.names or ()}
            kinds = {name: kind for name, kind, _ in self.spec.fields}
            # a memoryview gives Python's own integers; floats are np.float32
            state = State(**{name: view if kinds[name] == F32 else view.data for name, view in views.items()})
            self._states[address] = state
        return state

    def each(self, key: str, state: State, out: Any) -> None:
        function = self.rules.verb(key)
        if function:
            for lane in self.lanes:
                function(state, lane, out)

    # -- the verbs, in the order and with the arguments of the C functions

    def reset(self, tile: int, lane: int) -> None:
        function = self.rules.verb("reset")
        if function and lane in self.lanes:
            function(self.state(tile), lane, None)

    def decide(self, tile: int, _: int) -> None:
        self.each("decide", self.state(tile), None)

    def tick(self, tile: int, count: int) -> None:
        state = self.state(tile)
        for _ in range(count):
            self.each("tick", state, None)

    def observe(self, tile: int, out: int) -> None:
        self.rows("observe", self.spec.n_obs, np.float32, tile, out)

    def terms(self, tile: int, out: int) -> None:
        self.rows("terms", max(1, len(self.spec.terms)), np.float32, tile, out)

    def rows(self, verb: str, count: int, kind: type, tile: int, out: int) -> NDArray[Any]:
        """A verb that writes `count` rows for each side."""
        result = array(out, (len(self.sides), count, LANES), np.dtype(kind))
        for side in self.sides:
            self.each(f"{verb}:{side}", self.state(tile), result[side].data)
        return result

    def status(self, tile: int, out: int) -> None:
        result = array(out, (2, LANES), np.dtype(np.int32))
        for name, row in zip(("terminated", "winner"), result, strict=True):
            self.each(name, self.state(tile), row.data)

    def actions(self, verb: str, tile: int, out: int) -> None:
        result = array(out, (len(self.sides), LANES), np.dtype(np.int32))
        for side in self.sides:
            self.each(f"{verb}:{side}", self.state(tile), result[side].data)

    def mask(self, tile: int, out: int) -> None:
        """What it does not write is forbidden; a mask that allows nothing allows everything."""
        array(out, (len(self.sides), self.n_actions, LANES), np.dtype(np.int32))[:] = 0
        result = self.rows("mask", self.n_actions, np.int32, tile, out)
        result += ~result.any(axis=1, keepdims=True)

    def random(self, tile: int, out: int) -> None:
        result = array(out, (len(self.sides), LANES), np.dtype(np.int32))
        self.each("random", self.state(tile), result.data)
        if self.masked:
            mask = np.zeros((len(self.sides), self.n_actions, LANES), np.int32)
            self.mask(tile, mask.ctypes.data)
            for side in self.sides:
                for lane in self.lanes:
                    result[side, lane] = picked(result[side, lane], mask[side, :, lane])

    def scene(self, tile: int, lane: int, out: int) -> int:
        """Writes shapes, f32 `[scene_max, 12]`, and returns how many."""
        function = self.rules.verb("scene")
        shapes = array(out, (self.spec.scene_max, 12), np.dtype(np.float32))
        return function(self.state(tile), lane, shapes) if function else 0


def array(address: int, shape: tuple[int, ...], dtype: np.dtype) -> NDArray[Any]:
    """The memory at an address."""
    size = dtype.itemsize * math.prod(shape)
    memory = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)  # type: ignore[call-overload]


def picked(word: np.int32, allowed: NDArray[Any]) -> int:
    """One of the allowed actions by 24 random bits, as dshq_kernels/backends/lanes.py."""
    places = np.flatnonzero(allowed)
    share = np.float32(word) * np.float32(2.0**-24) * np.float32(len(places))
    return int(places[min(int(share), len(places) - 1)])


@cache
def shared(text: str, spec: RulesSpec) -> Verbs:
    """The verbs of a drill for the whole process: machine code may call their addresses as long as it lives."""
    return Verbs(Loaded(text), spec)


class ReferenceGame(CpuGame):
    """A game whose rules Python runs; everything else is as in `CpuGame`.

    `verbs`: other verbs than those that the process shares, for debugging.
    """

    def __init__(self, text: str, spec: RulesSpec, verbs: Verbs | None = None):
        self._python = verbs or shared(text, spec)
        self.describe(spec)
        self.verbs = self._python.addresses

    def raise_kept(self) -> None:
        self._python.raise_kept()

    def _each(self, verb: int, tiles: NDArray[Any], result: NDArray[Any] | None = None, argument: int = 0) -> None:
        self.check(tiles)
        for k in range(len(tiles)):
            address = argument if result is None else result[k].ctypes.data
            self._python.run(verb, tiles.ctypes.data + k * self.dtype.itemsize, address)

    def _each_lane(self, verb: int, tiles: NDArray[Any], chosen: NDArray[Any]) -> None:
        for tile, lane in np.argwhere(chosen != 0):
            self._python.run(verb, tiles.ctypes.data + int(tile) * self.dtype.itemsize, int(lane))

    def draw(self, tile: int, lane: int, out: int) -> int:
        return self._python.safely(self._python.scene, tile, lane, out)
