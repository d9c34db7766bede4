"""How nbgrader's pages show what a student has written: without its scripts. Feedback and formgrader are pages of the
instructor's own server, where a script in a notebook could do what the instructor may.

The three files `nbgrader_config.py` have the settings (docs/classroom/nbgrader, classroom/hub/demo_course.py,
tools/instructor/assignments.py).
"""

from __future__ import annotations

import functools
import html
from typing import Any

from bleach import html5lib_shim
from bleach.css_sanitizer import ALLOWED_CSS_PROPERTIES, ALLOWED_SVG_PROPERTIES, CSSSanitizer
from bleach.sanitizer import Cleaner
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.preprocessors import Preprocessor
from nbformat.v4 import new_output

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
MOST_ATTRIBUTES = 100
"""Of an element: html5lib compares each with all before it."""
LONGEST_MARKDOWN = LONGEST_CODE = 10_000
"""Letters of a cell; nbconvert's time, and that of Pygments, grow by their square. Cells of lessons have a third of
it.
"""
LONGEST_PRINTED = 100_000
"""Letters of a text in which colours are looked for."""
MOST_WRITTEN, MOST_SHOWN = 100_000, 2_000_000
"""Letters of all cells, and of what they show beside pictures: some seconds. A lesson has a fifth of it."""
LEFT_OUT = "(left out: the notebook is too long to be shown here)"
PICTURES = ("image/png", "image/jpeg", "image/gif")
"""Whose letters are written into the page as they are."""
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


class NotTooLong(Preprocessor):
    """Leaves out what would keep a page, and the server that makes it, busy for minutes."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The first cells, and the first outputs."""
        written = shown = 0
        for cell in nb.cells:
            written += len(cell.source)
            if written > MOST_WRITTEN:
                cell.source = LEFT_OUT
                cell.pop("attachments", None)
            for at, output in enumerate(cell.get("outputs", [])):
                shown += _letters({**output, "data": _coloured(output)})
                if shown > MOST_SHOWN:
                    cell.outputs[at:] = [new_output("stream", text=LEFT_OUT)]
                    break
        return nb, resources


def _coloured(output: Any) -> dict[str, Any]:
    return {kind: data for kind, data in output.get("data", {}).items() if kind not in PICTURES}


def _letters(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_letters(part) for part in value.values())
    return sum(map(_letters, value)) if isinstance(value, list) else len(str(value))


class _TooMuch(Exception):
    """An element has more attributes than any that shows something."""


class _Tokenizer(html5lib_shim.BleachHTMLTokenizer):
    def attributeNameState(self) -> bool:
        if len(self.currentToken["data"]) > MOST_ATTRIBUTES:
            raise _TooMuch
        return bool(super().attributeNameState())


class _Parser(html5lib_shim.BleachHTMLParser):
    def _parse(
        self, stream: Any, innerHTML: bool = False, container: str = "div", scripting: bool = True, **how: Any
    ) -> None:
        """As bleach's, whose tokenizer it is but for that."""
        self.innerHTMLMode, self.container, self.scripting = innerHTML, container, scripting
        self.tokenizer = _Tokenizer(stream=stream, consume_entities=self.consume_entities, parser=self, **how)
        self.reset()
        try:
            self.mainLoop()
        except html5lib_shim.ReparseException:
            self.reset()
            self.mainLoop()


def clean(source: object) -> str:
    """HTML of which only text, tables, pictures and drawings are left. Other elements are shown as text."""
    text = source.decode(errors="replace") if isinstance(source, bytes) else str(source)
    if len(text) > LONGEST or text.count("<") > MOST_TAGS:
        return _as_text(text)
    tags = {*PROSE.split(), *DRAWING.split()}
    cleaner = Cleaner(tags=tags, attributes=_shows, css_sanitizer=_CSS, protocols=PROTOCOLS)
    cleaner.parser = _Parser(tags, strip=False, consume_entities=False, namespaceHTMLElements=False)
    try:
        return str(cleaner.clean(text))
    except _TooMuch:
        return _as_text(text)


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
    pictures = (context.get("cell") or {}).get("attachments") or {}
    if len(source) > LONGEST_MARKDOWN or _letters(pictures) * source.count("attachment:") > LONGEST:
        return _as_text(source)
    return clean(_exporter().markdown2html(context, source))


def code(source: str, language: str | None = None, metadata: Any = None) -> str:
    """A cell of Python in colours, whatever language the notebook says that it is: others take longer."""
    return _as_text(source) if len(source) > LONGEST_CODE else str(Highlight2HTML()(source, "ipython3"))


def printed(source: object) -> str:
    """What was printed, in its colours."""
    text = str(source)
    return html.escape(text) if len(text) > LONGEST_PRINTED else str(ansi2html(text))


def _as_text(source: str) -> str:
    return f"<pre>{html.escape(source[:LONGEST])}</pre>"


@functools.cache
def _exporter() -> HTMLExporter:
    return HTMLExporter()
