"""The frames of `raster` on a GPU: a thread for each byte, the same bits. The threads of a block share stencils."""

from __future__ import annotations

from typing import Any

from numba import cuda

from dshq_kernels.backends import threads
from dshq_kernels.play.raster import HEIGHT, STENCIL, f32, i32, shading, u8, u32

WORDS = 3
CHUNK = 32 * WORDS
"""Shapes that a block prepares at once (assumed: more than one chunk is rare)."""
BAND = 24
BLOCK = (4, BAND, 5)
"""Threads that draw a band of a frame, byte, row and strip: each warp a tile of 8 rows and 4 bytes."""
LIMITS = {} if threads.SIMULATED else {"max_registers": 40}
"""A multiprocessor holds three blocks instead of two: while one prepares, others draw."""

_gpu_prepare, _gpu_covered, _gpu_toned, _gpu_centres = shading(
    threads.add, threads.subtract, threads.multiply, threads.divide
)


@cuda.jit(cache=True, **LIMITS)
def draw_all(shapes, counts, tones, frame, out):
    """Shapes f32 `[scene_max, 12, n]`, of which `counts` count, into u8 `[n, 1, 72, 20]`: a thread for each byte.

    A grid of games and bands of `BLOCK`. A block's first threads prepare a shape each, the last shape first, and note
    it for the tiles in whose rows and in whose columns it may lie. Then every thread goes through the shapes of its
    tile until its four pixels are covered.
    """
    stencils = cuda.shared.array((CHUNK, STENCIL), f32)
    noted = cuda.shared.array((WORDS, 8), u32)  # a bit for each shape: three times 8 rows, five times 16 columns
    i, j, strip = u32(cuda.threadIdx.x), u32(cuda.threadIdx.y), u32(cuda.threadIdx.z)
    game, top, me = u32(cuda.blockIdx.x), i32(BAND * cuda.blockIdx.y), u32(i + 4 * (j + BAND * strip))
    row, column, in_rows, in_columns = u32(top + j), u32(4 * strip + i), u32(j >> u32(3)), u32(3 + strip)
    packed, left = u32(0), u32(0b01010101)
    end = counts[game]
    while end > 0:
        cuda.syncthreads()
        if me < 8 * WORDS:
            noted[me >> u32(3), me & u32(7)] = 0
        cuda.syncthreads()
        k = i32(end - 1 - me)
        if me < CHUNK and k >= 0:
            y0, y1, x0, x1 = _gpu_prepare(shapes[k, :, game], k == 0, tones, frame, stencils[me])
            word, bit = u32(me >> u32(5)), u32(u32(1) << u32(me & u32(31)))
            for part in range(3):
                if y0 < i32(top + 8 * part + 8) and y1 >= i32(top + 8 * part):
                    cuda.atomic.or_(noted, (word, u32(part)), bit)
            for part in range(5):
                if x0 < 16 * part + 16 and x1 >= 16 * part:
                    cuda.atomic.or_(noted, (word, u32(3 + part)), bit)
        cuda.syncthreads()
        xs, y = _gpu_centres(frame, row, column)
        word = u32(0)
        while word < WORDS:
            mask = u32(noted[word, in_rows] & noted[word, in_columns])
            while mask != 0 and left != 0:
                stencil = stencils[u32(32 * word + cuda.ffs(mask) - 1)]
                mask = u32(mask & u32(mask - u32(1)))
                hit = u32(_gpu_covered(stencil, xs, y) & left)
                packed = u32(packed | _gpu_toned(stencil, xs, y, hit))
                left = u32(left ^ hit)
            word = u32(word + 1)
        end = i32(end - CHUNK)
    out[game, 0, row, column] = u8(packed)


def render_into(out: Any, game: Any, state: Any, tones: Any, frame: Any, shapes: Any, counts: Any) -> None:
    """Every game of a `CudaGame` state into `out`, u8 `[n, 1, 72, 20]` on the device: a slot of the replay ring.

    `tones` and `frame` are `shades` and `view` on the device, `shapes` and `counts` are room for `CudaGame.scene`.
    """
    game.scene(state, shapes, counts)
    draw_all[(out.shape[0], HEIGHT // BAND), BLOCK, game.stream](shapes, counts, tones, frame, out)
