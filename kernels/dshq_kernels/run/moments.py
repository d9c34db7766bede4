"""Means and deviations of a rollout's advantages, returns and observations."""

from __future__ import annotations

import numpy as np

from dshq_kernels.simd.vector import compiled, lane_sum, load, splat

RUN = 64
"""Vectors added in float32 before the sum continues in float64."""


@compiled
def moments(units, advantage, value, returns):
    """(mean and deviation of the advantages, explained variance of the returns) over int64 `units` of f32 `[units,
    16]` arrays.

    Sums are float64. Explained variance is 1 - Var(returns - value) / Var(returns), 0 where the returns do not vary.
    """
    a1, a2, r1, r2, e1, e2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for u in units:
        for lane in range(16):
            a, r = np.float64(advantage[u, lane]), np.float64(returns[u, lane])
            e = r - np.float64(value[u, lane])
            a1, a2, r1, r2, e1, e2 = a1 + a, a2 + a * a, r1 + r, r2 + r * r, e1 + e, e2 + e * e
    n = units.size * 16
    spread, error = r2 / n - (r1 / n) ** 2, e2 / n - (e1 / n) ** 2
    return a1 / n, np.sqrt(max(0.0, a2 / n - (a1 / n) ** 2)), 1 - error / spread if spread > 0 else 0.0


@compiled
def feature_moments(units, values, mean, variance):
    """Fill f64 `[n]` each, of every feature of f32 `[units, n, 16]` over the int64 `units`."""
    count = units.size * 16
    for k in range(values.shape[1]):
        pivot = values[units[0], k, 0]  # taken off first, so that the squares lose nothing where the mean is large
        total, square = 0.0, 0.0
        for begin in range(0, units.size, RUN):
            a, b = splat(0.0), splat(0.0)
            for u in units[begin : begin + RUN]:
                x = load(values[u, k].ctypes.data) - pivot
                a = a + x
                b = b + x * x
            total += np.float64(lane_sum(a))
            square += np.float64(lane_sum(b))
        mean[k] = pivot + total / count
        variance[k] = max(0.0, square / count - (total / count) ** 2)


@compiled
def join(moments, mean, variance, count):
    """Add to running `moments`, f64 `[2 n + 1]` (means, variances, their count), those of `count` more samples, f64
    `[n]` each. Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances",
    1979: Welford's method, in parallel.
    """
    n = mean.size
    before = moments[2 * n]
    total = before + count
    for k in range(n):
        step = mean[k] - moments[k]
        squares = moments[n + k] * before + variance[k] * count + step**2 * (before * count / total)
        moments[k] += step * (count / total)
        moments[n + k] = squares / total
    moments[2 * n] = total


@compiled
def add(units, values, moments, room):
    """Add to running `moments` every feature of f32 `[units, n, 16]` over the int64 `units`; nothing if one is not
    finite. `room`: f64 `[2, n]`.
    """
    mean, variance = room[0], room[1]
    feature_moments(units, values, mean, variance)
    for k in range(mean.size):
        if not (np.isfinite(mean[k]) and np.isfinite(variance[k])):
            return
    join(moments, mean, variance, units.size * 16.0)
