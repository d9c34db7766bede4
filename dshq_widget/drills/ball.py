"""Ball Drill: two players, one ball, two goals, ten seconds. Side 0 attacks +x; side 1 sees the world half turned.

What happens in the world is in `ball_physics.py`; here are the game's declaration, its starts, what players see and
want, a scripted player and the picture.
"""
# ruff: noqa: F821  (random, length, clamp, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule
from dshq_widget.drills.ball_physics import (
    BALL_RADIUS,
    BALL_SPEED,
    DASH_TICKS,
    GOAL_DEPTH,
    GOAL_HALF_WIDTH,
    HALF_LENGTH,
    HALF_WIDTH,
    PLAYER_SPEED,
    RUN_SPEED,
    TICK_RATE,
    TURN_SPEED,
    bounce,
    from_heading,
    hold_in,
    kick,
    push_players,
    roll,
    run,
)
from dshq_widget.drills.ball_scene import (
    BALL,
    GOAL0,
    GOAL1,
    LINE,
    MARK,
    PALETTE,
    PLAYER0,
    PLAYER1,
    POST,
    THICK,
    TURF,
    WALL,
    player,
)

TIME_LIMIT = 1200  # ticks: 10 s
PI = 3.14159265358979
HALF_PI = 1.5707963267949
NOBODY = 100.0  # a coordinate far from everything
STALLED = 0.6  # u/s

PER_LENGTH = 1 / 8  # observation scales
PER_BALL_SPEED = 1 / BALL_SPEED
PER_PLAYER_SPEED = 1 / PLAYER_SPEED
PER_TURN_SPEED = 1 / TURN_SPEED
PER_HALF_LENGTH = 1 / HALF_LENGTH
PER_HALF_WIDTH = 1 / HALF_WIDTH
PER_COOLDOWN = 1 / DASH_TICKS
PER_TIME = 1 / TIME_LIMIT


@rule
def seen(value):
    """An observation within its bounds."""
    return clamp(value, -2.0, 2.0)


@rule
def jitter(s, i, most):
    """f32 uniform in [-most, most)."""
    return (random(s, i) * 2.0 - 1.0) * most


@rule
def spot(s, i, clear_x, clear_y, ball_x, ball_y, other_x, other_y):
    """The last of four random spots that is well away from the ball and the other player, else the clear one given."""
    for _ in range(4):
        x = jitter(s, i, 3.5)
        y = jitter(s, i, 2.5)
        free = length(x - ball_x, y - ball_y) > 0.75 and length(x - other_x, y - other_y) > 1.0
        clear_x = x if free else clear_x
        clear_y = y if free else clear_y
    return clear_x, clear_y


@rule
def place(s, i, side, x, y, angle):
    """Put a player down, at rest."""
    s.p_px[side, i] = x
    s.p_py[side, i] = y
    s.p_cos[side, i] = cos(angle)
    s.p_sin[side, i] = sin(angle)


@rule
def end(toward, colour):
    """The markings, goal, net and walls of the end at x = toward * HALF_LENGTH (toward: -1 or 1)."""
    x = toward * HALF_LENGTH
    back = toward * (HALF_LENGTH + GOAL_DEPTH)
    front = toward * (HALF_LENGTH - 1.1)
    box(0.5 * (x + back), 0.0, 0.5 * GOAL_DEPTH, GOAL_HALF_WIDTH, 1.0, 0.0, 0.0, colour)
    for k in range(3):  # the net
        net_x = x + toward * 0.15 * float(k + 1)
        line(net_x, -GOAL_HALF_WIDTH, net_x, GOAL_HALF_WIDTH, 0.008, MARK, alpha=0.6)
    for k in range(11):
        net_y = 0.16 * float(k - 5)
        line(x, net_y, back, net_y, 0.008, MARK, alpha=0.6)
    line(x, -GOAL_HALF_WIDTH, x, GOAL_HALF_WIDTH, 0.02, LINE)
    line(front, -1.7, front, 1.7, 0.02, LINE)
    line(x, 1.7, front, 1.7, 0.02, LINE)
    line(x, -1.7, front, -1.7, 0.02, LINE)
    ring(front, 0.0, 0.5, 0.02, 0.5, HALF_PI if toward > 0.0 else -HALF_PI, LINE)
    circle(toward * (HALF_LENGTH - 0.75), 0.0, 0.05, LINE)
    wall_x = x + toward * THICK  # walls lie outside the field, and posts touch its corners
    back_x = back + toward * THICK
    wall_y = GOAL_HALF_WIDTH + THICK
    line(back_x, -wall_y, back_x, wall_y, THICK, WALL)
    for k in range(2):
        up = 1.0 if k == 0 else -1.0
        line(wall_x, up * wall_y, back_x, up * wall_y, THICK, WALL)
        line(wall_x, up * wall_y, wall_x, up * (HALF_WIDTH + THICK), THICK, WALL)
        circle(wall_x, up * wall_y, 1.42 * THICK, POST)


class Ball(Drill):
    """Arena football, one against one: run, strafe, turn and dash the ball into the other goal within ten seconds."""

    name = "ball"
    title = "Ball Drill"
    sides = 2
    tick_rate = TICK_RATE
    action_repeat = 4
    time_limit = TIME_LIMIT
    world = (-4.7, -3.1, 4.7, 3.1)
    mirrored = True
    scene_max = 96
    palette = PALETTE
    # measured: with two noses, each in the other's shade, an encoder mixes the players up (docs/LOG.md)
    pointed = ("player0",)
    shades = {"goal0": 0, "goal1": 0}  # gaps in the walls
    algorithm_settings = {  # measured: docs/LOG.md
        "dreamer": {
            "size": "spots",
            "repeat": 4,
            "sequence": 8,
            "horizon": 10,
            "starts": 128,
            "reward_scale": 10.0,
            "reward_weights": {"goal": 2.0, "draw": 0.0, "waiting": 0.0, "ball_to_goal": 3.0, "approach": 3.0},
            "discount_horizon": 30.0,
            "ratio": 8.0,
            "free_nats": 0.3,
            "learning_rate": 3e-3,
            "behaviour_learning_rate": 6e-4,
        }
    }
    # measured: against earlier policies, too, players learn sooner and wait for one another less (docs/LOG.md)
    training = {"opponents": {"self": 0.5, "pool": 0.25, "chaser": 0.125, "random": 0.125}}

    state = {
        "ball_px": "f32",
        "ball_py": "f32",
        "ball_vx": "f32",
        "ball_vy": "f32",
        "p_px": ("f32", 2),
        "p_py": ("f32", 2),
        "p_cos": ("f32", 2),  # heading as a unit vector
        "p_sin": ("f32", 2),
        "p_vx": ("f32", 2),
        "p_vy": ("f32", 2),
        "p_w": ("f32", 2),  # rad/s, counter-clockwise
        "p_cooldown": ("f32", 2),  # ticks until the next dash
        "p_ahead": ("f32", 2),  # controls, held over a decision: wanted velocity along the heading and to its left, u/s
        "p_left": ("f32", 2),
        "p_turn": ("f32", 2),  # wanted rad/s
        "p_dash": ("f32", 2),  # 1: dash as soon as possible
        "goal": "i32",  # +1: side 0 has scored, -1: side 1; kept to the end of the decision
    }
    half_turn = (
        "ball_px", "ball_py", "ball_vx", "ball_vy", "p_px", "p_py", "p_cos", "p_sin", "p_vx", "p_vy", "goal",
    )  # fmt: skip
    actions = (
        Choice("move", ("stop", "forward", "back", "strafe left", "strafe right")),
        Choice("turn", ("none", "left", "right")),
        Choice("dash", ("no", "yes")),
    )
    keys = {
        "KeyW": ("move", "forward"),
        "KeyS": ("move", "back"),
        "KeyQ": ("move", "strafe left"),
        "KeyE": ("move", "strafe right"),
        "KeyA": ("turn", "left"),
        "KeyD": ("turn", "right"),
        "ArrowUp": ("move", "forward"),
        "ArrowDown": ("move", "back"),
        "ArrowLeft": ("turn", "left"),
        "ArrowRight": ("turn", "right"),
        "Space": ("dash", "yes"),
    }
    # ahead and left: along the observing player's heading; x and y: in the world turned so that it attacks +x
    observations = (
        Observation("ball ahead", scale=8, unit="u", help="from oneself to the ball, along one's own heading"),
        Observation("ball left", scale=8, unit="u", help="the same to the left of the heading"),
        Observation("ball velocity ahead", scale=10, unit="u/s", help="the ball's velocity along one's own heading"),
        Observation("ball velocity left", scale=10, unit="u/s", help="the same to the left of the heading"),
        Observation("own x", scale=4, unit="u", help="from the middle, toward the goal to shoot at"),
        Observation("own y", scale=3, unit="u", help="from the middle, to the left as one attacks"),
        Observation("own velocity ahead", scale=6, unit="u/s", help="along one's own heading"),
        Observation("own velocity left", scale=6, unit="u/s", help="to the left of it"),
        Observation("own heading x", scale=1, help="a unit vector, 1 toward the goal to shoot at"),
        Observation("own heading y", scale=1, help="the same vector, to the left as one attacks"),
        Observation("own turning", scale=5, unit="rad/s", help="positive is counter-clockwise"),
        Observation("own cooldown", scale=1.5, unit="s", help="until one may dash again"),
        Observation("opponent ahead", scale=8, unit="u", help="from oneself to the opponent, along one's own heading"),
        Observation("opponent left", scale=8, unit="u", help="the same to the left of the heading"),
        Observation("opponent velocity ahead", scale=6, unit="u/s", help="its velocity along one's own heading"),
        Observation("opponent velocity left", scale=6, unit="u/s", help="the same to the left of the heading"),
        Observation("opponent heading ahead", scale=1, help="a unit vector, along one's own heading"),
        Observation("opponent heading left", scale=1, help="the same to the left of the heading"),
        Observation("opponent turning", scale=5, unit="rad/s", help="positive is counter-clockwise"),
        Observation("opponent cooldown", scale=1.5, unit="s", help="until the opponent may dash again"),
        Observation("ball x", scale=4, unit="u", help="from the middle, as own x"),
        Observation("ball y", scale=3, unit="u", help="from the middle, as own y"),
        Observation("their goal ahead", scale=8, unit="u", help="to the goal to shoot at, along one's own heading"),
        Observation("their goal left", scale=8, unit="u", help="the same to the left of the heading"),
        Observation("own goal ahead", scale=8, unit="u", help="to one's own goal, along one's own heading"),
        Observation("own goal left", scale=8, unit="u", help="the same to the left of the heading"),
        Observation("ball distance", scale=8, unit="u", help="from oneself to the ball"),
        Observation("time left", scale=10, unit="s", help="until the match is over"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"goal": 1.0, "draw": 1.0, "stall": 0.0, "waiting": 0.02}
    potentials = {"ball_to_goal": 1.0, "approach": 2.0}  # all measured: without `waiting` equal players score no goals
    baselines = ("chaser",)
    drag = (
        Handle("ball", "ball_px", "ball_py", "ball_vx", "ball_vy", kind="ball"),
        Handle("player 0", "p_px", "p_py", "p_vx", "p_vy", index=0),
        Handle("player 1", "p_px", "p_py", "p_vx", "p_vy", index=1),
    )

    @rule
    def reset(s, i):
        """Kick-off with jitter; in practice half of the time only.

        A quarter of practice begins with the ball near a goal and a quarter anywhere (measured mix, docs/LOG.md).
        """
        draw = random(s, i)
        if s.practice[i] == 1 and draw >= 0.5:
            if draw < 0.75:
                near = 2.0 + 1.6 * random(s, i)
                s.ball_px[i] = near if random(s, i) < 0.5 else -near
                s.ball_py[i] = jitter(s, i, 1.5)
            else:
                s.ball_px[i] = jitter(s, i, 3.5)
                s.ball_py[i] = jitter(s, i, 2.5)
            s.ball_vx[i] = jitter(s, i, 1.5)
            s.ball_vy[i] = jitter(s, i, 1.5)
            x0, y0 = spot(s, i, -2.0 * sign(s.ball_px[i]), 0.0, s.ball_px[i], s.ball_py[i], NOBODY, NOBODY)
            x1, y1 = spot(s, i, -2.0 * sign(s.ball_px[i]), -1.5 * sign(y0), s.ball_px[i], s.ball_py[i], x0, y0)
            place(s, i, 0, x0, y0, jitter(s, i, PI))
            place(s, i, 1, x1, y1, jitter(s, i, PI))
        else:
            s.ball_px[i] = jitter(s, i, 0.1)
            s.ball_py[i] = jitter(s, i, 0.3)
            place(s, i, 0, -2.0 + jitter(s, i, 0.3), jitter(s, i, 0.3), jitter(s, i, 0.3))
            place(s, i, 1, 2.0 + jitter(s, i, 0.3), jitter(s, i, 0.3), PI + jitter(s, i, 0.3))

    @rule
    def decide(s, i):
        """Action = move * 6 + turn * 2 + dash, each the index of its option."""
        for side in range(2):
            move = s.action[side, i] // 6
            turn = s.action[side, i] // 2 % 3
            dash = s.action[side, i] % 2
            s.p_ahead[side, i] = RUN_SPEED if move == 1 else (-RUN_SPEED if move == 2 else 0.0)
            s.p_left[side, i] = RUN_SPEED if move == 3 else (-RUN_SPEED if move == 4 else 0.0)
            s.p_turn[side, i] = TURN_SPEED if turn == 1 else (-TURN_SPEED if turn == 2 else 0.0)
            s.p_dash[side, i] = 1.0 if dash == 1 else 0.0

    @rule
    def tick(s, i):
        """Controls, velocities, positions; then collisions; then the goal."""
        run(s, i, 0)
        run(s, i, 1)
        roll(s, i)
        push_players(s, i)
        kick(s, i)
        hold_in(s, i, 0)
        hold_in(s, i, 1)
        bounce(s, i)
        in_goal = abs(s.ball_px[i]) > HALF_LENGTH and abs(s.ball_py[i]) < GOAL_HALF_WIDTH
        scored = (1 if s.ball_px[i] > 0.0 else -1) if in_goal else 0
        s.goal[i] = scored if s.goal[i] == 0 else s.goal[i]

    @rule
    def observe(s, i, side, o):
        turned = 1.0 if side == 0 else -1.0
        x = s.p_px[side, i]
        y = s.p_py[side, i]
        hx = s.p_cos[side, i]
        hy = s.p_sin[side, i]
        ball_ahead, ball_left = from_heading(hx, hy, s.ball_px[i] - x, s.ball_py[i] - y)
        ball_v_ahead, ball_v_left = from_heading(hx, hy, s.ball_vx[i], s.ball_vy[i])
        v_ahead, v_left = from_heading(hx, hy, s.p_vx[side, i], s.p_vy[side, i])
        other_ahead, other_left = from_heading(hx, hy, s.p_px[1 - side, i] - x, s.p_py[1 - side, i] - y)
        other_v_ahead, other_v_left = from_heading(hx, hy, s.p_vx[1 - side, i], s.p_vy[1 - side, i])
        other_h_ahead, other_h_left = from_heading(hx, hy, s.p_cos[1 - side, i], s.p_sin[1 - side, i])
        goal_ahead, goal_left = from_heading(hx, hy, turned * HALF_LENGTH - x, -y)
        own_goal_ahead, own_goal_left = from_heading(hx, hy, -turned * HALF_LENGTH - x, -y)
        o[0, i] = seen(ball_ahead * PER_LENGTH)
        o[1, i] = seen(ball_left * PER_LENGTH)
        o[2, i] = seen(ball_v_ahead * PER_BALL_SPEED)
        o[3, i] = seen(ball_v_left * PER_BALL_SPEED)
        o[4, i] = seen(turned * x * PER_HALF_LENGTH)
        o[5, i] = seen(turned * y * PER_HALF_WIDTH)
        o[6, i] = seen(v_ahead * PER_PLAYER_SPEED)
        o[7, i] = seen(v_left * PER_PLAYER_SPEED)
        o[8, i] = seen(turned * hx)
        o[9, i] = seen(turned * hy)
        o[10, i] = seen(s.p_w[side, i] * PER_TURN_SPEED)
        o[11, i] = seen(s.p_cooldown[side, i] * PER_COOLDOWN)
        o[12, i] = seen(other_ahead * PER_LENGTH)
        o[13, i] = seen(other_left * PER_LENGTH)
        o[14, i] = seen(other_v_ahead * PER_PLAYER_SPEED)
        o[15, i] = seen(other_v_left * PER_PLAYER_SPEED)
        o[16, i] = seen(other_h_ahead)
        o[17, i] = seen(other_h_left)
        o[18, i] = seen(s.p_w[1 - side, i] * PER_TURN_SPEED)
        o[19, i] = seen(s.p_cooldown[1 - side, i] * PER_COOLDOWN)
        o[20, i] = seen(turned * s.ball_px[i] * PER_HALF_LENGTH)
        o[21, i] = seen(turned * s.ball_py[i] * PER_HALF_WIDTH)
        o[22, i] = seen(goal_ahead * PER_LENGTH)
        o[23, i] = seen(goal_left * PER_LENGTH)
        o[24, i] = seen(own_goal_ahead * PER_LENGTH)
        o[25, i] = seen(own_goal_left * PER_LENGTH)
        o[26, i] = seen(length(ball_ahead, ball_left) * PER_LENGTH)
        o[27, i] = seen(1.0 - float(s.ticks[i]) * PER_TIME)

    @rule
    def terminated(s, i):
        """Time is a real end, too: players see how much is left, and a draw is paid for."""
        return s.goal[i] != 0 or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return s.goal[i]

    @rule
    def goal(s, i, side):
        """+1 for a goal, -1 against: a reward."""
        return float(s.goal[i]) * (1.0 if side == 0 else -1.0)

    @rule
    def draw(s, i, side):
        """-1 for both sides when time ends a match. At weight 1 a draw costs as much as a goal against."""
        return -1.0 if s.ticks[i] >= TIME_LIMIT and s.goal[i] == 0 else 0.0

    @rule
    def stall(s, i, side):
        """-1 for every decision in which the ball hardly moves; off unless somebody weighs it."""
        return -1.0 if length(s.ball_vx[i], s.ball_vy[i]) < STALLED else 0.0

    @rule
    def waiting(s, i, side):
        """-1 for every decision, for both sides: equal players would wait for one another's mistakes until time is up.

        Its sum over a whole match, discounted, is 3.1, more than the 2 that a goal against costs at most together with
        `ball_to_goal`: by the numbers alone who is sure of a draw should let the other score. Trained players do not;
        the weight is the one that made matches worth watching (measured: docs/LOG.md, players that wait).
        """
        return -1.0

    @rule
    def ball_to_goal(s, i, side):
        """How much nearer the ball is to the other goal than to one's own: a potential from -1 to 1."""
        goal_x = HALF_LENGTH if side == 0 else -HALF_LENGTH
        own = length(s.ball_px[i] + goal_x, s.ball_py[i])
        other = length(s.ball_px[i] - goal_x, s.ball_py[i])
        return (own - other) * PER_LENGTH

    @rule
    def approach(s, i, side):
        """Nearness to the ball: a potential."""
        return -length(s.ball_px[i] - s.p_px[side, i], s.ball_py[i] - s.p_py[side, i]) * PER_LENGTH

    @rule
    def chaser(s, i, side):
        """Gets behind the ball on its line to the goal, drives through it and dashes to shoot.

        It thinks in the world in which it attacks +x. Distances and dead bands are tuned by hand (docs/LOG.md).
        """
        turned = 1.0 if side == 0 else -1.0
        x = turned * s.p_px[side, i]
        y = turned * s.p_py[side, i]
        hx = turned * s.p_cos[side, i]
        hy = turned * s.p_sin[side, i]
        bx = turned * (s.ball_px[i] + 0.22 * s.ball_vx[i])
        by = turned * (s.ball_py[i] + 0.22 * s.ball_vy[i])
        ux = HALF_LENGTH + 0.3 - bx
        uy = -0.9 * by
        reach = max(length(ux, uy), 1e-6)
        ux = ux / reach
        uy = uy / reach
        along = (bx - x) * ux + (by - y) * uy
        across = (bx - x) * uy - (by - y) * ux
        drives = along > 0.1 and abs(across) < 0.15 + 0.15 * along
        beside = along < 0.35
        swerve = (0.8 if across > 0.0 else -0.8) if beside else 0.0
        behind = 0.6 if beside else 0.63
        lead = 0.5 if along < 0.65 else -0.25
        to_x = bx + lead * ux if drives else clamp(bx - behind * ux - swerve * uy, -3.65, 3.65)
        to_y = by + lead * uy if drives else clamp(by - behind * uy + swerve * ux, -2.65, 2.65)
        ahead, left = from_heading(hx, hy, to_x - x, to_y - y)
        goal_ahead, goal_left = from_heading(hx, hy, ux, uy)
        close = length(bx - x, by - y) < 1.22
        faces_goal = close and not drives
        face_ahead = goal_ahead if faces_goal else ahead
        face_left = goal_left if faces_goal else left
        faced = abs(face_left) < 0.1 * face_ahead
        turn = 0 if faced else (1 if face_left > 0.0 else 2)
        lengthwise = 1 if ahead > 0.0 else 2
        sideways = 3 if left > 0.0 else 4
        move = lengthwise if abs(ahead) >= abs(left) else sideways
        ready = s.p_cooldown[side, i] == 0.0
        shoots = drives and ready and along < 1.3 and abs(across) < 0.2 and goal_ahead > 0.93
        return move * 6 + turn * 2 + (1 if shoots else 0)

    @rule
    def scene(s, i):
        """Always the same shapes in the same order, so that a page can draw the moments between two ticks."""
        box(0.0, 0.0, HALF_LENGTH, HALF_WIDTH, 1.0, 0.0, 0.0, TURF)
        line(0.0, -HALF_WIDTH, 0.0, HALF_WIDTH, 0.02, LINE)
        ring(0.0, 0.0, 0.8, 0.02, 1.0, 0.0, LINE)
        circle(0.0, 0.0, 0.07, LINE)
        end(-1.0, GOAL0)
        end(1.0, GOAL1)
        wall_x = HALF_LENGTH + THICK
        wall_y = HALF_WIDTH + THICK
        line(-wall_x, wall_y, wall_x, wall_y, THICK, WALL)
        line(-wall_x, -wall_y, wall_x, -wall_y, THICK, WALL)
        player(s, i, 0, PLAYER0, float(s.goal[i]))
        player(s, i, 1, PLAYER1, -float(s.goal[i]))
        circle(s.ball_px[i], s.ball_py[i], BALL_RADIUS, BALL)
