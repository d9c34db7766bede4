"""A game's scene without compiled code: its generated rules run as plain Python, one game, in milliseconds.

Compiling them takes seconds, which a picture of a match that has just been made is not worth.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import CompiledDrill

SHAPE_FLOATS = 12
WORD = 0xFFFFFFFF


def plain_scene(drill: CompiledDrill, seed: int = 0, state: bytes | None = None) -> NDArray[np.float32]:
    """The shapes of a game, f32 `[n, 12]` (docs/architecture.md, Scene): of the state block `state`, as the page's
    snapshot has it, or of the first game after `seed`. None are drawn where the drill draws nothing. Raises ValueError
    for a state of another size, IndexError or ArithmeticError where the rules do what compiled code leaves undefined.
    """
    layout, reset, scene = _verbs(drill.python)
    tile = np.zeros(1, layout)
    fields = SimpleNamespace(**{name: tile[name][0] for name in layout.names or ()})
    words = tile.view(np.uint32).reshape(-1, LANES)
    shapes = np.zeros((drill.spec["scene_max"], SHAPE_FLOATS), np.float32)
    with np.errstate(all="ignore"):  # words of a generator wrap around
        if state is None:
            tile["rng_key"] = seed
            reset(fields, 0)
        elif len(state) == 4 * len(words):
            words[:, 0] = np.frombuffer(state, "<u4")
        else:
            raise ValueError(f"a state of {drill.name} has {4 * len(words)} bytes, got {len(state)}")
        scene(fields, 0, shapes)
    drawn = np.flatnonzero(shapes.any(1))
    return shapes[: drawn[-1] + 1 if len(drawn) else 0]


def _verbs(source: str) -> tuple[np.dtype, Callable[..., None], Callable[..., None]]:
    """`TILE`, `reset` and `scene` of a generated module (dshq_kernels/backends/cpu.py), on plain numbers."""
    head, *verbs = source.split("\n@")  # each behind its decorator, which compiles it
    kept = [
        code for _, _, code in (verb.partition("\n") for verb in verbs) if code.startswith(("def reset(", "def scene("))
    ]
    (layout,) = (line for line in head.splitlines() if line.startswith("TILE = "))
    names: dict[str, Any] = {"np": np, "f32": np.float32, "i32": np.int32, "u32": np.uint32, **_WORDS}
    exec("\n".join([layout, *kept]), names)
    return names["TILE"], names["reset"], names["scene"]


def _mix(x: int) -> int:
    x = (x ^ x >> 16) * 0x7FEB352D & WORD
    x = (x ^ x >> 15) * 0x846CA68B & WORD
    return x ^ x >> 16


def _hash32(key: Any, count: Any) -> np.uint32:
    """As dshq_kernels/language/rng.py."""
    key, count = int(key), int(count)
    return np.uint32(_mix(_mix((count * 0x9E3779B9 + key) & WORD) ^ (key * 0x85EBCA6B + 0x27D4EB2F) & WORD))


def _emit(out: NDArray[np.float32], count: int, *shape: float) -> int:
    if count < len(out):
        out[count] = shape
        count += 1
    return count


_WORDS: dict[str, Callable[..., Any]] = {
    "select": lambda test, a, b: a if test else b,
    "absolute": np.abs,
    "square_root": np.sqrt,
    "floor": np.floor,
    "hash32": _hash32,
    "emit": _emit,
    "record_at": lambda record, _: record,
    "pointer": lambda out: out,
    "carray": lambda out, *_: out,
}
"""The words of dshq_kernels/backends/lanes.py that `reset` and `scene` use."""
