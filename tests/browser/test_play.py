"""Playing with the match on the page: drag and throw, the way to the next goal, fingers, a gamepad, replays."""

import json
from pathlib import Path

import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.replay import replay, state_hash
from tests.browser.conftest import SharedPage
from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.page_code import in_node, matches_script
from tests.harness.browser.watching import ball_place, pause, pause_known

pytestmark = pytest.mark.browser

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(seed=3); w"
# A state holds rng_key, rng_count, practice, ticks and two actions before the drill's own fields; the page sends it.
WORD = "print(__import__('numpy').frombuffer(bytes(w.snapshot['state']), {kind!r})[{index}].item())"
ACTION, BALL_X, BALL_Y, BALL_VX, PLAYER_X = 4, 6, 7, 8, 10


def word(notebook: BarePage, index: int, kind: str = "<f4") -> float:
    return float(notebook.run(WORD.format(index=index, kind=kind)))


def recording(widget: WidgetPage, folder: Path) -> dict:
    with widget.page.expect_download() as download:
        widget.control("share").click()
        widget.control("save-replay").click()
    path = folder / "match.json"
    download.value.save_as(path)
    return json.loads(path.read_text())


def check_replay(browser, found: dict) -> None:
    """The recording ends in the same state in Python and in a browser."""
    drill = compile_drill(drills["ball"])
    assert state_hash(replay(drill, found)) == found["sha256"]
    page = browser.new_page()
    page.add_script_tag(content=matches_script() + ";globalThis.entry = entry;")
    trait = {"spec": drill.spec.to_json(), "javascript": drill.javascript}
    assert page.evaluate("given => entry.replayedHash(...given)", [trait, found]) == found["sha256"]
    page.close()


@pytest.mark.slow
def test_ten_matches_that_a_person_played_end_alike_in_python_and_in_a_browser(plain_chromium):
    drill = compile_drill(drills["ball"])
    for found in in_node(
        "recordMatches", {"spec": drill.spec.to_json(), "javascript": drill.javascript}, list(range(10)), 2000
    ):
        check_replay(plain_chromium, found)


def test_drag_and_throw_while_paused_and_the_recording_replays(plain_chromium, shared_page: SharedPage, tmp_path):
    notebook, widget = shared_page(CELL)
    pause_known(notebook, widget)
    mouse = widget.page.mouse
    x, y = word(notebook, BALL_X), word(notebook, BALL_Y)
    mouse.move(*ball_place(widget, x, y))
    widget.until(lambda: widget.canvas.get_attribute("data-cursor"), lambda c: c == "grab", 60, "a hand over the ball")
    mouse.down()
    mouse.move(*ball_place(widget, x + 0.2, y))
    widget.until(lambda: widget.canvas.get_attribute("data-cursor"), lambda c: c == "grabbing", 60, "a closed hand")
    mouse.move(*ball_place(widget, 2.0, 1.5), steps=8)
    mouse.up()
    widget.until(lambda: word(notebook, BALL_X), lambda now: abs(now - 2.0) < 0.2, 60, "the ball where it was put")
    assert abs(word(notebook, BALL_Y) - 1.5) < 0.2
    assert widget.attribute("playing") == "false"

    mouse.move(*ball_place(widget, word(notebook, PLAYER_X), word(notebook, PLAYER_X + 2)))
    mouse.down()
    mouse.move(*ball_place(widget, -20, 0), steps=8)  # far outside
    mouse.up()
    assert widget.until(lambda: word(notebook, PLAYER_X), lambda now: now < -4, 60, "the player moved") >= -4.71

    widget.control("step-decision").click()
    widget.control("play").click()
    widget.wait_attribute("playing", lambda playing: playing == "true")
    widget.canvas.focus()
    for key in ("Shift", "W", "D"):
        widget.page.keyboard.down(key)
    mouse.move(*ball_place(widget, 0, 0))
    widget.page.wait_for_timeout(1500)
    for key in ("D", "W", "Shift"):
        widget.page.keyboard.up(key)
    widget.page.wait_for_timeout(500)
    found = recording(widget, tmp_path)
    assert {"hold", "throw", "take", "key", "reset"} <= {deed["kind"] for deed in found["inputs"]}
    assert found["start"] is None and found["seed"] == 3
    check_replay(plain_chromium, found)


@pytest.mark.slow
def test_skip_to_the_next_goal(shared_page: SharedPage):
    _, widget = shared_page(CELL)
    widget.control("mode").select_option("sandbox")
    widget.control("opponent").select_option("chaser")
    pause(widget)
    score = widget.attribute("score")
    widget.control("next-goal").click()
    after = widget.wait_attribute("score", lambda now: now != score)
    goals = [sum(map(int, text.split("-"))) for text in (score, after)]
    assert goals[1] == goals[0] + 1
    assert widget.attribute("playing") == "false"
    widget.page.wait_for_timeout(1000)
    tick = widget.number("tick")
    widget.page.wait_for_timeout(1000)
    assert widget.number("tick") == tick


def test_fingers(shared_page: SharedPage):
    notebook, widget = shared_page(CELL)
    pad = widget.root.get_by_label("Touch controls")
    widget.control("mode").select_option("human_vs_ai")
    assert not pad.is_visible()  # a mouse needs none
    session = notebook.context.new_cdp_session(widget.page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = ball_place(widget, 0, 2.5)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    pad.wait_for(state="visible")
    box = pad.locator(".stick").bounding_box()
    assert box
    up = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 6}
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [up]})
    widget.until(lambda: word(notebook, ACTION, "<i4"), lambda action: action // 6 == 1, 60, "the player to run")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    widget.until(lambda: word(notebook, ACTION, "<i4"), lambda action: action == 0, 60, "the player to stand")
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_gamepad(shared_page: SharedPage):
    """A headless browser has none of its own: what the page asks for is answered here, in the standard mapping."""
    notebook, widget = shared_page(CELL)
    widget.page.evaluate(
        """() => {
            const buttons = Array.from({ length: 17 }, () => ({ pressed: false }));
            window.pad = { connected: true, axes: [0, 0, 0, 0], buttons };
            navigator.getGamepads = () => [null, window.pad];
        }"""
    )
    board = widget.root.locator(".scoreboard")
    widget.page.evaluate("window.pad.axes[1] = -1")
    widget.canvas.focus()
    widget.page.wait_for_timeout(500)
    assert "You" not in board.inner_text(), "a stick alone takes nobody over"
    widget.page.evaluate("window.pad.buttons[6].pressed = true")
    widget.until(board.inner_text, lambda text: "You" in text, 60, "the person's name")
    widget.until(lambda: word(notebook, ACTION, "<i4"), lambda action: action // 6 == 1, 60, "the player to run")
    widget.page.evaluate("window.pad.axes[1] = 0")
    widget.until(lambda: word(notebook, ACTION, "<i4"), lambda action: action == 0, 60, "the player to stand")
    widget.page.evaluate("window.pad.buttons[6].pressed = false")
    widget.until(board.inner_text, lambda text: "You" not in text, 60, "the network's name")


def test_a_policy_of_the_ladder_is_an_opponent(shared_page: SharedPage, tmp_path):
    notebook, widget = shared_page(CELL)
    assert widget.control("opponent").locator("option").all_inner_texts() == [
        *("chaser", "random", "standing still"),
        *("bronze", "silver", "gold"),
    ]
    widget.control("mode").select_option("sandbox")
    widget.control("speed").select_option("16")
    widget.control("opponent").select_option("gold")
    board = widget.root.locator(".scoreboard")
    widget.until(board.inner_text, lambda text: "gold" in text, 60, "its name on the scoreboard")
    notebook.run("from dshq_widget import load_policy; gold = load_policy('ball:gold')")
    known = "print(w.rivals['gold'] is not None and w.rivals['gold']['version'] == gold.metadata['version'])"
    widget.until(lambda: notebook.run(known).strip(), lambda said: said == "True", 60, "gold in the kernel, too")

    def goals() -> list[int]:
        return [int(goal) for goal in widget.attribute("score").split("-")]

    ours, theirs = widget.until(goals, lambda score: score[1] >= 2, 120, "gold scores against random play")
    assert theirs > ours
    match = recording(widget, tmp_path)
    assert any(deed.get("opponent") == "gold" for deed in match["inputs"])
    again = replay(compile_drill(drills["ball"]), match)
    assert state_hash(again) == match["sha256"], "the recording needs no network to play it again"
