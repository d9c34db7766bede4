"""What the Territory Drill looks like: the ground and its chunks, then everybody on it, then two bars of energy.

Units: chunks; y points up, so chunk 0 is the lower left one. Shapes that do not apply are drawn with alpha 0: a scene
has always the same shapes.
"""
# ruff: noqa: F821  (box, circle, ... are words of the rules language)
# mypy: no-check-untyped-defs

from __future__ import annotations

from dshq_widget.drill.declaration import rule
from dshq_widget.drills.territory_units import (
    BASE_X,
    BASE_Y,
    COMBAT,
    DETECTION,
    EDGE,
    ENERGY,
    FLEE,
    FULL,
    HIVE_X,
    HIVE_Y,
    LIFE,
    MINE,
    PROTECTORS,
    QUEEN_MOST,
    SIZE,
    SLOTS,
    SPOTS,
    WORKERS,
)

WORLD = (-1.0, -1.0, SIZE, SIZE + 1.4)
PALETTE = ("floor", "mark", "clay", "player0", "player1", "goal0", "goal1", "accent", "target", "ink", "heading")
GROUND, GRID, ORE, QUEEN, COLONY, QUEEN_LIGHT, SHIELD, WORKER, RED, INK, WHITE = range(len(PALETTE))
TAGS = ("queen", "colony")
SHAPES = 3 + 2 * (SIZE - 1) + 3 * SPOTS + 6 + 5 * PROTECTORS + 4 * WORKERS + 6 * SLOTS + 8

MIDDLE = 0.5 * EDGE
HALF = 0.5 * SIZE
TILT = 0.70710678  # of a box that stands on its corner
BAR_Y = SIZE + 0.2
BAR_HALF = 4.8
PLAYER_FULL = 800.0  # energy of a colony that nobody hurts, after an episode


@rule
def draw_ground(s, i):
    box(MIDDLE, MIDDLE, HALF, HALF, 1.0, 0.0, 0.35, GROUND)
    for k in loop(1, SIZE):
        line(float(k) - 0.5, -0.5, float(k) - 0.5, EDGE + 0.5, 0.015, GRID, alpha=0.45)
    for k in loop(1, SIZE):
        line(-0.5, float(k) - 0.5, EDGE + 0.5, float(k) - 0.5, 0.015, GRID, alpha=0.45)
    for k in loop(SPOTS):
        x = s.spot_x[k, i]
        y = s.spot_y[k, i]
        box(x, y, 0.42, 0.42, 1.0, 0.0, 0.12, ORE)
        box(x - 0.1, y + 0.06, 0.16, 0.16, 0.96, 0.28, 0.05, INK, alpha=0.3)
        box(x + 0.16, y - 0.14, 0.11, 0.11, 0.8, 0.6, 0.04, INK, alpha=0.3)


@rule
def draw_homes(s, i):
    """The queen's hive, and right above it the colony's base."""
    circle(HIVE_X, HIVE_Y, 0.46, QUEEN)
    circle(HIVE_X, HIVE_Y, 0.2, WHITE, alpha=0.9)
    box(BASE_X, BASE_Y, 0.42, 0.42, 1.0, 0.0, 0.1, COLONY)
    box(BASE_X, BASE_Y, 0.17, 0.17, TILT, TILT, 0.03, WHITE, alpha=0.9)


@rule
def draw_protectors(s, i):
    """A soft shield shows how far each looks; dead ones are not there."""
    for p in loop(PROTECTORS):
        there = 1.0 if s.protector_alive[p, i] else 0.0
        circle(s.protector_x[p, i], s.protector_y[p, i], DETECTION, SHIELD, alpha=0.13 * there)
        ring(s.protector_x[p, i], s.protector_y[p, i], DETECTION, 0.03, 1.0, 0.0, SHIELD, alpha=0.55 * there)
    for p in loop(PROTECTORS):
        x = s.protector_x[p, i]
        y = s.protector_y[p, i]
        there = 1.0 if s.protector_alive[p, i] else 0.0
        box(x, y, 0.36, 0.36, TILT, TILT, 0.1, COLONY, alpha=there)
        box(x, y, 0.07, 0.2, 1.0, 0.0, 0.03, WHITE, alpha=there)
        box(x, y, 0.2, 0.07, 1.0, 0.0, 0.03, WHITE, alpha=there)


@rule
def draw_workers(s, i):
    """A worker's load grows on its back; a ring counts what one mines; one that flees has a red ring."""
    for w in loop(WORKERS):
        x = s.worker_x[w, i]
        y = s.worker_y[w, i]
        there = 1.0 if s.worker_alive[w, i] else 0.0
        load = float(s.worker_load[w, i]) / float(FULL)
        mines = 1.0 if s.worker_phase[w, i] == MINE else 0.0
        flees = 1.0 if s.worker_phase[w, i] == FLEE else 0.0
        ring(x, y, 0.44, 0.05, load, 1.5708, WORKER, alpha=mines * there)
        ring(x, y, 0.42, 0.045, 1.0, 0.0, RED, alpha=flees * there)
        circle(x, y, 0.27, WORKER, alpha=there)
        box(x, y, 0.04 + 0.12 * load, 0.04 + 0.12 * load, 1.0, 0.0, 0.03, INK, alpha=there if load > 0.0 else 0.0)


@rule
def draw_parasites(s, i):
    """Energy parasites are round and fade as they age; combat parasites stand on a corner. The newest has a ring."""
    for slot in loop(SLOTS):
        kind = s.parasite_kind[slot, i]
        x = s.parasite_x[slot, i]
        y = s.parasite_y[slot, i]
        drains = kind == ENERGY
        fights = 1.0 if kind == COMBAT else 0.0
        fresh = 1.0 - 0.5 * float(min(s.parasite_age[slot, i], LIFE)) / float(LIFE)
        newest = 1.0 if slot == s.spawn_slot[i] and s.spawn_survived[i] else 0.0
        ring(x, y, 0.62, 0.05, 1.0, 0.0, QUEEN_LIGHT, alpha=newest)
        circle(x, y, 0.32, QUEEN, alpha=fresh if drains else 0.0)
        circle(x, y, 0.12, WHITE, alpha=0.9 if drains else 0.0)
        box(x, y, 0.3, 0.3, TILT, TILT, 0.06, RED, alpha=fights)
        box(x, y, 0.11, 0.11, TILT, TILT, 0.02, INK, alpha=0.8 * fights)


@rule
def draw_bar(left, share, name, colour):
    """A bar with a name that is full at 1; `left` is where it begins."""
    middle = left + BAR_HALF
    half = BAR_HALF * clamp(share, 0.08, 1.0)
    box(middle, BAR_Y, BAR_HALF + 0.07, 0.42, 1.0, 0.0, 0.42, INK, alpha=0.6)
    box(left + half, BAR_Y, half, 0.35, 1.0, 0.0, 0.35, colour)
    tag(middle, BAR_Y, 0.6, name, WHITE)


@rule
def draw_energy(s, i):
    draw_bar(-0.4, s.queen_energy[i] / QUEEN_MOST, 0, QUEEN)
    draw_bar(MIDDLE + 0.3, s.player_energy[i] / PLAYER_FULL, 1, COLONY)
