"""The widget as a person meets it: it plays at once, obeys, learns in view, and a reload loses nothing.

Behaviour only, under generous time-outs; how fast all this is, is measured by benchmarks/widget.py.
"""

from typing import Any

import pytest

from tests.browser.conftest import OpenNotebook
from tests.harness.page import NotebookPage, WidgetPage, inner

pytestmark = pytest.mark.browser

PLAIN = "from dshq_widget import DrillWidget; w = DrillWidget(); w"

TRAINED = 300  # seconds for the first new version on a busy machine that never compiled anything


def begin(open_notebook: OpenNotebook, browser, *cells: str, **how: Any) -> tuple[NotebookPage, WidgetPage]:
    """A notebook with a widget whose match is running."""
    notebook = open_notebook(browser, *(cells or (PLAIN,)), **how)
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 0)
    return notebook, widget


def ticks_on(widget: WidgetPage) -> bool:
    """True once the match has gone on by a quarter of a second."""
    seen = widget.number("tick")
    return widget.wait_number("tick", lambda tick: tick > seen + 30) > seen


def pause(widget: WidgetPage) -> float:
    """Pause, and return the tick at which the match stands."""
    widget.control("Pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    widget.page.wait_for_timeout(500)  # one more report of the show, after which the tick is the standing one
    return widget.number("tick")


def test_the_first_cell_shows_a_match_that_plays_at_once(chromium, open_notebook: OpenNotebook):
    _, widget = begin(open_notebook, chromium, "from dshq_widget import DrillWidget; DrillWidget()")
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


def test_every_control_of_the_contract_has_its_name(chromium, open_notebook: OpenNotebook):
    _, widget = begin(open_notebook, chromium)
    names = ["Train", "Reset training", "Pause", "Step", "Step decision", "Reset match", "Speed", "Mode", "Seed"]
    names += ["Stop training", "Full screen", "Match"]
    assert [name for name in names if widget.control(name).count() != 1] == []


def test_pause_step_and_play(chromium, open_notebook: OpenNotebook):
    _, widget = begin(open_notebook, chromium)
    stood = pause(widget)
    widget.page.wait_for_timeout(2000)  # what a dash or a kick has left fades away
    still = widget.picture()
    widget.page.wait_for_timeout(1000)
    assert widget.number("tick") == stood
    assert inner(widget.picture()) == inner(still)

    widget.control("Step").click()
    widget.wait_number("tick", lambda tick: tick == stood + 1)
    widget.control("Step decision").click()
    widget.wait_number("tick", lambda tick: tick == stood + 5)  # one decision is four ticks

    widget.control("Play").click()
    widget.wait_attribute("playing", lambda playing: playing == "true")
    assert ticks_on(widget)


def test_speed_reset_and_the_same_from_python(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    widget.control("Speed").select_option("4")
    widget.until(lambda: notebook.kernel.run("print(w.speed)").strip(), lambda speed: float(speed) == 4, 60, "w.speed")
    assert ticks_on(widget)

    seen = widget.wait_number("tick", lambda tick: tick > 300)
    widget.control("Reset match").click()
    widget.wait_number("tick", lambda tick: tick < seen)

    notebook.kernel.run("w.pause()")
    widget.wait_attribute("playing", lambda playing: playing == "false")
    widget.page.wait_for_timeout(500)
    stood = widget.number("tick")
    notebook.kernel.run("w.step()")
    widget.wait_number("tick", lambda tick: tick == stood + 1)
    notebook.kernel.run("w.mode = 'sandbox'; w.play()")
    widget.wait_attribute("mode", lambda mode: mode == "sandbox")
    widget.wait_attribute("playing", lambda playing: playing == "true")


def test_training_shows_in_the_running_match_and_survives_a_reload(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    start = widget.number("tick")
    widget.control("Train").click()
    widget.wait_attribute("status", lambda status: status in ("starting", "training"))

    first = widget.wait_number("version", lambda version: version >= 1, TRAINED)
    assert widget.attribute("status") == "training"
    assert widget.number("tick") > start  # the match was never started again
    for _ in range(3):
        tick, version = widget.number("tick"), widget.number("version")
        widget.wait_number("version", lambda now, seen=version: now > seen)
        assert widget.number("tick") >= tick
        assert ticks_on(widget)
    assert widget.number("version") > first
    notebook.kernel.run("assert w.status == 'training' and w.version >= 1 and w.metrics['agent_steps'] > 0")

    widget.control("Stop training").click()
    widget.wait_attribute("status", lambda status: status == "stopped")
    assert ticks_on(widget)

    stood, version = pause(widget), widget.number("version")
    widget.page.wait_for_timeout(2000)  # the page tells the kernel where the match stands about once a second
    notebook.reload()
    again = notebook.widget()
    assert again.wait_number("tick", lambda tick: tick > 0) >= stood
    assert again.wait_number("version", lambda now: now > 0) == version
    assert again.attribute("playing") == "false"
    again.control("Play").click()
    assert ticks_on(again)


# What side 0 does: word 4 of every state, before the drill's own fields. The page sends its state about once a second.
ACTION = """
import numpy as np
def action():
    return int(np.frombuffer(bytes(w.snapshot["state"]), "<i4")[4])
"""


def test_a_person_plays_and_the_notebook_hears_no_key(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium, ACTION + PLAIN)
    widget.control("Mode").select_option("human_vs_ai")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")
    cells = notebook.page.locator(".jp-Notebook .jp-Cell").count()

    def does(wanted: bool) -> None:
        said = widget.until(
            lambda: notebook.kernel.run("print(action())").strip(), lambda now: (now != "0") == wanted, 60, "the action"
        )
        assert said.isdigit()

    does(False)  # hands off the keys: the player stands
    widget.canvas.focus()
    for key in ("b", "d", "d"):  # in command mode: a new cell below, delete this cell
        widget.page.keyboard.press(key)
    widget.page.keyboard.down("w")
    does(True)
    widget.page.keyboard.up("w")
    does(False)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == cells

    focused = "canvas => canvas.contains(document.activeElement)"
    assert widget.canvas.evaluate(focused)
    widget.page.keyboard.press("Escape")
    assert not widget.canvas.evaluate(focused)


def test_without_webgpu_the_same_match_plays_and_says_why(plain_chromium, open_notebook: OpenNotebook):
    _, widget = begin(open_notebook, plain_chromium)
    assert widget.wait_attribute("renderer", bool) == "canvas2d"
    reason = widget.attribute("renderer-reason")
    assert len(reason) > 20
    assert reason in widget.root.inner_text()
    before = widget.picture()
    assert widget.colours(before) > 5
    assert ticks_on(widget)
    assert widget.picture() != before


def test_light_and_dark(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    pause(widget)
    light = widget.picture()
    notebook.theme(dark=True)
    widget.until(widget.picture, lambda dark: dark != light, 30, "the match to be drawn in the dark theme")
    notebook.theme(dark=False)


def test_bad_input_costs_one_sentence_and_nothing_else(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    for code, named in (
        ("DrillWidget('footbal')", "ball"),
        ("w.mode = 'ai'", "ai_vs_ai"),
        ("w.speed = -1", "speed"),
        ("w.set_hyper(learning_rat=1)", "learning_rate"),
    ):
        with pytest.raises(RuntimeError, match=named):
            notebook.kernel.run(code)
    assert ticks_on(widget)
    assert widget.attribute("status") == "idle"
