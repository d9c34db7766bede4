"""Scenes as two-bit frames of 72 x 80, packed four pixels to a byte, for learning from pixels: on the CPU, and on a GPU
with one thread for each byte; both give the same bits.

A pixel has the shade of the last shape that covers its centre. Shapes thinner than a pixel are drawn a pixel wide;
corners are square, text is left out, and a ring is whole or, below half, not there. Each kind's fields: see
docs/architecture.md, "Scene".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import cuda, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from dshq_kernels import threads

HEIGHT, WIDTH, ROW_BYTES = 72, 80, 20
CLEAR = 255
"""A shade that covers nothing."""
GROUND, WALL, OWN, BALL = range(4)
SHADES = {
    **dict.fromkeys(("turf", "mat", "floor", "clay", "heading", "ink"), GROUND),
    **dict.fromkeys(("wall", "post", "pillar", "goal0", "goal1", "player1"), WALL),
    "player0": OWN,
    **dict.fromkeys(("ball", "target"), BALL),
}
"""By palette name, as side 0 sees it; all others cover nothing."""
OTHER_SIDE = {"player0": "player1", "player1": "player0", "goal0": "goal1", "goal1": "goal0"}
f32, u8 = np.float32, np.uint8


def shades(spec: Mapping[str, Any], side: int = 0) -> NDArray:
    """u8 `[len(palette)]`: the shade of each colour as a side sees it."""
    known = {**SHADES, **spec.get("shades", {})}
    seen = (OTHER_SIDE.get(name, name) if side else name for name in spec["palette"])
    return np.array([known.get(name, CLEAR) for name in seen], u8)


def view(world: Sequence[float]) -> NDArray:
    """f32 (left, top, pixel): where the frame's corner lies in the world, and the side of a pixel; the world is in the
    middle and whole.
    """
    x0, y0, x1, y1 = world
    pixel = max((x1 - x0) / WIDTH, (y1 - y0) / HEIGHT)
    return np.array([(x0 + x1) / 2 - WIDTH / 2 * pixel, (y0 + y1) / 2 + HEIGHT / 2 * pixel, pixel], f32)


@register_jitable
def larger(a, b):  # numba's own CUDA target cannot compile max and min of two numbers (0.68)
    return a if a > b else b


@register_jitable
def smaller(a, b):
    return a if a < b else b


def _shading(add: Callable, subtract: Callable, multiply: Callable, divide: Callable) -> Callable:
    """`shade_at(shapes, count, tones, x, y, half)` in these operations, each rounded to float32 once."""

    @register_jitable
    def squares(x, y):
        return add(multiply(x, x), multiply(y, y))

    @register_jitable
    def near_line(dx, dy, along_x, along_y, width):
        length = squares(along_x, along_y)
        share = f32(0.0)
        if length > f32(0.0):
            share = divide(add(multiply(dx, along_x), multiply(dy, along_y)), length)
            share = smaller(larger(share, f32(0.0)), f32(1.0))
        rest_x, rest_y = subtract(dx, multiply(share, along_x)), subtract(dy, multiply(share, along_y))
        return squares(rest_x, rest_y) <= multiply(width, width)

    @register_jitable
    def covers(shape, x, y, half):
        kind = int(shape[0])
        dx, dy, a, b = subtract(x, shape[2]), subtract(y, shape[3]), shape[4], shape[5]
        if kind == 0:
            radius = larger(a, half)
            return squares(dx, dy) <= multiply(radius, radius)
        if kind == 1:
            c, s = shape[6], shape[7]
            lengthwise = add(multiply(dx, c), multiply(dy, s))
            across = subtract(multiply(dy, c), multiply(dx, s))
            return abs(lengthwise) <= larger(a, half) and abs(across) <= larger(b, half)
        if kind == 2:
            return near_line(dx, dy, subtract(a, shape[2]), subtract(b, shape[3]), larger(shape[6], half))
        if kind == 3 and shape[6] >= f32(0.5):
            width = larger(b, half)
            inner, outer = larger(subtract(a, width), f32(0.0)), add(a, width)
            away = squares(dx, dy)
            return away >= multiply(inner, inner) and away <= multiply(outer, outer)
        return False

    @register_jitable
    def shade_at(shapes, count, tones, x, y, half):
        found = 0
        for k in range(count):
            shape = shapes[k]
            tone = tones[int(shape[1])]
            if tone != CLEAR and shape[9] >= f32(0.5) and covers(shape, x, y, half):
                found = int(tone)
        return found

    @register_jitable
    def byte_at(shapes, count, tones, frame, row, column):
        left, top, pixel = frame[0], frame[1], frame[2]
        y = subtract(top, multiply(add(f32(row), f32(0.5)), pixel))
        packed = 0
        for k in range(4):
            x = add(left, multiply(add(f32(4 * column + k), f32(0.5)), pixel))
            packed |= shade_at(shapes, count, tones, x, y, multiply(pixel, f32(0.5))) << (2 * k)
        return u8(packed)

    return byte_at


@register_jitable
def _plus(a, b):
    return a + b


@register_jitable
def _minus(a, b):
    return a - b


@register_jitable
def _times(a, b):
    return a * b


@register_jitable
def _over(a, b):
    return a / b


_cpu_byte = _shading(_plus, _minus, _times, _over)
_gpu_byte = _shading(threads.add, threads.subtract, threads.multiply, threads.divide)


@njit(cache=True, nogil=True, error_model="numpy")
def draw(shapes, tones, frame, out):
    """Shapes f32 `[count, 12]` into u8 `[72, 20]`; `tones` of `shades`, `frame` of `view`."""
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            out[row, column] = _cpu_byte(shapes, shapes.shape[0], tones, frame, row, column)


@cuda.jit(cache=True)
def draw_all(shapes, counts, tones, frame, out):
    """Shapes f32 `[scene_max, 12, n]`, of which `counts` count, into u8 `[n, 1, 72, 20]`: a thread for each byte."""
    k = cuda.grid(1)
    if k < out.shape[0] * out.shape[2] * out.shape[3]:
        column, row, game = k % out.shape[3], k // out.shape[3] % out.shape[2], k // (out.shape[3] * out.shape[2])
        out[game, 0, row, column] = _gpu_byte(shapes[:, :, game], counts[game], tones, frame, row, column)


def frames(game: Any, tiles: NDArray, spec: Mapping[str, Any], side: int = 0) -> NDArray:
    """u8 `[n_games, 1, 72, 20]`: what a side of every game sees, from `CpuGame` tiles."""
    tones, frame = shades(spec, side), view(spec["world"])
    out = np.empty((16 * len(tiles), 1, HEIGHT, ROW_BYTES), u8)
    for k in range(len(out)):
        draw(game.scene(tiles, k // 16, k % 16), tones, frame, out[k, 0])
    return out


def render_into(out: Any, game: Any, state: Any, tones: Any, frame: Any, scene: tuple[Any, Any] | None = None) -> None:
    """Every game of a `CudaGame` state into `out`, u8 `[n, 1, 72, 20]` on the device: a slot of the replay ring.

    `tones` and `frame` are `shades` and `view` on the device, `scene` is room for what `CudaGame.scene` says.
    """
    shapes, counts = game.scene(state, scene)
    n = out.shape[0] * HEIGHT * ROW_BYTES
    block = 16 if threads.SIMULATED else 256
    draw_all[(n + block - 1) // block, block, game.stream](shapes, counts, tones, frame, out)
