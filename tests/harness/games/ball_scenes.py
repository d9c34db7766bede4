"""Scenes of the Ball Drill that end the same way whatever anybody does."""

import numpy as np

from dshq_widget import drills
from dshq_widget.drill.compiled import compile_drill

BALL = compile_drill(drills.get("ball"))
SPEC = BALL.spec


def state(**fields) -> bytes:
    """A Ball Drill's state: the start of a match, with `field` or `field_index` replaced."""
    tile = BALL.game().new(1, seed=3)
    for name, value in fields.items():
        base, _, index = name.rpartition("_")
        if index.isdigit():
            tile[base][0, int(index), 0] = value
        else:
            tile[name][0, ..., 0] = value
    return tile.view(np.uint32).reshape(-1, 16)[:, 0].astype("<u4").tobytes()


OPEN_GOAL = state(ball_px=3.3, ball_py=0.0, ball_vx=3.0, ball_vy=0.0, p_px_0=2.6, p_px_1=-3.0, p_py_1=2.0)
"""The ball rolls into orange's goal: blue wins whatever anybody does."""
OWN_GOAL = state(ball_px=-3.3, ball_py=0.0, ball_vx=-3.0, ball_vy=0.0, p_px_0=2.6, p_px_1=3.0, p_py_1=2.0)
