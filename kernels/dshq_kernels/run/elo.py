"""Elo ratings from a cross table of results: Bradley-Terry by maximum likelihood.

The expected points (a win 1, a draw 1/2) of i against j are 1 / (1 + 10^((R_j - R_i) / 400)): A. Elo, "The Rating of
Chessplayers", 1978. Ratings maximise the likelihood of all results at once (R. Bradley and M. Terry, Biometrika 1952),
so that neither the order of the matches nor a step size matters. A draw counted as half a win overstates the variance,
so the deviation errs on the wide side.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dshq_kernels.simd.vector import compiled

NATURAL = 400 / np.log(10)
"""Elo per unit of log-odds."""
PRIOR_DRAWS = 2.0
"""Virtual draws of each free player, spread over the opponents it met: a player who won everything stays finite. After
R. Coulom's BayesElo, whose default is 2, too."""
ITERATIONS, LARGEST_STEP, ENOUGH = 100, 2.0, 1e-9


@compiled
def difference(points, matches):
    """Elo difference of a player with `points` in `matches`; one virtual draw keeps it finite."""
    share = (points + 0.5) / (matches + 1)
    return NATURAL * np.log(share / (1 - share))


@compiled
def with_draws(points, matches, free, more_points, more_matches):
    """Fill f64 `[n, n]` with points and matches and the virtual draws of the players who are `free`, bool `[n]`."""
    n = free.size
    for i in range(n):
        for j in range(n):
            more_points[i, j], more_matches[i, j] = points[i, j], matches[i, j]
    for i in range(n):
        met = 0.0
        for j in range(n):
            met += matches[i, j]
        for j in range(n):
            virtual = PRIOR_DRAWS * matches[i, j] / max(met, 1.0) if free[i] else 0.0
            more_points[i, j] += virtual / 2
            more_points[j, i] += virtual / 2
            more_matches[i, j] += virtual
            more_matches[j, i] += virtual


@compiled
def ratings(points, matches, pinned, rating, deviation, free, room):
    """Fill `rating` and its standard `deviation`, f64 `[n]`, in Elo.

    `points[i, j]` are i's points against j, `matches[i, j]` their matches (symmetric), f64 `[n, n]`; `pinned` f64 `[n]`
    holds the ratings that stay as they are and NaN for the others. Players whom no chain of matches links to a pinned
    one get the pinned mean and an infinite deviation. It is that of the Fisher information. `free`: bool `[n]`, who was
    rated; `room`: f64 `[5, n, n]`.
    """
    n, known, total = pinned.size, 0, 0.0
    for i in range(n):
        if not np.isnan(pinned[i]):
            known, total = known + 1, total + pinned[i]
    for i in range(n):
        fixed = not np.isnan(pinned[i])
        rating[i] = pinned[i] if fixed else total / known
        deviation[i] = 0.0 if fixed else np.inf
    if not _find_free(matches, pinned, free):
        return
    with_draws(points, matches, free, room[0], room[1])
    theta, slope, curvature = room[2, 0], room[3, 0], room[4]
    for i in range(n):
        theta[i] = rating[i] / NATURAL
    for _ in range(ITERATIONS):
        _derivatives(theta, room[0], room[1], free, slope, curvature)
        _invert(curvature)
        largest = 0.0
        for i in range(n):
            step = 0.0
            for j in range(n):
                step += curvature[i, j] * slope[j]
            theta[i] += min(max(step, -LARGEST_STEP), LARGEST_STEP)
            largest = max(largest, abs(step))
        if largest < ENOUGH:
            break
    _derivatives(theta, room[0], room[1], free, slope, curvature)
    _invert(curvature)
    for i in range(n):
        if free[i]:
            rating[i], deviation[i] = NATURAL * theta[i], NATURAL * np.sqrt(curvature[i, i])


@njit(error_model="numpy")
def _find_free(matches, pinned, free):
    """Mark in `free` whom a chain of matches links to a pinned player, without these. Returns whether there is one."""
    n = free.size
    for i in range(n):
        free[i] = not np.isnan(pinned[i])
    wider = True
    while wider:
        wider = False
        for i in range(n):
            for j in range(n):
                if free[j] and not free[i] and matches[i, j] > 0:
                    free[i] = wider = True
    found = False
    for i in range(n):
        free[i] = free[i] and np.isnan(pinned[i])
        found = found or free[i]
    return found


@njit(error_model="numpy")
def _derivatives(theta, points, matches, free, slope, curvature):
    """Slope f64 `[n]` and negative curvature f64 `[n, n]` of the log-likelihood, which is concave, in those who are
    `free`; of the others 0 and the unit matrix.
    """
    n = theta.size
    curvature[:] = 0.0
    for i in range(n):
        slope[i] = 0.0
        if not free[i]:
            curvature[i, i] = 1.0
            continue
        for j in range(n):
            expected = 1 / (1 + np.exp(theta[j] - theta[i]))
            information = matches[i, j] * expected * (1 - expected)
            slope[i] += points[i, j] - matches[i, j] * expected
            curvature[i, i] += information
            if free[j]:
                curvature[i, j] -= information


@njit(error_model="numpy")
def _invert(matrix):
    """A symmetric positive definite matrix, f64 `[n, n]`, becomes its inverse: Gauss and Jordan; such a one needs no
    pivots.
    """
    n = len(matrix)
    for k in range(n):
        scale = 1 / matrix[k, k]
        matrix[k, k] = 1.0
        for j in range(n):
            matrix[k, j] *= scale
        for i in range(n):
            factor = matrix[i, k]
            if i == k or factor == 0:
                continue
            matrix[i, k] = 0.0
            for j in range(n):
                matrix[i, j] -= factor * matrix[k, j]
