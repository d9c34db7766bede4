"""What it thinks: the panel, the value map on the pitch, other moves, and curves to take away."""

import csv
import itertools

import pytest

from tests.browser.conftest import LearningPage, SharedPage
from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.page import WidgetPage, inner
from tests.harness.browser.watching import GOLD, TRAINED, ball_place, pause, pause_known, still_picture, stops, ticks_on

pytestmark = pytest.mark.browser

PLAYERS = "import numpy; print(*numpy.frombuffer(bytes(w.snapshot['state']), '<f4')[10:14])"  # x of both, y of both


def thinking(shared_page: SharedPage) -> tuple[BarePage, WidgetPage]:
    """A running match of a trained policy, and what it thinks."""
    notebook, widget = shared_page(GOLD)
    widget.tab("mind").locator(".option").first.wait_for(state="visible", timeout=60_000)
    return notebook, widget


def test_moves_and_senses_of_the_chosen_player(shared_page: SharedPage):
    _, widget = thinking(shared_page)
    rows = widget.until(lambda: widget.texts(".rows .sense .number"), lambda now: any(now), 60, "observations")
    assert len(rows) == 28
    shares = [int(text.rstrip("%")) for text in widget.texts(".option .number")]
    assert len(shares) == 5 + 3 + 2
    assert abs(sum(shares[:5]) - 100) <= 3
    assert widget.root.locator(".option[data-chosen]").count() == 3  # one of each choice

    before = widget.texts(".rows .sense .number")
    assert ticks_on(widget)
    widget.until(lambda: widget.texts(".rows .sense .number"), lambda now: now != before, 60, "new observations")

    widget.control("player").select_option("1")
    side = lambda: widget.root.locator(".mind").get_attribute("data-side")  # noqa: E731
    assert widget.until(side, lambda now: now == "1", 60, "orange's thoughts") == "1"


def test_a_click_on_a_player_chooses_it(shared_page: SharedPage):
    notebook, widget = thinking(shared_page)
    pause_known(notebook, widget)
    x, _, y, _ = map(float, notebook.run(PLAYERS).split())
    mind = widget.root.locator(".mind")
    widget.control("player").select_option("1")
    widget.until(lambda: mind.get_attribute("data-side"), lambda side: side == "1", 60, "orange's thoughts")
    widget.canvas.scroll_into_view_if_needed()
    widget.page.mouse.click(*ball_place(widget, x, y))
    widget.until(lambda: mind.get_attribute("data-side"), lambda side: side == "0", 60, "blue's thoughts")


def test_the_value_map_lies_on_the_pitch(shared_page: SharedPage):
    _, widget = thinking(shared_page)
    pause(widget)
    widget.canvas.scroll_into_view_if_needed()
    plain = still_picture(widget)
    widget.control("value-map").click()
    legend = widget.root.locator(".map-legend")
    legend.wait_for(state="visible")
    changed = lambda: widget.changed(plain, widget.picture())  # noqa: E731
    widget.until(changed, lambda share: share > 0.3, 60, "the value map to cover a third of the picture")
    widget.until(legend.inner_text, lambda text: "+" in text, 60, "the legend's numbers")
    widget.control("value-map").click()
    widget.until(widget.picture, lambda now: inner(now) == inner(plain), 60, "the value map to go")
    widget.control("play").click()
    widget.control("value-map").click()
    assert ticks_on(widget)


def test_why_that_move(shared_page: SharedPage):
    _, widget = thinking(shared_page)
    widget.page.set_viewport_size({"width": 1400, "height": 2600})  # so that focusing a move scrolls nothing
    why = widget.root.locator("[data-control=why]")
    assert not why.is_visible(), "only a match that stands can be asked"
    widget.tab("learn")
    stood = pause(widget)
    why.click()
    assert widget.control("tab-mind").get_attribute("aria-selected") == "true"
    moves = widget.root.locator(".outcome")
    moves.first.wait_for(state="visible", timeout=60_000)
    assert moves.count() == 4
    widget.page.mouse.move(2, 2)  # a move that lies under the pointer would be shown
    still = inner(still_picture(widget))
    assert moves.first.locator(".mark").inner_text() == "this move"
    others = itertools.cycle(range(1, 4))  # two moves may lead the same way: against a wall, or without a ball

    def another() -> bool:
        moves.nth(next(others)).focus()
        widget.page.wait_for_timeout(500)
        return inner(widget.picture()) != still

    widget.until(another, bool, 60, "the way of another move on the pitch")
    assert widget.number("tick") == stood
    widget.root.locator(".outcome:focus").blur()
    widget.until(lambda: inner(widget.picture()) == still, bool, 60, "the way of the move that is made")
    widget.control("step").click()
    widget.wait_number("tick", lambda tick: tick == stood + 1)
    widget.until(moves.count, lambda count: count == 0, 60, "outcomes of a position that is gone to go")


@pytest.mark.slow
def test_curves_to_take_away(learning_page: LearningPage):
    _, widget = learning_page()
    save = widget.control("export-csv")
    save.wait_for(state="visible", timeout=TRAINED * 1000)
    widget.wait_number("version", lambda version: version > 3, TRAINED)  # so that curves have points
    with widget.page.expect_download() as download:
        save.click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert download.value.suggested_filename.startswith("ball-")
    assert all(float(row["agent_steps"]) > 0 for row in rows if row["agent_steps"]) and rows
    widget.control("log-scale").click()
    widget.root.locator(".curve canvas").first.wait_for(state="visible", timeout=60_000)
    with widget.page.expect_download() as download:
        widget.control("export-png").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    stops(widget)

    figure = widget.root.locator("figure.curve", has=widget.page.get_by_text("Return", exact=True))
    figure.scroll_into_view_if_needed()
    legend, plot = figure.locator(".legend"), figure.locator(".u-over").bounding_box()
    assert plot

    def settled() -> bool:
        """Whether nothing more has come from the training that was stopped."""
        before = legend.inner_text()
        widget.page.wait_for_timeout(2000)
        return legend.inner_text() == before

    widget.until(settled, bool, 60, "the last row of metrics")
    newest = legend.inner_text()
    widget.page.mouse.move(plot["x"] + 2, plot["y"] + plot["height"] / 2)
    widget.until(legend.inner_text, lambda text: text != newest, 60, "the value under the pointer")
    widget.page.mouse.move(2, 2)  # in the window's corner, which is nobody's
    widget.until(legend.inner_text, lambda text: text == newest, 60, "the newest value")
    before = figure.locator("canvas").screenshot()
    widget.control("chart-axis").select_option("seconds")
    widget.until(figure.locator("canvas").screenshot, lambda now: now != before, 60, "the curve over seconds")
