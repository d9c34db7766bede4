"""Elo ratings with a confidence band, from a table of results: dshq_kernels/run/elo.py has the mathematics."""

from __future__ import annotations

import numpy as np

from dshq_kernels.run import elo
from dshq_widget.contract.statistics import Z95


def difference(points: float, matches: float) -> float:
    """Elo difference of a player with `points` in `matches`; one virtual draw keeps it finite."""
    return float(elo.difference(float(points), float(matches)))


def ratings(points: np.ndarray, matches: np.ndarray, pinned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratings and half the width of their 95 % bands, both f64 `[n]`, in Elo.

    `points[i, j]` are i's points against j, `matches[i, j]` their matches (symmetric), f64 `[n, n]`; `pinned` f64 `[n]`
    holds the ratings that stay as they are and NaN for the others. Players whom no chain of matches links to a pinned
    one get the pinned mean and an infinite band. The band is that of the Fisher information: it knows of chance, not of
    opponents whom a player happens to suit. It is measured from the pinned players. Ratings that hang on the same one
    miss together, so two whose bands overlap may still differ: what counts is the band of their difference.
    """
    n = len(pinned)
    rating, deviation, free = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    elo.ratings(plain(points), plain(matches), plain(pinned), rating, deviation, free, np.empty((5, n, n)))
    return rating, Z95 * deviation


def with_draws(points: np.ndarray, matches: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and matches, f64 `[n, n]`, with the virtual draws of the players who are `free`, bool `[n]`."""
    more = np.empty((2, *matches.shape))
    elo.with_draws(plain(points), plain(matches), free, *more)
    return more[0], more[1]


def plain(numbers: np.ndarray) -> np.ndarray:
    """As compiled functions want them: f64, row by row."""
    return np.ascontiguousarray(numbers, np.float64)
