"""What a notebook keeps of a widget whose state it does not save."""
# ruff: noqa: F821  (circle is a word of the rules language)
# mypy: no-check-untyped-defs

import base64
import io
import re
from typing import ClassVar

import nbformat
import numpy as np
from nbconvert import HTMLExporter
from PIL import Image

from dshq_widget import DrillWidget
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Choice, Drill, Observation, rule
from dshq_widget.drills import drills
from dshq_widget.env.picture import Painter
from dshq_widget.widget.still import plain_scene, still

VIEW = "application/vnd.jupyter.widget-view+json"
SENTENCE = "Saved picture of a DrillWidget. Run this cell to play."
BALL = compile_drill(drills["ball"])


def picture(html: str) -> np.ndarray:
    (source,) = re.findall('src="data:image/png;base64,([^"]+)"', html)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(source))))


class Plain(Drill):
    """Draws a circle whose colour no palette has."""

    name = "plain"
    state: ClassVar = {"x": "f32"}
    actions = (Choice("move", ("stay", "go")),)
    observations = (Observation("x"),)
    rewards: ClassVar = {"moved": 1.0}

    @rule
    def reset(s, i):
        s.x[i] = 0.5

    @rule
    def tick(s, i):
        s.x[i] = float(s.action[0, i])

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]

    @rule
    def moved(s, i, side):
        return s.x[i]

    @rule
    def scene(s, i):
        circle(0.0, 0.0, 0.2, 0)


def painted(**how) -> np.ndarray:
    return Painter(BALL.spec, 480).draw(plain_scene(BALL, **how))


def test_the_output_carries_a_picture_of_the_match_as_it_stands():
    with DrillWidget(seed=3) as widget:
        data, _ = widget._repr_mimebundle_()
        assert data[VIEW]["model_id"] == widget.model_id == widget.comm_id
        assert SENTENCE in data["text/html"] and len(data["text/html"]) < 200_000
        assert np.array_equal(picture(data["text/html"]), painted(seed=3))

        words = np.zeros(35, "<u4")
        words[0] = 9
        widget.set_trait("snapshot", {"state": words.tobytes(), "rules_hash": BALL.rules_hash})
        data, _ = widget._repr_mimebundle_()
        assert np.array_equal(picture(data["text/html"]), painted(state=words.tobytes()))

        widget.set_trait("snapshot", {"state": b"of another drill", "rules_hash": "another"})
        data, _ = widget._repr_mimebundle_()
        assert np.array_equal(picture(data["text/html"]), painted(seed=3))


def test_a_state_that_cannot_be_drawn_keeps_no_widget_from_being_shown(caplog):
    with DrillWidget(seed=3) as widget:
        for state in (b"abcd", bytes(4 * 36)):
            widget._inbox._take_snapshot({"state": state, "rules_hash": BALL.rules_hash})
            assert widget.snapshot is None and "needs a state of 140 bytes" in caplog.text
        widget._inbox._take_snapshot({"state": bytes(140), "rules_hash": BALL.rules_hash})
        widget._inbox._take_snapshot({"state": b"of another drill", "rules_hash": "another"})
        assert widget.snapshot["rules_hash"] == "another"
        widget.set_trait("snapshot", {"state": b"abcd", "rules_hash": BALL.rules_hash})
        data, _ = widget._repr_mimebundle_()
        assert data[VIEW] and "<img" not in data["text/html"] and "Run this cell to play." in data["text/html"]
        assert "has no picture" in caplog.text


def test_a_shape_without_a_colour_is_left_out():
    html = still(compile_drill(Plain), 0, None)
    assert SENTENCE in html and picture(html).shape[1] == 480


def test_nbconvert_shows_it():
    """Without the widget's state it leaves the view out (nbconvert/filters/widgetsdatatypefilter.py)."""
    with DrillWidget() as widget:
        data, _ = widget._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("w", outputs=[output])])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert SENTENCE in page and "data:image/png;base64," in page


def test_an_environment_has_the_sentence_alone():
    with DrillWidget("gym:CartPole-v1") as widget:
        data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == "<p>A DrillWidget (CartPole-v1). Run this cell to play.</p>"
