"""The components of a proposal's expected reward, as compiled functions over chunks.

A chunk is an index z * 20 + x of the 20 x 20 map; -1 stands for a dead unit. Distances are Euclidean, in chunks.
Formulas and constants: Nexus of Mind, `continuous-training-loop.md` and its simulation gate (2026-01-21), unless a line
says otherwise. All numbers are float64. `js/features/gate/gate.ts` holds the same functions; a test
compares the two.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dshq_kernels.simd import kept
from dshq_widget.algorithms.gate.shape import CHUNKS, COLUMNS

kept.register()

HIVE = 190
FARTHEST = math.sqrt(19.0**2 + 19.0**2)
"""Distance between opposite corners, in chunks."""

ENERGY, COMBAT = 0, 1
"""Rows of the candidates, and values of `spawn_type` in compiled code."""
TYPES = ("energy", "combat")
COSTS = (15.0, 25.0)
"""Queen energy that a parasite of each type costs."""

DEADLY, SEEN, FADING = 2.0, 8.0, 0.5
"""A protector nearer than DEADLY kills for certain; from SEEN on it is no threat; in between the threat decays at rate
FADING per chunk.
"""
DRAIN_RADIUS, GUARD_RADIUS, FIGHT_RADIUS = 6.0, 1.2, 7.5
"""Reach of an energy parasite (workers) and of those who guard against it (protectors); reach of a combat parasite."""
FAR_FROM_HIVE, FAR_FROM_WORKER = 0.3, 0.4
"""Largest penalties of the location: without workers by the distance to the hive, else to the nearest worker."""
FRESH_SECONDS = 300.0
"""Time after which a chunk counts as unexplored again."""

SURVIVAL, DISRUPTION, LOCATION, CAPACITY, EXPLORATION = range(5)
NAMES = ("survival", "disruption", "location", "capacity", "exploration")
"""Keys of `GateResult.components`, in the order of the arrays."""


@njit(cache=True)
def distance(a: int, b: int) -> float:
    """Distance between two chunks."""
    dx, dz = float(a % COLUMNS - b % COLUMNS), float(a // COLUMNS - b // COLUMNS)
    return math.sqrt(dx * dx + dz * dz)


@njit(cache=True)
def escapes(d: float) -> float:
    """Probability, 0..1, that a protector at this distance does not catch a parasite."""
    if d < DEADLY:
        return 0.0
    return 1.0 - math.exp(-FADING * (d - DEADLY)) if d < SEEN else 1.0


@njit(cache=True)
def survival(chunk: int, protectors: np.ndarray) -> float:
    """Probability, 0..1, that a parasite spawned in `chunk` is not caught: product over protectors of 1 - threat."""
    alive = 1.0
    for protector in protectors:
        if protector >= 0:
            alive *= escapes(distance(chunk, protector))
    return alive


@njit(cache=True)
def disturbed(kind: int, n_workers: int, n_protectors: int, near_workers: int, near_protectors: int) -> float:
    """Share of the units that a parasite disturbs, of how many there are and how many are in reach. Energy: workers in
    reach minus guards, of all workers, -1..1. Combat: workers and protectors in reach, of all of both, 0..1. 0 without
    any.
    """
    if kind == COMBAT:
        units = n_workers + n_protectors
        return (near_workers + near_protectors) / units if units else 0.0
    return min(max((near_workers - near_protectors) / n_workers, -1.0), 1.0) if n_workers else 0.0


@njit(cache=True)
def disruption(chunk: int, kind: int, workers: np.ndarray, protectors: np.ndarray) -> float:
    """`disturbed`, of a parasite in `chunk`."""
    n_workers, n_protectors, near_workers, near_protectors = 0, 0, 0, 0
    for worker in workers:
        if worker >= 0:
            n_workers += 1
            near_workers += distance(chunk, worker) <= (DRAIN_RADIUS if kind == ENERGY else FIGHT_RADIUS)
    for protector in protectors:
        if protector >= 0:
            n_protectors += 1
            near_protectors += distance(chunk, protector) <= (GUARD_RADIUS if kind == ENERGY else FIGHT_RADIUS)
    return disturbed(kind, n_workers, n_protectors, near_workers, near_protectors)


@njit(cache=True)
def penalty(nearest: float, to_hive: float) -> float:
    """-0.4..0, for spawning far from every worker, or, without workers (infinitely far), far from the hive."""
    if nearest == math.inf:
        return -FAR_FROM_HIVE * to_hive / FARTHEST
    return -FAR_FROM_WORKER * nearest / FARTHEST


@njit(cache=True)
def location(chunk: int, workers: np.ndarray) -> float:
    """`penalty`, of a parasite in `chunk`."""
    nearest = math.inf
    for worker in workers:
        if worker >= 0:
            nearest = min(nearest, distance(chunk, worker))
    return penalty(nearest, distance(chunk, HIVE))


@njit(cache=True)
def affordable(kind: int, queen_energy: float) -> float:
    """1 if the queen can pay for the parasite, else 0."""
    return 1.0 if queen_energy >= COSTS[kind] else 0.0


@njit(cache=True)
def unexplored(seconds: float) -> float:
    """Share, 0..1, of the exploration bonus for a chunk without a spawn for `seconds`."""
    return min(1.0, seconds / FRESH_SECONDS)


@njit(cache=True)
def measure(
    chunk: int,
    kind: int,
    workers: np.ndarray,
    protectors: np.ndarray,
    queen_energy: float,
    seconds: float,
    epsilon: float,
    out: np.ndarray,
) -> None:
    """Writes the components of one proposal to `out`, f64 `[5]`; the exploration bonus is scaled by `epsilon`."""
    out[SURVIVAL] = survival(chunk, protectors)
    out[DISRUPTION] = disruption(chunk, kind, workers, protectors)
    out[LOCATION] = location(chunk, workers)
    out[CAPACITY] = affordable(kind, queen_energy)
    out[EXPLORATION] = epsilon * unexplored(seconds)


@njit(cache=True)
def measure_all(
    workers: np.ndarray,
    protectors: np.ndarray,
    queen_energy: float,
    seconds: np.ndarray,
    epsilon: float,
    out: np.ndarray,
) -> None:
    """Writes the components of every candidate to `out`, f64 `[2, 400, 5]`: types x chunks."""
    for kind in range(2):
        for chunk in range(CHUNKS):
            measure(chunk, kind, workers, protectors, queen_energy, seconds[chunk], epsilon, out[kind, chunk])
