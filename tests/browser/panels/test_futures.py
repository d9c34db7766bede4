"""16 futures: the switch at the pitch, what search shows there and beside it, and that it decides at once."""

import pytest

from tests.browser.conftest import OpenPage, SharedPage
from tests.harness.browser.watching import GOLD, begin, learns, pause, stops, ticks_on

pytestmark = pytest.mark.browser

MAZE = "from dshq_widget import DrillWidget; w = DrillWidget('maze'); w"


def test_the_switch_the_lines_and_the_bars(shared_page: SharedPage):
    _, widget = shared_page(GOLD)
    switch = widget.control("futures")
    widget.wait_number("version", lambda version: version > 0)
    stood = pause(widget)
    plain = widget.picture()
    assert switch.get_attribute("aria-checked") == "false" and widget.attribute("search-ms") == ""

    switch.click()
    assert switch.get_attribute("aria-checked") == "true" and switch.inner_text() == "16 futures"
    widget.until(widget.picture, lambda now: now != plain, 60, "lines over the pitch")
    assert float(widget.wait_attribute("search-ms", bool)) > 0
    assert widget.number("tick") == stood, "what is searched are copies"
    widget.tab("mind")
    panel = widget.root.locator(".futures")
    shares = [int(text.rstrip("%")) for text in panel.locator("li.move .after").all_inner_texts()]
    assert len(shares) == 6 and 50 <= sum(shares) <= 103, "the six likeliest moves, each rounded"
    assert "Effective sample size" in (panel.get_by_role("img").get_attribute("aria-label") or "")
    assert widget.root.get_by_text("ms a decision").is_visible()

    widget.control("futures-number").fill("3")  # 64
    widget.control("futures-depth").fill("6")
    widget.until(panel.locator(".help").inner_text, lambda text: "64 copies of the match 6" in text, 60, "64 futures")
    assert switch.inner_text() == "16 futures"

    widget.control("mode").select_option("human_vs_ai")
    side = lambda: panel.get_attribute("data-side")  # noqa: E731
    widget.until(side, lambda now: now == "1", 60, "futures of orange, where a person plays blue")
    widget.control("mode").select_option("ai_vs_ai")
    widget.until(side, lambda now: now == "0", 60, "futures of blue")
    widget.control("play").first.click()
    assert ticks_on(widget)
    pause(widget)
    switch.click()
    widget.wait_attribute("search-ms", lambda ms: ms == "")
    assert not panel.locator(".seen").is_visible()
    widget.control("play").first.click()
    assert ticks_on(widget)


@pytest.mark.slow
def test_a_drill_of_one_side_without_handles(chromium, open_page: OpenPage):
    _, widget = begin(open_page, chromium, MAZE)
    widget.wait_attribute("renderer", lambda renderer: renderer == "webgpu")
    assert not widget.control("futures").is_visible(), "an untrained network has nothing to look ahead with"
    learns(widget)
    stops(widget)
    pause(widget)
    plain = widget.picture()
    widget.control("futures").click()
    widget.until(widget.picture, lambda now: now != plain, 60, "lines over the maze")
    widget.control("futures").click()
    widget.until(widget.picture, lambda now: now == plain, 60, "the maze as it was")
