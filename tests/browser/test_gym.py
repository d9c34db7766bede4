"""A Gymnasium environment on the page: its pictures move on the match canvas, it is learned, steered and closed."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import TRAINED, begin, stops

pytestmark = pytest.mark.browser

CELL = 'from dshq_widget import DrillWidget; w = DrillWidget("gym:CartPole-v1", seed=4); w'
LEFT = """
import psutil, time
w.close()
def ours():
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            found += [child] if "dshq_widget" in str(child.cmdline()) else []
        except psutil.NoSuchProcess:  # a zombie, or gone meanwhile
            pass
    return found
enough = time.monotonic() + 60
while ours() and time.monotonic() < enough:
    time.sleep(0.1)
print("left", ours())
"""
SLOW = 300  # seconds


def test_cartpole_of_gymnasium_is_seen_and_closed(plain_chromium, open_page: OpenPage):
    pytest.importorskip("pygame", reason='no pygame here: pip install "gymnasium[classic-control]"')
    notebook, widget = begin(open_page, plain_chromium, CELL)
    assert (widget.attribute("drill"), widget.attribute("renderer")) == ("gym:CartPole-v1", "canvas2d")
    widget.wait_number("tick", lambda tick: tick > 20, SLOW)
    before = widget.picture()
    assert widget.colours(before) > 5
    widget.until(widget.picture, lambda now: now != before, SLOW, "another picture")
    for name in ("mode", "step-decision", "next-goal"):
        assert not widget.control(name).is_visible()
    assert widget.tabs() == ["learn", "settings"]

    widget.control("pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false", SLOW)
    still = widget.number("tick")
    widget.control("step").click()
    widget.wait_number("tick", lambda tick: tick == still + 1, SLOW)
    widget.control("reset-match").click()
    widget.wait_number("tick", lambda tick: tick == 0, SLOW)
    widget.control("play").click()

    assert "left []" in notebook.kernel.run(LEFT)


@pytest.mark.slow
def test_cartpole_of_gymnasium_is_learned_and_closed(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, CELL)
    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 2, TRAINED)
    assert "True" in notebook.kernel.run("print(w.wait(return_mean=60))")
    widget.until(
        lambda: float(widget.attribute("score").split("-")[0]), lambda score: score > 45, SLOW, "a pole that stands"
    )
    notebook.reload()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 20, SLOW)
    stops(widget)
    assert "left []" in notebook.kernel.run(LEFT)
