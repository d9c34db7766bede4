"""What the lessons stand on: the table, verdicts, budgets, plots in the notebook's colours."""

import importlib
import io
import re
import sys
import types
from pathlib import Path

import pytest

from dshq_widget import DrillWidget
from dshq_widget.contract import protocol
from dshq_widget.lessons import LESSONS, check, lesson, plots, seconds
from dshq_widget.training.history import Progress
from tests.harness.scripts import printed


@pytest.fixture
def wanting(monkeypatch):
    """Lets the first lesson ask for one number: 42."""

    def missing(answer):
        return [] if answer == 42 else [f"`answer` is {answer}, wanted 42", "try <again>"][: 1 if answer == 41 else 2]

    module = types.SimpleNamespace(missing=missing, DONE="`42` & that is all.")
    monkeypatch.setattr(importlib, "import_module", lambda name: {"dshq_widget.lessons.checks.watch": module}[name])


def test_a_verdict_says_what_is_missing_and_what_done_means(wanting):
    assert not check("watch", 40).done
    assert repr(check("watch", 40)) == "Not yet: `answer` is 40, wanted 42\nNot yet: try <again>"
    assert check("watch", 41).missing == ("`answer` is 41, wanted 42",)
    assert check("watch", 42).done
    assert repr(check("watch", answer=42)) == "Done: `42` & that is all."


def test_nothing_in_a_verdict_is_markup(wanting):
    shown = check("watch", "<b>x</b>")._repr_html_()
    assert "<code>answer</code> is &lt;b&gt;x&lt;/b&gt;" in shown
    assert "try &lt;again&gt;" in shown
    assert "Done: </strong><code>42</code> &amp; that" in check("watch", 42)._repr_html_()


def test_an_answer_that_breaks_the_check_is_not_done(wanting):
    verdict = check("watch")
    assert not verdict.done
    assert "TypeError" in verdict.missing[0]


def test_unknown_lessons_are_named():
    with pytest.raises(ValueError, match="no lesson '11'; there are watch, .*, league"):
        check("11", 1)
    with pytest.raises(ValueError, match="no lesson '03'"):
        lesson("03")


def test_seconds_are_those_wanted_or_fewer(monkeypatch):
    monkeypatch.delenv("DSHQ_LESSON_SECONDS", raising=False)
    assert seconds(60) == 60
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", "1.5")
    assert (seconds(60), seconds(1)) == (1.5, 1)


@pytest.mark.parametrize("row", LESSONS.values(), ids=LESSONS)
def test_a_lesson_shows_its_panels_and_no_others(row):
    with DrillWidget("bandit", lesson=row.name) as widget:
        assert widget.controls == [panel for panel in protocol.PANELS if panel in row.controls]
        assert set(widget.controls) == set(row.controls)


def test_named_panels_win_over_the_lesson_and_environments_have_fewer():
    with DrillWidget("bandit", lesson="shaping", controls=["transport"]) as widget:
        assert widget.controls == ["transport"]
    with DrillWidget("gym:CartPole-v1", lesson="shaping") as widget:
        assert widget.controls == ["training", "status", "transport", "headline", "charts"]
    with pytest.raises(ValueError, match="no lesson '42'"):
        DrillWidget("bandit", lesson="42")


def test_a_plot_takes_the_colours_of_the_page_and_leaves_the_rest_of_it_alone():
    figure, (left, right) = plots.figure(1, 2)
    left.plot([1, 2, 3], label="blue")
    left.set_title("a title")
    left.legend()
    right.bar(["a"], [1], color=plots.ORANGE)
    svg = figure._repr_html_()
    assert svg == figure._repr_html_()
    assert "fill: var(--jp-content-font-color1, currentColor)" in svg
    assert re.search(f"stroke: {plots.BLUE}", svg)
    assert re.search(f"fill: {plots.ORANGE}", svg)
    assert ">a title</text>" in svg
    for stand_in in (plots.INK, plots.FAINT, plots.GRID):
        assert stand_in not in svg
    assert "<style" not in svg
    assert "overflow-x: auto" in svg and "min-width: 420px" in svg
    small, _ = plots.figure(width=2.0)
    assert "min-width: 192px" in small._repr_html_()


def test_a_progress_bar_in_a_cell_does_not_look_like_an_error(monkeypatch, capsys):
    class Cell(io.StringIO):
        __module__ = "ipykernel.iostream"

    Progress().show(1.0, "elsewhere")
    said = capsys.readouterr()
    assert (said.out, "100% elsewhere" in said.err) == ("", True)
    monkeypatch.setattr(sys, "stdout", Cell())
    Progress().show(1.0, "in a cell")
    assert "100% in a cell" in sys.stdout.getvalue()
    assert capsys.readouterr().err == ""


def test_checking_needs_neither_torch_nor_matplotlib():
    probe = "import sys, dshq_widget.lessons; print([n for n in ('torch', 'matplotlib', 'numba') if n in sys.modules])"
    assert printed(probe) == "[]"


def test_the_list_of_lessons_says_what_the_table_says():
    page = (Path(__file__).parents[2] / "docs" / "lessons.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| (\d+) \| \[([^]]+)\]\(\.\./notebooks/(\w+)\.ipynb\) \| `([\w-]+)` \| (.+) \|$", page)
    rows = [(str(int(row.number)), row.title, row.stem, row.name, row.idea) for row in LESSONS.values()]
    assert listed == rows
