"""What it learned: the ghost of yesterday, the league, the event log, and their curves."""

import pytest

from tests.browser.conftest import OpenPage, SharedPage
from tests.harness.browser.watching import SMALL, TRAINED, begin, learns, rests, stops, ticks_on

pytestmark = pytest.mark.browser

GHOST = "ghost-back"


@pytest.mark.slow
def test_an_earlier_version_plays_against_the_newest(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    chip, slider = widget.control("ghost").first, widget.control(GHOST)
    assert not chip.is_visible(), "there is no yesterday yet"
    learns(widget)
    widget.until(chip.is_visible, bool, TRAINED, "an earlier version to choose")
    tick, score = widget.number("tick"), widget.attribute("score")

    chip.click()
    names = lambda: widget.texts(".board .name")  # noqa: E731
    seen = widget.until(names, lambda now: now[1] == "v0", 60, "the first version on the board")
    assert seen[0].startswith("v") and seen[0] != "v0"
    assert "Orange is v0, untrained." in widget.texts(".ghost .who")[0]
    assert ticks_on(widget) and widget.number("tick") > tick, "the match continued"
    before, after = (sum(map(int, text.split("-"))) for text in (score, widget.attribute("score")))
    assert after >= before

    stops(widget)
    slider.focus()
    widget.page.keyboard.press("Home")
    widget.until(names, lambda now: now == ["AI", "AI"], 60, "the ghost to go")
    assert not slider.is_visible()

    chip.click()
    widget.until(names, lambda now: now[1] == "v0", 60, "the ghost to come again")
    notebook.reload()
    again = notebook.widget()
    again.wait_number("version", lambda version: version > 0, TRAINED)
    assert again.texts(".board .name") == ["AI", "AI"]
    assert not again.control("ghost").first.is_visible(), "the page has seen one version only"


def test_league_log_and_curves(shared_page: SharedPage):
    opened, widget = shared_page(SMALL)
    rests(widget)
    opened.run("w.reset_training(); w.set_hyper(pace=0)")  # a curve needs two rounds of the league, five million steps
    widget.root.locator("details.log > summary").click()
    widget.tab("league")
    assert widget.root.locator(".league .sentence").is_visible()
    widget.control("train").click()
    players = lambda: widget.texts(".league tbody th")  # noqa: E731
    found = widget.until(players, bool, TRAINED, "the first round of the league")
    assert any("chaser" in name for name in found) and any("v0" in name for name in found)
    assert "No champion yet" in widget.root.locator(".league > .caption").first.inner_text()
    ranks = [int(text) for text in widget.texts(".league tbody td:first-child")]
    assert ranks == sorted(ranks)
    assert widget.root.locator(".league .range").first.bounding_box()["width"] > 3

    widget.wait_number("version", lambda version: version > 0, TRAINED)
    widget.tab("learn")
    log = lambda: widget.texts(".lines .what")  # noqa: E731
    lines = widget.until(log, lambda now: any(" takes over from v" in line for line in now), 60, "a swap in the log")
    assert any(line == "Training started." for line in lines)
    widget.control("learning_rate").fill("0.001")
    widget.control("learning_rate").press("Enter")
    widget.tab("learn")
    widget.until(log, lambda lines: any("learning_rate: 0.003 → 0.001" in line for line in lines), 60, "the change")

    widget.control("export-csv")  # opens the other curves
    widget.root.locator(".fold .curves").evaluate("curves => curves.scrollIntoView()")  # what nobody sees is not drawn
    for title in ("Elo", "Reward by term"):
        curve = widget.root.locator("figure.curve", has=widget.page.get_by_text(title, exact=True))
        curve.locator("canvas").wait_for(state="visible", timeout=TRAINED * 1000)
        assert "hould rise" in curve.locator(".help").inner_text()

    stops(widget)
    lines = widget.until(
        log, lambda now: any("Training stopped" in line for line in now), 60, "the end of the training"
    )
    assert len(lines) <= 200
    opened.run("w.set_hyper(learning_rate=0.003, pace=30_000)")
