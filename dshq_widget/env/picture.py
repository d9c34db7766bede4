"""A scene as pixels, without a page: the shapes that a drill's rule `scene` emits, painted with numpy.

The formulas and lengths are those of js/renderer/shapes.wgsl (signed distances, after I. Quilez, "2D distance
functions"), so that a film made here looks like the match in a notebook; docs/architecture.md, "Scene", lists a shape's
twelve floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.drill.palette import GROUNDS, THEMES, paint, rgba

CIRCLE, BOX, LINE, RING, TAG = range(5)
MARGIN = 0.035
"""Share of the world's size left free around it; js/renderer/scene.ts has the same."""
LIGHT = (-0.45, 0.9)
SHADOW_OFFSET = (0.7, -1.1)
"""This and the next three: hundredths of the world's width."""
SHADOW_BLUR = 1.5
GLOW_REACH = 3.0
BAND = 10.4
RIM = 0.45


class Painter:
    """Paints pictures of one drill, `width` pixels wide, in a theme; raises ValueError for an unknown theme."""

    def __init__(self, spec: DrillSpec, width: int = 480, theme: str = "light"):
        if theme not in THEMES:
            raise ValueError(f"theme: expected one of {', '.join(THEMES)}, got {theme!r}")
        x0, y0, x1, y1 = spec.world
        self.width, self.height = (2 * round(n / 2) for n in (width, width * (y1 - y0) / (x1 - x0)))
        scale = min(self.width / (x1 - x0), self.height / (y1 - y0)) / (1 + 2 * MARGIN)
        self.pixel, self.unit = 1 / scale, (x1 - x0) / 100  # world units
        self.centre = ((x0 + x1) / 2, (y0 + y1) / 2)
        self.xs = (self.centre[0] + (np.arange(self.width) + 0.5 - self.width / 2) / scale).astype(np.float32)
        self.ys = (self.centre[1] - (np.arange(self.height) + 0.5 - self.height / 2) / scale).astype(np.float32)
        self.paints = [paint(name) for name in spec.palette]
        self.colours = np.array([rgba(getattr(paint, theme)) for paint in self.paints], np.float32).reshape(-1, 4)
        self.shaded = "shadow" in spec.palette  # the drill draws its actors' shadows itself
        self.tags, self.ground = spec.tags, GROUNDS[theme]
        self._standing: tuple[bytes, NDArray[np.floating]] = (b"", self._apron())

    def draw(self, shapes: NDArray[np.floating]) -> NDArray[np.uint8]:
        """The picture of shapes f32 `[n, 12]`, painted one over the other: u8 `[height, width, 3]`. Raises ValueError
        for a colour that the drill's palette does not have.
        """
        if not np.isin(shapes[:, 1], range(len(self.paints))).all():
            wanted = f"0 to {len(self.paints) - 1}" if self.paints else "a palette of the drill"
            raise ValueError(f"scene: a shape has a colour that is not in the palette: wanted {wanted}")
        moving = [k for k, shape in enumerate(shapes) if self.paints[int(shape[1])].actor]
        first = moving[0] if moving else 0
        if self._standing[0] != (key := shapes[:first].tobytes()):  # what stands still is painted once
            canvas = self._apron()
            for shape in shapes[:first]:
                self._shape(canvas, shape)
            self._standing = (key, canvas)
        canvas = self._standing[1].copy()
        for shape in shapes[first:]:
            self._shape(canvas, shape)
        return (np.clip(canvas, 0, 1) * 255 + 0.5).astype(np.uint8)

    def _apron(self) -> NDArray[np.floating]:
        colour = np.array(rgba(self.ground.apron)[:3], np.float32)
        return colour * self._vignette(slice(None), slice(None))[..., None]

    def _vignette(self, rows: slice, columns: slice) -> NDArray[np.floating]:
        """How light the ground is there, darker toward the corners: `[rows, columns]`."""
        across = (self.xs[columns] - self.centre[0]) / (self.width * self.pixel / 2)
        along = (self.ys[rows] - self.centre[1]) / (self.height * self.pixel / 2)
        return 1 - 0.5 * self.ground.vignette * (across[None, :] ** 2 + along[:, None] ** 2)

    def _shape(self, canvas: NDArray[np.floating], shape: NDArray[np.float32]) -> None:
        kind, colour = int(shape[0]), int(shape[1])
        x, y, a, b, c, d, e, alpha = (float(value) for value in shape[2:10])
        style = self.paints[colour]
        ink = float(self.colours[colour, 3]) * alpha
        if ink <= 0:
            return
        axis, size, radius = (1.0, 0.0), (a, a), a
        if kind == BOX:
            axis, size, radius = (c, d), (a, b), min(e, a, b)
        elif kind == LINE:  # a box round at both ends
            span = math.hypot(a - x, b - y)
            axis = ((a - x) / span, (b - y) / span) if span > 1e-6 else axis
            x, y, size, radius = (x + a) / 2, (y + b) / 2, (span / 2 + c, c), c
        elif kind == TAG:
            size = (2 * a, a / 2)
        shadow = 0 if style.actor and self.shaded else style.shadow
        reach = self.pixel + self.unit * max(
            style.soft, GLOW_REACH * (style.glow > 0), (SHADOW_BLUR + 1.1) * (shadow > 0)
        )
        reach += b if kind == RING else 0
        rows, columns = self._within(x, y, axis, (size[0] + reach, size[1] + reach))
        if rows.start >= rows.stop or columns.start >= columns.stop:
            return
        ahead, aside = self.xs[columns][None, :] - x, self.ys[rows][:, None] - y
        p, q = ahead * axis[0] + aside * axis[1], aside * axis[0] - ahead * axis[1]
        rgb: NDArray[np.floating] = self.colours[colour, :3]
        edge = 1 / max(2 * style.soft * self.unit, 1.2 * self.pixel)
        under = canvas[rows, columns]
        if kind == TAG:
            covered = self._text(self.tags[int(shape[10])], a, p, q)
        elif kind == RING:
            covered = _cover(_arc(p, q, a, c, d) - b, edge) if b > 0 and c > 0 else np.zeros_like(p)
        else:
            distance = _box(p, q, size, radius)
            covered = _cover(distance, edge)
            if style.ground > 0:
                rgb = rgb * self._mown(style.ground, rows, columns)
            elif style.gloss > 0 or shadow > 0 or style.glow > 0:
                rim = np.clip(1 + distance / (RIM * self.unit), 0, 1)
                lit = _turned(LIGHT, axis)
                light = 0.13 * (p * lit[0] + q * lit[1]) / max(size) - 0.3 * rim * rim
                rgb = rgb * (1 + style.gloss * light)[..., None]
                if shadow > 0:
                    east, north = (self.unit * value for value in _turned(SHADOW_OFFSET, axis))
                    shade = _cover(_box(p - east, q - north, size, radius), 0.5 / (SHADOW_BLUR * self.unit))
                    under *= (1 - shadow * self.ground.shade * ink * shade)[..., None]
                if style.glow > 0:
                    fade = np.clip(1 - distance / (GLOW_REACH * self.unit), 0, 1)
                    halo = (0.6 * style.glow * ink * fade * fade)[..., None]
                    under[:] = under * (1 - halo) + self.colours[colour, :3] * halo
        opaque = (ink * covered)[..., None]
        under[:] = under * (1 - opaque) + rgb * opaque

    def _within(self, x: float, y: float, axis: tuple[float, float], half: tuple[float, float]) -> tuple[slice, slice]:
        """The rows and columns that a turned box of these half sizes may touch."""
        east = abs(axis[0]) * half[0] + abs(axis[1]) * half[1]
        north = abs(axis[1]) * half[0] + abs(axis[0]) * half[1]
        columns = np.searchsorted(self.xs, (x - east, x + east))
        rows = np.searchsorted(-self.ys, (-y - north, -y + north))
        return slice(*(int(k) for k in rows)), slice(*(int(k) for k in columns))

    def _mown(self, strength: float, rows: slice, columns: slice) -> NDArray[np.floating]:
        """Grass in bands, darker toward the corners: `[rows, columns, 1]`."""
        width = 2 * BAND * self.unit
        wave = np.abs((self.ys[rows] / width) % 1 - 0.5) - 0.25
        mown = np.clip(wave * width / self.pixel + 0.5, 0, 1) - 0.5
        return ((1 + 0.05 * strength * mown)[:, None] * self._vignette(rows, columns))[..., None]

    def _text(self, text: str, size: float, p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
        """Coverage of centred letters, whose box is `size` world units high and four times as wide."""
        from PIL import Image, ImageDraw, ImageFont

        height, width = max(1, round(size / self.pixel)), max(1, round(4 * size / self.pixel))
        sheet = Image.new("L", (width, height))
        font = ImageFont.load_default(max(1.0, 0.8 * height))
        ImageDraw.Draw(sheet).text((width / 2, height / 2), text, fill=255, font=font, anchor="mm")
        columns = np.floor((p / (4 * size) + 0.5) * width).astype(int)
        rows = np.floor((0.5 - q / size) * height).astype(int)
        inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
        letters = np.asarray(sheet, np.float32) / 255
        return (inside * letters[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]).astype(np.float32)


def _box(p: NDArray[Any], q: NDArray[Any], half: tuple[float, float], radius: float) -> NDArray[Any]:
    """The distance to a rounded box around the origin; circles and lines are such boxes."""
    u, v = np.abs(p) - half[0] + radius, np.abs(q) - half[1] + radius
    return np.hypot(np.maximum(u, 0), np.maximum(v, 0)) + np.minimum(np.maximum(u, v), 0) - radius


def _arc(p: NDArray[Any], q: NDArray[Any], radius: float, fraction: float, start: float) -> NDArray[Any]:
    """The distance to an arc around the origin that begins at angle `start` (radians) and is `fraction` of a circle."""
    half = math.pi * min(fraction, 1.0)
    cos, sin = math.cos(start + half), math.sin(start + half)
    u, v = p * cos + q * sin, np.abs(q * cos - p * sin)
    beyond = u * math.sin(half) < v * math.cos(half)
    end = np.hypot(u - math.cos(half) * radius, v - math.sin(half) * radius)
    return np.where(beyond, end, np.abs(np.hypot(u, v) - radius))


def _cover(distance: NDArray[Any], per_width: float) -> NDArray[Any]:
    """How much of a pixel a shape covers, 0..1."""
    inside = np.clip(0.5 - distance * per_width, 0, 1)
    return inside * inside * (3 - 2 * inside)


def _turned(vector: tuple[float, float], axis: tuple[float, float]) -> tuple[float, float]:
    """A vector of the world, along a shape's own axes."""
    return vector[0] * axis[0] + vector[1] * axis[1], vector[1] * axis[0] - vector[0] * axis[1]
