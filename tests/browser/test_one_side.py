"""A drill of one side on the page: CartPole plays, learns to stand in view, and obeys a person's keys."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import TRAINED, begin

pytestmark = pytest.mark.browser

CELL = 'import struct; from dshq_widget import DrillWidget; w = DrillWidget("cartpole"); w'
ACTION = 'print("pushes", struct.unpack_from("<i", w.snapshot["state"], 16)[0])'  # the fifth word of every state


def steps(widget: WidgetPage) -> int:
    """Decisions of the episode that is played."""
    return int(widget.attribute("score").split("-")[1])


@pytest.mark.slow
def test_cartpole_plays_learns_and_obeys(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, CELL)
    assert widget.attribute("drill") == "cartpole"
    assert widget.colours(widget.picture()) > 5
    assert not widget.control("opponent").is_visible()
    assert widget.control("gamma").input_value() == "0.98", "the drill's own settings stand on the page"

    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 1, TRAINED)
    assert "True" in notebook.kernel.run("print(w.wait(return_mean=475))")
    widget.control("stop").click()
    widget.control("speed").select_option("4")
    widget.until(lambda: steps(widget), lambda count: count > 250, 120, "a pole that stands for 250 steps")

    widget.control("mode").select_option("human_vs_ai")
    widget.control("speed").select_option("1")
    widget.canvas.click()
    notebook.page.keyboard.down("ArrowRight")
    widget.until(lambda: notebook.kernel.run(ACTION), lambda said: "pushes 1" in said, 60, "a push to the right")
    notebook.page.keyboard.up("ArrowRight")
    widget.until(lambda: notebook.kernel.run(ACTION), lambda said: "pushes 0" in said, 60, "no more push to the right")
    notebook.kernel.run("w.close()")
