"""The Ball Drill's physics, on the CPU. A state holds n tiles of 16 games: its fields are (n, 16) or (n, 2, 16)."""

from __future__ import annotations

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.drills.ball_physics import (
    BALL_RADIUS,
    BALL_SPEED,
    DASH_TICKS,
    DT,
    GOAL_DEPTH,
    GOAL_HALF_WIDTH,
    HALF_LENGTH,
    HALF_SIDE,
    HALF_WIDTH,
    PLAYER_BOUNCE,
    PLAYER_SPEED,
    RUN_SPEED,
    WALL_BOUNCE,
)

FORWARD, BACK, STRAFE_LEFT, STRAFE_RIGHT = 6, 12, 18, 24
TURN_LEFT, TURN_RIGHT, DASH = 2, 4, 1
TIME_LIMIT = 1200
BALL_MASS, PLAYER_MASS = 1.0, 4.0
ROUNDING = 1e-5


@pytest.fixture(scope="module")
def game():
    return compile_drill(get("ball")).game()


def still(game, tiles=1):
    """Games with the players out of the way near the left corners, the ball at the centre, everything at rest."""
    state = game.new(tiles)
    state["ball_px"] = state["ball_py"] = 0
    state["p_px"] = -3.5
    state["p_py"] = np.array([[-2.5], [2.5]])
    state["p_cos"], state["p_sin"] = 1, 0
    return state


def gap(state, side):
    """Distance of the ball's centre from a player's box, 0 inside, computed in float64 apart from the rules."""
    x = state["ball_px"].astype(float) - state["p_px"][:, side]
    y = state["ball_py"].astype(float) - state["p_py"][:, side]
    c, s = state["p_cos"][:, side], state["p_sin"][:, side]
    return np.hypot(np.maximum(abs(c * x + s * y) - HALF_SIDE, 0), np.maximum(abs(c * y - s * x) - HALF_SIDE, 0))


def energy(state):
    """Kinetic energy of the ball and of the players' motion; a player's rotation is driven, not a store of energy."""
    ball = BALL_MASS * (state["ball_vx"].astype(float) ** 2 + state["ball_vy"].astype(float) ** 2)
    players = PLAYER_MASS * (state["p_vx"].astype(float) ** 2 + state["p_vy"].astype(float) ** 2).sum(axis=1)
    return 0.5 * (ball + players)


def momentum(state):
    return np.array([BALL_MASS * state[f"ball_v{a}"] + PLAYER_MASS * state[f"p_v{a}"].sum(axis=1) for a in "xy"])


def coast(state):
    """Controls that want exactly the present velocity, so that players fly as free bodies."""
    c, s, x, y = (state[name] for name in ("p_cos", "p_sin", "p_vx", "p_vy"))
    state["p_ahead"], state["p_left"] = c * x + s * y, c * y - s * x
    state["p_turn"] = state["p_dash"] = state["p_w"] = 0


def crowd(game, tiles, seed, centre_x=0.0):
    """Both players within reach of the ball, at random headings and speeds, not spinning."""
    rng = np.random.default_rng(seed)
    state = game.new(tiles)
    angle = rng.uniform(-np.pi, np.pi, (3, tiles, 2, 16))
    state["ball_px"] = centre_x
    state["ball_py"] = rng.uniform(-2.6, 2.6, (tiles, 16))
    distance = rng.uniform(0.3, 0.6, (tiles, 2, 16))
    state["p_px"] = np.clip(state["ball_px"][:, None] + distance * np.cos(angle[0]), -3.57, 3.57)
    state["p_py"] = np.clip(state["ball_py"][:, None] + distance * np.sin(angle[0]), -2.57, 2.57)
    state["p_cos"], state["p_sin"] = np.cos(angle[1]), np.sin(angle[1])
    speed = rng.uniform(0, PLAYER_SPEED, (tiles, 2, 16))
    state["p_vx"], state["p_vy"] = speed * np.cos(angle[2]), speed * np.sin(angle[2])
    state["ball_vx"], state["ball_vy"] = rng.uniform(-7, 7, (2, tiles, 16))
    return state


def act(game, state, actions):
    state["action"] = actions
    game.decide(state)


def restart(game, state):
    over = game.status(state)[0] | (state["ticks"] >= TIME_LIMIT)
    game.reset(state, over)


@pytest.mark.parametrize("centre_x", [0.0, -3.7, 3.9])
def test_a_collision_never_adds_energy(game, centre_x):
    """One tick of free bodies in a crowd: whatever hits whatever, all together have no more energy after."""
    state = crowd(game, 512, 1, centre_x)
    coast(state)
    touching = (gap(state, 0) < BALL_RADIUS) & (gap(state, 1) < BALL_RADIUS)
    assert touching.sum() > 500, "the case of both players on the ball at once must be among those tried"
    before = energy(state)
    game.tick(state)
    assert (energy(state) <= before * (1 + ROUNDING)).all()


def test_squeezed_from_both_sides_gains_nothing(game):
    """The ball between two players that run at each other, and both behind it: the sums of two separate kicks gain."""
    state = still(game)
    x = np.array([-0.45, 0.45]), np.array([-0.45, -0.45])
    y = np.array([0.0, 0.0]), np.array([-0.3, 0.3])
    for k in range(2):
        state["p_px"][0, :, k], state["p_py"][0, :, k] = x[k], y[k]
    state["p_vx"][0, :, 0], state["p_vx"][0, :, 1] = [3, -3], [3, 3]
    coast(state)
    before = energy(state)
    game.tick(state)
    assert abs(state["ball_vx"][0, 0]) < ROUNDING
    assert state["p_vx"][0, 0, 0] < 0 < state["p_vx"][0, 1, 0]
    assert (state["ball_vx"][0, 1] > state["p_vx"][0, :, 1]).all()
    assert (energy(state) <= before * (1 + ROUNDING)).all()


def test_kick(game):
    """Mass 4 runs into mass 1 at 3 u/s: they part at 0.6 * 3 u/s and 0.8 of the change is the ball's."""
    state = still(game)
    state["p_px"][:, 0], state["p_py"][:, 0] = -0.49, 0
    state["p_vx"][:, 0] = 3
    coast(state)
    game.tick(state)
    assert np.allclose(state["ball_vx"], (1 + PLAYER_BOUNCE) * 3 * 0.8)
    assert np.allclose(state["ball_vx"] - state["p_vx"][:, 0], PLAYER_BOUNCE * 3)
    assert (state["ball_vy"] == 0).all() and (state["p_w"] == 0).all()


def test_energy_falls_with_idle_controls(game):
    """Idle controls brake (wanted velocity zero), friction and collisions take: over five seconds no tick gains."""
    state = crowd(game, 64, seed=2)
    act(game, state, 0)
    for _ in range(600):
        before = energy(state)
        game.tick(state)
        assert (energy(state) <= before * (1 + ROUNDING) + 1e-9).all()
    assert energy(state).max() < 2, "only the ball still rolls"


def test_collisions_keep_momentum(game):
    """Away from walls one tick changes momentum by the ball's rolling friction alone."""
    state = crowd(game, 64, seed=3)
    state["ball_py"] *= 0.2
    state["p_py"] -= 0.8 * state["ball_py"][:, None] / 0.2
    coast(state)
    friction = 0.5 * DT * BALL_MASS * np.array([state["ball_vx"], state["ball_vy"]])
    before = momentum(state)
    game.tick(state)
    slower = np.hypot(state["ball_vx"], state["ball_vy"]) < BALL_SPEED * 0.999
    assert np.allclose(momentum(state)[:, slower], (before - friction)[:, slower], atol=2e-5)


def test_side_wall_reflects(game):
    state = still(game)
    state["ball_py"], state["ball_vx"], state["ball_vy"] = 2.79, 2, 4
    game.tick(state)
    keep = 1 - 0.5 * DT
    assert state["ball_vy"][0, 0] == pytest.approx(-WALL_BOUNCE * 4 * keep)
    assert state["ball_vx"][0, 0] == pytest.approx(0.95 * 2 * keep)
    assert state["ball_py"][0, 0] == np.float32(HALF_WIDTH - BALL_RADIUS)


def shoot(game, y, end, speed=9.0):
    """A shot straight at an end (-1 or 1) at height y; the state after a quarter of a second."""
    state = still(game)
    state["ball_px"], state["ball_py"], state["ball_vx"] = end * 3.5, y, end * speed
    game.tick(state, 30)
    return state


@pytest.mark.parametrize("end", [-1, 1])
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    "y, scores", [(0.0, True), (0.79, True), (0.96, False), (0.999, False), (1.001, False), (1.5, False)]
)
def test_goal_edges(game, end, side, y, scores):
    state = shoot(game, side * y, end)
    terminated, winner = game.status(state)
    assert terminated.all() == scores
    assert (winner == (end if scores else 0)).all()
    if not scores:
        assert (state["ball_vx"] * end < 0).all(), "it comes back"


def test_clean_shot_touches_no_post(game):
    assert (shoot(game, GOAL_HALF_WIDTH - BALL_RADIUS - 0.001, 1, speed=3)["ball_vy"] == 0).all()
    assert (shoot(game, GOAL_HALF_WIDTH - BALL_RADIUS + 0.01, 1)["ball_vy"] < 0).all()


def test_wall_and_post_meet_smoothly(game):
    below, above = (shoot(game, y, 1, speed=6) for y in (0.9999, 1.0001))
    assert below["ball_vx"][0, 0] == pytest.approx(above["ball_vx"][0, 0], rel=1e-3)
    assert below["ball_vy"][0, 0] == pytest.approx(above["ball_vy"][0, 0], abs=1e-2)


@pytest.mark.parametrize("end", [-1, 1])
@pytest.mark.parametrize("side", [-1, 1])
def test_post_reflects_along_the_normal(game, end, side):
    """Fired at the post's point from all directions the ball goes straight back, slower by the wall's restitution."""
    state = still(game)
    angle = np.linspace(
        np.radians(100), np.radians(260), 16
    )  # where it comes from, for the post at (4, 1) and end, side = 1
    x, y = np.cos(angle), np.sin(angle)
    keeps = y < 0  # from y > 0 it would meet the end wall before the post
    state["ball_px"], state["ball_py"] = end * (HALF_LENGTH + 0.5 * x), side * (GOAL_HALF_WIDTH + 0.5 * y)
    state["ball_vx"], state["ball_vy"] = -end * 4 * x, -side * 4 * y
    for _ in range(12):
        before = state.copy()
        game.tick(state)
        hit = state["ball_vx"] * before["ball_vx"] < 0
        assert (
            np.hypot(state["ball_px"] - end * HALF_LENGTH, state["ball_py"] - side * GOAL_HALF_WIDTH)[:, keeps].min()
            > BALL_RADIUS - 1e-5
        )
        if hit[:, keeps].any():
            assert hit[:, keeps].all()
            for axis in ("ball_vx", "ball_vy"):
                wanted = -WALL_BOUNCE * before[axis] * (1 - 0.5 * DT)
                assert np.allclose(state[axis][:, keeps], wanted[:, keeps], atol=1e-3)
            return
    pytest.fail("the ball never met the post")


def test_goal_is_kept_and_the_recess_holds_the_ball(game):
    state = still(game)
    rng = np.random.default_rng(4)
    state["ball_px"], state["ball_py"] = 3.9, rng.uniform(-0.75, 0.75, 16)
    state["ball_vx"], state["ball_vy"] = 9, rng.uniform(-4, 4, 16)
    for _ in range(240):
        game.tick(state)
        inside = state["ball_px"] > HALF_LENGTH
        assert (state["ball_px"] <= HALF_LENGTH + GOAL_DEPTH - BALL_RADIUS + ROUNDING).all()
        assert (abs(state["ball_py"])[inside] <= GOAL_HALF_WIDTH - BALL_RADIUS + ROUNDING).all()
    assert (state["goal"] == 1).all()
    state["ball_px"], state["ball_vx"] = -4.2, 0
    game.tick(state)
    assert (state["goal"] == 1).all(), "the first goal of a decision counts"


def test_players_stay_out_of_the_recess(game):
    state = still(game)
    state["p_px"][:, 0], state["p_py"][:, 0] = 3, 0
    act(game, state, FORWARD + DASH)
    game.tick(state, 240)
    assert state["p_px"][0, 0, 0] == np.float32(HALF_LENGTH - HALF_SIDE)
    assert state["p_vx"][0, 0, 0] == 0


def test_ball_at_full_speed_stays_in(game):
    state = still(game, tiles=16)
    angle = np.linspace(-np.pi, np.pi, 256).reshape(16, 16)
    state["ball_vx"], state["ball_vy"] = BALL_SPEED * np.cos(angle), BALL_SPEED * np.sin(angle)
    for _ in range(600):
        game.tick(state)
        in_wall = (abs(state["ball_px"]) > HALF_LENGTH - BALL_RADIUS + ROUNDING) & (
            abs(state["ball_py"]) > GOAL_HALF_WIDTH
        )
        assert not in_wall.any()
        assert (abs(state["ball_px"]) <= HALF_LENGTH + GOAL_DEPTH - BALL_RADIUS + ROUNDING).all()
        assert (abs(state["ball_py"]) <= HALF_WIDTH - BALL_RADIUS + ROUNDING).all()


@pytest.mark.parametrize("rush", [0.0, PLAYER_SPEED])
def test_ball_at_full_speed_does_not_enter_a_player(game, rush):
    """Fired at the middle of a player of any heading, one that stands and one that dashes at it."""
    state = still(game, tiles=16)
    angle = np.linspace(-np.pi, np.pi, 256).reshape(16, 16)
    state["p_px"][:, 0] = state["p_py"][:, 0] = 0
    state["p_cos"][:, 0], state["p_sin"][:, 0] = np.cos(7 * angle), np.sin(7 * angle)
    state["ball_px"], state["ball_py"] = 1.2 * np.cos(angle), 1.2 * np.sin(angle)
    state["ball_vx"], state["ball_vy"] = -BALL_SPEED * np.cos(angle), -BALL_SPEED * np.sin(angle)
    state["p_vx"][:, 0], state["p_vy"][:, 0] = rush * np.cos(angle), rush * np.sin(angle)
    coast(state)
    for _ in range(40):
        game.tick(state)
        assert gap(state, 0).min() > 0.05
    ahead = state["ball_px"] - state["p_px"][:, 0], state["ball_py"] - state["p_py"][:, 0]
    assert (ahead[0] * np.cos(angle) + ahead[1] * np.sin(angle) > 0).all(), "it is still on the side it came from"


def test_players_do_not_pass_each_other(game):
    state = still(game)
    state["p_px"][:, 0], state["p_px"][:, 1], state["p_py"] = -1, 1, np.linspace(-2, 2, 16)
    state["p_cos"][:, 1] = -1
    state["ball_py"] = np.where(np.linspace(-2, 2, 16) > 0, -2.5, 2.5)
    act(game, state, FORWARD + DASH)
    for _ in range(360):
        game.tick(state)
        assert (state["p_px"][:, 1] - state["p_px"][:, 0] > 0.6).all()


@pytest.mark.parametrize("ticks", [6_250, pytest.param(62_500, marks=pytest.mark.slow)])
def test_million_random_ticks_in_bounds(game, ticks):
    """From practice starts: places, speeds, headings, cooldowns stay in range; no NaN."""
    state = game.new(1, seed=11, practice=True)
    goals = 0
    for tick in range(ticks):
        if tick % 4 == 0:
            goals += int(game.status(state)[0].sum())
            restart(game, state)
            act(game, state, game.actions(state, "random"))
        game.tick(state)
        extent = HALF_SIDE * (abs(state["p_cos"]) + abs(state["p_sin"]))
        inside = (
            (abs(state["ball_px"]) <= HALF_LENGTH + GOAL_DEPTH - BALL_RADIUS + ROUNDING).all()
            and (abs(state["ball_py"]) <= HALF_WIDTH - BALL_RADIUS + ROUNDING).all()
            and (abs(state["p_px"]) + extent <= HALF_LENGTH + ROUNDING).all()
            and (abs(state["p_py"]) + extent <= HALF_WIDTH + ROUNDING).all()
        )
        assert inside, f"out of bounds after {tick} ticks"  # NaN compares false, so it fails here too
        assert (abs(np.hypot(state["p_cos"], state["p_sin"]) - 1) < ROUNDING).all()
        assert (np.hypot(state["ball_vx"], state["ball_vy"]) <= BALL_SPEED * (1 + ROUNDING)).all()
        assert (state["p_cooldown"] >= 0).all() and (state["p_cooldown"] <= DASH_TICKS).all()
    assert goals > ticks // 6_250


def test_a_pointer_may_put_things_anywhere(game):
    """Dragged into walls, far outside or onto each other: inside after one tick, the ball free within a second."""
    rng = np.random.default_rng(13)
    state = game.new(16)
    for name in ("ball_px", "ball_py", "p_px", "p_py"):
        state[name] = rng.uniform(-6, 6, state[name].shape)
    state["ball_px"][0] = state["p_px"][0, 0] = state["p_px"][0, 1] = 1
    state["ball_py"][0] = state["p_py"][0, 0] = state["p_py"][0, 1] = np.arange(16) % 3 - 1
    act(game, state, 0)
    game.tick(state)
    assert (abs(state["ball_px"]) <= HALF_LENGTH + GOAL_DEPTH - BALL_RADIUS + ROUNDING).all()
    assert (abs(state["ball_py"]) <= HALF_WIDTH - BALL_RADIUS + ROUNDING).all()
    assert (abs(state["p_px"]) <= HALF_LENGTH - HALF_SIDE + ROUNDING).all()
    assert (abs(state["p_py"]) <= HALF_WIDTH - HALF_SIDE + ROUNDING).all()
    game.tick(state, 120)
    assert min(gap(state, 0).min(), gap(state, 1).min()) > BALL_RADIUS - 0.02
    assert all(np.isfinite(state[name]).all() for name in state.dtype.names)


@pytest.mark.parametrize(
    "action, ahead, left", [(0, 0, 0), (FORWARD, 1, 0), (BACK, -1, 0), (STRAFE_LEFT, 0, 1), (STRAFE_RIGHT, 0, -1)]
)
def test_moves_are_in_the_body_frame(game, action, ahead, left):
    state = still(game)
    state["p_px"], state["p_py"] = np.array([[-1.0], [1.0]]), 0
    state["ball_py"] = -2.5
    state["p_cos"], state["p_sin"] = 0.6, 0.8
    act(game, state, action)
    game.tick(state)
    assert state["p_vx"][0, 0, 0] == pytest.approx((0.6 * ahead - 0.8 * left) * 20 * DT, abs=1e-6)
    assert state["p_vy"][0, 0, 0] == pytest.approx((0.8 * ahead + 0.6 * left) * 20 * DT, abs=1e-6)
    game.tick(state, 30)
    assert np.allclose(np.hypot(state["p_vx"], state["p_vy"]), RUN_SPEED * (ahead != 0 or left != 0), atol=1e-5)


@pytest.mark.parametrize("action, way", [(TURN_LEFT, 1), (TURN_RIGHT, -1)])
def test_turning(game, action, way):
    """A second at 5 rad/s, less the time to get there: 10 ticks from rest at 60 rad/s^2."""
    state = still(game)
    act(game, state, action)
    angles = []
    for _ in range(120):
        game.tick(state)
        angles.append(np.arctan2(state["p_sin"][0, 0, 0], state["p_cos"][0, 0, 0]))
    assert state["p_w"][0, 0, 0] == pytest.approx(way * 5)
    assert np.unwrap(angles)[-1] == pytest.approx(way * (110 * 5 + 5 * 0.1 * sum(range(1, 11))) * DT, abs=0.02)


def test_dash_and_cooldown(game):
    """Held down, it fires at once and then every 180 ticks; it adds 3 u/s along the heading, up to a speed of 6."""
    state = still(game)
    state["p_cos"], state["p_sin"] = 0, np.array([[1], [-1]])
    act(game, state, DASH)
    game.tick(state)
    assert np.allclose(state["p_vy"][0, :, 0], [3, -3])
    fired = [1] if state["p_cooldown"][0, 0, 0] == DASH_TICKS else []
    for tick in range(2, 400):
        game.tick(state)
        if state["p_cooldown"][0, 0, 0] == DASH_TICKS:
            fired.append(tick)
    assert fired == [1, 181, 361]
    act(game, state, 0)
    game.tick(state, 200)
    assert (state["p_cooldown"] == 0).all() and (state["p_vy"] == 0).all()
    state["p_vy"] = np.array([[5], [-5]])
    act(game, state, FORWARD + DASH)
    game.tick(state)
    assert np.allclose(np.hypot(state["p_vx"], state["p_vy"]), PLAYER_SPEED)


def test_time_is_up_is_the_end_and_a_draw(game):
    state = still(game)
    act(game, state, 0)
    assert (game.observe(state)[:, :, 27] == 1).all()
    game.tick(state, TIME_LIMIT - 4)
    draw = [term.name for term in game.spec.terms].index("draw")
    assert not game.status(state)[0].any() and not game.terms(state)[:, :, draw].any()
    game.tick(state, 4)
    terminated, winner = game.status(state)
    assert (state["ticks"] == TIME_LIMIT).all()
    assert terminated.all() and not winner.any() and (game.terms(state)[:, :, draw] == -1).all()
    assert np.allclose(game.observe(state)[:, :, 27], 0, atol=1e-6)


@pytest.mark.parametrize("practice", [False, True])
def test_starts_are_free_of_overlaps(game, practice):
    state = game.new(2048, seed=5, practice=practice)
    extent = HALF_SIDE * (abs(state["p_cos"]) + abs(state["p_sin"]))
    assert gap(state, 0).min() > BALL_RADIUS and gap(state, 1).min() > BALL_RADIUS
    apart = np.hypot(*(state[name][:, 0] - state[name][:, 1] for name in ("p_px", "p_py")))
    assert apart.min() > 2 * HALF_SIDE * np.sqrt(2)
    assert (abs(state["p_px"]) + extent <= HALF_LENGTH).all() and (abs(state["p_py"]) + extent <= HALF_WIDTH).all()
    assert (abs(state["ball_px"]) <= HALF_LENGTH - BALL_RADIUS).all()
    assert (abs(state["ball_py"]) <= HALF_WIDTH - BALL_RADIUS).all()
    kick_off = (abs(state["ball_px"]) <= 0.1) & (state["ball_vx"] == 0)
    assert kick_off.mean() == 1 if not practice else 0.47 < kick_off.mean() < 0.53


def test_shared_potentials_are_opposite_and_bounded(game):
    state = game.new(64, seed=6, practice=True)
    terms = game.terms(state)
    names = [term.name for term in game.spec.terms]
    to_goal = terms[:, :, names.index("ball_to_goal")]
    assert np.array_equal(to_goal[:, 0], -to_goal[:, 1])
    assert abs(to_goal).max() <= 1
    assert terms[:, :, names.index("approach")].max() <= 0
