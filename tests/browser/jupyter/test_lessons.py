"""Lessons as a student meets them in JupyterLab."""

import shutil

import pytest

from dshq_widget.contract import protocol
from dshq_widget.lessons import lesson
from tests.harness.browser.page import NotebookPage, WidgetPage
from tests.harness.notebook_reader import answers
from tools.notebooks import FOLDER
from tools.pages import build, share

pytestmark = pytest.mark.browser

RUN_SECONDS = 240


def index_of(notebook: NotebookPage, tag: str) -> int:
    """The place of the first cell with a tag."""
    return notebook.page.evaluate(
        """tag => window.jupyterapp.shell.currentWidget.content.widgets.findIndex(
            cell => (cell.model.getMetadata("tags") ?? []).includes(tag))""",
        tag,
    )


def run_cell(notebook: NotebookPage, place: int, source: str | None = None) -> str:
    """Run one cell, with `source` typed over it if given; returns what it then shows."""
    notebook.page.evaluate(
        """([place, source]) => {
            const content = window.jupyterapp.shell.currentWidget.content;
            content.activeCellIndex = place;
            if (source !== null) content.activeCell.model.sharedModel.setSource(source);
        }""",
        [place, source],
    )
    notebook.command("notebook:run-cell")
    return notebook.page.evaluate(
        "place => window.jupyterapp.shell.currentWidget.content.widgets[place].outputArea.node.innerText", place
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["watch", "values", "shaping", "drill"])
def test_a_lesson_in_the_browser(chromium, lab, name):
    row = lesson(name)
    shutil.copy(FOLDER / f"{row.stem}.ipynb", lab.work)
    notebook = NotebookPage(lab, chromium, f"{row.stem}.ipynb")
    try:
        notebook.page.set_default_timeout(RUN_SECONDS * 1000)
        notebook.run_all()
        broken = notebook.page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']")
        assert broken.all_inner_texts() == []

        last = notebook.page.locator(".dshq-widget").last
        shown = WidgetPage(notebook.page, last)
        shown.wait_attribute("playing", lambda playing: playing == "true")
        in_view = "root => { const { top } = root.getBoundingClientRect(); return top >= 0 && top < 0.6 * innerHeight }"
        notebook.page.wait_for_function(in_view, arg=last.element_handle())
        trains = ".train(" in (FOLDER / f"{row.stem}.ipynb").read_text(encoding="utf-8")
        if trains:
            shown.wait_attribute("status", lambda status: status == "training")
        else:
            assert shown.attribute("status") == "idle", "a lesson in which nobody calls train() waits for the button"

        widget = notebook.widget()
        widget.wait_attribute("playing", lambda playing: playing == "true")
        assert set(widget.tabs()) == {tab for tab, panels in protocol.TABS.items() if set(panels) & set(row.controls)}
        buttons = widget.control("train")
        assert buttons.count() == ("training" in row.controls)
        if buttons.count() and not trains:
            buttons.click()
            widget.wait_attribute("status", lambda status: status == "training")

        exercise, check = index_of(notebook, "exercise"), index_of(notebook, "check")
        assert "Not yet:" in run_cell(notebook, check)
        run_cell(notebook, exercise, answers(row)[0])
        assert "Done:" in run_cell(notebook, check)

        label = notebook.page.locator("svg[role=img] text").first
        label.scroll_into_view_if_needed()
        inks = []
        for dark in (False, True):
            notebook.theme(dark=dark)
            inks.append(label.evaluate("text => getComputedStyle(text).fill"))
        assert inks[0] != inks[1], "letters of a plot follow the theme"
        assert notebook.console_errors == []
    finally:
        notebook.close()


@pytest.mark.slow
def test_a_page_of_a_lesson_plays_without_kernel_and_network(plain_chromium, tmp_path):
    written = build(tmp_path, lesson("replay"), 3.0)
    share(tmp_path)
    context = plain_chromium.new_context(offline=True)
    page = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(written.as_uri())
    match = WidgetPage(page, page.locator(".dshq-widget").first)
    before = match.wait_number("tick", lambda tick: tick > 0)
    match.wait_number("tick", lambda tick: tick > before + 30)
    assert match.colours(match.picture()) > 3
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
    assert errors == []
    context.close()
