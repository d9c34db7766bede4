"""What the Share menu hands out and takes back: the match as a web page, and replays."""

import json
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.files import saved
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import begin

pytestmark = pytest.mark.browser

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(policy='gold', seed=3); w"


def load_replay(widget: WidgetPage, path: Path) -> None:
    """Choose a file under Load replay."""
    entry = widget.control("Load replay")
    if not entry.is_visible():
        widget.control("Share").click()
    with widget.page.expect_file_chooser() as chooser:
        entry.click()
    chooser.value.set_files(path)


def test_the_web_page_plays_from_disk(plain_chromium, open_page: OpenPage, tmp_path):
    _, widget = begin(open_page, plain_chromium, CELL)
    path = saved(widget, "Web page", tmp_path)
    assert path.name.startswith("ball-v") and path.suffix == ".html"
    context = plain_chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    exported = WidgetPage(page, page.locator(".dshq-widget"))
    exported.wait_number("tick", lambda tick: tick > 60)
    assert exported.attribute("version") == widget.attribute("version")
    assert exported.control("Train").count() == 1, "it trains by itself"
    context.close()


@pytest.mark.slow
def test_a_replay_is_played_on_the_pitch_and_left_again(plain_chromium, open_page: OpenPage, tmp_path):
    _, widget = begin(open_page, plain_chromium, CELL)
    widget.wait_number("tick", lambda tick: tick > 240)
    path = saved(widget, "Save replay", tmp_path)
    ticks = json.loads(path.read_text())["ticks"]
    widget.wait_number("tick", lambda tick: tick > ticks + 600)
    widget.control("Pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    stood = widget.number("tick")

    load_replay(widget, path)
    bar = widget.root.get_by_role("group", name="Replay")
    bar.wait_for()
    widget.wait_number("tick", lambda tick: tick <= ticks)
    widget.until(widget.root.get_by_label("Scoreboard").inner_text, lambda text: "Blue" in text, 60, "the names")
    widget.wait_number("tick", lambda tick: tick == ticks)
    widget.control("Play").wait_for()
    assert "0:02" in bar.inner_text() and not widget.root.locator(".share-menu").is_visible()
    widget.control("Play").click()
    widget.wait_number("tick", lambda tick: tick < ticks)

    widget.control("Back to the live match").click()
    bar.wait_for(state="hidden")
    widget.wait_number("tick", lambda tick: tick >= stood)
    widget.until(widget.root.get_by_label("Scoreboard").inner_text, lambda text: "AI" in text, 60, "the names")


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("notes.json", None, "notes.json is not a replay. Choose a file that Save replay has written."),
        ("snake.json", {"drill": "snake"}, 'Load it in DrillWidget("snake").'),
        ("old.json", {"rules_hash": "0"}, "was recorded with other rules"),
        ("cut.json", {"actions": []}, "the file is damaged"),
        ("changed.json", {"seed": 4}, "does not end as it was recorded: the file is damaged"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(plain_chromium, open_page: OpenPage, tmp_path, name, change, sentence):
    _, widget = begin(open_page, plain_chromium, CELL)
    widget.wait_number("tick", lambda tick: tick > 60)
    right = json.loads(saved(widget, "Save replay", tmp_path).read_text())
    (tmp_path / name).write_text("these are notes" if change is None else json.dumps(right | change))
    load_replay(widget, tmp_path / name)
    said = widget.root.locator(".share-menu .said")
    widget.until(said.inner_text, lambda text: sentence in text, 60, "the refusal")
    assert not widget.root.get_by_role("group", name="Replay").is_visible()
    tick = widget.number("tick")
    widget.wait_number("tick", lambda now: now > tick)
