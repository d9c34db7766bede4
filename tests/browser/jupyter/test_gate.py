"""The gate in JupyterLab: a run begins, changes what it lets pass, is stopped, saved, loaded and continued."""

import pytest

from tests.browser.conftest import OpenNotebook
from tests.harness.browser.watching import TRAINED, begin, learns, stops

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELL = "from dshq_widget import DrillWidget; w = DrillWidget('territory', speed=32, seed=1); w"


def test_the_share_of_send_moves_and_a_run_goes_on_from_its_file(chromium, open_notebook: OpenNotebook, tmp_path):
    notebook, widget = begin(open_notebook, chromium, CELL)

    def number(what: str) -> float:
        return float(notebook.kernel.run(f"print({what})"))

    learns(widget)
    share = lambda: number("w.metrics.get('send_share', -1)")  # noqa: E731
    first = widget.until(share, lambda now: now >= 0, TRAINED, "a share")
    widget.until(share, lambda now: abs(now - first) > 0.02, TRAINED, "another one")
    stops(widget)

    path = tmp_path / "queen.dshq"
    notebook.kernel.run(f"w.save({str(path)!r})")
    version, steps = number("w.version"), number("w.metrics['agent_steps']")
    notebook.kernel.run("w.reset_training()")
    widget.wait_number("version", lambda now: now == 0, TRAINED)
    notebook.kernel.run(f"w.load({str(path)!r})")
    widget.wait_number("version", lambda now: now >= version, TRAINED)
    widget.control("train").click()
    widget.until(lambda: number("w.metrics.get('agent_steps', 0)"), lambda now: now > steps, TRAINED, "more steps")
    assert number("w.version") >= version
    stops(widget)
