"""The widget obeys: the match stands, steps and continues, and Python does the same."""

import pytest

from tests.browser.conftest import SharedPage
from tests.harness.browser.watching import PLAIN, pause, plays_on, standing_tick, still_picture, ticks_on

pytestmark = pytest.mark.browser


def test_pause_step_and_play(shared_page: SharedPage):
    _, widget = shared_page(PLAIN)
    stood = pause(widget)
    still_picture(widget)
    assert widget.number("tick") == stood

    widget.control("step").click()
    widget.wait_number("tick", lambda tick: tick == stood + 1)
    widget.control("step-decision").click()
    widget.wait_number("tick", lambda tick: tick == stood + 5)  # one decision is four ticks

    widget.control("play").click()
    widget.wait_attribute("playing", lambda playing: playing == "true")
    assert ticks_on(widget)


def test_speed_reset_and_the_same_from_python(shared_page: SharedPage):
    opened, widget = shared_page(PLAIN)
    widget.control("speed").select_option("4")
    widget.until(lambda: opened.run("print(w.speed)").strip(), lambda speed: float(speed) == 4, 60, "w.speed")
    assert ticks_on(widget)

    seen = widget.wait_number("tick", lambda tick: tick > 300)
    widget.control("reset-match").click()
    widget.wait_number("tick", lambda tick: tick < seen)

    opened.run("w.pause()")
    stood = standing_tick(widget)
    opened.run("w.step()")
    widget.wait_number("tick", lambda tick: tick == stood + 1)
    opened.run("w.mode = 'sandbox'; w.play()")
    widget.wait_attribute("mode", lambda mode: mode == "sandbox")
    widget.wait_attribute("playing", lambda playing: playing == "true")


def test_without_webgpu_the_same_match_plays_and_says_why(shared_page: SharedPage):
    _, widget = shared_page(PLAIN)
    assert len(plays_on(widget, "canvas2d", "worker")) > 20


def test_light_and_dark(shared_page: SharedPage):
    opened, widget = shared_page(PLAIN)
    pause(widget)
    light = widget.picture()
    opened.theme(dark=True)
    widget.until(widget.picture, lambda dark: dark != light, 60, "the match to be drawn in the dark theme")
    opened.theme(dark=False)


# What side 0 does: word 4 of every state, before the drill's own fields. The page sends its state about once a second.
ACTION = """
import numpy as np
def action():
    return int(np.frombuffer(bytes(w.snapshot["state"]), "<i4")[4])
"""


def test_a_person_plays(shared_page: SharedPage):
    opened, widget = shared_page(PLAIN)
    widget.control("mode").select_option("human_vs_ai")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")

    def does(wanted: bool) -> None:
        said = widget.until(
            lambda: opened.run(ACTION + "print(action())").strip(), lambda now: (now != "0") == wanted, 60, "the action"
        )
        assert said.isdigit()

    does(False)  # hands off the keys: the player stands
    widget.canvas.focus()
    widget.page.keyboard.down("w")
    does(True)
    widget.page.keyboard.up("w")
    does(False)

    focused = "canvas => canvas.contains(document.activeElement)"
    assert widget.canvas.evaluate(focused)
    widget.page.keyboard.press("Escape")
    assert not widget.canvas.evaluate(focused)
