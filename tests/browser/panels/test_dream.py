"""A dreamer on the page: its policy plays there from frames, and its dreams are seen and played."""

import time
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import TRAINED, stops, ticks_on
from tests.harness.games.dreamers import stubborn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FORWARD_LEFT = 4
ACTION = 16
"""Where the last action is in the state of a drill of one side, in bytes: behind generator, practice and clock."""
SLOW = 120  # seconds: torch, and perhaps rules to compile
SNAPSHOT = f"print(*(w.snapshot['tick'], w.snapshot['state'][{ACTION}]) if w.snapshot else ())"
SEEN = """n => [...document.querySelectorAll(`.dream canvas[aria-label^="${n}"]`)]
    .filter(c => !c.hasAttribute('data-empty')).map(c => c.toDataURL())"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stubborn(tmp_path_factory.mktemp("dream") / "left.dshq", "approach", FORWARD_LEFT)


def pictures(widget: WidgetPage, name: str) -> list[str]:
    """What is drawn on the canvases of the panel whose names begin so."""
    return widget.page.evaluate(SEEN, name)


def test_the_policy_plays_dreams_and_lets_a_person_in(plain_chromium, open_page: OpenPage, file: Path):
    notebook = open_page(plain_chromium, f"from dshq_widget import DrillWidget; w = DrillWidget({str(file)!r}); w")
    plans: list[str] = []
    notebook.page.on("websocket", lambda socket: socket.on("framesent", lambda data: plans.append(str(data))))
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 0, SLOW)
    assert widget.number("version") == 2
    for name in ("futures", "ghost-back", "value-map", "drill-this"):
        assert widget.control(name).count() == 0

    # what it does is what the file's policy wants, not chance: one of nine actions, again and again
    did, told = [], ""
    for _ in range(6):
        told = widget.until(lambda: notebook.kernel.run(SNAPSHOT), lambda now, old=told: now != old, SLOW, "a snapshot")
        did.append(int(told.split()[1]))
    assert did.count(FORWARD_LEFT) >= 5, did
    begun = [frame for frame in plans if '"DECIDE"' in frame and '"start":{' in frame]
    assert len(begun) == 1, "page and process play the same match, to the bit, through several games"

    panel = widget.tab("dream")
    widget.until(lambda: pictures(widget, "What came"), lambda shown: len(shown) >= 3, SLOW, "what came")
    (seen,), (made,) = pictures(widget, "What it sees"), pictures(widget, "Its reconstruction")
    imagined = pictures(widget, "Imagined, step")
    assert len(set(imagined)) > 5 and len({seen, made, *imagined}) == 2 + len(set(imagined))
    widget.until(lambda: pictures(widget, "What it sees"), lambda now: now != [seen], SLOW, "another frame")
    assert "nats" in panel.locator(".surprise").inner_text()

    widget.control("dream-enter").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    stood = widget.number("tick")
    steps = lambda: int(panel.locator(".dreaming").get_attribute("data-steps") or -1)  # noqa: E731
    widget.until(steps, lambda now: now >= 2, SLOW, "a step in the dream")
    (dreamt,) = pictures(widget, "The dream")
    widget.page.keyboard.down("w")
    stepped = steps() + 5
    widget.until(steps, lambda now: now > stepped, SLOW, "steps in the dream")
    widget.page.keyboard.up("w")
    assert pictures(widget, "The dream") != [dreamt]
    assert widget.number("tick") == stood
    widget.control("dream-leave").click()
    assert ticks_on(widget)


def test_new_versions_take_over_and_a_person_may(plain_chromium, open_page: OpenPage, file: Path):
    notebook = open_page(plain_chromium, f"from dshq_widget import DrillWidget; w = DrillWidget({str(file)!r}); w")
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 0, SLOW)
    widget.control("train").click()
    widget.wait_number("version", lambda version: version > 4, TRAINED)
    stops(widget)
    newest = int(notebook.kernel.run("print(w._trainer.version)"))
    widget.wait_number("version", lambda version: version == newest, SLOW)

    widget.control("mode").select_option("human_vs_ai")
    assert ticks_on(widget)
    widget.control("mode").select_option("ai_vs_ai")
    assert ticks_on(widget)
    widget.control("pause").click()
    widget.wait_attribute("playing", lambda playing: playing == "false")
    time.sleep(1.0)
    stood = widget.number("tick")
    widget.control("step-decision").click()
    widget.wait_number("tick", lambda tick: tick >= stood + 4)
    widget.control("reset-match").click()
    widget.wait_number("tick", lambda tick: tick == 0)
    widget.control("play").click()
    assert ticks_on(widget)
