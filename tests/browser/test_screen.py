"""One screen: tabs, few controls, nothing that moves by itself, chips on the pitch, and a match against the policy."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import PLAIN, TRAINED, begin, pause, ticks_on

pytestmark = pytest.mark.browser

LAPTOP = {"viewport": {"width": 1280, "height": 720}}
PHONE = {"viewport": {"width": 400, "height": 860}}
GOLD = "from dshq_widget import DrillWidget; w = DrillWidget('ball', policy='gold'); w"
SMALL = "from dshq_widget import DrillWidget; w = DrillWidget(num_envs=64, minibatch_size=1024, workers=0); w"
TABS = ["Learn", "Mind", "Rewards", "Coach", "League", "Settings"]
MOST_CONTROLS = 9
CONTROLS = """root => [...root.querySelectorAll("button:not([role=tab]), input, select, summary, [role=tablist]")]
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
    return widget.root.locator("[role=tab][aria-selected=true]").inner_text()


def test_tabs_are_moved_through_by_keyboard(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, PLAIN)
    tabs = widget.root.get_by_role("tab")
    assert tabs.all_inner_texts() == TABS
    assert [tab.get_attribute("tabindex") for tab in tabs.all() if tab.is_visible()] == ["0"] + ["-1"] * 5
    assert widget.root.locator(".mind, .rewards, .coach, .league, .hyper").count() == 0, "built when it is opened"
    tabs.first.focus()
    for key, name in (("ArrowRight", "Mind"), ("End", "Settings"), ("ArrowRight", "Learn"), ("ArrowLeft", "Settings")):
        widget.page.keyboard.press(key)
        assert selected(widget) == name
        assert widget.page.evaluate("document.activeElement.textContent") == name
        assert widget.root.get_by_role("tabpanel", name=name).is_visible()
        assert widget.root.locator("[role=tabpanel]:visible").count() == 1
    widget.page.keyboard.press("Home")
    assert selected(widget) == "Learn"


@pytest.mark.parametrize("cell", [PLAIN, "from dshq_widget import DrillWidget; w = DrillWidget('cartpole'); w"])
def test_few_controls_at_first_on_one_screen(plain_chromium, open_page: OpenPage, cell: str):
    _, widget = begin(open_page, plain_chromium, cell, **LAPTOP)
    shown = widget.root.evaluate(CONTROLS)
    assert "Train" in shown and len(shown) <= MOST_CONTROLS, shown
    frame = widget.root.locator(".frame").bounding_box()
    assert frame["height"] <= 640
    sideways = widget.root.evaluate("root => root.scrollWidth - root.clientWidth")
    assert sideways <= 0


def test_train_comes_right_under_the_pitch_on_a_phone(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, PLAIN, **PHONE)
    stage, train, line = (widget.root.locator(part).bounding_box() for part in (".stage", ".actions", ".transport"))
    assert stage["y"] + stage["height"] <= train["y"] <= stage["y"] + stage["height"] + 20
    assert train["y"] < line["y"]


def test_nothing_moves_at_train_focus_or_another_mode_and_stop_takes_trains_place(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, SMALL, **LAPTOP)
    before = boxes(widget)
    train, stop = widget.control("Train"), widget.control("Stop")
    place = train.bounding_box()
    assert not stop.is_visible()
    train.focus()
    widget.page.keyboard.press("Enter")
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    assert not train.is_visible() and stop.bounding_box() == place
    assert stop.evaluate("button => button === document.activeElement"), "the place keeps the focus"
    widget.wait_number("version", lambda version: version > 2, TRAINED)
    sentence = widget.root.locator(".status .sentence").inner_text
    widget.until(sentence, lambda text: text.startswith("Playing 64 practice games at once: "), 60, "what it does")
    assert boxes(widget) == before
    widget.canvas.focus()
    assert boxes(widget) == before
    widget.control("Mode").select_option("human_vs_ai")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")
    assert boxes(widget) == before
    stop.click()
    widget.wait_attribute("status", lambda status: status == "stopped", TRAINED)
    assert train.bounding_box() == place
    assert boxes(widget) == before


def test_chips_stand_on_the_pitch_once_they_have_something_to_show(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, PLAIN)
    chips = lambda: widget.root.locator(".chips .chip:visible").all_inner_texts()  # noqa: E731
    assert chips() == [], "an untrained network has nothing to show"
    pause(widget)
    assert chips() == ["Drill this"]
    _, widget = begin(open_page, plain_chromium, GOLD)
    widget.until(chips, lambda now: now == ["Value map", "What it sees", "16 futures"], 60, "chips of a trained policy")
    pause(widget)
    assert chips() == ["Value map", "What it sees", "Why that move?", "16 futures", "Drill this"]
    pitch, chip = widget.canvas.bounding_box(), widget.control("Value map").bounding_box()
    assert pitch["x"] < chip["x"] and pitch["y"] < chip["y"] < pitch["y"] + pitch["height"] / 3
    widget.control("Drill this").click()
    assert selected(widget) == "Coach"
    widget.until(widget.root.locator(".scene").count, lambda count: count == 1, 60, "the scene")


def test_a_hidden_tab_asks_for_nothing(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, GOLD)
    inputs = lambda: widget.root.locator(".rows .sense .number").all_text_contents()  # noqa: E731
    widget.tab("Mind")
    widget.until(inputs, any, 60, "inputs")
    widget.tab("Learn")
    widget.page.wait_for_timeout(500)
    stood = inputs()
    assert ticks_on(widget) and inputs() == stood
    widget.tab("Mind")
    widget.until(inputs, lambda now: now != stood, 60, "inputs again")


def test_play_against_it(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, GOLD)
    widget.wait_number("tick", lambda tick: tick > 200)
    notebook.kernel.run("w.speed = 2.0")
    widget.until(lambda: widget.control("Speed").input_value(), lambda speed: speed == "2", 60, "the speed")
    before = widget.root.locator(".pitch").bounding_box()
    widget.control("Play against it").click()
    countdown, card = widget.root.locator(".countdown"), widget.root.locator(".end-card")
    countdown.wait_for(state="visible")
    assert countdown.locator(".count").inner_text() == "3" and "Space" in countdown.inner_text()
    countdown.wait_for(state="hidden")
    widget.wait_attribute("mode", lambda mode: mode == "human_vs_ai")
    assert widget.canvas.evaluate("canvas => canvas === document.activeElement"), "the keys are the match's"
    assert widget.root.locator(".pitch").bounding_box() == before
    assert widget.number("tick") < 200 and widget.attribute("score") in ("0-0", "0-1")
    widget.control("Speed").select_option("32")  # a minute of play in two seconds
    card.wait_for(state="visible", timeout=120_000)
    assert card.locator(".result").inner_text().startswith(("You lost 0 : ", "A draw: 0 : 0"))
    assert "against version" in card.inner_text()
    widget.wait_attribute("playing", lambda playing: playing == "false")

    card.get_by_role("button", name="Share").click()
    assert widget.root.locator(".share-menu").is_visible()
    widget.page.keyboard.press("Escape")
    card.get_by_role("button", name="Play again").click()
    countdown.wait_for(state="hidden")
    widget.wait_number("tick", lambda tick: 0 < tick < 1000)
    widget.control("Speed").select_option("32")
    card.wait_for(state="visible", timeout=120_000)
    card.get_by_role("button", name="Back to watching").click()
    widget.wait_attribute("mode", lambda mode: mode == "ai_vs_ai")
    assert ticks_on(widget)
    assert widget.control("Speed").input_value() == "2"


def test_the_board_counts_goals_of_those_who_play_now(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, GOLD)
    goals = lambda: widget.root.locator(".goals").all_inner_texts()  # noqa: E731
    widget.control("Speed").select_option("32")
    widget.until(goals, lambda now: now != ["0", "0"], 120, "a goal")
    pause(widget)
    assert widget.root.locator(".fps").inner_text() == "", "a match that stands has no frames/s"
    total = widget.attribute("score")
    widget.control("Mode").select_option("sandbox")
    widget.control("Step").click()
    widget.until(goals, lambda now: now == ["0", "0"], 60, "a score of their own")
    assert widget.attribute("score") == total


def test_a_drill_of_one_side_has_one_name_on_the_board_and_no_goals(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, "from dshq_widget import DrillWidget; w = DrillWidget('cartpole'); w")
    assert widget.root.locator(".board[data-alone]").count() == 1
    widget.control("Step")  # opens the Lab
    for name in ("Next goal", "Play against it", "Opponent"):
        assert not widget.control(name).is_visible()


@pytest.mark.slow
def test_undo_brings_back_what_was_forgotten(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    widget.control("Train").click()
    widget.wait_number("version", lambda version: version > 3, TRAINED)
    widget.control("Stop").click()
    widget.wait_attribute("status", lambda status: status == "stopped", TRAINED)
    version = int(notebook.kernel.run("print(w._trainer.version)"))
    widget.wait_number("version", lambda now: now == version)  # the page has the newest one
    said = "import hashlib; print(w.policy['version'], hashlib.sha256(bytes(w.policy['data'])).hexdigest())"
    widget.tab("League")
    players = lambda: widget.root.locator(".league tbody").first.inner_text()  # noqa: E731
    league = widget.until(players, lambda text: "chaser" in text, 60, "the league")
    known = notebook.kernel.run(said)
    undo = widget.root.get_by_role("button", name="Undo", exact=True)
    widget.control("Forget everything").click()
    undo.wait_for(state="visible")
    widget.wait_number("version", lambda now: now == 0)
    widget.page.wait_for_timeout(11_000)  # no hurry
    undo.click()
    widget.wait_number("version", lambda now: now == version)
    widget.until(lambda: notebook.kernel.run(said), known.__eq__, 60, "the same weights")
    assert not undo.is_visible() and players() == league
    state = "from dshq_widget.policy import checkpoint; print(*checkpoint.load(w._trainer._files.resume).state)"
    assert "adam_m" in (kept := notebook.kernel.run(state)) and "league" in kept
    widget.control("Train").click()
    widget.wait_number("version", lambda now: now > version, TRAINED)
    widget.control("Stop").click()


def test_share_is_seen_and_opens_on_a_phone(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, PLAIN, **PHONE)
    share = widget.control("Share").first
    assert share.locator(".icon").is_visible()
    share.click()
    assert widget.root.get_by_role("group", name="Share this match").is_visible()


def test_a_loaded_policy_shows_its_points_and_no_rate_of_another_machine(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, GOLD, **LAPTOP)
    tiles = widget.root.locator(".tile")
    widget.until(tiles.first.inner_text, lambda text: "%" in text, 60, "its win rate")
    assert tiles.filter(has_text="steps / s").locator(".value").inner_text() == "–"
    lead = widget.root.locator(".curve").first.locator(".uplot canvas")
    widget.until(lambda: lead.evaluate(COLOURED), lambda count: count > 10, 60, "its points")
