"""What a student has written, as nbgrader shows it to the instructor."""

import copy
import html
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from traitlets.config import Config

from dshq_widget.classroom.hub import demo_course
from dshq_widget.lessons import feedback, plots
from dshq_widget.lessons.verdict import Verdict
from dshq_widget.system.limits import peak_memory
from tools.instructor import assignments

ROOT = Path(__file__).parents[2]
EVIL = '"><script>evil()</script><img src=x onerror=evil()>'
MARKDOWN = (
    EVIL,
    "[a](java&#115;cript:evil())",
    '<a href="data:text/html,evil()">a</a>',
    '<svg onload=evil()><script>evil()</script><a xlink:href="javascript:evil()">x</a></svg>',
    '<iframe srcdoc="<script>evil()</script>"></iframe>',
    '<form action=//evil><button formaction="javascript:evil()">x</button></form>',
    "<base href=//evil>",
    "<style>*{background:url(//evil)}</style>",
    '<meta http-equiv=refresh content="0;url=//evil">',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=evil()&gt;">',
    "<svg><animate onbegin=evil() /><use href=//evil /></svg>",
)
TYPES = (
    "text/html",
    "text/markdown",
    "image/svg+xml",
    "application/javascript",
    "text/latex",
    "text/plain",
    "image/png",
)


class Live(HTMLParser):
    """What in a page would run, load or leave it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found, self._in = list[str](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            if "evil" in (value or "") and (name not in ("src", "alt", "title") or tag not in ("img", "a")):
                self.found.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in and "evil" in data:
            self.found.append(f"{self._in} {data}")


def notebook() -> Any:
    made = new_notebook(cells=[new_markdown_cell(text) for text in MARKDOWN])
    wide = {"width": "1 onload=evil()", "height": "1 onload=evil()"}
    outputs = [new_output("display_data", data={kind: EVIL}, metadata={kind: wide}) for kind in TYPES]
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": EVIL}}
    outputs += [new_output("display_data", data=widget), new_output("stream", text=EVIL)]
    made.cells.append(new_code_cell(EVIL, outputs=outputs))
    nbformat.validate(made)
    return made


def configurations() -> dict[str, str]:
    folder = ROOT / "docs" / "classroom" / "nbgrader"
    return {
        "course": assignments.CONFIGURATION.partition("c.Autograde.autograde_preprocessors = steps")[2],
        "make hub": demo_course._CONFIGURATION.format(exchange="/srv"),
        "a server": (folder / "nbgrader_config.py").read_text(encoding="utf-8"),
    }


def page_of(made: Any, which: str, template: str) -> str:
    """The page that nbgrader makes of a notebook with these settings."""
    config = Config()
    exec(configurations()[which], {"get_config": lambda: config, "c": config})
    config.HTMLExporter.template_name = template
    about: dict[str, Any] = {}
    if template != "classic":
        nbgrader = pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")
        folder = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
        config.HTMLExporter.extra_template_basedirs = [str(folder / "templates")]
        css = folder / "static" / "node_modules" / "bootstrap" / "dist" / "css"
        config.HTMLExporter.extra_template_paths = [str(css)]
        scores = ("score", "max_score", "code_score", "max_code_score", "written_score", "max_written_score")
        about = dict.fromkeys((*scores, "task_score", "max_task_score", "late_penalty"), 0)
        about = {"nbgrader": {**about, "timestamp": None, "comments": {}}, "index": 0, "total": 1}
    return str(HTMLExporter(config=config).from_notebook_node(made, resources=about)[0])


@pytest.mark.parametrize("which", configurations())
@pytest.mark.parametrize("template", ["classic", "feedback", "formgrade"])
def test_no_script_of_a_student_is_in_the_instructors_page(template: str, which: str) -> None:
    """Formgrader's is one of the instructor's own server: a script there made tokens and ran code."""
    page = page_of(notebook(), which, template)
    assert Live(page).found == []
    plain = HTMLExporter(template_name="classic").from_notebook_node(notebook())[0]
    assert len(Live(plain).found) > 12, "as it is without these settings"


def test_prose_plots_and_verdicts_stay() -> None:
    figure, axes = plots.figure()
    axes.plot([1, 2], [3, 4], marker="o", linestyle="--")
    shown = feedback.clean(figure._repr_html_())
    assert figure._repr_html_().count("<use ") == shown.count('<use href="#') > 0
    assert 'viewBox="0 0' in shown and "stroke-dasharray" in shown and "clipPath" in shown
    said = feedback.clean(Verdict(("wanted `x`",), "")._repr_html_())
    assert "border-left: 4px solid #f5791f" in said and "<code>x</code>" in said
    picture = "![](data:image/png;base64,AA)"
    cell = "# Title\n\n| a | b |\n|---|---|\n| `c < d` | $e < f$ |\n\n[there](https://example.org) "
    page = feedback.markdown({}, cell + picture)
    for part in ("<h1", "<table>", "<code>c &lt; d</code>", 'href="https://example.org"', 'src="data:image/png'):
        assert part in page
    assert "e &lt; f" in page


@pytest.mark.parametrize("one", ["<div>", "<b><i>", "<x ", "<b><p>", "*a", "\\begin{a}", "["])
def test_what_is_long_or_nested_costs_no_minutes(one: str) -> None:
    begun = time.process_time()
    for length in (9_900, 300_000):
        page = feedback.markdown({}, one * (length // len(one)))
    assert time.process_time() - begun < 20
    assert page == f"<pre>{html.escape(one * (length // len(one)))}</pre>"
    assert feedback.clean(one * (300_000 // len(one)))
    assert time.process_time() - begun < 20


def test_no_element_of_many_attributes_costs_minutes() -> None:
    begun = time.process_time()
    for one in ("".join(f"a{number} " for number in range(50_000)), "a " * 190_000, "a='<'" * 3_900):
        shown = feedback.clean(f"<p {one}>")
        assert shown == f"<pre>{html.escape(f'<p {one}>')}</pre>"
    assert time.process_time() - begun < 5


def hostile_notebooks() -> dict[str, Any]:
    """Small ones whose pages took minutes, or gigabytes."""
    picture = new_markdown_cell("![](attachment:a)" * 500)
    picture["attachments"] = {"a": {"image/png": "A" * 8_000_000}}
    tags = [new_output("display_data", data={"text/html": "<p " + "a " * 90 + "><b>" * 1_900}) for _ in range(60)]
    return {
        "dots": [new_code_cell("a." * 50_000)],
        "many dots": [new_code_cell("a." * 4_900) for _ in range(100)],
        "another language": [new_code_cell("s{" * 4_900, metadata={"magics_language": "perl"}) for _ in range(100)],
        "prose": [new_markdown_cell("a*_[`" * 1_900) for _ in range(1_000)],
        "colours": [new_code_cell("", outputs=[new_output("stream", text="\x1b[31ma" * 3_000_000)])],
        "tags": [new_code_cell("", outputs=tags)],
        "a picture": [picture],
    }


KEEP_BUSY = [(what, "a server") for what in hostile_notebooks()] + [("dots", "course"), ("dots", "make hub")]


@pytest.mark.parametrize(("what", "which"), KEEP_BUSY)
def test_no_notebook_keeps_formgrader_busy_for_minutes(what: str, which: str) -> None:
    """Formgrader's page is made by the server that answers everything else, too."""
    made = new_notebook(cells=hostile_notebooks()[what])
    begun, before = time.process_time(), peak_memory()
    page = page_of(made, which, "classic")
    assert time.process_time() - begun < 30
    assert peak_memory() - before < 1 << 30 and len(page) < 60_000_000


def test_what_is_shown_of_a_lesson_is_whole() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        made = nbformat.read(path, 4)
        shown, _ = feedback.NotTooLong().preprocess(copy.deepcopy(made), {})
        assert shown == made
