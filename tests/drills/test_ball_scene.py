"""The players' faces in the Ball Drill: where they look, and what a goal does to them."""

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.drills.ball_physics import DASH_TICKS
from dshq_widget.drills.ball_scene import BLINK, BLINK_EVERY, EYE, INK

COLOUR, X, Y, TALL, WIDE, ALPHA = 1, 2, 3, 4, 5, 9
"""Columns of a shape; of a box its half sizes along and across its axis."""


@pytest.fixture(scope="module")
def game():
    return compile_drill(get("ball")).game()


def faces(game, **fields):
    """The shapes of both players' eyes, pupils and arcs, `[player, eye, number]`, heading along x."""
    state = game.new(1)
    state["p_cos"], state["p_sin"] = 1, 0
    state["p_px"] = np.array([[-1.0], [1.0]])
    state["ball_py"], state["ticks"] = 3.0, 100
    for name, value in fields.items():
        state[name] = value
    shapes = game.scene(state)
    eyes, ink = (shapes[shapes[:, COLOUR] == colour] for colour in (EYE, INK))
    pupils, arcs = ink[0::2], ink[1::2]
    return len(shapes), *(each.reshape(2, 2, -1) for each in (eyes, pupils, arcs))


@pytest.mark.parametrize("ball", [(0.0, 2.0), (3.0, -1.0), (-3.0, 0.5)])
def test_pupils_look_at_the_ball(game, ball):
    _, eyes, pupils, _ = faces(game, ball_px=ball[0], ball_py=ball[1])
    looks = pupils[..., X : Y + 1] - eyes[..., X : Y + 1]
    there = np.array(ball) - eyes[..., X : Y + 1]
    cosine = (looks * there).sum(-1) / np.linalg.norm(looks, axis=-1) / np.linalg.norm(there, axis=-1)
    assert (cosine > 0.999).all() and (np.linalg.norm(looks, axis=-1) < eyes[..., WIDE]).all()


def test_a_goal_makes_one_glad_and_the_other_sulk(game):
    usual, eyes, _, arcs = faces(game)
    assert (arcs[..., ALPHA] == 0).all() and (eyes[..., ALPHA] == 1).all()
    for scorer, goal in ((0, 1), (1, -1)):
        count, after, _, arcs = faces(game, goal=goal)
        assert count == usual, "the same shapes in the same order, so that a page can draw the moments between"
        assert (arcs[scorer, :, ALPHA] == 1).all() and (after[scorer, :, ALPHA] == 0).all()
        assert (arcs[1 - scorer, :, ALPHA] == 0).all()
        assert (after[1 - scorer, :, TALL] < 0.6 * eyes[1 - scorer, :, TALL]).all()


def test_eyes_blink_and_widen(game):
    _, usual, _, _ = faces(game)
    _, blinking, _, _ = faces(game, ticks=int(BLINK_EVERY + BLINK - 60))
    assert (blinking[0, :, TALL] < 0.2 * usual[0, :, TALL]).all(), "one side at a time"
    assert (blinking[1, :, TALL] == usual[1, :, TALL]).all()
    _, dashing, _, _ = faces(game, p_cooldown=float(DASH_TICKS))
    assert (dashing[..., WIDE] > 1.2 * usual[..., WIDE]).all()
    _, near, _, _ = faces(game, ball_px=-1.0, ball_py=0.7)
    assert (near[0, :, WIDE] > 1.05 * usual[0, :, WIDE]).all() and (near[1, :, WIDE] == usual[1, :, WIDE]).all()
