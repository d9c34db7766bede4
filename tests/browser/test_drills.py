"""Every drill of the registry on the page: it is drawn, it continues, and where it has keys a person plays it."""

import pytest

from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import begin

pytestmark = pytest.mark.browser

CELL = "from dshq_widget import DrillWidget; w = DrillWidget({name!r}); w"
ACTION = 'import struct; print("plays", struct.unpack_from("<i", w.snapshot["state"], 16)[0])'
"""Of side 0: the fifth word of every state. The page sends its state about once a second."""


def played_by(spec: DrillSpec, code: str) -> int:
    """The action of one key alone: the other choices keep their first option."""
    choice, option = spec.keys[code]
    action = 0
    for each in spec.actions:
        action = action * len(each.options) + (each.options.index(option) if each.name == choice else 0)
    return action


@pytest.mark.slow
@pytest.mark.parametrize("name", list(drills))
def test_every_drill_plays_in_the_page(plain_chromium, open_page: OpenPage, name: str):
    page, widget = begin(open_page, plain_chromium, CELL.format(name=name))
    spec = compile_drill(drills[name]).spec
    widget.wait_attribute("drill", lambda drill: drill == name)
    widget.wait_attribute("playing", lambda playing: playing == "true")
    seen = widget.number("tick")
    widget.wait_number("tick", lambda tick: tick > seen)
    before = widget.picture()
    assert widget.colours(before) > 3, name
    widget.until(widget.picture, lambda now: now != before, 60, f"{name} to be drawn anew")

    if spec.keys:
        code = list(spec.keys)[-1]
        wanted = f"plays {played_by(spec, code)}"
        widget.control("mode").select_option("human_vs_ai")
        widget.canvas.focus()
        widget.page.keyboard.down(code)
        widget.until(lambda: page.kernel.run(ACTION).strip(), wanted.__eq__, 60, f"{name}: {wanted} by {code}")
        widget.page.keyboard.up(code)
