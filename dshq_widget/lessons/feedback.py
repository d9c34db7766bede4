"""How nbgrader's pages show what a student has written: without its scripts. Feedback and formgrader are pages of the
instructor's own server, where a script in a notebook could do what the instructor may.

The three files `nbgrader_config.py` have the settings (docs/classroom/nbgrader, classroom/hub/demo_course.py,
tools/instructor/assignments.py).
"""

from __future__ import annotations

import functools
import html
from typing import Any

import bleach
from bleach.css_sanitizer import ALLOWED_CSS_PROPERTIES, ALLOWED_SVG_PROPERTIES, CSSSanitizer
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import Preprocessor

PROSE = (
    "a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre q s samp small span "
    "strong sub sup table tbody td tfoot th thead tr tt ul var"
)
DRAWING = (
    "svg circle clipPath defs desc ellipse g line linearGradient path polygon polyline rect stop text title tspan use"
)
"""Of plots (lessons/plots.py)."""
PROTOCOLS = ("data", "http", "https", "mailto")
LOADED = {"a": "href", "img": "src", "use": "href"}
"""What may name an address, and where."""
LONGEST, MOST_TAGS = 400_000, 4_000
"""Letters of HTML, and elements: bleach's time grows by their square, to two seconds. A plot has a tenth of it."""
LONGEST_MARKDOWN = 10_000
"""Of a cell; nbconvert's time grows by their square. Cells of lessons have a third of it."""
_CSS = CSSSanitizer(
    [*ALLOWED_CSS_PROPERTIES, "border-left", "margin", "max-width", "min-width", "overflow-x", "padding"],
    [*ALLOWED_SVG_PROPERTIES, "stroke-dasharray", "stroke-dashoffset", "text-anchor"],
)


class WithoutMetadata(Preprocessor):
    """Takes away what outputs say of themselves: nbconvert writes the width of a picture into the page as it is."""

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """One cell."""
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = {}
        return cell, resources


def clean(source: object) -> str:
    """HTML of which only text, tables, pictures and drawings are left. Other elements are shown as text."""
    text = source.decode(errors="replace") if isinstance(source, bytes) else str(source)
    if len(text) > LONGEST or text.count("<") > MOST_TAGS:
        return _as_text(text)
    tags = {*PROSE.split(), *DRAWING.split()}
    return bleach.clean(text, tags=tags, attributes=_shows, css_sanitizer=_CSS, protocols=PROTOCOLS)


def _shows(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay: it does nothing but show. A page behind `data:` would be the writer's."""
    if name in LOADED.values():
        value = value.strip().lower()
        may = {"a": not value.startswith("data:"), "img": True, "use": value.startswith("#")}
        return LOADED.get(tag) == name and may[tag]
    return not name.lower().startswith("on") and ":" not in name


@pass_context
def markdown(context: Any, source: str) -> str:
    """A cell of Markdown as such HTML."""
    if len(source) > LONGEST_MARKDOWN:
        return _as_text(source)
    return clean(_exporter().markdown2html(context, source))


def _as_text(source: str) -> str:
    return f"<pre>{html.escape(source[:LONGEST])}</pre>"


@functools.cache
def _exporter() -> HTMLExporter:
    return HTMLExporter()
