"""A drill of one side on the page: CartPole plays and learns to stand in view."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import CARTPOLE, TRAINED, begin

pytestmark = pytest.mark.browser


def steps(widget: WidgetPage) -> int:
    """Decisions of the episode that is played."""
    return int(widget.attribute("score").split("-")[1])


@pytest.mark.slow
def test_cartpole_plays_and_learns(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, CARTPOLE)
    assert widget.attribute("drill") == "cartpole"
    widget.wait_drawn()
    assert not widget.control("opponent").is_visible()
    assert widget.control("gamma").input_value() == "0.98", "the drill's own settings stand on the page"

    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 1, TRAINED)
    assert "True" in notebook.kernel.run("print(w.wait(return_mean=475))")
    widget.control("stop").click()
    widget.control("speed").select_option("4")
    widget.until(lambda: steps(widget), lambda count: count > 250, 120, "a pole that stands for 250 steps")
