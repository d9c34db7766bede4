"""The baseline memory layout for benchmarks: one array per state field, and one loop over the games around the same
rules.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int64

import numpy as np

from dshq_kernels.backends.llvm_source import PRELUDE, Verb
from dshq_kernels.backends.machine_code import addresses
from dshq_kernels.language.ir import Expr, Program
from dshq_kernels.language.selects import with_selects
from dshq_widget.drill.compiled import CompiledDrill

CALL = CFUNCTYPE(None, c_int64, c_int64, c_int64)


class _Verb(Verb):
    """A verb `(arrays, games, n)` over the addresses of one array per field, which LLVM has to take for overlapping."""

    def __init__(self, program: Program, name: str):
        super().__init__(program, name, ("tile", "games", "n"))
        self._arrays = {}
        for k, field in enumerate(program.fields):
            place = self.value(f"getelementptr ptr, ptr %s, i64 {k}")
            self._arrays[field.name] = self.value(f"load ptr, ptr {place}")

    @contextmanager
    def lanes(self) -> Iterator[str]:
        with self.times("%games") as self._lane:
            yield self._lane

    def _address(self, field: str, index: Expr | None) -> str:
        row = self.value(f"mul i64 {self._index(index)}, %games")
        at = self.value(f"add i64 {row}, {self._lane}")
        return self.value(f"getelementptr i32, ptr {self._arrays[field]}, i64 {at}")


class NaiveGame:
    """`tick` and `decide` of a drill over one 1-D (or `[length, n]`) array per field. Raises ValueError for a drill
    that was translated in another process.
    """

    def __init__(self, drill: CompiledDrill):
        if drill.program is None:
            raise ValueError(f"the rules of {drill.name!r} came here translated: give its class, or its name")
        self.drill = drill
        program, parts = with_selects(drill.program), [PRELUDE]
        for name in ("decide", "tick"):
            with _Verb(program, name).written(parts) as code, code.times("%n"), code.lanes():
                code.block(program.verbs.get(name, ()))
        found = addresses("\n".join(parts), ("decide", "tick"))
        self._decide, self._tick = CALL(found["decide"]), CALL(found["tick"])

    def rate(self, games: int, seconds: float) -> float:
        """Ticks per second of one core, from the same start and actions as `bench.simulation`."""
        tiled = self.drill.game()
        tiles = tiled.new(games // 16, practice=True)
        tiles["action"] = tiled.actions(tiles, "random")
        fields = (tiles[name] for name in tiled.dtype.names or ())
        arrays = [np.moveaxis(field, 0, -2).reshape(*field.shape[1:-1], games).copy() for field in fields]
        table = np.array([array.ctypes.data for array in arrays], np.int64)
        repeat = self.drill.spec.action_repeat

        def play() -> None:
            self._decide(table.ctypes.data, games, 1)
            self._tick(table.ctypes.data, games, repeat)

        play()
        best, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(5):
                play()
            best = min(best, (time.perf_counter() - start) / 5)
        return games * repeat / best
