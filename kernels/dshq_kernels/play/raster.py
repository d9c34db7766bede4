"""Scenes as two-bit frames of 72 x 80, packed four pixels to a byte, for learning from pixels.

A pixel has the shade of the last shape that covers its centre. Shapes thinner than a pixel are drawn a pixel wide;
corners are square, text is left out, and a ring is whole or, below half, not there. Each kind's fields: see
docs/architecture.md, "Scene". A box of a paint that the drill declares as `pointed` has a nose, so that one frame shows
where it looks; its eyes are left out. The noses of players have the shade of the other player.

What is the same for all pixels of a shape, its *stencil*, is worked out once, and so are the rows and columns that it
may cover: only there pixels are tested.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from dshq_kernels.backends.spec import RulesSpec
from dshq_kernels.simd import kept

kept.register()

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
"""Shades by palette name, as side 0 sees them; all other colours are invisible."""
EYES = "heading", "ink"
"""Paints that are left out where noses say where a player looks: dark pixels would cut a nose off."""
NOSED = 4
"""Added to the shade of a paint whose boxes have a nose."""
REACH, BREADTH = 3.5, 0.5
"""How far from the middle of its box a nose ends, in half lengths, and how wide it is, in breadths. That of a player of
the Ball Drill is 7 pixels long and 3 wide, before a body of 6 x 6 (measured: docs/LOG.md).
"""
CIRCLE, BOX, LINE, RING, POINTED = range(5)
"""Kinds of stencils: those of shapes, and a box with a nose."""
STENCIL = 10
"""Numbers of a stencil."""
f32, i32, u8, u32 = np.float32, np.int32, np.uint8, np.uint32
NOWHERE, EVERYWHERE = (i32(HEIGHT), i32(-1), i32(WIDTH), i32(-1)), (i32(0), i32(HEIGHT - 1), i32(0), i32(WIDTH - 1))
"""First and last row, first and last column."""
FAR, INFINITE = f32(1 << 16), f32(np.inf)
"""Up to this many pixels away, one rounding to float32 is off by at most a hundredth of a pixel."""


def shades(spec: RulesSpec) -> NDArray[Any]:
    """u8 `[len(palette)]`: the shade of each colour, more by `NOSED` where its boxes have a nose."""
    known = {**SHADES, **spec.shades}
    if spec.pointed:
        known |= dict.fromkeys(EYES, CLEAR) | {name: known[name] | NOSED for name in spec.pointed if name in known}
    return np.array([known.get(name, CLEAR) for name in spec.palette], u8)


def view(world: Sequence[float]) -> NDArray[Any]:
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


@register_jitable
def tone_of(kind, colour, part, alpha, tones):
    """The shade of a shape, `NOSED` included, `CLEAR` where it covers nothing."""
    drawn = kind >= CIRCLE and kind <= RING and (kind != RING or part >= f32(0.5))
    if drawn and alpha >= f32(0.5) and colour >= f32(0.0) and colour < f32(len(tones)):
        return i32(tones[u32(colour)])
    return i32(CLEAR)


@register_jitable
def reached(begin, end, n):
    """The first and last of n pixels whose centres lie between two places, in pixels, or half a pixel to their side."""
    return i32(smaller(larger(begin, f32(0.0)), f32(n))), i32(smaller(larger(end, f32(-1.0)), f32(n - 1)))


def shading(
    add: Callable[..., Any], subtract: Callable[..., Any], multiply: Callable[..., Any], divide: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    """`prepare`, `covered`, `toned` and `centres` in these operations, each rounded to float32 once."""

    @register_jitable
    def squares(x, y):
        return add(multiply(x, x), multiply(y, y))

    @register_jitable
    def in_round(stencil, dx, dy):
        away = squares(dx, dy)
        return away >= stencil[4] and away <= stencil[5]

    @register_jitable
    def in_box(stencil, dx, dy):
        c, s = stencil[4], stencil[5]
        lengthwise = add(multiply(dx, c), multiply(dy, s))
        across = subtract(multiply(dy, c), multiply(dx, s))
        return abs(lengthwise) <= stencil[6] and abs(across) <= stencil[7]

    @register_jitable
    def in_pointed(stencil, dx, dy):
        c, s = stencil[4], stencil[5]
        lengthwise = add(multiply(dx, c), multiply(dy, s))
        across = abs(subtract(multiply(dy, c), multiply(dx, s)))
        box = abs(lengthwise) <= stencil[6] and across <= stencil[7]
        return box or (lengthwise >= f32(0.0) and lengthwise <= stencil[8] and across <= stencil[9])

    @register_jitable
    def on_line(stencil, dx, dy):
        along_x, along_y, length = stencil[4], stencil[5], stencil[6]
        share = divide(add(multiply(dx, along_x), multiply(dy, along_y)), length)
        share = smaller(larger(share, f32(0.0)), f32(1.0))
        rest_x, rest_y = subtract(dx, multiply(share, along_x)), subtract(dy, multiply(share, along_y))
        return squares(rest_x, rest_y) <= stencil[7]

    def of_four(test: Callable[..., Any]) -> Callable[..., Any]:
        @register_jitable
        def bits(stencil, xs, dy):
            x = stencil[2]
            a, b = test(stencil, subtract(xs[0], x), dy), test(stencil, subtract(xs[1], x), dy)
            c, d = test(stencil, subtract(xs[2], x), dy), test(stencil, subtract(xs[3], x), dy)
            return u32(a) | u32(b) << u32(2) | u32(c) << u32(4) | u32(d) << u32(6)

        return bits

    four_in_round, four_in_box, four_on_line = of_four(in_round), of_four(in_box), of_four(on_line)
    four_in_pointed = of_four(in_pointed)

    @register_jitable
    def toned(stencil, xs, y, hit):
        """The shades of the covered pixels `hit`: the stencil's, but a nose, where its body does not lie, has what is
        left to `BALL`.
        """
        tone = u32(stencil[1])
        if stencil[0] != POINTED:
            return tone * hit
        body = hit & four_in_box(stencil, xs, subtract(y, stencil[3]))
        return tone * body | (u32(BALL) - tone) * (hit ^ body)

    @register_jitable
    def covered(stencil, xs, y):
        """Which of four pixels of a row a stencil covers, as bits 0, 2, 4 and 6."""
        dy = subtract(y, stencil[3])
        if stencil[0] == LINE:
            return four_on_line(stencil, xs, dy)
        if stencil[0] == BOX:
            return four_in_box(stencil, xs, dy)
        if stencil[0] == POINTED:
            return four_in_pointed(stencil, xs, dy)
        return four_in_round(stencil, xs, dy)

    @register_jitable
    def centre(begin, step, k):
        return add(begin, multiply(add(f32(k), f32(0.5)), step))

    @register_jitable
    def centres(frame, row, column):
        """The xs and the y of a byte's four pixels."""
        left, top, pixel = frame[0], frame[1], frame[2]
        a, b, c, d = u32(4 * column), u32(4 * column + 1), u32(4 * column + 2), u32(4 * column + 3)
        xs = centre(left, pixel, a), centre(left, pixel, b), centre(left, pixel, c), centre(left, pixel, d)
        return xs, subtract(top, multiply(add(f32(row), f32(0.5)), pixel))

    @register_jitable
    def prepare(shape, first, tones, frame, stencil):
        """What is the same for every pixel, into f32 `[STENCIL]`: kind, shade, x, y and the numbers of the kind's test,
        six at most.

        Returns the first and last row and the first and last column of pixels that the shape may cover: none where it
        cannot be seen, all where its numbers are not finite, or so large that rounding could be off by half a pixel.
        `first`: nothing lies under this shape.
        """
        kind, colour, x, y, a, b = shape[0], shape[1], shape[2], shape[3], shape[4], shape[5]
        c, s, alpha, left, top, pixel = shape[6], shape[7], shape[9], frame[0], frame[1], frame[2]
        half = multiply(pixel, f32(0.5))
        tone = tone_of(kind, colour, c, alpha, tones)
        if tone == CLEAR or (tone == GROUND and first):
            return NOWHERE
        nosed, tone = tone >= NOSED, tone & i32(NOSED - 1)
        if kind == BOX:
            a, b, ahead = larger(a, half), larger(b, half), f32(0.0)
            stencil[4], stencil[5], stencil[6], stencil[7] = c, s, a, b
            if nosed:
                kind = f32(POINTED)
                stencil[8], stencil[9] = multiply(a, f32(REACH)), larger(multiply(b, f32(BREADTH)), half)
                ahead = (stencil[8] - a) * f32(0.5)
            size = squares(c, s)
            more = f32(1.02) if size > f32(0.99) and size < f32(1.01) else INFINITE
            far_x, far_y, long = x + ahead * c, y + ahead * s, a + ahead
            wide, high = (long * abs(c) + b * abs(s)) * more, (long * abs(s) + b * abs(c)) * more
            x0, x1, y0, y1 = far_x - wide, far_x + wide, far_y - high, far_y + high
        elif kind == LINE:
            width, along_x, along_y = larger(c, half), subtract(a, x), subtract(b, y)
            length = squares(along_x, along_y)
            stencil[4], stencil[5] = along_x, along_y
            stencil[6], stencil[7] = length if length > f32(0.0) else INFINITE, multiply(width, width)
            x0, x1 = smaller(x, a) - width, larger(x, a) + width
            y0, y1 = smaller(y, b) - width, larger(y, b) + width
        else:
            inner, outer = f32(0.0), larger(a, half)
            if kind == RING:
                width = larger(b, half)
                inner, outer = larger(subtract(a, width), f32(0.0)), add(a, width)
            stencil[4], stencil[5] = multiply(inner, inner), multiply(outer, outer)
            x0, x1, y0, y1 = x - abs(outer), x + abs(outer), y - abs(outer), y + abs(outer)
        stencil[0], stencil[1], stencil[2], stencil[3] = kind, f32(tone), x, y
        far = FAR * pixel
        near = abs(x0) < far and abs(x1) < far and abs(y0) < far and abs(y1) < far
        usual = abs(left) < far and abs(top) < far and pixel > f32(1e-12) and pixel < f32(1e12)
        if not (near and usual):
            return EVERYWHERE
        pixels = divide(f32(1.0), pixel)
        rows = reached((top - y1) * pixels, (top - y0) * pixels, HEIGHT)
        columns = reached((x0 - left) * pixels, (x1 - left) * pixels, WIDTH)
        return rows[0], rows[1], columns[0], columns[1]

    return prepare, covered, toned, centres


@register_jitable
def _over(a, b):  # `operator.truediv` tests for a division by zero: frames take 1.6 times as long (measured)
    return a / b


_prepare, _covered, _toned, _centres = shading(operator.add, operator.sub, operator.mul, _over)


@njit(cache=True, nogil=True, error_model="numpy")
def draw(shapes, tones, frame, out):
    """Shapes f32 `[count, 12]` into u8 `[72, 20]`, one over the other; `tones` of `shades`, `frame` of `view`."""
    out[:] = 0
    stencil = np.empty(STENCIL, f32)
    for k in range(len(shapes)):
        top, bottom, left, right = _prepare(shapes[k], k == 0, tones, frame, stencil)
        for row in range(top, bottom + 1):
            for column in range(left // 4, right // 4 + 1):
                xs, y = _centres(frame, row, column)
                hit = _covered(stencil, xs, y)
                out[row, column] = (out[row, column] & ~(u32(3) * hit)) | _toned(stencil, xs, y, hit)


def draw_into(out: NDArray[Any], game: Any, tiles: NDArray[Any], tones: NDArray[Any], frame: NDArray[Any]) -> None:
    """The first `len(out)` games of `CpuGame` tiles into `out`, u8 `[n, 1, 72, 20]`, such as a slot of the replay ring:
    each byte is written where it stays. `tones` and `frame` are `shades` and `view`.
    """
    shapes = np.zeros((game.spec.scene_max, 12), f32)
    scene, first, bytes_of_tile, room = game.draw, tiles.ctypes.data, game.dtype.itemsize, shapes.ctypes.data
    for k in range(len(out)):
        count = scene(first + k // 16 * bytes_of_tile, k % 16, room)
        draw(shapes[:count], tones, frame, out[k, 0])
