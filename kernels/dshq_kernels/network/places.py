"""The places of layers.py, in numpy: cells of a map are judged by where they lie to the places that are observed.

Observations begin with what is seen of each place: its cell's number as a share of the last cell's, then numbers of
what is there. A place of which all these are 0 is none. The cell is taken apart into column and row, and so the network
need not learn that 47 lies beside 67. A dense layer with ReLU, the same for all places, gives each its *traits*, whose
mean the next layer reads. Another dense layer makes of them its *pulls*, one for each reach r, and then

    logit[kind, cell] = of kind + sum over places and reaches of pull * max(0, 1 - distance / r)

with the distances between the cells' middles and the reaches 1, 2, 3, ... cells: a place's part in a cell's logit can
be any function of the distance that is straight between whole cells. What is said of each kind comes from the last
dense layer, beside the value. What is learned of one place holds for all, as it does for the items of pairs, and of one
cell for all: none has a number of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from dshq_kernels.network.layers import Places, Weights


@functools.lru_cache(maxsize=4)
def nearness(front: Places) -> np.ndarray:
    """f32 `[cells, reaches, cells]`: how near a cell (the last axis) is to another: 1 for itself, 0 from a reach on."""
    cells = np.arange(front.cells)
    dx = cells[:, None] % front.columns - cells % front.columns
    dy = cells[:, None] // front.columns - cells // front.columns
    reach = np.arange(1.0, front.reaches + 1)
    found = np.maximum(0.0, 1.0 - np.hypot(dx, dy)[:, None] / reach[:, None]).astype(np.float32)
    found.setflags(write=False)
    return found


def seen_of_each(front: Places, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each place its cell i64 `[..., places]`, what is there f32 `[..., places, of_place - 1]`, and whether there is
    a place at all, f32 `[..., places]`, from observations `[..., n_obs]`.
    """
    seen = obs[..., : front.inputs].reshape(*obs.shape[:-1], front.places, front.of_place)
    last = front.cells - 1
    cell = np.clip(np.nan_to_num(np.rint(seen[..., 0] * np.float32(last))), 0, last).astype(np.int64)
    there = seen[..., 1:]
    return cell, there, (there != 0).any(axis=-1).astype(np.float32)


def traits_of_each(parts: Sequence[Weights], there: np.ndarray, exists: np.ndarray) -> np.ndarray:
    """f32 `[..., places, traits]`; 0 where there is no place. `parts`: the weights of the layer's two layers."""
    matrix, bias = parts[0]
    return np.maximum(there @ matrix + bias, np.float32(0)) * exists[..., None]


def read_places(front: Places, parts: Sequence[Weights], obs: np.ndarray) -> np.ndarray:
    """What the next layer reads, f32 `[..., features + rest]`, of observations `[..., n_obs]`."""
    _, there, exists = seen_of_each(front, obs)
    means = traits_of_each(parts, there, exists).mean(axis=-2)
    return np.concatenate([means, obs[..., front.inputs :]], axis=-1)


def pulled(front: Places, cell: np.ndarray, pulls: np.ndarray) -> np.ndarray:
    """What the places' pulls `[..., places, reaches]` add to the logits of all cells, `[..., cells]`."""
    near = nearness(front)[cell]
    flat = near.reshape(*cell.shape[:-1], front.places * front.reaches, front.cells)
    return (pulls.reshape(*cell.shape[:-1], 1, front.places * front.reaches) @ flat)[..., 0, :]


def judge_places(front: Places, parts: Sequence[Weights], obs: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Logits f32 `[..., kinds * cells]`, kind by kind, from observations and what the dense layers say of each kind,
    `[..., kinds]`.
    """
    cell, there, exists = seen_of_each(front, obs)
    matrix, bias = parts[1]
    pulls = (traits_of_each(parts, there, exists) @ matrix + bias) * exists[..., None]
    logits = said[..., None] + pulled(front, cell, pulls)[..., None, :]
    return logits.reshape(*obs.shape[:-1], front.actions).astype(np.float32)
