"""Chase: one runs after the other among pillars. The pursuer is faster, the evader nimbler; a touch ends it, and so
does the clock, in the evader's favour.

Who is who is drawn for every episode and stands in the observations, so that one policy learns both trades. Side 1
sees the world half turned. Units: u, seconds; +x to the right, +y up.
"""
# ruff: noqa: F821  (random, clamp, length, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule
from dshq_widget.drills.ball import HALF_PI, jitter, seen
from dshq_widget.drills.ball_physics import DT, HALF_LENGTH, HALF_WIDTH, TICK_RATE, limited
from dshq_widget.drills.ball_scene import THICK

TIME_LIMIT = 960  # ticks: 8 s
RADIUS = 0.3  # of a runner
PURSUER_SPEED = 3.5  # u/s
PURSUER_STEP = 7.0 * DT  # change of velocity per tick and axis: 7 u/s^2
EVADER_SPEED = 3.3
EVADER_STEP = 26.0 * DT
MOST_X = HALF_LENGTH - RADIUS
MOST_Y = HALF_WIDTH - RADIUS
DIAGONAL = 0.70710678

# Pillars come in pairs across the middle, too far apart to touch two at once: half a turn changes nothing.
PILLAR_X = (0.0, -2.1, 2.1, 1.7, -1.7)
PILLAR_Y = (0.0, 1.3, -1.3, 1.5, -1.5)
PILLAR_R = (0.65, 0.45, 0.45, 0.45, 0.45)
PILLARS = len(PILLAR_X)

PER_LENGTH = 1 / 8  # observation scales
PER_GAP = 1 / 4
PER_HALF_LENGTH = 1 / HALF_LENGTH
PER_HALF_WIDTH = 1 / HALF_WIDTH
PER_SPEED = 1 / PURSUER_SPEED
PER_TIME = 1 / TIME_LIMIT

PALETTE = ("floor", "line", "wall", "pillar", "accent", "cooldown", "player0", "player1", "heading", "ink")
FLOOR, LINE, WALL, PILLAR, HUNT, CLOCK, PLAYER0, PLAYER1, EYE, INK = range(len(PALETTE))


@rule
def nearest_pillar(x, y):
    """From (x, y) to the middle of the nearest pillar, and the way to it from a runner's skin."""
    to_x = 0.0
    to_y = 0.0
    gap = 10.0
    for k in range(PILLARS):
        dx = PILLAR_X[k] - x
        dy = PILLAR_Y[k] - y
        way = length(dx, dy) - PILLAR_R[k] - RADIUS
        nearer = way < gap
        to_x = dx if nearer else to_x
        to_y = dy if nearer else to_y
        gap = way if nearer else gap
    return to_x, to_y, gap


@rule
def clear(x, y):
    """The way from a runner's skin to the nearest pillar."""
    to_x, to_y, gap = nearest_pillar(x, y)
    return gap


@rule
def steps_of(action):
    """What an action means in x and y, each -1, 0 or 1: action = x * 3 + y, the indices of their options."""
    across = action // 3
    up = action % 3
    return 1.0 if across == 1 else (-1.0 if across == 2 else 0.0), 1.0 if up == 1 else (-1.0 if up == 2 else 0.0)


@rule
def pursues(s, i, side):
    """Whether this side is the pursuer."""
    return (s.hunter[i] > 0) if side == 0 else (s.hunter[i] < 0)


@rule
def stride(s, i, side):
    """One tick of a runner: velocity, place, then pillars and walls, which take what goes into them."""
    hunts = pursues(s, i, side)
    speed = PURSUER_SPEED if hunts else EVADER_SPEED
    step = PURSUER_STEP if hunts else EVADER_STEP
    want_x = s.p_wx[side, i]
    want_y = s.p_wy[side, i]
    share = DIAGONAL if want_x != 0.0 and want_y != 0.0 else 1.0
    vx = s.p_vx[side, i]
    vy = s.p_vy[side, i]
    vx += clamp(want_x * share * speed - vx, -step, step)
    vy += clamp(want_y * share * speed - vy, -step, step)
    vx, vy = limited(vx, vy, speed)
    x = s.p_px[side, i] + vx * DT
    y = s.p_py[side, i] + vy * DT
    for k in range(PILLARS):
        dx = x - PILLAR_X[k]
        dy = y - PILLAR_Y[k]
        distance = max(length(dx, dy), 1e-6)
        depth = PILLAR_R[k] + RADIUS - distance
        nx = dx / distance
        ny = dy / distance
        into = min(vx * nx + vy * ny, 0.0) if depth > 0.0 else 0.0
        x += max(depth, 0.0) * nx
        y += max(depth, 0.0) * ny
        vx -= into * nx
        vy -= into * ny
    s.p_vx[side, i] = 0.0 if abs(x) > MOST_X and x * vx > 0.0 else vx
    s.p_vy[side, i] = 0.0 if abs(y) > MOST_Y and y * vy > 0.0 else vy
    s.p_px[side, i] = clamp(x, -MOST_X, MOST_X)
    s.p_py[side, i] = clamp(y, -MOST_Y, MOST_Y)


@rule
def start(s, i, side, x, y):
    """Put a runner down, at rest, at the last of four places around (x, y) that is free, else there."""
    free_x = x
    free_y = y
    for _ in range(4):
        there_x = clamp(x + jitter(s, i, 1.0), -MOST_X, MOST_X)
        there_y = clamp(y + jitter(s, i, 2.5), -MOST_Y, MOST_Y)
        free = clear(there_x, there_y) > 0.1
        free_x = there_x if free else free_x
        free_y = there_y if free else free_y
    s.p_px[side, i] = free_x
    s.p_py[side, i] = free_y


@rule
def runner(s, i, side, colour):
    """Body and eyes that look where it runs; a glowing ring around the pursuer, the clock around the evader."""
    x = s.p_px[side, i]
    y = s.p_py[side, i]
    lean_x = s.p_vx[side, i] * 0.035
    lean_y = s.p_vy[side, i] * 0.035
    hunts = pursues(s, i, side)
    circle(x, y, RADIUS, colour)
    for k in range(2):
        apart = 0.11 if k == 0 else -0.11
        circle(x + apart + lean_x, y + lean_y + 0.03, 0.085, EYE)
        circle(x + apart + 1.35 * lean_x, y + 1.35 * lean_y + 0.03, 0.045, INK)
        brow = 0.1 if k == 0 else -0.1  # frowning, over each eye
        line(
            x + lean_x + 0.3 * brow, y + lean_y + 0.085, x + lean_x + 1.9 * brow, y + lean_y + 0.165, 0.022, INK,
            alpha=1.0 if hunts else 0.0,
        )  # fmt: skip
    ring(x, y, RADIUS + 0.1, 0.035, 1.0, 0.0, HUNT, alpha=1.0 if hunts else 0.0)
    left = 1.0 - float(s.ticks[i]) * PER_TIME
    ring(x, y, RADIUS + 0.1, 0.03, left, HALF_PI, CLOCK, alpha=0.0 if hunts else 1.0)


class Chase(Drill):
    """Catch the evader within eight seconds, or be the one who is not caught. Roles are drawn for every match."""

    name = "chase"
    title = "Chase Drill"
    sides = 2
    tick_rate = TICK_RATE
    action_repeat = 6
    time_limit = TIME_LIMIT
    world = (-4.2, -3.2, 4.2, 3.2)
    mirrored = True
    palette = PALETTE
    training = {  # measured: docs/LOG.md
        "num_envs": 512,
        "minibatch_size": 2048,
        "entropy_coef": 0.01,
        "opponents": {"self": 0.5, "tracker": 0.375, "random": 0.125},
    }

    state = {
        "hunter": "i32",  # +1: side 0 is the pursuer, -1: side 1 is
        "p_px": ("f32", 2),
        "p_py": ("f32", 2),
        "p_vx": ("f32", 2),
        "p_vy": ("f32", 2),
        "p_wx": ("f32", 2),  # controls, held over a decision: -1, 0 or 1
        "p_wy": ("f32", 2),
        "caught": "i32",  # 1: kept to the end of the decision
    }
    half_turn = ("hunter", "p_px", "p_py", "p_vx", "p_vy", "p_wx", "p_wy")
    actions = (Choice("across", ("stay", "right", "left")), Choice("up", ("stay", "up", "down")))
    keys = {
        "ArrowRight": ("across", "right"),
        "ArrowLeft": ("across", "left"),
        "ArrowUp": ("up", "up"),
        "ArrowDown": ("up", "down"),
        "KeyD": ("across", "right"),
        "KeyA": ("across", "left"),
        "KeyW": ("up", "up"),
        "KeyS": ("up", "down"),
    }
    observations = (
        Observation("pursuer", help="1: oneself, -1: the other"),
        Observation("own x", scale=HALF_LENGTH, unit="u", help="from the middle; side 1 sees the world turned"),
        Observation("own y", scale=HALF_WIDTH, unit="u", help="the same upward"),
        Observation("own velocity x", scale=PURSUER_SPEED, unit="u/s", help="the same way as own x"),
        Observation("own velocity y", scale=PURSUER_SPEED, unit="u/s", help="the same way as own y"),
        Observation("other x", scale=HALF_LENGTH, unit="u", help="where the other is, as own x"),
        Observation("other y", scale=HALF_WIDTH, unit="u", help="the same, as own y"),
        Observation("other velocity x", scale=PURSUER_SPEED, unit="u/s", help="its velocity, the same way as own x"),
        Observation("other velocity y", scale=PURSUER_SPEED, unit="u/s", help="the same way as own y"),
        Observation("way to the other x", scale=8, unit="u", help="from oneself to the other, as own x"),
        Observation("way to the other y", scale=8, unit="u", help="the same, as own y"),
        Observation("distance", scale=8, unit="u", help="from oneself to the other"),
        Observation("way to the nearest pillar x", scale=8, unit="u", help="from oneself to its middle, as own x"),
        Observation("way to the nearest pillar y", scale=8, unit="u", help="the same, as own y"),
        Observation("gap to the nearest pillar", scale=4, unit="u", help="from one's own skin to the pillar's"),
        Observation("time left", scale=8, unit="s", help="until the evader has won"),
    )
    observation_range = (-2.0, 2.0)
    rewards = {"win": 1.0}
    potentials = {"distance": 2.0, "cover": 2.0}
    baselines = ("tracker",)
    drag = (
        Handle("player 0", "p_px", "p_py", "p_vx", "p_vy", index=0),
        Handle("player 1", "p_px", "p_py", "p_vx", "p_vy", index=1),
    )

    @rule
    def reset(s, i):
        """At opposite ends; half of practice begins nearer to each other."""
        s.hunter[i] = 1 if random(s, i) < 0.5 else -1
        far = 2.0 if s.practice[i] == 1 and random(s, i) < 0.5 else 3.2
        start(s, i, 0, -far, 0.0)
        start(s, i, 1, far, 0.0)

    @rule
    def decide(s, i):
        """Side 1 means its right and up in the world as it sees it: half turned."""
        across0, up0 = steps_of(s.action[0, i])
        across1, up1 = steps_of(s.action[1, i])
        s.p_wx[0, i] = across0
        s.p_wy[0, i] = up0
        s.p_wx[1, i] = -across1
        s.p_wy[1, i] = -up1

    @rule
    def tick(s, i):
        stride(s, i, 0)
        stride(s, i, 1)
        apart = length(s.p_px[1, i] - s.p_px[0, i], s.p_py[1, i] - s.p_py[0, i])
        s.caught[i] = 1 if apart < 2.0 * RADIUS else s.caught[i]

    @rule
    def observe(s, i, side, o):
        turned = 1.0 if side == 0 else -1.0
        x = turned * s.p_px[side, i]
        y = turned * s.p_py[side, i]
        other_x = turned * s.p_px[1 - side, i]
        other_y = turned * s.p_py[1 - side, i]
        o[0, i] = 1.0 if pursues(s, i, side) else -1.0
        o[1, i] = seen(x * PER_HALF_LENGTH)
        o[2, i] = seen(y * PER_HALF_WIDTH)
        o[3, i] = seen(turned * s.p_vx[side, i] * PER_SPEED)
        o[4, i] = seen(turned * s.p_vy[side, i] * PER_SPEED)
        o[5, i] = seen(other_x * PER_HALF_LENGTH)
        o[6, i] = seen(other_y * PER_HALF_WIDTH)
        o[7, i] = seen(turned * s.p_vx[1 - side, i] * PER_SPEED)
        o[8, i] = seen(turned * s.p_vy[1 - side, i] * PER_SPEED)
        o[9, i] = seen((other_x - x) * PER_LENGTH)
        o[10, i] = seen((other_y - y) * PER_LENGTH)
        o[11, i] = seen(length(other_x - x, other_y - y) * PER_LENGTH)
        pillar_x, pillar_y, gap = nearest_pillar(s.p_px[side, i], s.p_py[side, i])
        o[12, i] = seen(turned * pillar_x * PER_LENGTH)
        o[13, i] = seen(turned * pillar_y * PER_LENGTH)
        o[14, i] = seen(gap * PER_GAP)
        o[15, i] = seen(1.0 - float(s.ticks[i]) * PER_TIME)

    @rule
    def terminated(s, i):
        """The clock is a real end here: it decides who has won."""
        return s.caught[i] != 0 or s.ticks[i] >= TIME_LIMIT

    @rule
    def winner(s, i):
        return s.hunter[i] if s.caught[i] != 0 else (-s.hunter[i] if s.ticks[i] >= TIME_LIMIT else 0)

    @rule
    def win(s, i, side):
        """+1 for a catch or an escape, -1 for the other side: a reward."""
        won = s.hunter[i] if s.caught[i] != 0 else (-s.hunter[i] if s.ticks[i] >= TIME_LIMIT else 0)
        return float(won) * (1.0 if side == 0 else -1.0)

    @rule
    def distance(s, i, side):
        """Nearness to the other for the pursuer, distance for the evader: a potential."""
        apart = length(s.p_px[1, i] - s.p_px[0, i], s.p_py[1, i] - s.p_py[0, i]) * PER_LENGTH
        return -apart if pursues(s, i, side) else apart

    @rule
    def cover(s, i, side):
        """How squarely a pillar stands between the two, from 0 to 1, and minus that for the pursuer: a potential."""
        x = s.p_px[side, i]
        y = s.p_py[side, i]
        to_x = s.p_px[1 - side, i] - x
        to_y = s.p_py[1 - side, i] - y
        per_square = 1.0 / max(to_x * to_x + to_y * to_y, 1e-6)
        most = 0.0
        for k in range(PILLARS):
            dx = PILLAR_X[k] - x
            dy = PILLAR_Y[k] - y
            along = clamp((dx * to_x + dy * to_y) * per_square, 0.0, 1.0)
            off = length(dx - along * to_x, dy - along * to_y)
            most = max(most, 1.0 - off / (PILLAR_R[k] + RADIUS))
        return -most if pursues(s, i, side) else most

    @rule
    def tracker(s, i, side):
        """Of nine ways takes the one that leads nearest to the other, or farthest away, in a third of a second."""
        turned = 1.0 if side == 0 else -1.0
        hunts = pursues(s, i, side)
        x = turned * s.p_px[side, i]
        y = turned * s.p_py[side, i]
        to_x = turned * (s.p_px[1 - side, i] + 0.25 * s.p_vx[1 - side, i])
        to_y = turned * (s.p_py[1 - side, i] + 0.25 * s.p_vy[1 - side, i])
        best = 0
        best_score = -100.0
        for k in range(9):
            across, up = steps_of(k)
            share = 0.9 if across != 0.0 and up != 0.0 else 1.27
            there_x = clamp(x + share * across, -MOST_X, MOST_X)
            there_y = clamp(y + share * up, -MOST_Y, MOST_Y)
            way = length(to_x - there_x, to_y - there_y)
            middle = 0.12 * length(there_x, there_y)  # a corner is a trap
            blocked = 4.0 * min(clear(there_x, there_y), 0.0)
            score = (-way if hunts else way - middle) + blocked
            better = score > best_score
            best = k if better else best
            best_score = score if better else best_score
        return best

    @rule
    def scene(s, i):
        box(0.0, 0.0, HALF_LENGTH, HALF_WIDTH, 1.0, 0.0, 0.0, FLOOR)
        wall_x = HALF_LENGTH + THICK
        wall_y = HALF_WIDTH + THICK
        for k in range(2):
            side = 1.0 if k == 0 else -1.0
            line(-wall_x, side * wall_y, wall_x, side * wall_y, THICK, WALL)
            line(side * wall_x, -wall_y, side * wall_x, wall_y, THICK, WALL)
        for k in range(PILLARS):
            circle(PILLAR_X[k], PILLAR_Y[k], PILLAR_R[k], PILLAR)
            ring(PILLAR_X[k], PILLAR_Y[k], 0.62 * PILLAR_R[k], 0.02, 1.0, 0.0, LINE, alpha=0.6)
        runner(s, i, 0, PLAYER0)
        runner(s, i, 1, PLAYER1)
