"""Sumo: two round wrestlers on a ring that shrinks; whose centre leaves it first has lost.

A wrestler stands firm only against what it faces: its feet drive and brace lengthwise and slip sideways, so that the
way to win is to come from the flank. Headings and dashes are those of the Ball Drill's players, and side 1 sees the
ring half turned. Units: u, seconds, radians.
"""
# ruff: noqa: F821  (random, clamp, length, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule
from dshq_widget.drills.ball import (
    HALF_PI,
    PER_COOLDOWN,
    PER_PLAYER_SPEED,
    PER_TURN_SPEED,
    PI,
    Ball,
    jitter,
    place,
    seen,
)
from dshq_widget.drills.ball_physics import (
    DASH_TICKS,
    DT,
    MOST_SEPARATION,
    PLAYER_SPEED,
    TICK_RATE,
    TURN_SPEED,
    from_heading,
    limited,
    to_world,
    turn,
)

TIME_LIMIT = 1440  # ticks: 12 s
RIM = 2.7  # radius of the ring at first
LAST_RIM = 0.4  # and at the time limit: no room for two
SHRINKS_FROM = 480.0  # ticks: 4 s
SHRINK = (RIM - LAST_RIM) / (TIME_LIMIT - SHRINKS_FROM)  # u per tick
RADIUS = 0.42  # of a wrestler
START = 1.2  # from the centre

RUN_SPEED = 2.6  # u/s
DRIVE = 18.0 * DT  # change of velocity per tick lengthwise, while the feet push
BRACE = 10.0 * DT  # the same while they only hold
SLIP = 7.0 * DT  # and sideways
DASH = 3.0  # u/s along the heading
BOUNCE = 0.5
PER_RIM = 1 / RIM
PER_DIAMETER = 1 / (2 * RIM)
PER_TIME = 1 / TIME_LIMIT

PALETTE = ("mat", "clay", "line", "accent", "player0", "player1", "heading", "ink", "cooldown")
MAT, CLAY, LINE, WARNING, PLAYER0, PLAYER1, EYE, INK, COOLDOWN = range(len(PALETTE))


@rule
def rim(s, i):
    """Radius of the ring now."""
    return RIM - SHRINK * max(float(s.ticks[i]) - SHRINKS_FROM, 0.0)


@rule
def off_centre(s, i, side):
    """How far a wrestler's centre is from the middle of the ring."""
    return length(s.p_px[side, i], s.p_py[side, i])


@rule
def wrestle(s, i, side):
    """One tick of a wrestler's own feet: velocity, dash, place, heading."""
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    waiting = max(s.p_cooldown[side, i] - 1.0, 0.0)
    dashes = s.p_dash[side, i] if waiting == 0.0 else 0.0
    ahead, left = from_heading(hx, hy, s.p_vx[side, i], s.p_vy[side, i])
    grip = BRACE if s.p_ahead[side, i] == 0.0 else DRIVE
    ahead += clamp(s.p_ahead[side, i] - ahead, -grip, grip) + dashes * DASH
    left -= clamp(left, -SLIP, SLIP)
    vx, vy = to_world(hx, hy, ahead, left)
    vx, vy = limited(vx, vy, PLAYER_SPEED)
    s.p_vx[side, i] = vx
    s.p_vy[side, i] = vy
    s.p_px[side, i] += vx * DT
    s.p_py[side, i] += vy * DT
    s.p_cooldown[side, i] = DASH_TICKS if dashes > 0.0 else waiting
    turn(s, i, side)


@rule
def collide(s, i):
    """Two equal discs: they part a little each tick, and a part of the speed at which they met is turned round."""
    dx = s.p_px[1, i] - s.p_px[0, i]
    dy = s.p_py[1, i] - s.p_py[0, i]
    distance = max(length(dx, dy), 1e-6)
    nx = dx / distance
    ny = dy / distance
    depth = 2.0 * RADIUS - distance
    apart = 0.5 * clamp(depth, 0.0, MOST_SEPARATION)
    closing = (s.p_vx[0, i] - s.p_vx[1, i]) * nx + (s.p_vy[0, i] - s.p_vy[1, i]) * ny
    push = 0.5 * (1.0 + BOUNCE) * max(closing, 0.0) if depth > 0.0 else 0.0
    s.p_px[0, i] -= apart * nx
    s.p_py[0, i] -= apart * ny
    s.p_vx[0, i] -= push * nx
    s.p_vy[0, i] -= push * ny
    s.p_px[1, i] += apart * nx
    s.p_py[1, i] += apart * ny
    s.p_vx[1, i] += push * nx
    s.p_vy[1, i] += push * ny


@rule
def wrestler(s, i, side, colour):
    """Body, hands that reach out in a dash, eyes that show where it looks; around it what is left of the cooldown."""
    x = s.p_px[side, i]
    y = s.p_py[side, i]
    hx = s.p_cos[side, i]
    hy = s.p_sin[side, i]
    reach = 0.33 + 0.16 * clamp((s.p_cooldown[side, i] - DASH_TICKS + 40.0) / 40.0, 0.0, 1.0)
    for k in range(2):
        left = 0.27 if k == 0 else -0.27
        hand_x, hand_y = to_world(hx, hy, reach, left)
        circle(x + hand_x, y + hand_y, 0.13, colour)
    circle(x, y, RADIUS, colour)
    for k in range(2):
        left = 0.15 if k == 0 else -0.15
        eye_x, eye_y = to_world(hx, hy, 0.2, left)
        pupil_x, pupil_y = to_world(hx, hy, 0.245, 0.93 * left)
        circle(x + eye_x, y + eye_y, 0.095, EYE)
        circle(x + pupil_x, y + pupil_y, 0.05, INK)
    ring(x, y, 0.53, 0.03, s.p_cooldown[side, i] / DASH_TICKS, HALF_PI, COOLDOWN)


@rule
def warning(s, i, side):
    """An arc of the ring's edge beside a wrestler, brighter the nearer the wrestler is to it."""
    angle = atan2(s.p_py[side, i], s.p_px[side, i])
    near = clamp(1.0 - (rim(s, i) - off_centre(s, i, side)) * 0.9, 0.0, 1.0)
    ring(0.0, 0.0, rim(s, i) + 0.07, 0.07, 0.16, angle - 0.16 * PI, WARNING, alpha=near)


class Sumo(Drill):
    """Push the other wrestler off a ring that shrinks after four seconds."""

    name = "sumo"
    title = "Sumo Drill"
    sides = 2
    tick_rate = TICK_RATE
    action_repeat = 4
    time_limit = TIME_LIMIT
    world = (-4.2, -3.2, 4.2, 3.2)
    mirrored = True
    palette = PALETTE
    shades = {"mat": 1}
    training = {"opponents": {"self": 0.75, "pusher": 0.125, "random": 0.125}}

    state = {name: kind for name, kind in Ball.state.items() if name.startswith("p_") and name != "p_left"} | {
        "won": "i32"  # +1: side 0 has pushed the other out, -1: side 1 has; kept to the end of the decision
    }
    half_turn = ("p_px", "p_py", "p_cos", "p_sin", "p_vx", "p_vy", "won")
    actions = (
        Choice("move", ("stop", "forward", "back")),
        Choice("turn", ("none", "left", "right")),
        Choice("dash", ("no", "yes")),
    )
    keys = {code: pair for code, pair in Ball.keys.items() if "strafe" not in pair[1]}
    # ahead and left: in the frame of the observing wrestler's heading; which way the world lies does not matter
    observations = (
        Observation("rival ahead", scale=2 * RIM, unit="u", help="from oneself to the rival, along one's own heading"),
        Observation("rival left", scale=2 * RIM, unit="u", help="the same to the left of the heading"),
        Observation("rival velocity ahead", scale=PLAYER_SPEED, unit="u/s", help="its velocity along one's heading"),
        Observation("rival velocity left", scale=PLAYER_SPEED, unit="u/s", help="the same to the left of the heading"),
        Observation("rival heading ahead", help="a unit vector, along one's own heading"),
        Observation("rival heading left", help="the same to the left of the heading"),
        Observation("rival turning", scale=TURN_SPEED, unit="rad/s", help="positive is counter-clockwise"),
        Observation("rival cooldown", scale=1.5, unit="s", help="until the rival may dash again"),
        Observation("own velocity ahead", scale=PLAYER_SPEED, unit="u/s", help="along one's own heading"),
        Observation("own velocity left", scale=PLAYER_SPEED, unit="u/s", help="to the left of it"),
        Observation("own turning", scale=TURN_SPEED, unit="rad/s", help="positive is counter-clockwise"),
        Observation("own cooldown", scale=1.5, unit="s", help="until one may dash again"),
        Observation("centre ahead", scale=RIM, unit="u", help="to the ring's middle, along one's own heading"),
        Observation("centre left", scale=RIM, unit="u", help="the same to the left of the heading"),
        Observation("own way to the edge", scale=RIM, unit="u", help="from one's own middle; the ring shrinks"),
        Observation("rival's way to the edge", scale=RIM, unit="u", help="the same of the rival"),
        Observation("time left", scale=12, unit="s", help="until the bout is over"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"win": 1.0}
    potentials = {"ground": 1.0, "nearness": 0.5}
    baselines = ("pusher",)
    drag = (
        Handle("player 0", "p_px", "p_py", "p_vx", "p_vy", index=0),
        Handle("player 1", "p_px", "p_py", "p_vx", "p_vy", index=1),
    )

    @rule
    def reset(s, i):
        """Face to face, with jitter; half of practice begins anywhere, also beside the edge and back to back."""
        if s.practice[i] == 1 and random(s, i) < 0.5:
            angle = jitter(s, i, PI)
            away = angle + PI + jitter(s, i, 1.5)
            far0 = 0.6 + 1.8 * random(s, i)
            far1 = 0.6 + 1.8 * random(s, i)
            place(s, i, 0, far0 * cos(angle), far0 * sin(angle), jitter(s, i, PI))
            place(s, i, 1, far1 * cos(away), far1 * sin(away), jitter(s, i, PI))
        else:
            place(s, i, 0, -START + jitter(s, i, 0.2), jitter(s, i, 0.3), jitter(s, i, 0.3))
            place(s, i, 1, START + jitter(s, i, 0.2), jitter(s, i, 0.3), PI + jitter(s, i, 0.3))

    @rule
    def decide(s, i):
        """Action = move * 6 + turn * 2 + dash, each the index of its option."""
        for side in range(2):
            move = s.action[side, i] // 6
            turning = s.action[side, i] // 2 % 3
            s.p_ahead[side, i] = RUN_SPEED if move == 1 else (-RUN_SPEED if move == 2 else 0.0)
            s.p_turn[side, i] = TURN_SPEED if turning == 1 else (-TURN_SPEED if turning == 2 else 0.0)
            s.p_dash[side, i] = float(s.action[side, i] % 2)

    @rule
    def tick(s, i):
        """Feet, then the collision, then the edge: of two beyond it the farther one has lost."""
        wrestle(s, i, 0)
        wrestle(s, i, 1)
        collide(s, i)
        far0 = off_centre(s, i, 0)
        far1 = off_centre(s, i, 1)
        fell = max(far0, far1) > rim(s, i) and far0 != far1
        won = (1 if far1 > far0 else -1) if fell else 0
        s.won[i] = won if s.won[i] == 0 else s.won[i]

    @rule
    def observe(s, i, side, o):
        x = s.p_px[side, i]
        y = s.p_py[side, i]
        hx = s.p_cos[side, i]
        hy = s.p_sin[side, i]
        ahead, left = from_heading(hx, hy, s.p_px[1 - side, i] - x, s.p_py[1 - side, i] - y)
        rival_v_ahead, rival_v_left = from_heading(hx, hy, s.p_vx[1 - side, i], s.p_vy[1 - side, i])
        rival_h_ahead, rival_h_left = from_heading(hx, hy, s.p_cos[1 - side, i], s.p_sin[1 - side, i])
        v_ahead, v_left = from_heading(hx, hy, s.p_vx[side, i], s.p_vy[side, i])
        centre_ahead, centre_left = from_heading(hx, hy, -x, -y)
        o[0, i] = seen(ahead * PER_DIAMETER)
        o[1, i] = seen(left * PER_DIAMETER)
        o[2, i] = seen(rival_v_ahead * PER_PLAYER_SPEED)
        o[3, i] = seen(rival_v_left * PER_PLAYER_SPEED)
        o[4, i] = seen(rival_h_ahead)
        o[5, i] = seen(rival_h_left)
        o[6, i] = seen(s.p_w[1 - side, i] * PER_TURN_SPEED)
        o[7, i] = seen(s.p_cooldown[1 - side, i] * PER_COOLDOWN)
        o[8, i] = seen(v_ahead * PER_PLAYER_SPEED)
        o[9, i] = seen(v_left * PER_PLAYER_SPEED)
        o[10, i] = seen(s.p_w[side, i] * PER_TURN_SPEED)
        o[11, i] = seen(s.p_cooldown[side, i] * PER_COOLDOWN)
        o[12, i] = seen(centre_ahead * PER_RIM)
        o[13, i] = seen(centre_left * PER_RIM)
        o[14, i] = seen((rim(s, i) - off_centre(s, i, side)) * PER_RIM)
        o[15, i] = seen((rim(s, i) - off_centre(s, i, 1 - side)) * PER_RIM)
        o[16, i] = seen(1.0 - float(s.ticks[i]) * PER_TIME)

    @rule
    def terminated(s, i):
        """Time is a real end, too: wrestlers see how much is left."""
        return s.won[i] != 0 or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return s.won[i]

    @rule
    def win(s, i, side):
        """+1 for the one who is still on the ring, -1 for the other: a reward."""
        return float(s.won[i]) * (1.0 if side == 0 else -1.0)

    @rule
    def ground(s, i, side):
        """How much nearer to the middle one stands than the rival does: a potential from -1 to 1."""
        return (off_centre(s, i, 1 - side) - off_centre(s, i, side)) * PER_RIM

    @rule
    def nearness(s, i, side):
        """Nearness to the rival: a potential."""
        return -length(s.p_px[1, i] - s.p_px[0, i], s.p_py[1, i] - s.p_py[0, i]) * PER_DIAMETER

    @rule
    def pusher(s, i, side):
        """Goes for the rival, by way of the middle of the ring where it stands nearer to the edge; dashes into it."""
        x = s.p_px[side, i]
        y = s.p_py[side, i]
        outside = off_centre(s, i, side) > off_centre(s, i, 1 - side) + 0.3
        to_x = (0.0 if outside else s.p_px[1 - side, i] + 0.1 * s.p_vx[1 - side, i]) - x
        to_y = (0.0 if outside else s.p_py[1 - side, i] + 0.1 * s.p_vy[1 - side, i]) - y
        ahead, left = from_heading(s.p_cos[side, i], s.p_sin[side, i], to_x, to_y)
        turning = 0 if abs(left) < 0.15 * ahead else (1 if left > 0.0 else 2)
        move = 1 if ahead > abs(left) else 0
        dash = 1 if not outside and ahead < 1.3 and abs(left) < 0.25 * ahead else 0
        return move * 6 + turning * 2 + dash

    @rule
    def scene(s, i):
        box(0.0, 0.0, 4.0, 3.0, 1.0, 0.0, 0.12, MAT)
        ring(0.0, 0.0, RIM, 0.03, 1.0, 0.0, LINE, alpha=0.35)
        circle(0.0, 0.0, rim(s, i) + 0.14, LINE)
        circle(0.0, 0.0, rim(s, i), CLAY)
        line(-0.45, -0.25, -0.45, 0.25, 0.025, LINE)
        line(0.45, -0.25, 0.45, 0.25, 0.025, LINE)
        warning(s, i, 0)
        warning(s, i, 1)
        wrestler(s, i, 0, PLAYER0)
        wrestler(s, i, 1, PLAYER1)
