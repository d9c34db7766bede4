"""What a notebook keeps of a widget: a picture of the scene and a sentence, for whoever opens it without the widget."""

from __future__ import annotations

import base64
import html
import importlib.util
import logging
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.picture import TAG, Painter
from dshq_widget.gyms.environment import Environment

SENTENCE = "Saved picture of a DrillWidget. Run this cell to play."
WIDTH = 480  # pixels
STYLE = "display: block; width: 100%; max-width: 480px; border-radius: 8px"

log = logging.getLogger("dshq_widget")


def still(drill: CompiledDrill | Environment, seed: int, state: bytes | None) -> str:
    """HTML of the scene of `state`, or of the first game after `seed`, and the sentence; about 60 KB.

    An environment has no rules to draw by, and of a page's state the rules may make what cannot be drawn: the sentence
    alone.
    """
    title = html.escape(str(drill.spec.title))
    without = f"<p>A DrillWidget ({title}). Run this cell to play.</p>"
    if isinstance(drill, Environment):
        return without
    try:
        pixels = _pixels(drill, seed, state)
    except Exception:  # it is the author's code, and the widget is shown all the same
        log.warning("%s has no picture", drill.name, exc_info=True)
        return without
    source = base64.b64encode(_png(pixels)).decode()
    picture = f'<img alt="{title}" style="{STYLE}" src="data:image/png;base64,{source}">'
    return f"{picture}<p>{SENTENCE}</p>"


def plain_scene(drill: CompiledDrill, seed: int = 0, state: bytes | None = None) -> NDArray[np.float32]:
    """The shapes of a game, f32 `[n, 12]` (docs/architecture.md, Scene): of the state block `state`, as the page's
    snapshot has it, or of the first game after `seed`. Python runs the rules, in milliseconds: compiling them takes
    longer than a picture is worth. Raises ValueError for a state of another size, IndexError or ArithmeticError where
    the rules do what compiled code leaves undefined.
    """
    game = drill.game(reference=True)
    tiles = np.zeros(1, game.dtype)
    words = tiles.view(np.uint32).reshape(-1, LANES)
    if state is None:
        tiles["rng_key"] = seed
        game.reset(tiles, np.eye(1, LANES, dtype=np.uint8))
    elif len(state) == 4 * len(words):
        words[:, 0] = np.frombuffer(state, "<u4")
    else:
        raise ValueError(f"a state of {drill.name} has {4 * len(words)} bytes, got {len(state)}")
    return game.scene(tiles)


def _pixels(drill: CompiledDrill, seed: int, state: bytes | None) -> NDArray[np.uint8]:
    shapes = plain_scene(drill, seed, state)
    shapes = shapes[(shapes[:, 1] >= 0) & (shapes[:, 1] < len(drill.spec.palette))]  # others have no colour
    if importlib.util.find_spec("PIL") is None:  # which draws the letters
        shapes = shapes[shapes[:, 0] != TAG]
    return Painter(drill.spec, WIDTH).draw(shapes)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """u8 `[height, width, 3]` as a PNG file (https://www.w3.org/TR/png-3), eight bits a channel, no filters."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))  # each begins with the number of its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            chunk(b"IEND", b""),
        ]
    )
