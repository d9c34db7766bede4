"""Approach: one player of the Ball Drill must touch a rolling ball. The sanity check of steering.

The player, the ball and their collisions are those of `ball_physics.py`; the field has four walls and no goals.
"""
# ruff: noqa: F821  (random, length, box, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule
from dshq_widget.drills.ball import (
    NOBODY,
    PER_BALL_SPEED,
    PER_HALF_LENGTH,
    PER_HALF_WIDTH,
    PER_LENGTH,
    PER_PLAYER_SPEED,
    PER_TURN_SPEED,
    PI,
    Ball,
    jitter,
    place,
    seen,
    spot,
)
from dshq_widget.drills.ball_physics import (
    BALL_RADIUS,
    BALL_SHARE,
    HALF_LENGTH,
    HALF_WIDTH,
    INVERSE_MASS,
    PLAYER_BOUNCE,
    RUN_SPEED,
    TICK_RATE,
    TURN_SPEED,
    bounced,
    contact,
    from_heading,
    hold_in,
    recoil,
    roll,
    run,
)
from dshq_widget.drills.ball_scene import BALL, LINE, PALETTE, PLAYER0, THICK, TURF, WALL, player

TIME_LIMIT = 480  # ticks: 4 s; the longest way takes about 3
PER_TIME = 1 / TIME_LIMIT


class Approach(Drill):
    """Run to the ball and touch it within four seconds."""

    name = "approach"
    title = "Approach"
    sides = 1
    tick_rate = TICK_RATE
    action_repeat = 4
    time_limit = TIME_LIMIT
    world = (-4.2, -3.2, 4.2, 3.2)
    palette = PALETTE
    pointed = ("player0",)
    legend = {"player0": "player", "ball": "ball"}
    hint = "Untrained it runs anywhere. Press Train, and within seconds it turns to the ball first and then runs."
    target = 0.98
    algorithm_settings = {  # measured: docs/LOG.md
        "dreamer": {
            "size": "spots",
            "repeat": 4,
            "sequence": 8,
            "horizon": 10,
            "starts": 128,
            "reward_scale": 10.0,
            "discount_horizon": 30.0,
            "ratio": 8.0,
            "free_nats": 0.3,
            "learning_rate": 3e-3,
            "behaviour_learning_rate": 6e-4,
        }
    }
    training = {"min_entropy": 0.0}  # nobody defends: to be sure of oneself is no collapse

    state = {name: ("f32", 1) if name.startswith("p_") else "f32" for name in Ball.state if name != "goal"} | {
        "touched": "i32"
    }
    actions = (Choice("move", ("stop", "forward", "back")), Choice("turn", ("none", "left", "right")))
    keys = {code: pair for code, pair in Ball.keys.items() if pair[0] != "dash" and "strafe" not in pair[1]}
    # ahead and left: in the frame of the player's heading
    observations = (
        *Ball.observations[:11],  # up to its own turning
        Observation("time left", scale=4, unit="s", help="until the episode is over"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"touch": 1.0}
    potentials = {"nearness": 3.0}
    baselines = ("runner",)
    drag = (
        Handle("ball", "ball_px", "ball_py", "ball_vx", "ball_vy", kind="ball"),
        Handle("player 0", "p_px", "p_py", "p_vx", "p_vy", index=0),
    )

    @rule
    def reset(s, i):
        """Ball and player anywhere, apart from each other; the ball rolls."""
        s.ball_px[i] = jitter(s, i, 3.5)
        s.ball_py[i] = jitter(s, i, 2.5)
        s.ball_vx[i] = jitter(s, i, 1.5)
        s.ball_vy[i] = jitter(s, i, 1.5)
        x, y = spot(s, i, -2.0 * sign(s.ball_px[i]), 0.0, s.ball_px[i], s.ball_py[i], NOBODY, NOBODY)
        place(s, i, 0, x, y, jitter(s, i, PI))

    @rule
    def decide(s, i):
        """Action = move * 3 + turn, each the index of its option. Nobody strafes or dashes."""
        move = s.action[0, i] // 3
        turn = s.action[0, i] % 3
        s.p_ahead[0, i] = RUN_SPEED if move == 1 else (-RUN_SPEED if move == 2 else 0.0)
        s.p_turn[0, i] = TURN_SPEED if turn == 1 else (-TURN_SPEED if turn == 2 else 0.0)

    @rule
    def tick(s, i):
        """The player's controls, the ball, then the touch and the walls."""
        run(s, i, 0)
        roll(s, i)
        nx, ny, apart, closing = contact(s, i, 0)
        kick = (1.0 + PLAYER_BOUNCE) * closing / INVERSE_MASS
        s.ball_vx[i] += kick * nx
        s.ball_vy[i] += kick * ny
        s.ball_px[i] += BALL_SHARE * apart * nx
        s.ball_py[i] += BALL_SHARE * apart * ny
        recoil(s, i, 0, nx, ny, kick, apart)
        s.touched[i] = 1 if apart > 0.0 else s.touched[i]
        hold_in(s, i, 0)
        x, vx, vy = bounced(s.ball_px[i], s.ball_vx[i], s.ball_vy[i], HALF_LENGTH - BALL_RADIUS)
        y, vy, vx = bounced(s.ball_py[i], vy, vx, HALF_WIDTH - BALL_RADIUS)
        s.ball_px[i] = x
        s.ball_py[i] = y
        s.ball_vx[i] = vx
        s.ball_vy[i] = vy

    @rule
    def observe(s, i, side, o):
        hx = s.p_cos[0, i]
        hy = s.p_sin[0, i]
        ball_ahead, ball_left = from_heading(hx, hy, s.ball_px[i] - s.p_px[0, i], s.ball_py[i] - s.p_py[0, i])
        ball_v_ahead, ball_v_left = from_heading(hx, hy, s.ball_vx[i], s.ball_vy[i])
        v_ahead, v_left = from_heading(hx, hy, s.p_vx[0, i], s.p_vy[0, i])
        o[0, i] = seen(ball_ahead * PER_LENGTH)
        o[1, i] = seen(ball_left * PER_LENGTH)
        o[2, i] = seen(ball_v_ahead * PER_BALL_SPEED)
        o[3, i] = seen(ball_v_left * PER_BALL_SPEED)
        o[4, i] = seen(s.p_px[0, i] * PER_HALF_LENGTH)
        o[5, i] = seen(s.p_py[0, i] * PER_HALF_WIDTH)
        o[6, i] = seen(v_ahead * PER_PLAYER_SPEED)
        o[7, i] = seen(v_left * PER_PLAYER_SPEED)
        o[8, i] = seen(hx)
        o[9, i] = seen(hy)
        o[10, i] = seen(s.p_w[0, i] * PER_TURN_SPEED)
        o[11, i] = seen(1.0 - float(s.ticks[i]) * PER_TIME)

    @rule
    def terminated(s, i):
        """Time is a real end, too: the player sees how much is left."""
        return s.touched[i] != 0 or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return s.touched[i]

    @rule
    def touch(s, i, side):
        """+1 for reaching the ball: a reward."""
        return float(s.touched[i])

    @rule
    def nearness(s, i, side):
        """How near the ball is: a potential."""
        return -length(s.ball_px[i] - s.p_px[0, i], s.ball_py[i] - s.p_py[0, i]) * PER_LENGTH

    @rule
    def runner(s, i, side):
        """Turns to where the ball will be in a moment, and runs once it faces it."""
        to_x = s.ball_px[i] + 0.3 * s.ball_vx[i] - s.p_px[0, i]
        to_y = s.ball_py[i] + 0.3 * s.ball_vy[i] - s.p_py[0, i]
        ahead, left = from_heading(s.p_cos[0, i], s.p_sin[0, i], to_x, to_y)
        turn = 0 if abs(left) < 0.1 * ahead else (1 if left > 0.0 else 2)
        move = 1 if ahead > abs(left) else 0
        return move * 3 + turn

    @rule
    def scene(s, i):
        box(0.0, 0.0, HALF_LENGTH, HALF_WIDTH, 1.0, 0.0, 0.0, TURF)
        ring(0.0, 0.0, 0.8, 0.02, 1.0, 0.0, LINE)
        wall_x = HALF_LENGTH + THICK
        wall_y = HALF_WIDTH + THICK
        for k in range(2):
            side = 1.0 if k == 0 else -1.0
            line(-wall_x, side * wall_y, wall_x, side * wall_y, THICK, WALL)
            line(side * wall_x, -wall_y, side * wall_x, wall_y, THICK, WALL)
        player(s, i, 0, PLAYER0, 0.0)
        circle(s.ball_px[i], s.ball_py[i], BALL_RADIUS, BALL)
