"""Writes the lessons as pages that play without a kernel and without a network: docs/lessons/NN_name.html.

`python -m tools.pages` (`make lessons`) works through every lesson in a kernel and keeps what its cells showed: text,
plots, and every match with the policy of that moment. That takes minutes: training gets `--seconds`, 30. Exercises
stand as they are found; what comes after them is what it is with the reference answer. A page whose lesson has the same
code as before keeps its outputs; `python -m tools.pages shaping ppo` works through these lessons again in any
case. The widget's bundle, which all pages share, is copied beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from dshq_widget import DrillWidget
from dshq_widget.contract.icon import ICON
from dshq_widget.lessons import BUDGET, LESSONS, Lesson, lesson
from dshq_widget.widget.export_html import pack
from tests.harness.notebook_reader import Reader, answers, chosen, tags
from tools.notebooks import SOURCE, notebook

PAGES = Path(__file__).parent.parent / "docs" / "lessons"
STATIC = Path(__file__).parent.parent / "dshq_widget" / "static"
SHARED = {
    "widget.js": STATIC / "standalone.js",
    "widget.css": STATIC / "widget.css",
    "lessons.css": Path(__file__).parent / "lessons.css",
}
"""What all pages share: its name beside them -> the file it is copied from."""
LEARNER = "learner.js"
"""What the matches of a page need to train by themselves, whatever their drill."""
WIDGET = "application/vnd.jupyter.widget-view+json"
MUCH = 1.25
"""A match is shown again once its policy has practised this many times as long: the last update is after the cell."""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="widget.css">
<link rel="stylesheet" href="lessons.css">
<body>
<nav><a href="index.html">Lessons</a>{nav}</nav>
<main>
{body}
</main>
<script src="learner.js"></script>
<script src="widget.js"></script>
</html>
"""
_MATCHES = """
import gc, json
from dshq_widget import DrillWidget
from dshq_widget.contract.icon import ICON
from dshq_widget.widget.export_html import match_of

traits = "drill", "policy", "rivals", "show", "controls", "config"
print(json.dumps([
    [
        widget.model_id,
        widget.policy["step"],
        match_of({name: getattr(widget, name) for name in traits}, trainer is not None),
        trainer and {"drill": trainer["drill"]},
    ]
    for widget in gc.get_objects()
    if isinstance(widget, DrillWidget) and widget.comm is not None and widget.policy["data"]
    for trainer in [widget.page_trainer()]
]))
"""
"""Run in the kernel after a cell: every match that a page can play, with its policy of now."""

MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
MARKDOWN.use(
    dollarmath_plugin,
    double_inline=True,
    renderer=lambda text, options: convert(text, display="block" if options["display_mode"] else "inline"),
)


class Recorder:
    """What the cells of one lesson show, as HTML: one text for each code cell, by what the cell says."""

    def __init__(self, reader: Reader):
        self._reader = reader
        self._steps: dict[str, int] = {}  # model -> agent steps of the policy that was shown last
        self._shown = 0

    def run(self, source: str) -> str:
        """Run a cell; returns what it shows, with the matches that play better since they were shown."""
        outputs = self._reader.run(source)
        matches = {model: rest for model, *rest in json.loads(self._reader.said(_MATCHES))}
        parts = []
        for output in outputs:
            model = output.get("data", {}).get(WIDGET, {}).get("model_id")
            if model is None:
                parts.append(_output(output))
            elif model in matches:
                parts.append(self._match(model, *matches[model]))
            else:
                parts.append('<p class="note">This is played by the kernel: run the notebook to watch it.</p>\n')
        for model, (step, *match) in matches.items():
            if MUCH * self._steps.get(model, step) < step:
                parts.append(f'<p class="note">The same match now, after {step:,} decisions of practice:</p>\n')
                parts.append(self._match(model, step, *match))
        return "".join(parts)

    def _match(self, model: str, step: int, match: dict[str, Any], trainer: dict[str, Any] | None) -> str:
        self._steps[model] = step
        self._shown += 1
        place = f"match{self._shown}"
        data = pack(json.dumps(match, separators=(",", ":")))
        saved = f'<script type="application/gzip" id="{place}-match">{data}</script>'
        if trainer is not None:
            saved += f'<script type="application/json" id="{place}-trainer">{json.dumps(trainer)}</script>'
        return f'<div class="match" id="{place}"></div>\n{saved}\n'


def _output(output: nbformat.NotebookNode) -> str:
    """One output of a cell; progress bars, which begin their line again, and stderr are not worth a page."""
    if output.output_type == "stream":
        text = re.sub(r"[^\n]*\r[^\n]*\n?", "", output.text) if output.name == "stdout" else ""
        return text and f"<pre>{html.escape(text)}</pre>\n"
    data = output.data
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>\n'
    return f"<pre>{html.escape(data['text/plain'])}</pre>\n"


def recorded(row: Lesson, text: str, seconds: float) -> list[str]:
    """Work through a lesson; returns what each of its code cells showed."""
    cells = [cell for cell in notebook(text).cells if cell.cell_type == "code"]
    known, shown = iter(answers(row)), []
    with TemporaryDirectory() as folder, _budget(seconds), Reader(Path(folder)) as reader:
        recorder = Recorder(reader)
        for cell in cells:
            shown.append(recorder.run(chosen(cell)))
            if "check" in tags(cell):
                reader.run(next(known))
    return shown


@contextmanager
def _budget(seconds: float) -> Iterator[None]:
    """Kernels that are started meanwhile train for `seconds` at most."""
    before = os.environ.get(BUDGET)
    os.environ[BUDGET] = str(seconds)
    try:
        yield
    finally:
        del os.environ[BUDGET]
        if before is not None:
            os.environ[BUDGET] = before


def page(row: Lesson, text: str, shown: list[str]) -> str:
    """The page of a lesson's text, with what its code cells showed."""
    parts, outputs = [], iter(shown)
    for cell in notebook(text).cells:
        if cell.cell_type == "markdown":
            parts.append(MARKDOWN.render(cell.source).replace('.ipynb">', '.html">'))
        else:
            kind = " ".join(["code", *tags(cell)])
            parts.append(f'<pre class="{kind}">{coloured(cell.source)}</pre>\n')
            parts.append(f"<!--shows {_key(cell.source)}-->\n{next(outputs)}<!--/shows-->\n")
    nav = f'<a href="../../notebooks/{row.stem}.ipynb" download>This lesson as a notebook</a>'
    return _PAGE.format(title=f"{row.number} {html.escape(row.title)}", nav=nav, body="".join(parts), icon=ICON)


def kept(written: str) -> dict[str, str]:
    """What the code cells of a page showed, by the key of their source."""
    return dict(re.findall(r"<!--shows (\w+)-->\n(.*?)<!--/shows-->", written, re.DOTALL))


def shown_before(row: Lesson, text: str, written: str) -> list[str]:
    """What the cells of this text showed when the page `written` was made; LookupError where one has changed since."""
    known = kept(written)
    try:
        return [known[_key(cell.source)] for cell in notebook(text).cells if cell.cell_type == "code"]
    except KeyError as error:
        raise LookupError(f"the code of lesson {row.name!r} has changed") from error


def build(folder: Path, row: Lesson, seconds: float, again: bool = False) -> Path:
    """Write one lesson's page. Its cells are run where one has changed since the last page, or always with `again`."""
    text = (SOURCE / f"{row.stem}.md").read_text(encoding="utf-8")
    path = folder / f"{row.stem}.html"
    try:
        if again or not path.exists():
            raise LookupError
        shown = shown_before(row, text, path.read_text(encoding="utf-8"))
    except LookupError:
        shown = recorded(row, text, seconds)
    path.write_text(page(row, text, shown), encoding="utf-8")
    return path


def share(folder: Path) -> None:
    """Write the list of lessons, and what all pages share."""
    (folder / "index.html").write_text(index(), encoding="utf-8")
    for name, source in SHARED.items():
        shutil.copyfile(source, folder / name)
    with DrillWidget("bandit", prepare=False) as widget:
        shared = {name: part for name, part in (widget.page_trainer() or {}).items() if name != "drill"}
    learner = f"globalThis.dshqLearner = {json.dumps(shared)};\n"
    (folder / LEARNER).write_text(learner, encoding="utf-8")


def index() -> str:
    """The page that lists the lessons."""
    rows = "".join(
        f'<li><a href="{row.stem}.html">{html.escape(row.title)}</a><br>{html.escape(row.idea)}</li>\n'
        for row in LESSONS.values()
    )
    words = (
        "<h1>Lessons</h1>\n<p>Each is a notebook of 15 to 45 minutes with one idea, something to predict, something to "
        "break and an exercise. Here they stand to be read, with matches that play, and that train in the page where a "
        "lesson trains.</p>\n"
    )
    return _PAGE.format(title="Lessons", nav="", body=f"{words}<ol>\n{rows}</ol>", icon=ICON)


def _key(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def coloured(source: str) -> str:
    """Python as HTML, its words in the colours of tools/lessons.css."""
    return highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", metavar="NAME", help="lessons to work through again; none: what changed")
    parser.add_argument("--seconds", type=float, default=30.0, help="the most that one training gets (default 30)")
    parser.add_argument("--out", type=Path, default=PAGES, help="the folder for the pages (default docs/lessons)")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for row in map(lesson, arguments.lessons or LESSONS):
        print(build(arguments.out, row, arguments.seconds, again=bool(arguments.lessons)), flush=True)
    share(arguments.out)


if __name__ == "__main__":
    main()
