"""Plots for notebooks in any theme: no background of their own, ink in the notebook's colour, sides in theirs.

    figure, axes = plots.figure()
    axes.plot(seconds, wins, color=plots.BLUE)
    figure

The figure is shown as SVG inside the page, where text and lines take the theme's colours and follow it when it changes.
A front end without the theme's variables gives it the colour of its own text.
"""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

from dshq_widget.drills.ball_physics import GOAL_HALF_WIDTH, HALF_LENGTH, HALF_WIDTH

BLUE, ORANGE = "#2b7de0", "#e8731a"
"""The sides 0 and 1: between the palette's light and dark paints, which colour blindness keeps apart (palette.py)."""
GREEN, PURPLE, GOLD = "#1a9e77", "#a463c4", "#c99a06"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, GOLD)
"""For what has no side of its own, in this order."""
INK, FAINT, GRID = "#7c8089", "#7c808a", "#7c808b"
"""Stand for the theme's text, its thin lines and its thinnest; no theme is asked before the figure is shown."""
_THEMED = {
    INK: "var(--jp-content-font-color1, currentColor)",
    FAINT: "var(--jp-border-color0, #7c8088)",
    GRID: "var(--jp-border-color2, #7c808840)",
}
_ABOUT = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
"""What would be said about the file, and a style that would reach the whole page."""
_ROOT_STYLE = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
_LEAST_WIDTH = 420
"""CSS pixels: a figure shrinks no further, or nobody could read its letters; in a narrower cell it is scrolled."""

STYLE: Any = {  # its keys are a type of matplotlib's own
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "dshq",  # the same figure twice is the same text
}


class Plot(Figure):
    """A figure that a notebook shows in its own colours."""

    def _repr_html_(self) -> str:
        """The figure as SVG that lies in the page and shrinks with it, as far as it can be read."""
        drawing = io.StringIO()
        with matplotlib.rc_context(STYLE):
            self.savefig(drawing, format="svg", transparent=True, metadata={"Date": None})
        svg = _ABOUT.sub("", drawing.getvalue())
        style = f"min-width: {min(_LEAST_WIDTH, round(96 * self.get_figwidth()))}px; {_ROOT_STYLE}"
        svg = svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" style="{style}"', 1)
        for stand_in, colour in _THEMED.items():
            svg = svg.replace(stand_in, colour)
        return f'<div style="overflow-x: auto">{svg}</div>'


def figure(
    rows: int = 1, columns: int = 1, *, width: float = 7.2, height: float = 3.2, **subplots: Any
) -> tuple[Plot, Any]:
    """A figure and its axes, as `matplotlib.pyplot.subplots` gives them; width and height in inches.

    Write the figure at the end of a cell to show it. What is added later is drawn in matplotlib's settings of that
    moment, so the style becomes those of this process.
    """
    matplotlib.rcParams.update(STYLE)
    made = Plot(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, **subplots)


def pitch(axes: Any, goals: bool = True) -> None:
    """Make axes the field of the Ball Drill, seen from above: walls, and the goal that either side defends."""
    x, y = HALF_LENGTH, HALF_WIDTH
    axes.plot([-x, x, x, -x, -x], [-y, -y, y, y, -y], color=FAINT, linewidth=1)
    for end, colour in ((-x, BLUE), (x, ORANGE)) if goals else ():
        axes.plot([end, end], [-GOAL_HALF_WIDTH, GOAL_HALF_WIDTH], color=colour, linewidth=4)
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(-x - 0.7, x + 0.7), ylim=(-y - 0.2, y + 0.2))
    axes.grid(False)
    axes.spines[:].set_visible(False)
