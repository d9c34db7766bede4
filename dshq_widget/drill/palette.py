"""How named colours look, in pictures made here and on the page; `make tables` writes the page's copy.

The sides are blue and orange, which the common kinds of colour blindness keep apart (Okabe and Ito, 2008), and differ
in lightness as well.
"""

from __future__ import annotations

import colorsys
import dataclasses

THEMES = ("light", "dark")


@dataclasses.dataclass(frozen=True)
class Paint:
    """How a colour is painted; the strengths are 0..1."""

    light: str
    """#rrggbbaa in the light theme."""
    dark: str
    shadow: float = 0
    """A soft shadow on the ground."""
    gloss: float = 0
    """Lit from the upper left, with a darker rim."""
    glow: float = 0
    """Light around it."""
    ground: float = 0
    """Strength of the ground pattern: mown bands, darker corners, tinted by a goal's colour."""
    soft: float = 0
    """Blur of the edge, in hundredths of the world's width."""
    actor: bool = False
    """It moves: motion trails are drawn below it."""


PAINTS = {
    "turf": Paint("#7cc48bff", "#1d5c4aff", ground=1),
    "line": Paint("#ffffffd8", "#e6fff4c8"),
    "goal0": Paint("#2b7de0a8", "#3d8df2b0"),
    "goal1": Paint("#f07818a8", "#f5913ab0"),
    "ball": Paint("#ffffffff", "#fff8e8ff", shadow=1, gloss=0.75, glow=0.25, actor=True),
    "player0": Paint("#1a6fe0ff", "#3f92ffff", shadow=1, gloss=1, actor=True),
    "player1": Paint("#f5791fff", "#ff9838ff", shadow=1, gloss=1, actor=True),
    "heading": Paint("#fffffff2", "#ffffffeb"),
    "cooldown": Paint("#fff6d0e0", "#ffe49ad0"),
    "accent": Paint("#ffc53dff", "#ffd166ff", glow=0.5),
    "shadow": Paint("#0b3a24c0", "#000000ff", soft=1.1, actor=True),
    "wall": Paint("#f4faf6ff", "#4a9483ff", shadow=0.5),
    "post": Paint("#ffffffff", "#f4f8f6ff", shadow=0.7, gloss=0.6),
    "mark": Paint("#ffffff8c", "#d9f2e65c"),
    "mat": Paint("#c9d6e2ff", "#25313fff", ground=0.5),
    "clay": Paint("#dcbd82ff", "#7a6444ff", gloss=0.2),
    "floor": Paint("#c6ccdcff", "#262b3dff", ground=0.5),
    "pillar": Paint("#8a90a8ff", "#5a6180ff", shadow=0.8, gloss=0.5),
    "ink": Paint("#1d2430ff", "#10141cff"),
    "target": Paint("#d6336cff", "#ff6b9aff", shadow=0.6, gloss=0.6, glow=0.3, actor=True),
}


@dataclasses.dataclass(frozen=True)
class Ground:
    """The ground around the pitch, the corners' darkening and the depth of shadows (both 0..1)."""

    apron: str
    vignette: float
    shade: float


GROUNDS = {"light": Ground("#cfe6d3ff", 0.1, 0.26), "dark": Ground("#132c28ff", 0.34, 0.42)}


def paint(name: str) -> Paint:
    """How a name is painted. An unknown name gets a hue computed from it (js/renderer/palette.ts has the same code)."""
    if name in PAINTS:
        return PAINTS[name]
    mixed = 0x811C9DC5  # FNV-1a
    for letter in name:
        mixed = ((mixed ^ ord(letter)) * 0x01000193) & 0xFFFFFFFF
    hue = mixed % 360
    return Paint(_hex(hue, 0.6, 0.45), _hex(hue, 0.65, 0.65), shadow=0.4, gloss=0.4)


def rgba(colour: str) -> tuple[float, float, float, float]:
    """Red, green, blue, alpha, each 0..1, of #rrggbbaa."""
    r, g, b, a = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5, 7))
    return r, g, b, a


def _hex(hue: int, saturation: float, lightness: float) -> str:
    channels = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return "#" + "".join(f"{int(255 * value + 0.5):02x}" for value in channels) + "ff"
