"""The players of the Ball Drill and of Approach as drawn: bodies with eyes that show what they are about."""
# ruff: noqa: F821  (circle, box, ring, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import rule
from dshq_widget.drills.ball_physics import DASH_TICKS, HALF_SIDE, to_world

PALETTE = (
    "turf", "line", "mark", "goal0", "goal1", "wall", "post", "player0", "player1", "heading", "cooldown", "ball",
    "ink",
)  # fmt: skip
TURF, LINE, MARK, GOAL0, GOAL1, WALL, POST, PLAYER0, PLAYER1, EYE, COOLDOWN, BALL, INK = range(len(PALETTE))

HALF_PI = 1.5707963267949
THICK = 0.05  # half the thickness of walls as drawn
BLINK_EVERY, BLINK = 389.0, 7.0  # ticks: about three seconds, and half a blink
WIDE_FOR = 36.0  # ticks of a dash in which the eyes are wide open
NEAR = 1.3  # u: from here on a ball makes a player that may dash look sharp
EYE_RADIUS, PUPIL_RADIUS = 0.085, 0.046
LOOK = 0.036  # u that a pupil moves towards what it looks at


@rule
def lids(s, i, side):
    """How far the lids are open, 0 to 1: a blink every three seconds, the sides not together."""
    t = float(s.ticks[i]) + 140.0 * float(side) + 60.0
    t -= BLINK_EVERY * floor(t / BLINK_EVERY)
    return clamp(abs(t - BLINK) / BLINK, 0.12, 1.0)


@rule
def width_of_eyes(s, i, side):
    """Wider than usual as the ball comes near and the dash is ready, and widest in a dash."""
    near = clamp((NEAR - length(s.ball_px[i] - s.p_px[side, i], s.ball_py[i] - s.p_py[side, i])) / 0.5, 0.0, 1.0)
    ready = 0.16 * near if s.p_cooldown[side, i] <= 0.0 else 0.0
    return 1.0 + ready + 0.3 * clamp((s.p_cooldown[side, i] - DASH_TICKS + WIDE_FOR) / WIDE_FOR, 0.0, 1.0)


@rule
def player(s, i, side, colour, mood):
    """A player: body, eyes that follow the ball, and the part of the cooldown that is left as an arc. `mood`: 1 after a
    goal of its own, -1 after one of the other side, else 0.
    """
    x = s.p_px[side, i]
    y = s.p_py[side, i]
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    glad = 1.0 if mood > 0.5 else 0.0
    sad = 1.0 if mood < -0.5 else 0.0
    box(x, y, HALF_SIDE, HALF_SIDE, hx, hy, 0.09, colour)
    size = EYE_RADIUS * width_of_eyes(s, i, side)
    tall = size * (0.5 if sad > 0.5 else lids(s, i, side))
    for k in range(2):
        left = 0.12 if k == 0 else -0.12
        eye_x, eye_y = to_world(hx, hy, 0.13, left)
        eye_x += x
        eye_y += y
        to_x = s.ball_px[i] - eye_x
        to_y = s.ball_py[i] - eye_y
        far = max(length(to_x, to_y), 0.001)
        shift = LOOK * (0.4 if sad > 0.5 else 1.0) / far
        box(eye_x, eye_y, tall, size, hx, hy, min(tall, size), EYE, alpha=1.0 - glad)
        circle(eye_x + shift * to_x, eye_y + shift * to_y, min(PUPIL_RADIUS, tall), INK, alpha=1.0 - glad)
        ring(eye_x, eye_y - 0.03, 0.07, 0.024, 0.5, 0.0, INK, alpha=glad)
    ring(x, y, 0.48, 0.03, s.p_cooldown[side, i] / DASH_TICKS, HALF_PI, COOLDOWN)
