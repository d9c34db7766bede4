"""Every drill of the registry in the notebook: it is drawn, it goes on, and where it has keys a person plays it."""

import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from tests.browser.conftest import OpenNotebook
from tests.browser.test_own_drill import rerun
from tests.browser.test_watch_it_learn import begin

pytestmark = pytest.mark.browser

CELL = """from dshq_widget import DrillWidget
if "w" in globals(): w.close()
w = DrillWidget({name!r}); w"""
ACTION = 'import struct; print("plays", struct.unpack_from("<i", w.snapshot["state"], 16)[0])'
"""Of side 0: the fifth word of every state. The page sends its state about once a second."""


def played_by(spec: dict, code: str) -> int:
    """The action of one key alone: the other choices keep their first option."""
    choice, option = spec["keys"][code]
    action = 0
    for row in spec["actions"]:
        action = action * len(row["options"]) + (row["options"].index(option) if row["name"] == choice else 0)
    return action


def test_every_drill_plays_in_the_page(chromium, open_notebook: OpenNotebook):
    first, *others = drills
    notebook, widget = begin(open_notebook, chromium, CELL.format(name=first))
    for name in (first, *others):
        if name != first:
            rerun(notebook, CELL.format(name=name))
            widget = notebook.widget()
        spec = compile_drill(drills[name]).spec
        widget.wait_attribute("drill", lambda drill, name=name: drill == name)
        widget.wait_attribute("playing", lambda playing: playing == "true")
        seen = widget.number("tick")
        widget.wait_number("tick", lambda tick, seen=seen: tick > seen)
        before = widget.picture()
        assert widget.colours(before) > 3, name
        widget.until(widget.picture, lambda now, before=before: now != before, 60, f"{name} to be drawn anew")

        if spec["keys"]:
            code = list(spec["keys"])[-1]
            wanted = f"plays {played_by(spec, code)}"
            widget.control("Mode").select_option("human_vs_ai")
            widget.canvas.focus()
            notebook.page.keyboard.down(code)
            widget.until(lambda: notebook.kernel.run(ACTION).strip(), wanted.__eq__, 60, f"{name}: {wanted} by {code}")
            notebook.page.keyboard.up(code)
    notebook.kernel.run("w.close()")
