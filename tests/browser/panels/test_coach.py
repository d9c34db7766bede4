"""Steering by what is paid for and by scenes arranged by hand, on the page."""

import json
from typing import Any

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.watching import TRAINED, ball_place, begin, pause, pause_known, stops, ticks_on

pytestmark = pytest.mark.browser

SMALL = """from dshq_widget import DrillWidget
w = DrillWidget(num_envs=64, rollout_length=8, minibatch_size=256, hidden_sizes=(16,), pace=20_000)
w"""
BALL = "__import__('numpy').frombuffer(w.snapshot['state'], '<f4')[6:8].tolist()"
WEIGHTS, SHARE = "w.config['values']['reward_weights']", "w.config['values']['scene_share']"


def told(notebook: BarePage, expression: str) -> Any:
    """The value of an expression in the kernel, as JSON has it."""
    return json.loads(notebook.kernel.run(f"import json; print(json.dumps({expression}))"))


@pytest.mark.slow
def test_the_last_games_are_weighed_anew_before_any_training(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    rewards = widget.tab("rewards")
    widget.control("speed").select_option("32")
    numbers = lambda: rewards.locator(".sum .number").all_inner_texts()  # noqa: E731
    before = widget.until(numbers, bool, 120, "a game to end")
    pause(widget)
    before = numbers()
    for name in told(notebook, "[term['name'] for term in w.drill['spec']['terms']]"):
        field = widget.control(f"weight-{name}")
        field.fill("0")
        field.press("Enter")
    widget.until(numbers, lambda now: set(now) == {"+0.00"}, 60, "games that pay nothing")
    assert "nothing" in rewards.locator(".lesson").inner_text()
    assert rewards.locator(".sum .was").all_inner_texts() == [f"was {number}" for number in before]
    assert told(notebook, "w.status") == "idle"

    goal = widget.control("weight-goal")
    goal.fill("lots")
    goal.press("Enter")
    assert "Enter a number" in rewards.locator(".problem:not(:empty)").inner_text()
    widget.control("reset-rewards").click()
    widget.until(numbers, lambda now: now == before, 60, "the drill's own weights")
    goal.fill("2")
    goal.press("Enter")
    widget.control("train").click()
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    assert told(notebook, WEIGHTS) == "goal=2"
    slider = widget.control("weight-goal-slider")
    slider.focus()
    slider.press("End")
    widget.until(lambda: told(notebook, WEIGHTS), lambda now: now == "goal=3", 60, "the slider's weight in the kernel")
    widget.control("stop").click()


@pytest.mark.slow
def test_drill_this(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, SMALL)
    coach = widget.tab("coach")
    drill = widget.control("drill-this")
    assert not drill.is_visible(), "only a match that stands is a scene"
    widget.control("reset-match").click()
    ticks_on(widget)
    pause_known(notebook, widget)
    widget.canvas.scroll_into_view_if_needed()
    mouse = widget.page.mouse
    mouse.move(*ball_place(widget, *told(notebook, BALL)))
    mouse.down()
    mouse.move(*ball_place(widget, 3.0, 0.0), steps=8)
    widget.page.wait_for_timeout(1000)  # let go at rest it is not thrown
    mouse.up()
    drill.click()
    scenes = coach.locator(".scene")
    widget.until(scenes.count, lambda count: count == 1, 60, "the scene")
    assert "training starts" in scenes.inner_text()
    [place] = [row["places"][0] for row in told(notebook, "w.scenes")]
    assert abs(place[0] - 3.0) < 0.3 and abs(place[1]) < 0.3

    widget.control("step").click()
    widget.page.wait_for_timeout(500)
    drill.click()
    widget.until(scenes.count, lambda count: count == 2, 60, "the second scene")
    widget.control("train").click()
    texts = lambda: scenes.locator(".success").all_inner_texts()  # noqa: E731
    widget.until(texts, lambda now: all("wins" in text for text in now), TRAINED, "both to be measured")
    widget.until(texts, lambda now: all("before" in text for text in now), TRAINED, "both to be measured again")
    widget.control("remove-scene-1").click()
    widget.until(scenes.count, lambda count: count == 1, 60, "one scene to go")
    share = widget.control("scene-share")
    share.focus()
    share.press("End")
    widget.until(lambda: told(notebook, SHARE), lambda now: now == 0.9, 60, "the share in the kernel")
    stops(widget)
