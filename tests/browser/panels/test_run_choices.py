"""What training starts from and who learns, chosen on the page; and the cross table that comes of it."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import PLAIN, TRAINED, begin, stops

pytestmark = pytest.mark.browser


def test_blue_starts_from_bronze_and_learns_against_gold(plain_chromium, open_page: OpenPage):
    opened, widget = begin(open_page, plain_chromium, PLAIN)
    widget.root.get_by_role("tab", name="Settings").click()
    start, who = widget.control("Start from"), widget.control("Who learns")
    assert start.locator("option").all_inner_texts() == ["Nothing", "Bronze", "Silver", "Gold"]
    start.select_option("bronze")
    widget.wait_attribute("version", lambda version: version == "75", TRAINED)
    who.select_option("gold=1")
    widget.wait_attribute("mode", lambda mode: mode == "sandbox", TRAINED)
    board = widget.root.get_by_label("Scoreboard")
    widget.until(board.inner_text, lambda text: "gold" in text, 60, "gold on the scoreboard")
    widget.control("Train").click()
    widget.wait_attribute("version", lambda version: int(version) > 80, TRAINED)
    assert opened.kernel.run("print(w.config['values']['opponents'])").strip() == "gold=1"
    assert "Only blue learns." in widget.root.locator(".who-learns").inner_text()
    assert not start.is_visible(), "something was learned"
    stops(widget)
    widget.root.get_by_role("tab", name="League").click()
    cells = widget.root.locator(".cross td[title*='matches']")
    widget.until(cells.count, lambda count: count >= 4, 60, "the first version's matches with the scripts, both ways")
    widget.root.get_by_text("What it sees", exact=True).click()
    assert widget.control("What it sees").get_attribute("aria-pressed") == "true"
