"""What training starts from and who learns, chosen on the page; and the cross table that comes of it."""

import pytest

from dshq_widget.policy import checkpoint, ladder
from tests.browser.conftest import OpenPage
from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import SMALL, TRAINED, begin, stops

pytestmark = pytest.mark.browser

BRONZE = str(checkpoint.load(ladder.path("ball", "bronze")).version)


def bronze_against_gold(browser, open_page: OpenPage) -> tuple[BarePage, WidgetPage]:
    """Both are chosen, and on the pitch at once."""
    opened, widget = begin(open_page, browser, SMALL)
    widget.control("start-from").select_option("bronze")
    widget.wait_attribute("version", lambda version: version == BRONZE, TRAINED)
    widget.control("who-learns").select_option("gold=1")
    widget.wait_attribute("mode", lambda mode: mode == "sandbox", TRAINED)
    board = widget.root.locator(".scoreboard")
    widget.until(board.inner_text, lambda text: "gold" in text, 60, "gold on the scoreboard")
    return opened, widget


def test_what_it_starts_from_and_whom_it_meets_are_on_the_pitch_at_once(plain_chromium, open_page: OpenPage):
    bronze_against_gold(plain_chromium, open_page)


@pytest.mark.slow
def test_blue_starts_from_bronze_and_learns_against_gold(plain_chromium, open_page: OpenPage):
    opened, widget = bronze_against_gold(plain_chromium, open_page)
    start = widget.control("start-from")
    assert start.locator("option").all_inner_texts() == ["Nothing", "Bronze", "Silver", "Gold"]
    widget.control("train").click()
    widget.wait_attribute("version", lambda version: int(version) > int(BRONZE), TRAINED)
    assert opened.kernel.run("print(w.config['values']['opponents'])").strip() == "gold=1"
    assert "Only blue learns." in widget.root.locator(".who-learns").inner_text()
    assert not start.is_visible(), "something was learned"
    stops(widget)
    widget.tab("league")
    cells = widget.root.locator(".cross td[title*='matches']")
    widget.until(cells.count, lambda count: count >= 4, 60, "the first version's matches with the scripts, both ways")
    widget.control("sight").click()
    assert widget.control("sight").get_attribute("aria-checked") == "true"
