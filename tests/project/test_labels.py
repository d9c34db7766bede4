"""What a text writes in italics with a capital is a label of the page, a lesson, a column of its tables, or listed."""

import re
from pathlib import Path

import pytest

from dshq_widget import drills
from dshq_widget.lessons import LESSONS

ROOT = Path(__file__).parents[2]
LOG = ROOT / "docs" / "LOG.md"  # its entries speak of the page as it was
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "dshq_widget/drills/README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path != LOG),
    *sorted((ROOT / "notebooks" / "source").glob("*.md")),
    *sorted((ROOT / "tools" / "site" / "pages").rglob("*.md")),
]
SOURCES = [
    *(path for path in (ROOT / "js").rglob("*.ts") if "tests" not in path.parts),
    *(ROOT / "dshq_widget" / "contract").rglob("*.py"),
    *(ROOT / "dshq_widget" / "widget").rglob("*.py"),
    *(ROOT / "dshq_widget" / "algorithms").rglob("*.py"),  # their charts
]
TEMPLATES = ROOT / "dshq_widget" / "classroom" / "service" / "templates"

ELSEWHERE = {
    "JupyterLab": ("Run All", "File, Save Notebook As, `work/...`", "Save Widget State Automatically"),
    "widgets that are not shown": ("Loading widget...", "Error displaying widget: model not found"),
    "nbgrader": ("Nbgrader", "Assignment List", "Fetch", "Formgrader", "Create assignment", "Submit"),
    "a JupyterHub": ("Token", "Services", "Memory", "400 : Bad Request", "405 : Method Not Allowed"),
    "a verdict of `check`": ("Done",),
    "somebody's article": ("Faulty reward functions in the wild",),
}
"""Labels of other programs, by whose they are."""
TITLES = {row.title for row in LESSONS.values()} | {drill.title or name for name, drill in drills.drills.items()}
KNOWN = {label for labels in ELSEWHERE.values() for label in labels} | TITLES

_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|`((?:[^`\\]|\\.)*)`')
_ITALIC = re.compile(r"(?<![*\w])\*([^*\s](?:[^*]*[^*\s])?)\*(?!\*)")
_NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|\$\$.*?\$\$|\$[^$\n]*\$", re.DOTALL)
_WHATEVER = re.compile(r"\$?\{[^}]*\}")
"""In a template: what is filled in."""


def texts() -> set[str]:
    """All that stands between quotation marks in the page's sources, and between tags in the league's pages."""
    found = {next(filter(None, groups), "") for path in SOURCES for groups in _TEXT.findall(path.read_text("utf-8"))}
    pages = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.html"))
    return found | {" ".join(text.split()) for text in re.findall(r">([^<>{}]+)<", pages)}


PAGE = texts()
FILLED = [
    re.compile(".+".join(map(re.escape, _WHATEVER.split(text))))
    for text in PAGE
    if _WHATEVER.search(text) and re.match(r"[A-Z]\w+ ", text)
]
"""Labels with a part that changes, such as the time of an earlier run."""


def is_label(words: str) -> bool:
    return words in PAGE or any(label.fullmatch(words) for label in FILLED)


def named(text: str) -> list[str]:
    """What a text writes in italics and begins with a capital or a digit, but for a lesson's line of minutes."""
    prose = _NOT_PROSE.sub("", text)
    found = [" ".join(words.split()) for words in _ITALIC.findall(prose)]
    return [words for words in found if re.match(r"[A-Z\d]", words) and not words.startswith("You need about")]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_named_is_there(path: Path):
    text = path.read_text("utf-8")
    found = [words for words in named(text) if words not in KNOWN and not is_label(words)]
    wrong = [words for words in found if f"| {words}" not in text]
    assert wrong == [], "no label of the page; write it as the page does, or without a capital if it is no label"


def test_labels_are_told_from_words_by_their_capital():
    assert named("Press *Train*, *now*, at *16 futures*; **Bold** and `*x*` are `2 * 3`.") == ["Train", "16 futures"]
    assert is_label("Resume run from 14:02") and is_label("Why that move?") and is_label("Withdraw this entry")
    assert not is_label("human against AI") and not is_label("Reward ahead") and not is_label("Step a decision")
