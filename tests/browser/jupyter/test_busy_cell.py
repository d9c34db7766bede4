"""A cell that runs for long does not hold up the page: what it sends is heard, and new versions come to the match."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.browser.conftest import OpenNotebook
from tests.harness.browser.watching import SMALL, TRAINED, begin

pytestmark = pytest.mark.browser


BUSY = """
from pathlib import Path
done, waited = Path({done!r}), []
done.with_suffix(".begun").touch()
while not done.exists():
    waited.append(w.wait(seconds=1))
print(waited)
"""


@pytest.mark.slow
def test_versions_go_on_rising_while_a_cell_waits(chromium, open_notebook: OpenNotebook, tmp_path):
    done = tmp_path / "cell"
    notebook, widget = begin(open_notebook, chromium, SMALL)
    notebook.kernel.run("w.train()")
    widget.wait_number("version", lambda version: version >= 1, TRAINED)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(notebook.kernel.run, BUSY.format(done=str(done)), TRAINED)
        widget.until(done.with_suffix(".begun").exists, bool, 60, "a busy cell")
        for _ in range(3):
            seen = widget.number("version")
            widget.wait_number("version", lambda version, seen=seen: version > seen, TRAINED)
        assert not waiting.done(), "all this happened while the cell was busy"
        assert widget.attribute("status") == "training"
        done.touch()
        assert "[True" in waiting.result(120)
    notebook.kernel.run("w.close()")
