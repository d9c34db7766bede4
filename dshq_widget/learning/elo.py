"""Elo ratings with a confidence band, from a cross table of results: Bradley-Terry by maximum likelihood.

The expected points (a win 1, a draw 1/2) of i against j are 1 / (1 + 10^((R_j - R_i) / 400)): A. Elo, "The Rating of
Chessplayers", 1978. Ratings maximise the likelihood of all results at once (R. Bradley and M. Terry, Biometrika 1952),
so that neither the order of the matches nor a step size matters. A draw counted as half a win overstates the variance,
so the band errs on the wide side.
"""

from __future__ import annotations

import numpy as np

from dshq_widget.contract.statistics import Z95

NATURAL = 400 / np.log(10)
"""Elo per unit of log-odds."""
PRIOR_DRAWS = 2.0
"""Virtual draws of each free player, spread over the opponents it met: a player who won everything stays finite. After
R. Coulom's BayesElo, whose default is 2, too."""
ITERATIONS, LARGEST_STEP, ENOUGH = 100, 2.0, 1e-9


def difference(points: float, matches: float) -> float:
    """Elo difference of a player with `points` in `matches`; one virtual draw keeps it finite."""
    share = (points + 0.5) / (matches + 1)
    return float(NATURAL * np.log(share / (1 - share)))


def ratings(points: np.ndarray, matches: np.ndarray, pinned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratings and half the width of their 95 % bands, both f64 `[n]`, in Elo.

    `points[i, j]` are i's points against j, `matches[i, j]` their matches (symmetric), f64 `[n, n]`; `pinned` f64 `[n]`
    holds the ratings that stay as they are and NaN for the others. Players whom no chain of matches links to a pinned
    one get the pinned mean and an infinite band. The band is that of the Fisher information: it knows of chance, not of
    opponents whom a player happens to suit. It is measured from the pinned players. Ratings that hang on the same one
    miss together, so two whose bands overlap may still differ: what counts is the band of their difference.
    """
    fixed = ~np.isnan(pinned)
    middle = float(pinned[fixed].mean())
    free = _linked(matches > 0, fixed) & ~fixed
    rating, half = np.where(fixed, pinned, middle), np.where(fixed, 0.0, np.inf)
    if not free.any():
        return rating, half
    points, matches = with_draws(points, matches, free)
    theta = rating / NATURAL
    for _ in range(ITERATIONS):
        slope, curvature = _derivatives(theta, points, matches)
        step = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        theta[free] += np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        if np.abs(step).max() < ENOUGH:
            break
    _, curvature = _derivatives(theta, points, matches)
    half[free] = Z95 * NATURAL * np.sqrt(np.diag(np.linalg.inv(curvature[np.ix_(free, free)])))
    rating[free] = NATURAL * theta[free]
    return rating, half


def with_draws(points: np.ndarray, matches: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and matches, f64 `[n, n]`, with the virtual draws of the players who are `free`, bool `[n]`."""
    met = matches.sum(1, keepdims=True)
    virtual = np.where(free[:, None], PRIOR_DRAWS * matches / np.maximum(met, 1), 0.0)
    virtual = virtual + virtual.T
    return points + virtual / 2, matches + virtual


def _derivatives(theta: np.ndarray, points: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope f64 `[n]` and negative curvature f64 `[n, n]` of the log-likelihood, which is concave."""
    expected = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    information = matches * expected * (1 - expected)
    return (points - matches * expected).sum(1), np.diag(information.sum(1)) - information


def _linked(met: np.ndarray, start: np.ndarray) -> np.ndarray:
    """bool `[n]`: whom a chain of matches links to one of `start`."""
    linked = start
    while True:
        wider = linked | (met & linked[None, :]).any(1)
        if (wider == linked).all():
            return linked
        linked = wider
