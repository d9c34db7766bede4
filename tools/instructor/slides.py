"""Slides, `slides/NN_name.html`: one file for each lesson, which needs no network and prints a slide to a page.

A section of the lesson is a slide, or several. A long paragraph gives its first sentence; the whole paragraph stands in
the speaker's notes, key N. Long cells are cut. Plots come from the page that `make lessons` wrote, if there is one.
(nbconvert's SlidesExporter is not used: its files load reveal.js, MathJax and jQuery from other hosts.)
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it.token import Token

from dshq_widget.contract.icon import ICON
from tests.harness.notebook_reader import tags
from tools.instructor.lessons import Material
from tools.pages import MARKDOWN, PAGES, coloured, shown_before

LINES = 13
"""Lines of a slide; a line of prose has 70 characters."""
CODE_LINES = 18
SENTENCE = 160
"""Characters of a paragraph that is shown whole."""
STYLES = (Path(__file__).parents[1] / "lessons.css", Path(__file__).parent / "slides.css")
_PLOT = re.compile(r'<svg role="img".*?</svg>', re.S)
"""As `lessons.plots` shows a figure."""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>
{style}
</style>
<body>
{slides}
<script>
const slides = [...document.querySelectorAll("section")];
const here = () => slides.findIndex((one) => one.getBoundingClientRect().bottom > innerHeight / 2);
addEventListener("keydown", (event) => {{
  const by = {{ ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }}[event.key];
  if (event.key === "n") document.body.classList.toggle("with-notes");
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  slides[Math.max(0, Math.min(slides.length - 1, here() + by))].scrollIntoView();
}});
</script>
</html>
"""


@dataclasses.dataclass
class Slide:
    """One slide."""

    title: str
    """HTML."""
    body: str = ""
    notes: str = ""
    """The paragraphs of which the body has only the first sentence."""
    lines: float = 0.0


def slides(lesson: Material) -> list[Slide]:
    """The slides of a lesson."""
    made = [Slide(html.escape(lesson.row.title), f'<p class="idea">{html.escape(lesson.row.idea)}</p>', "", 4)]
    plots = _plots(lesson)
    for cell in lesson.notebook().cells:
        if cell.cell_type == "markdown":
            for block in _blocks(MARKDOWN.parse(cell.source)):
                if block[0].type == "heading_open":
                    if block[0].tag != "h1":
                        made.append(Slide(_html(block[1:2])))
                else:
                    _add(made, *_prose(block))
        else:
            if "wait" not in tags(cell):
                _add(made, *_code(cell.source))
            for plot in plots.get(cell.source, []):
                _add(made, f'<div class="shown">{plot}</div>\n', LINES - 2)
    return [slide for slide in made if slide.body]


def page(lesson: Material) -> str:
    """The file."""
    made = slides(lesson)
    parts = []
    for number, slide in enumerate(made, start=1):
        tag, notes = ("h1" if number == 1 else "h2"), slide.notes and f"<aside>{slide.notes}</aside>"
        foot = f"<footer>{html.escape(lesson.row.title)} <span>{number} / {len(made)}</span></footer>"
        parts.append(f"<section>\n<{tag}>{slide.title}</{tag}>\n{slide.body}{notes}{foot}\n</section>")
    style = "\n".join(path.read_text(encoding="utf-8") for path in STYLES)
    return _PAGE.format(
        title=html.escape(lesson.row.title),
        icon=ICON,
        style=style,
        slides="\n".join(parts).replace('.ipynb">', '.html">'),
    )


def _add(made: list[Slide], body: str, lines: float, notes: str = "") -> None:
    """Add to the last slide, or to a new one of the same title where it is full."""
    if made[-1].lines and made[-1].lines + lines > LINES:
        made.append(Slide(made[-1].title))
    made[-1].body += body
    made[-1].notes += notes
    made[-1].lines += lines


def _blocks(tokens: list[Token]) -> Iterator[list[Token]]:
    """Paragraphs, lists, tables, formulas and headings, one after another."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _prose(block: list[Token]) -> tuple[str, float, str]:
    text = "".join(token.content for token in block if token.type in ("inline", "math_block"))
    whole = _html(block)
    if block[0].type != "paragraph_open" or len(text) <= SENTENCE:
        return whole, sum(1.2 + len(token.content) / 70 for token in block if token.content), ""
    first = re.split(r"(?<=[.!?:])\s+(?=[A-Z*`_$\"])", text)[0]
    return MARKDOWN.render(first), 1.2 + len(first) / 70, whole


def _code(source: str) -> tuple[str, float]:
    lines = source.splitlines()
    if len(lines) > CODE_LINES:
        left = len(lines) - CODE_LINES + 2
        lines = [*lines[: CODE_LINES - 2], "", f"# {left} more lines stand in the notebook"]
    return f'<pre class="code">{coloured(chr(10).join(lines))}</pre>\n', 1 + 0.7 * len(lines)


def _plots(lesson: Material) -> dict[str, list[str]]:
    """Source of a cell -> the plots that it showed on the lesson's page; nothing without a page of this text."""
    path = PAGES / f"{lesson.row.stem}.html"
    if not path.is_file():
        return {}
    try:
        shown = shown_before(lesson.row, lesson.text, path.read_text(encoding="utf-8"))
    except LookupError:  # the page is of an older text
        return {}
    code = [cell.source for cell in lesson.notebook().cells if cell.cell_type == "code"]
    return {source: _PLOT.findall(output) for source, output in zip(code, shown, strict=True)}


def _html(tokens: list[Token]) -> str:
    return MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
