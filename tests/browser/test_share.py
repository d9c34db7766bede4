"""What the Share menu hands out and takes back: replays."""

import json
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage, SharedPage
from tests.harness.browser.files import saved
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import GOLD, begin

pytestmark = pytest.mark.browser

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(policy='gold', seed=3); w"


def load_replay(widget: WidgetPage, path: Path) -> None:
    """Choose a file under Load replay."""
    entry = widget.control("load-replay")
    if not entry.is_visible():
        widget.control("share").click()
    with widget.page.expect_file_chooser() as chooser:
        entry.click()
    chooser.value.set_files(path)


@pytest.mark.slow
def test_a_replay_is_played_on_the_pitch_and_left_again(plain_chromium, open_page: OpenPage, tmp_path):
    _, widget = begin(open_page, plain_chromium, CELL)
    widget.wait_number("tick", lambda tick: tick > 240)
    path = saved(widget, "save-replay", tmp_path)
    ticks = json.loads(path.read_text())["ticks"]
    widget.wait_number("tick", lambda tick: tick > ticks + 600)
    widget.control("pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    stood = widget.number("tick")

    load_replay(widget, path)
    bar = widget.root.locator(".replay")
    bar.wait_for()
    widget.wait_number("tick", lambda tick: tick <= ticks)
    widget.until(widget.root.locator(".scoreboard").inner_text, lambda text: "Blue" in text, 60, "the names")
    widget.wait_number("tick", lambda tick: tick == ticks)
    widget.control("play").wait_for()
    assert "0:02" in bar.inner_text() and not widget.root.locator(".share-menu").is_visible()
    widget.control("play").click()
    widget.wait_number("tick", lambda tick: tick < ticks)

    widget.control("replay-leave").click()
    bar.wait_for(state="hidden")
    widget.wait_number("tick", lambda tick: tick >= stood)
    widget.until(widget.root.locator(".scoreboard").inner_text, lambda text: "AI" in text, 60, "the names")


def test_a_replay_that_was_changed_is_refused_in_a_sentence(shared_page: SharedPage, tmp_path):
    _, widget = shared_page(GOLD)
    widget.wait_number("tick", lambda tick: tick > 60)
    right = json.loads(saved(widget, "save-replay", tmp_path).read_text())
    (tmp_path / "changed.json").write_text(json.dumps(right | {"seed": 4}))
    load_replay(widget, tmp_path / "changed.json")
    said = widget.root.locator(".share-menu .said")
    sentence = "does not end as it was recorded: the file is damaged"
    widget.until(said.inner_text, lambda text: sentence in text, 60, "the refusal")
    assert not widget.root.locator(".replay").is_visible()
    tick = widget.number("tick")
    widget.wait_number("tick", lambda now: now > tick)
