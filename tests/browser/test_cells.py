"""A drill on cells in the page: it begins at its own speed, and a click or a tap on a cell chooses it."""

import struct

import pytest

from dshq_widget.drills.territory_scene import WORLD
from dshq_widget.env.picture import MARGIN
from tests.browser.conftest import OpenPage
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import begin

pytestmark = pytest.mark.browser

CELL = 'from dshq_widget import DrillWidget; w = DrillWidget("territory"); w'
STATE = 'print(bytes(w.snapshot["state"])[16:20].hex())'  # the fifth word of every state is the action


def place(widget: WidgetPage, x: float, y: float) -> tuple[float, float]:
    """Where a point of the world is on the page, in CSS pixels."""
    box = widget.canvas.bounding_box()
    assert box is not None
    x0, y0, x1, y1 = WORLD
    scale = min(box["width"] / (x1 - x0), box["height"] / (y1 - y0)) / (1 + 2 * MARGIN)
    across, up = (x - (x0 + x1) / 2) * scale, (y - (y0 + y1) / 2) * scale
    return box["x"] + box["width"] / 2 + across, box["y"] + box["height"] / 2 - up


def test_a_click_and_a_tap_choose_the_chunk(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, CELL, has_touch=True)

    def action() -> int:
        return int(struct.unpack("<i", bytes.fromhex(notebook.kernel.run(STATE).strip()))[0])

    assert widget.control("speed").input_value() == "8"
    widget.control("mode").select_option("human_vs_ai")
    widget.control("speed").select_option("32")
    widget.canvas.scroll_into_view_if_needed()
    notebook.page.mouse.click(*place(widget, 4, 12))
    notebook.page.keyboard.down("KeyE")
    widget.until(action, lambda now: now == 400 + 12 * 20 + 4, 60, "an energy parasite in the clicked chunk")
    notebook.page.keyboard.up("KeyE")
    notebook.page.touchscreen.tap(*place(widget, 15, 3))
    widget.until(action, lambda now: now == 3 * 20 + 15, 60, "the tapped chunk, and nothing spawned")
    pad = notebook.page.locator(".touch-pad")
    labels = [button.inner_text() for button in pad.locator("button").all()]
    assert labels == ["wait", "energy", "combat"] and pad.locator(".stick").count() == 0
    notebook.kernel.run("w.close()")
