"""The baseline memory layout for benchmarks: one array per state field, and one loop over the games around the same
generated rules.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from dshq_kernels.backends.generated import load_module
from dshq_widget.drill.compiled import CompiledDrill


class NaiveGame:
    """`tick` and `decide` of a compiled drill over one 1-D (or `[length, n]`) array per field."""

    def __init__(self, drill: CompiledDrill):
        self.drill = drill
        self.verbs = {name: load_module(_source(drill, name)) for name in ("decide", "tick")}

    def rate(self, games: int, seconds: float) -> float:
        """Ticks per second of one core, from the same start and actions as `bench.simulation`."""
        tiled = self.drill.game()
        tiles = tiled.new(games // 16, practice=True)
        tiles["action"] = tiled.actions(tiles, "random")
        arrays = {}
        for name, _, length in self.drill.spec["fields"]:
            field = tiles[name]
            arrays[name] = np.ascontiguousarray(
                field.transpose(1, 0, 2).reshape(length, -1) if length else field.reshape(-1)
            )
        state = SimpleNamespace(**arrays)
        repeat = self.drill.spec["action_repeat"]

        def play() -> None:
            for name, n in (("decide", 1), ("tick", repeat)):
                module: Any = self.verbs[name]
                module.run(games, n, *(getattr(state, field) for field in module.FIELDS))

        play()
        best, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(5):
                play()
            best = min(best, (time.perf_counter() - start) / 5)
        return games * repeat / best


def _source(drill: CompiledDrill, verb: str) -> str:
    """The tile module's function of one verb, its lane loop widened to `n` games over arrays that are passed one by
    one.
    """
    lines = drill.python.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"def {verb}("))
    end = next(k for k in range(start + 1, len(lines)) if lines[k].startswith("@cfunc"))
    body = lines[start + 1 : end]
    fields = [line.split("= s.")[1] for line in body if line.strip().startswith("f_") and "= s." in line]
    body = [
        line
        for line in body
        if "= s." not in line and "record_at" not in line and line.strip() != "return" and line.strip()
    ]
    body = [line.replace("for i in range(16):", "for i in range(games):") for line in body] or ["    pass"]
    if verb == "decide":
        body = ["    for _ in range(n):", *("    " + line for line in body)]
    head = [
        "import numpy as np",
        "from numba import njit",
        "from dshq_kernels.backends.lanes import absolute, floor, hash32, select, square_root",
        "f32, i32, u32 = np.float32, np.int32, np.uint32",
        f"FIELDS = {fields!r}",
        '@njit(error_model="numpy", cache=True)',
        f"def run(games, n, {', '.join('f_' + field for field in fields)}):",
    ]
    return "\n".join([*head, *body, ""])
