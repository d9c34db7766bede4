"""One screen: tabs, few controls, nothing that moves by itself, chips on the pitch, and a match against the policy."""

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.conftest import OpenPage, SharedPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import (
    CARTPOLE,
    GOLD,
    PLAIN,
    SMALL,
    TRAINED,
    begin,
    learns,
    pause,
    rests,
    stops,
    ticks_on,
)

pytestmark = pytest.mark.browser

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 400, "height": 860}
MOST_CONTROLS = 10
CONTROLS = """root =>
    [...root.querySelectorAll("button:not([role=tab], .unseen), input, select, summary, [role=tablist]")]
        .filter(element => element.checkVisibility()).map(element => element.ariaLabel || element.textContent.trim())"""


COLOURED = """canvas => { // pixels of a curve: neither the grey of axes nor transparent
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const vivid = k => Math.max(...data.slice(k, k + 3)) - Math.min(...data.slice(k, k + 3)) > 100 && data[k + 3] > 200;
    return Array.from({ length: data.length / 4 }, (_, k) => 4 * k).filter(vivid).length;
}"""


def boxes(widget: WidgetPage) -> list[dict[str, float]]:
    """Where the pitch, the tabs' names and the line below the pitch are."""
    return [widget.root.locator(part).bounding_box() for part in (".pitch", "[role=tablist]", ".transport", ".hero")]


def selected(widget: WidgetPage) -> str:
    return widget.root.locator("[role=tab][aria-selected=true]").get_attribute("data-control").removeprefix("tab-")


@pytest.mark.parametrize("cell", [PLAIN, CARTPOLE], ids=["ball", "cartpole"])
def test_few_controls_at_first_on_one_screen(shared_page: SharedPage, cell: str):
    _, widget = shared_page(cell)
    widget.page.set_viewport_size(LAPTOP)
    shown = widget.root.evaluate(CONTROLS)
    assert "Train" in shown and len(shown) <= MOST_CONTROLS, shown
    frame, note = (widget.root.locator(part).bounding_box() for part in (".frame", ".renderer-note"))
    assert (note["y"] if note else frame["y"] + frame["height"]) - frame["y"] <= 640, "above the note on the renderer"
    pause, lab, share = (widget.control(name).bounding_box() for name in ("pause", "lab", "share"))
    assert (lab["y"], lab["height"]) == (pause["y"], pause["height"])
    word = widget.control("share").locator(".text").bounding_box()
    assert share["x"] + share["width"] - word["x"] - word["width"] >= 6, (
        "the word stands off the edge that hovering shows"
    )
    sideways = widget.root.evaluate("root => root.scrollWidth - root.clientWidth")
    assert sideways <= 0


def test_on_a_phone_train_comes_right_under_the_pitch_and_share_is_seen(shared_page: SharedPage):
    _, widget = shared_page(PLAIN)
    widget.page.set_viewport_size(PHONE)
    stage, train, line = (widget.root.locator(part).bounding_box() for part in (".stage", ".actions", ".transport"))
    assert stage["y"] + stage["height"] <= train["y"] <= stage["y"] + stage["height"] + 20
    assert train["y"] < line["y"]
    share = widget.control("share")
    assert share.locator(".icon").is_visible()
    share.click()
    assert widget.root.locator(".share-menu").is_visible()


def test_nothing_moves_at_train_focus_or_another_mode_and_stop_takes_trains_place(shared_page: SharedPage):
    _, widget = shared_page(SMALL)
    widget.page.set_viewport_size(LAPTOP)
    rests(widget)
    version = widget.number("version")
    before = boxes(widget)
    train, stop = widget.control("train"), widget.control("stop")
    place = train.bounding_box()
    assert not stop.is_visible()
    train.focus()
    widget.page.keyboard.press("Enter")
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    assert not train.is_visible() and stop.bounding_box() == place
    assert stop.evaluate("button => button === document.activeElement"), "the place keeps the focus"
    widget.wait_number("version", lambda now: now > version + 1, TRAINED)
    sentence = widget.root.locator(".status .sentence").inner_text
    widget.until(sentence, lambda text: text.startswith("Playing 64 practice games at once: "), 60, "what it does")
    assert boxes(widget) == before
    widget.canvas.focus()
    assert boxes(widget) == before
    widget.control("mode").select_option("human_vs_ai")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")
    assert boxes(widget) == before
    stop.click()
    widget.wait_attribute("status", lambda status: status == "stopped", TRAINED)
    assert train.bounding_box() == place
    assert boxes(widget) == before


def test_chips_stand_on_the_pitch_and_drill_this_makes_a_scene(shared_page: SharedPage):
    opened, widget = shared_page(GOLD)
    pause(widget)
    pitch, chip = widget.canvas.bounding_box(), widget.control("value-map").bounding_box()
    assert pitch["x"] < chip["x"] and pitch["y"] < chip["y"] < pitch["y"] + pitch["height"] / 3
    widget.control("drill-this").click()
    assert selected(widget) == "coach"
    widget.until(widget.root.locator(".scene").count, lambda count: count == 1, 60, "the scene")
    opened.run("w.clear_scenes()")


@pytest.mark.slow
def test_play_against_it(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, GOLD)
    widget.wait_number("tick", lambda tick: tick > 200)
    notebook.kernel.run("w.speed = 2.0")
    widget.until(lambda: widget.control("speed").input_value(), lambda speed: speed == "2", 60, "the speed")
    before = widget.root.locator(".pitch").bounding_box()
    widget.control("challenge").click()
    countdown, card = widget.root.locator(".countdown"), widget.root.locator(".end-card")
    countdown.wait_for(state="visible")
    assert countdown.locator(".count").inner_text() == "3" and "Space" in countdown.inner_text()
    countdown.wait_for(state="hidden")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")
    assert widget.canvas.evaluate("canvas => canvas === document.activeElement"), "the keys are the match's"
    assert widget.root.locator(".pitch").bounding_box() == before
    assert widget.number("tick") < 200 and widget.attribute("score") in ("0-0", "0-1")
    widget.control("speed").select_option("32")  # a minute of play in two seconds
    card.wait_for(state="visible", timeout=120_000)
    assert card.locator(".result").inner_text().startswith(("You lost 0 : ", "A draw: 0 : 0"))
    assert "against version" in card.inner_text()
    widget.wait_attribute("playing", lambda playing: playing == "false")

    widget.control("challenge-share").click()
    assert widget.root.locator(".share-menu").is_visible()
    widget.page.keyboard.press("Escape")
    widget.control("challenge-again").click()
    countdown.wait_for(state="hidden")
    widget.wait_number("tick", lambda tick: 0 < tick < 1000)
    widget.control("speed").select_option("32")
    card.wait_for(state="visible", timeout=120_000)
    widget.control("challenge-leave").click()
    widget.wait_attribute("mode", lambda mode: mode == "ai_vs_ai")
    assert ticks_on(widget)
    assert widget.control("speed").input_value() == "2"


@pytest.mark.slow
def test_undo_brings_back_what_was_forgotten(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    widget.control("train").click()
    widget.wait_number("version", lambda version: version > 3, TRAINED)
    stops(widget)
    version = int(notebook.kernel.run("print(w._trainer.version)"))
    widget.wait_number("version", lambda now: now == version)  # the page has the newest one
    said = "import hashlib; print(w.policy['version'], hashlib.sha256(bytes(w.policy['data'])).hexdigest())"
    widget.tab("league")
    players = lambda: widget.root.locator(".league tbody").first.inner_text()  # noqa: E731
    league = widget.until(players, lambda text: "chaser" in text, 60, "the league")
    known = notebook.kernel.run(said)
    undo = widget.control("undo")
    widget.control("forget").click()
    undo.wait_for(state="visible")
    widget.wait_number("version", lambda now: now == 0)
    assert widget.root.locator(".target").first.is_visible()  # there is somebody to beat again
    widget.page.wait_for_timeout(11_000)  # no hurry
    undo.click()
    widget.wait_number("version", lambda now: now == version)
    widget.until(lambda: notebook.kernel.run(said), known.__eq__, 60, "the same weights")
    assert not undo.is_visible() and players() == league
    state = "from dshq_widget.policy import checkpoint; print(*checkpoint.load(w._trainer._run.files.resume).state)"
    assert "adam_m" in (kept := notebook.kernel.run(state)) and "league" in kept
    learns(widget)
    widget.control("stop").click()


def test_a_loaded_policy_shows_its_points_and_no_rate_of_another_machine(shared_page: SharedPage):
    _, widget = shared_page(GOLD)
    widget.page.set_viewport_size(LAPTOP)
    tiles = widget.root.locator(".tile")
    widget.until(tiles.first.inner_text, lambda text: "%" in text, 60, "its win rate")
    assert tiles.filter(has_text="steps / s").locator(".value").inner_text() == "–"
    lead = widget.root.locator(".curve").first.locator(".uplot canvas")
    widget.until(lambda: lead.evaluate(COLOURED), lambda count: count > 10, 60, "its points")
