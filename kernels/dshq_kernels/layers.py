"""What the `layers` of a network mean: dense ones, and one in front of them that looks ahead on a grid.

That one is for games on cells: maps of values that spread from cell to cell. Each map has a source and a cost in every
cell, linear in the planes that are seen there (the cost through softplus, so that it is positive). Values begin as the
sources and spread for some sweeps over the grid, to and fro, in place: v = max(v, highest neighbour's v - cost). What
comes out are, of each map, the differences from the player's cell to its four neighbours. It is value propagation
(Nardelli et al., "Value Propagation Networks", 2019) with costs that add up, that is, Bellman's equation for a shortest
way (1958) with weights that are learned: what costs and what attracts is not given.

Observations begin with `planes` planes of rows x columns cells, row by row, and one more that is 1 where the player
stands; what follows them goes on to the next layer unchanged, behind the differences. In `layers` such a layer is
written between the observations and the hidden sizes, as five negative numbers: -rows, -columns, -planes, -maps,
-sweeps. Its weights are those of a dense layer from the planes to the costs of all maps, then their sources.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

NUMBERS = 5
"""How many negative numbers stand for a grid in `layers`."""
WAYS = 4
"""Up, right, down, left."""
OUTSIDE = -1.0
"""What stands for the difference to a neighbour that does not exist."""


@dataclass(frozen=True)
class Grid:
    """Sizes of such a layer, each at least 1."""

    rows: int
    columns: int
    planes: int
    maps: int
    sweeps: int

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def inputs(self) -> int:
        """Observations that it reads."""
        return (self.planes + 1) * self.cells

    @property
    def features(self) -> int:
        """Numbers that come out."""
        return WAYS * self.maps

    @property
    def shape(self) -> tuple[int, int]:
        """Of its weights, as those of a dense layer: planes, then costs and sources."""
        return self.planes, 2 * self.maps

    @property
    def written(self) -> tuple[int, ...]:
        """As it stands in `layers`."""
        return tuple(-n for n in astuple(self))

    def neighbours(self) -> np.ndarray:
        """i64 `[cells, WAYS]`: the cell next to each, -1 outside."""
        cell = np.arange(self.cells).reshape(self.rows, self.columns)
        wide = np.pad(cell, 1, constant_values=-1)
        ways = (wide[:-2, 1:-1], wide[1:-1, 2:], wide[2:, 1:-1], wide[1:-1, :-2])
        return np.ascontiguousarray(np.stack([way.ravel() for way in ways], axis=1))


def parse(layers: Sequence[int]) -> tuple[Grid | None, tuple[int, ...]]:
    """The grid of a network's `layers`, if any, and the sizes of its dense part. Raises ValueError for a grid that does
    not fit.
    """
    layers = tuple(int(n) for n in layers)
    if len(layers) < 2 or layers[1] > 0:
        return None, layers
    numbers = layers[1 : 1 + NUMBERS]
    if len(layers) < NUMBERS + 2 or max(numbers) >= 0:
        raise ValueError(f"a grid is written as {NUMBERS} negative numbers before the hidden sizes; got {list(layers)}")
    grid = Grid(*(-n for n in numbers))
    if min(grid.rows, grid.columns) < 2:
        raise ValueError(f"a grid has at least 2 by 2 cells; got {grid.rows} by {grid.columns}")
    if grid.inputs > layers[0]:
        raise ValueError(f"a grid of {grid.inputs} observations does not fit into {layers[0]}")
    return grid, (grid.features + layers[0] - grid.inputs, *layers[1 + NUMBERS :])


def is_network(layers: Sequence[int]) -> bool:
    """Whether these are sizes of a network."""
    try:
        _, dense = parse(layers)
    except ValueError:
        return False
    return len(dense) >= 2 and min(dense) >= 1 and layers[0] >= 1


def shapes(layers: Sequence[int]) -> list[tuple[int, int]]:
    """Inputs and outputs of the weights of each layer, the grid's first."""
    grid, dense = parse(layers)
    return [*([grid.shape] if grid else []), *itertools.pairwise(dense)]


def sweep(grid: Grid, k: int) -> range:
    """The cells in the order in which the k-th sweep visits them."""
    return range(grid.cells) if k % 2 == 0 else range(grid.cells - 1, -1, -1)


def look_ahead(grid: Grid, matrix: np.ndarray, bias: np.ndarray, obs: np.ndarray) -> np.ndarray:
    """What the next layer reads, f32 `[..., features + rest]`, of observations `[..., n_obs]`, in numpy."""
    seen = obs[..., : grid.inputs].reshape(*obs.shape[:-1], grid.planes + 1, grid.cells)
    given = np.moveaxis(seen[..., :-1, :], -2, -1) @ matrix + bias  # [..., cells, 2 maps]
    cost, value = np.logaddexp(0, given[..., : grid.maps]), given[..., grid.maps :].copy()
    near = grid.neighbours()
    for k in range(grid.sweeps):
        for cell in sweep(grid, k):
            others = [value[..., n, :] for n in near[cell] if n >= 0]
            spread = np.maximum.reduce(others) - cost[..., cell, :]
            value[..., cell, :] = np.maximum(value[..., cell, :], spread)
    gaps = np.where(near[..., None] >= 0, value[..., near, :] - value[..., :, None, :], OUTSIDE)
    found = np.einsum("...c,...cwm->...mw", seen[..., -1, :], gaps).reshape(*obs.shape[:-1], grid.features)
    return np.concatenate([found, obs[..., grid.inputs :]], axis=-1).astype(np.float32)
