"""The Ball Drill's world: sizes, and the rules by which players run, dash and push, and the ball rolls and bounces.

Units: u, seconds, radians; +x to the right, +y up, origin at the centre spot. Turning the world by half a turn and
swapping the players gives the same bits, because effects of both players come from one state and are added in an order
that does not tell them apart. Collisions never add kinetic energy. Sizes and speeds are design choices; those that
were tried in learning are marked "measured".
"""
# ruff: noqa: F821  (sqrt, clamp, length, sign are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import rule

TICK_RATE = 120
DT = 1 / TICK_RATE

HALF_LENGTH = 4.0
HALF_WIDTH = 3.0
GOAL_HALF_WIDTH = 1.0
GOAL_DEPTH = 0.6

BALL_RADIUS = 0.2
BALL_SPEED = 10.0  # u/s, the limit: 0.083 u a tick, well below the radius, so nothing is jumped over
BALL_KEEP = 1.0 - 0.5 * DT  # velocity kept per tick: rolling friction 0.5 /s

HALF_SIDE = 0.3  # of the square players
PUSH_RADIUS = 0.36  # players push each other as circles
RUN_SPEED = 3.0  # u/s
RUN_STEP = 20.0 * DT  # change of velocity per tick and body axis (measured): 20 u/s^2
TURN_SPEED = 5.0  # rad/s
TURN_STEP = 60.0 * DT  # 60 rad/s^2
DASH_KICK = 3.0  # u/s along the heading
DASH_TICKS = 180.0  # from one dash to the next
PLAYER_SPEED = 6.0  # u/s, the limit

WALL_BOUNCE = 0.8
WALL_FRICTION = 0.05
PLAYER_BOUNCE = 0.6
MOST_SEPARATION = 0.05  # u a tick by which overlapping bodies are pushed apart
BALL_SHARE = 0.8  # of a separation: masses are 1 (ball) and 4 (player), so 4 / 5 and 1 / 5
PLAYER_SHARE = 0.2
PLAYER_INVERSE_MASS = 0.25
INVERSE_MASS = 1.25  # of a ball-player pair: 1 / 1 + 1 / 4


@rule
def limited(vx, vy, most):
    """The velocity, shortened to length `most` where it is longer."""
    square = vx * vx + vy * vy
    scale = most / sqrt(square) if square > most * most else 1.0
    return vx * scale, vy * scale


@rule
def from_heading(hx, hy, x, y):
    """The world vector (x, y) in the frame of the heading (hx, hy): how far ahead, how far to the left."""
    return hx * x + hy * y, hx * y - hy * x


@rule
def to_world(hx, hy, ahead, left):
    """The inverse of `from_heading`."""
    return hx * ahead - hy * left, hy * ahead + hx * left


@rule
def run(s, i, side):
    """One tick of a player's own controls, which set wanted velocities only: velocity, dash, place, heading."""
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    waiting = max(s.p_cooldown[side, i] - 1.0, 0.0)
    dashes = s.p_dash[side, i] if waiting == 0.0 else 0.0
    ahead, left = from_heading(hx, hy, s.p_vx[side, i], s.p_vy[side, i])
    ahead += clamp(s.p_ahead[side, i] - ahead, -RUN_STEP, RUN_STEP) + dashes * DASH_KICK
    left += clamp(s.p_left[side, i] - left, -RUN_STEP, RUN_STEP)
    vx, vy = to_world(hx, hy, ahead, left)
    vx, vy = limited(vx, vy, PLAYER_SPEED)
    s.p_vx[side, i] = vx
    s.p_vy[side, i] = vy
    s.p_px[side, i] += vx * DT
    s.p_py[side, i] += vy * DT
    s.p_cooldown[side, i] = DASH_TICKS if dashes > 0.0 else waiting
    turn(s, i, side)


@rule
def turn(s, i, side):
    """One tick of a player's heading."""
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    w = s.p_w[side, i]
    w += clamp(s.p_turn[side, i] - w, -TURN_STEP, TURN_STEP)
    s.p_w[side, i] = w
    # A turn by 2 atan(half) needs no sine; one Newton step for 1 / length keeps the heading a unit vector for ever.
    half = 0.5 * DT * w
    scale = 1.0 / (1.0 + half * half)
    hx, hy = to_world(hx, hy, (1.0 - half * half) * scale, 2.0 * half * scale)
    unit = 1.5 - 0.5 * (hx * hx + hy * hy)
    s.p_cos[side, i] = hx * unit
    s.p_sin[side, i] = hy * unit


@rule
def roll(s, i):
    """One tick of the ball left alone."""
    s.ball_vx[i] *= BALL_KEEP
    s.ball_vy[i] *= BALL_KEEP
    s.ball_px[i] += s.ball_vx[i] * DT
    s.ball_py[i] += s.ball_vy[i] * DT


@rule
def push_players(s, i):
    """Players push each other apart as circles of equal mass and do not bounce."""
    dx = s.p_px[1, i] - s.p_px[0, i]
    dy = s.p_py[1, i] - s.p_py[0, i]
    distance = max(length(dx, dy), 1e-6)
    nx = dx / distance
    ny = dy / distance
    depth = 2.0 * PUSH_RADIUS - distance
    apart = 0.5 * clamp(depth, 0.0, MOST_SEPARATION)
    closing = (s.p_vx[0, i] - s.p_vx[1, i]) * nx + (s.p_vy[0, i] - s.p_vy[1, i]) * ny
    gain = 0.5 * max(closing, 0.0) if depth > 0.0 else 0.0
    s.p_px[0, i] -= apart * nx
    s.p_py[0, i] -= apart * ny
    s.p_vx[0, i] -= gain * nx
    s.p_vy[0, i] -= gain * ny
    s.p_px[1, i] += apart * nx
    s.p_py[1, i] += apart * ny
    s.p_vx[1, i] += gain * nx
    s.p_vy[1, i] += gain * ny


@rule
def contact(s, i, side):
    """Ball against a player's box: normal (towards the ball), separation to make, closing speed (0: no kick)."""
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    ahead, left = from_heading(hx, hy, s.ball_px[i] - s.p_px[side, i], s.ball_py[i] - s.p_py[side, i])
    near_ahead = clamp(ahead, -HALF_SIDE, HALF_SIDE)
    near_left = clamp(left, -HALF_SIDE, HALF_SIDE)
    gap_ahead = ahead - near_ahead
    gap_left = left - near_left
    gap = length(gap_ahead, gap_left)
    inside = gap == 0.0  # the ball's centre is in the box: it leaves by the nearest face
    lengthwise = abs(ahead) > abs(left)
    face_ahead = sign(ahead) if lengthwise else 0.0
    face_left = 0.0 if lengthwise else sign(left)
    distance = max(abs(ahead), abs(left)) - HALF_SIDE if inside else gap
    nx, ny = to_world(hx, hy, face_ahead if inside else gap_ahead / gap, face_left if inside else gap_left / gap)
    depth = BALL_RADIUS - distance
    arm_x, arm_y = to_world(hx, hy, near_ahead, near_left)
    surface_vx = s.p_vx[side, i] - s.p_w[side, i] * arm_y
    surface_vy = s.p_vy[side, i] + s.p_w[side, i] * arm_x
    closing = (surface_vx - s.ball_vx[i]) * nx + (surface_vy - s.ball_vy[i]) * ny
    return nx, ny, clamp(depth, 0.0, MOST_SEPARATION), max(closing, 0.0) if depth > 0.0 else 0.0


@rule
def impulses(closing0, closing1, facing):
    """Impulses of both players on the ball that reverse both closing speeds at once; `facing` is n0 . n1.

    One contact alone needs j = (1 + e) closing / INVERSE_MASS (Newton's restitution). Two share the ball's mass:
    [[INVERSE_MASS, facing], [facing, INVERSE_MASS]] j = (1 + e) closing, solved by Cramer's rule (|facing| <= 1 keeps
    the determinant above 0.56). The energy changes by -(1 - e^2) / 2 of a positive quadratic form, so it cannot grow,
    as it does where each impulse ignores the other. A player that would have to pull is left out.
    """
    want0 = (1.0 + PLAYER_BOUNCE) * closing0
    want1 = (1.0 + PLAYER_BOUNCE) * closing1
    shared = facing if closing0 > 0.0 and closing1 > 0.0 else 0.0
    pulls0 = INVERSE_MASS * want0 < shared * want1
    pulls1 = INVERSE_MASS * want1 < shared * want0
    want0 = 0.0 if pulls0 else want0
    want1 = 0.0 if pulls1 else want1
    shared = 0.0 if pulls0 or pulls1 else shared
    scale = 1.0 / (INVERSE_MASS * INVERSE_MASS - shared * shared)
    return (INVERSE_MASS * want0 - shared * want1) * scale, (INVERSE_MASS * want1 - shared * want0) * scale


@rule
def recoil(s, i, side, nx, ny, impulse, apart):
    """What a player feels of a kick; its rotation does not change."""
    s.p_vx[side, i] -= PLAYER_INVERSE_MASS * impulse * nx
    s.p_vy[side, i] -= PLAYER_INVERSE_MASS * impulse * ny
    s.p_px[side, i] -= PLAYER_SHARE * apart * nx
    s.p_py[side, i] -= PLAYER_SHARE * apart * ny


@rule
def kick(s, i):
    """The ball against both players."""
    nx0, ny0, apart0, closing0 = contact(s, i, 0)
    nx1, ny1, apart1, closing1 = contact(s, i, 1)
    j0, j1 = impulses(closing0, closing1, nx0 * nx1 + ny0 * ny1)
    s.ball_vx[i] += j0 * nx0 + j1 * nx1
    s.ball_vy[i] += j0 * ny0 + j1 * ny1
    s.ball_px[i] += BALL_SHARE * (apart0 * nx0 + apart1 * nx1)
    s.ball_py[i] += BALL_SHARE * (apart0 * ny0 + apart1 * ny1)
    recoil(s, i, 0, nx0, ny0, j0, apart0)
    recoil(s, i, 1, nx1, ny1, j1, apart1)


@rule
def hold_in(s, i, side):
    """Keep a player inside the rectangle (the recesses are closed to players: measured). It does not bounce."""
    extent = HALF_SIDE * (abs(s.p_cos[side, i]) + abs(s.p_sin[side, i]))
    s.p_px[side, i], s.p_vx[side, i] = stopped(s.p_px[side, i], s.p_vx[side, i], HALF_LENGTH - extent)
    s.p_py[side, i], s.p_vy[side, i] = stopped(s.p_py[side, i], s.p_vy[side, i], HALF_WIDTH - extent)


@rule
def stopped(p, v, most):
    """Position and velocity along one axis, inside -most .. most."""
    return clamp(p, -most, most), (0.0 if abs(p) > most and p * v > 0.0 else v)


@rule
def bounced(p, v, along, most):
    """The ball's position and velocity across two flat walls at -most and most, and its velocity along them."""
    hits = abs(p) > most and p * v > 0.0
    return clamp(p, -most, most), (-WALL_BOUNCE * v if hits else v), (along - WALL_FRICTION * along if hits else along)


@rule
def bounce(s, i):
    """The ball against every wall: the side walls, the goal walls, the backs of the recesses."""
    y, vy, vx = bounced(s.ball_py[i], s.ball_vy[i], s.ball_vx[i], HALF_WIDTH - BALL_RADIUS)
    x, y, vx, vy = off_goal_walls(s.ball_px[i], y, vx, vy)
    x, vx, vy = bounced(x, vx, vy, HALF_LENGTH + GOAL_DEPTH - BALL_RADIUS)
    vx, vy = limited(vx, vy, BALL_SPEED)
    s.ball_px[i] = x
    s.ball_py[i] = y
    s.ball_vx[i] = vx
    s.ball_vy[i] = vy


@rule
def off_goal_walls(x, y, vx, vy):
    """The ball against the end walls, the posts and the sides of the recesses.

    All three belong to one solid corner |x| >= HALF_LENGTH, |y| >= GOAL_HALF_WIDTH per quadrant; its tip is the post.
    """
    beyond = abs(x) - HALF_LENGTH
    gap_x = min(beyond, 0.0)
    gap_y = min(abs(y) - GOAL_HALF_WIDTH, 0.0)
    gap = length(gap_x, gap_y)
    inside = gap == 0.0  # the ball was put into the wall: it leaves into the field
    nx = sign(x) * (-1.0 if inside else gap_x / gap)
    ny = sign(y) * (0.0 if inside else gap_y / gap)
    depth = max(BALL_RADIUS + (beyond if inside else -gap), 0.0)
    closing = vx * nx + vy * ny
    hits = depth > 0.0 and closing < 0.0
    kept = 1.0 - WALL_FRICTION if hits else 1.0
    turned = (WALL_BOUNCE + 1.0 - WALL_FRICTION) * closing if hits else 0.0
    return x + depth * nx, y + depth * ny, kept * vx - turned * nx, kept * vy - turned * ny
