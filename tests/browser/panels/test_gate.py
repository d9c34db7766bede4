"""The gate on the page: proposals of a real run, their judgement, and sliders that act at once."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import TRAINED, begin, learns, stops

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELL = "from dshq_widget import DrillWidget; w = DrillWidget('territory', speed=32, seed=1); w"


def test_proposals_are_judged_and_sliders_act_at_once(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, CELL)
    panel = widget.tab("gate")
    assert panel.is_visible()
    learns(widget)
    verdicts = lambda: panel.locator(".proposals .verdict").all_inner_texts()  # noqa: E731
    shown = widget.until(verdicts, lambda now: len([v for v in now if v]) >= 8, TRAINED, "eight proposals")
    assert set(shown) <= {"SEND", "WAIT"}
    came = lambda: panel.locator(".came .sentence").inner_text()  # noqa: E731
    widget.until(came, lambda text: "15 seconds" in text, TRAINED, "what came of a proposal")

    threshold = widget.control("dial-threshold")
    threshold.fill("1")
    threshold.press("Enter")
    widget.until(verdicts, lambda now: set(now[:4]) == {"WAIT"}, TRAINED, "a threshold that nothing passes")

    stops(widget)
    learns(widget)
