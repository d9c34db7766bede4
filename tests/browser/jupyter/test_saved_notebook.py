"""What stands in a notebook that is opened again, with JupyterLab's own settings: it does not save widgets."""

import json
import shutil

import anywidget
import pytest
from playwright.sync_api import Browser

from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage
from tools.notebooks import notebook_of, texts

pytestmark = pytest.mark.browser

CELL = "from dshq_widget import DrillWidget\nDrillWidget(policy='gold', seed=3)"
SENTENCE = "Saved picture of a DrillWidget. Run this cell to play."
STATE = "application/vnd.jupyter.widget-state+json"
DRAWN = """image => {
    const { naturalWidth: width, naturalHeight: height } = image;
    const pen = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    pen.drawImage(image, 0, 0);
    return new Set(new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer)).size;
}"""


def saved_notebook(lab: LabServer, browser: Browser, name: str) -> dict:
    """Write a notebook with a widget, run it in JupyterLab, save and close it; returns what was saved."""
    lab.write_notebook(name, [CELL])
    notebook = NotebookPage(lab, browser, name)
    notebook.run_all()
    notebook.widget().wait_number("tick", lambda tick: tick > 60)
    path = notebook.save()
    notebook.close()
    assert notebook.console_errors == []
    return json.loads(path.read_text())


def output(notebook: NotebookPage):
    return notebook.page.locator(".jp-OutputArea-output").first


@pytest.mark.parametrize("drawn_by", ["plain_chromium", pytest.param("chromium", marks=pytest.mark.slow)])
def test_with_a_fresh_kernel_a_picture_of_the_match_stands_there(request, lab: LabServer, drawn_by):
    browser = request.getfixturevalue(drawn_by)
    name = f"fresh_{drawn_by}.ipynb"
    saved = saved_notebook(lab, browser, name)
    (data,) = [out["data"] for out in saved["cells"][0]["outputs"]]
    assert SENTENCE in "".join(data["text/html"])
    (kept,) = saved["metadata"]["widgets"][STATE]["state"].items()
    assert kept[0] == data["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert len(json.dumps(saved)) < 200_000

    again = NotebookPage(lab, browser, name)
    output(again).get_by_text(SENTENCE).wait_for(timeout=60_000)
    assert output(again).locator("img").evaluate(DRAWN) > 100, "the match is in the picture"
    assert "Error" not in output(again).inner_text()

    again.run_all()
    again.widget().wait_number("tick", lambda tick: tick > 60)
    saved = json.loads(again.save().read_text())
    (kept,) = saved["metadata"]["widgets"][STATE]["state"]
    assert kept == saved["cells"][0]["outputs"][0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    again.close()
    assert again.console_errors == []


def test_a_lesson_shows_its_still_until_its_cell_has_run(plain_chromium, lab: LabServer):
    """Nobody has signed it: a picture of its own type needs no trust."""
    lesson = notebook_of(texts()[0])
    shutil.copy(lesson, lab.work)
    opened = NotebookPage(lab, plain_chromium, lesson.name)
    still = opened.page.locator(".jp-OutputArea-output img")
    still.wait_for(timeout=60_000)
    assert still.evaluate(DRAWN) > 16
    opened.page.get_by_text(SENTENCE).wait_for()
    opened.page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = content.widgets.findIndex((cell) => cell.model.type === "code");
        }"""
    )
    opened.command("notebook:run-cell")
    opened.widget().wait_number("tick", lambda tick: tick > 0)
    assert still.count() == 0 and opened.page.get_by_text(SENTENCE).count() == 0
    opened.close()
    assert opened.console_errors == []


@pytest.mark.slow
def test_in_a_notebook_that_is_not_trusted_the_sentence_stands_there(plain_chromium, lab: LabServer):
    """JupyterLab takes the HTML then, without the picture, because it takes no image from a `data:` address."""
    name = "untrusted.ipynb"
    saved = saved_notebook(lab, plain_chromium, name)
    saved["cells"][0]["source"] = "pass"  # as from somebody else: the signature is another
    (lab.work / name).write_text(json.dumps(saved))
    again = NotebookPage(lab, plain_chromium, name)
    output(again).get_by_text(SENTENCE).wait_for(timeout=60_000)
    assert "Error" not in output(again).inner_text()
    again.close()


@pytest.mark.slow
def test_a_strangers_saved_widget_runs_when_its_notebook_is_opened_unless_it_is_taken_out(
    plain_chromium, lab: LabServer
):
    """As SECURITY.md says. If nothing runs any more, ipywidgets or anywidget ask whom it is from: say so there."""
    code = "window.ran = true; export default { render() {} };"
    traits = {f"_{part}_module": "anywidget" for part in ("model", "view")}
    traits |= {f"_{part}_module_version": f"~{anywidget.__version__}" for part in ("model", "view")}
    traits |= {"_model_name": "AnyModel", "_view_name": "AnyView", "_anywidget_id": "a.b", "_esm": code, "layout": None}
    model = {"model_name": "AnyModel", "model_module": "anywidget", "state": traits}
    model["model_module_version"] = traits["_model_module_version"]
    for name, ran in (("theirs.ipynb", True), ("read.ipynb", False)):
        lab.write_notebook(name, ["1 + 1"])
        stored = json.loads((lab.work / name).read_text())
        if ran:
            stored["metadata"]["widgets"] = {
                STATE: {"version_major": 2, "version_minor": 0, "state": {"a" * 32: model}}
            }
        (lab.work / name).write_text(json.dumps(stored))
        opened = NotebookPage(lab, plain_chromium, name)
        if ran:
            opened.page.wait_for_function("window.ran === true", timeout=120_000)
        else:
            opened.page.wait_for_timeout(10_000)
            assert opened.page.evaluate("window.ran") is None
        opened.close()


@pytest.mark.slow
def test_widgets_that_jupyterlab_saves_itself_are_left_alone(plain_chromium, lab: LabServer):
    name = "state.ipynb"
    lab.write_notebook(name, [CELL])
    notebook = NotebookPage(lab, plain_chromium, name)
    notebook.run_all()
    notebook.widget().wait_number("tick", lambda tick: tick > 0)
    notebook.command("@jupyter-widgets/jupyterlab-manager:saveWidgetState")
    state = json.loads(notebook.save().read_text())["metadata"]["widgets"][STATE]["state"]
    assert {one["model_name"] for one in state.values()} >= {"AnyModel"}
    assert SENTENCE not in json.dumps(state)
    notebook.close()
