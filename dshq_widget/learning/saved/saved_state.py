"""What the tensors and numbers of a run's file must be, so that whoever continues from it can: checked whole before
anything is changed. Games, replays and leagues are compared with the run's own where they are restored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dshq_widget.contract.finite import is_finite
from dshq_widget.learning.saved import fingerprint
from dshq_widget.learning.saved.generator import unpack_generator

Fits = Callable[[np.ndarray, int], bool]
"""Whether a tensor is of its kind in a file whose network has this number of floats."""
MOST = 2.0**53
LARGEST = float(np.finfo(np.float32).max)
"""Of what games show and pay; no infinity."""


def number(low: float, high: float = MOST) -> Fits:
    """One number, within bounds."""
    return lambda found, _: found.size == 1 and bool(low <= found.reshape(()) <= high)


def numbers(*shape: int, low: float = -MOST, high: float = MOST) -> Fits:
    """An array of this shape, -1 for any length, with no number below `low` or above `high`."""

    def fits(found: np.ndarray, _: int) -> bool:
        like = found.ndim == len(shape) and all(n in (-1, size) for n, size in zip(shape, found.shape, strict=True))
        return like and (found.size == 0 or bool(found.min() >= low and found.max() <= high))

    return fits


def taken(found: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of what a file has; zeros where it has another shape than the run's own, as sums of other rewards have."""
    return found.copy() if found.shape == like.shape else np.zeros_like(like)


def running_of(state: Mapping[str, np.ndarray], games: int) -> np.ndarray:
    """f64 `[games, 2 + terms]`: returns, decisions and terms so far of a file's unfinished episodes. Raises ValueError
    for those of other games.
    """
    found = state["train.running"]
    if found.ndim != 2 or len(found) != games or found.shape[1] < 2:
        raise ValueError(f"its train.running, of shape {found.shape}, is not that of {games} games")
    return found.astype(float)


def weights(low: float = -np.inf) -> Fits:
    """f32, one for each weight."""
    return lambda found, floats: (
        found.dtype == np.float32 and found.shape == (floats,) and bool((found >= np.float32(low)).all())
    )


def generator(found: np.ndarray, _: int) -> bool:
    """A generator's words, as `pack_generator` writes them."""
    try:
        unpack_generator(found)
    except ValueError:
        return False
    return True


def draws(found: np.ndarray, _: int) -> bool:
    """A key and a count, as `Draws` writes them; or what was in their place before."""
    ours = found.dtype == np.uint64 and found.shape == (2,) and int(found[0]) < 1 << 32
    return ours or generator(found, _)


def moments(found: np.ndarray, _: int) -> bool:
    """Means, variances and how many: a normaliser's."""
    return found.ndim == 1 and found.size % 2 == 1 and bool((found[found.size // 2 :] >= 0).all())


EVERY_RUN: Mapping[str, Fits] = {
    "adam_m": weights(),
    "adam_v": weights(0.0),
    "adam_step": number(0),
    "generator_update": draws,
    "normalizer.observations": moments,
    "normalizer.returns": moments,
    "train.updates": number(0),
    "train.rate": number(1e-3, 1.0),
    "train.good": number(0),
    "train.count": number(0),
    "train.entropy": lambda found, _: (
        found.shape == (3,) and bool((found[:2] >= 0).all() and found[0] <= MOST and found[1] <= 1e3)
    ),
    "train.awake": weights(),
    "train.guard": lambda found, _: (
        found.ndim == 1 and len(found) >= 3 and bool((found[1:3] >= 0).all() and (abs(found[:3]) <= MOST).all())
    ),
    "train.targets": numbers(-1, low=0.0),
    fingerprint.NAME: fingerprint.fits,
}
"""What runs of any algorithm save under these names."""
MOMENTS = re.compile(r"(.*\.)?adam(_.*)?|train\.\w+\.agent\.\w+\.(m|v|steps)")
"""Names of what an optimiser has, in any algorithm."""
COUNTS = ("seconds", "updates")
"""The metrics that a continuation continues from."""


def with_fresh_moments(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same with an optimiser's moments and steps of 0, for weights that other steps have led to."""
    return {name: np.zeros_like(row) if MOMENTS.fullmatch(name) else row for name, row in state.items()}


def check(state: Mapping[str, np.ndarray], metrics: Mapping[str, Any], floats: int, own: Mapping[str, Fits]) -> None:
    """Raises ValueError for a tensor, or a metric, that nobody can continue from. `floats`: of the file's network;
    `own`: what the algorithm saves beyond `EVERY_RUN`.
    """
    for name, fits in {**EVERY_RUN, **own}.items():
        if name in state and not fits(state[name], floats):
            found = state[name]
            raise ValueError(f"its {name}, {found.dtype} of shape {found.shape}, is not what a run saves")
    for name in COUNTS:
        if name in metrics and not (is_finite(metrics[name]) and 0 <= metrics[name] <= MOST):
            raise ValueError(f"its metric {name} must be a number from 0, got {metrics[name]!r:.60}")
