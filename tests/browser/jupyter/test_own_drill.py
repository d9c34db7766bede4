"""A drill written in a notebook cell plays, learns and changes with its cell; mistakes name their line."""

import re

import pytest

from tests.browser.conftest import OpenNotebook, OpenPage
from tests.harness.browser.watching import TRAINED, begin
from tests.harness.games.drill_page import LESSON

pytestmark = pytest.mark.browser

MARK = "from dshq_widget import DrillWidget\n" + LESSON.replace(
    '"minibatch_size": 256', '"minibatch_size": 256, "workers": 1'
)
SHOW = "w = DrillWidget(Mark); w"


def rerun(notebook, source):
    """Type `source` over the first cell and run it, as a person does."""
    notebook.page.evaluate(
        "source => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource(source)", source
    )
    notebook.run_all()


@pytest.mark.slow
def test_a_drill_from_a_cell_plays_learns_and_changes(chromium, open_notebook: OpenNotebook):
    cell = MARK + SHOW
    notebook, widget = begin(open_notebook, chromium, cell)
    assert widget.attribute("drill") == "mark"
    widget.wait_drawn(3)
    before = notebook.kernel.run("print(w.drill['spec']['rules_hash'])")

    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 2, TRAINED)  # the first is what the worker begins with
    kernel = notebook.kernel
    assert "1 worker" in kernel.run('print(w._trainer.workers, "worker")')
    assert "True" in kernel.run("print(w.wait(return_mean=4.5))"), "held on the mark for most of four seconds"

    rerun(notebook, cell.replace("SPEED = 0.03", "SPEED = 0.0625"))
    widget = notebook.widget()
    widget.wait_attribute("playing", lambda playing: playing == "true")
    assert notebook.kernel.run("print(w.drill['spec']['rules_hash'])") != before
    assert notebook.kernel.run("print('0.0625' in w.drill['javascript'])").strip() == "True"
    notebook.kernel.run("w.close()")


def test_a_mistake_is_told_by_its_line_in_the_cell(plain_chromium, open_page: OpenPage):
    cell = MARK.replace("o[1, i] = s.x[i]", "o[1, i] = s.xx[i]") + SHOW
    with pytest.raises(RuntimeError) as told:
        open_page(plain_chromium, cell).run_all()
    text = re.sub(r"In\[\d+\]", "In[1]", re.sub(r"\x1b\[[0-9;]*m", "", str(told.value)))
    line = cell.splitlines().index("        o[1, i] = s.xx[i]") + 1
    assert f"RulesError: cell In[1], line {line}: in rule 'observe': the state has no field 'xx'" in text
    assert "o[1, i] = s.xx[i]\nDid you mean 'x'?" in text
    assert "dshq_kernels" not in text, "no frames of the translator"
