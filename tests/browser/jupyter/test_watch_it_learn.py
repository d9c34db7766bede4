"""The widget as a person meets it: it plays at once, learns in view, and a reload loses nothing."""

import pytest

from tests.browser.conftest import OpenNotebook
from tests.harness.browser.watching import SMALL, begin, learns, pause, stops, ticks_on

pytestmark = pytest.mark.browser


def test_the_first_cell_shows_a_match_and_the_notebook_hears_no_key(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium, "from dshq_widget import DrillWidget; DrillWidget()")
    assert widget.wait_attribute("renderer", bool) == "webgpu"
    assert widget.attribute("renderer-thread") == "worker"
    assert widget.attribute("drill") == "ball"
    assert widget.attribute("status") == "idle"
    assert widget.attribute("version") == "0"
    assert widget.attribute("mode") == "ai_vs_ai"
    assert widget.attribute("playing") == "true"
    assert ticks_on(widget)
    before = widget.picture()
    assert widget.colours(before) > 5
    assert ticks_on(widget)
    assert widget.picture() != before
    assert widget.wait_number("fps", lambda fps: fps > 1)

    cells = notebook.page.locator(".jp-Notebook .jp-Cell").count()
    widget.canvas.focus()
    for key in ("b", "d", "d"):  # in command mode: a new cell below, delete this cell
        widget.page.keyboard.press(key)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == cells

    widget.page.keyboard.press("Escape")  # the keys are the notebook's again
    widget.page.keyboard.press("b")
    widget.until(lambda: notebook.page.locator(".jp-Notebook .jp-Cell").count(), lambda n: n == cells + 1, 60, "a cell")

    widget.canvas.focus()
    widget.page.keyboard.press("Control+s")
    dirty = notebook.page.locator(".lm-TabBar-tab.lm-mod-current.jp-mod-dirty")
    widget.until(dirty.count, lambda n: n == 0, 60, "a saved notebook")

    pause(widget)
    light = widget.picture()
    notebook.theme(dark=True)
    widget.until(widget.picture, lambda dark: dark != light, 60, "the match to be drawn in the dark theme")
    notebook.theme(dark=False)


@pytest.mark.slow
def test_what_was_learned_survives_a_reload(plain_chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, plain_chromium, SMALL)
    learns(widget)
    stops(widget)
    version = float(notebook.kernel.run("print(w._trainer.version)"))
    widget.wait_number("version", version.__eq__)
    stood = pause(widget)
    widget.page.wait_for_timeout(2000)  # the page tells the kernel where the match stands about once a second
    notebook.reload()
    again = notebook.widget()
    assert again.wait_number("tick", lambda tick: tick > 0) >= stood
    assert again.wait_number("version", lambda now: now > 0) == version
    assert again.attribute("playing") == "false"
    again.control("play").click()
    assert ticks_on(again)
