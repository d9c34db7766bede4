"""The meaning of a network's `layers`: dense layers, the special layer that a drill may put in front of them, and the
memory that may stand behind the hidden ones.

`Grid` looks ahead, for games on cells: maps of values that spread from cell to cell. Each map has a source and a cost
in every cell, linear in the planes that are seen there (the cost through softplus, so that it is positive). Values
begin as the sources and spread for some sweeps over the grid, to and fro, in place: v = max(v, highest neighbour's v -
cost). What comes out are, of each map, the differences from the player's cell to its four neighbours. It is value
propagation (Nardelli et al., "Value Propagation Networks", 2019) with costs that add up, that is, Bellman's equation
for a shortest way (1958) with weights that are learned: what costs and what attracts is not given. Observations begin
with `planes` planes of rows x columns cells, row by row, and one more that is 1 where the player stands. Its weights
are those of a dense layer from the planes to the costs of all maps, then their sources.

`Pairs` judges, for games whose action is an item and a space to put it into: every pair by the same small network, so
that what is learned of one pair holds for all. Observations begin with what is seen of each item, then of each space.
A dense layer with ReLU, the same for all items, gives each its *traits*; spaces have one of their own. The means of
the traits are what the next layer reads (Zaheer et al., "Deep Sets", 2017), and instead of logits the last layer gives
a *context*, beside the value. From the traits of each another dense layer makes its *part* of a pair, and then
logit[item, space] = w . relu(item's part + space's part + context) + b: additive attention (Bahdanau et al., 2015) with
ReLU. Their weights are those of five dense layers: to the traits of items, of spaces, to the parts of items, of spaces,
and from the sum of parts to the logit.

`Places` judges, for games whose action is a kind and a cell of a map and whose observations name some cells of it,
every cell by where it lies to each of those places: places.py.

In `layers` each is written between the observations and the hidden sizes, as negative numbers: -rows, -columns,
-planes, -maps, -sweeps for a grid; -items, -numbers seen of each, -spaces, -numbers seen of each, -traits, -width of a
part for pairs; -rows, -columns, -places, -numbers seen of each, -traits, -reaches, -kinds for places. Observations
behind those that it reads go on to the next layer unchanged, behind its features.

A *memory* is an LSTM layer behind the hidden layers, where only dense layers stand before it. One of n units is written
as -n before the outputs: `(28, 64, -32, 31)`. The layer (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997;
the forget gate of Gers et al., 2000) reads what the last hidden layer gives, x, and what it gave before, h. Its weights
are those of one dense layer from `[x, h]` to the gates `[i, f, g, o]`, in torch's order, n each: c' = sigmoid(f) c +
sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). The outputs read h'. A memory's state is `[h, c]`, 2 n numbers, all 0 when
an episode begins.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

WAYS = 4
"""Up, right, down, left."""
OUTSIDE = -1.0
"""Stands for the difference to a missing neighbour."""
GATES = 4
"""Of a memory: i, f, g, o."""
BLOCK = 8
"""Traits and parts are multiples of this many numbers (block.py)."""
MOST_WORK = 1 << 26
"""Multiplications of one decision: as many as the weights of the largest policy file. A layer in front uses each weight
many times, so a small file could keep a processor busy for a day.
"""
MOST_SWEEPS, MOST_VISITS = 256, 1 << 18
"""Of a grid, sweeps and cells in all of them (assumed; the maze has 12 and 1,200): numpy takes some microseconds for a
cell of a sweep, however few its maps.
"""
MOST_NEAR = 1 << 23
"""Numbers of a table of places (places.py), cells times reaches times cells (assumed; the gate has 1.9 million): numpy
and torch make it, 32 MB and for a moment some times that, however few the weights.
"""


@dataclass(frozen=True)
class Grid:
    """Sizes of a grid layer, each at least 1; at most `MOST_SWEEPS` sweeps, and `MOST_VISITS` cells in all of them."""

    rows: int
    columns: int
    planes: int
    maps: int
    sweeps: int

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 2 or min(astuple(self)) < 1:
            raise ValueError(f"a grid needs at least 2 by 2 cells and at least one of everything else; got {self}")
        if self.sweeps > MOST_SWEEPS:
            raise ValueError(f"a grid has at most {MOST_SWEEPS} sweeps; got {self.sweeps}")
        if self.cells * self.sweeps > MOST_VISITS:
            raise ValueError(f"a grid has at most {MOST_VISITS:,} cells times sweeps; got {self.cells * self.sweeps:,}")

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def inputs(self) -> int:
        """Number of observations it reads."""
        return (self.planes + 1) * self.cells

    @property
    def features(self) -> int:
        """Number of outputs."""
        return WAYS * self.maps

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shape of its weights, as of a dense layer: planes, then costs and sources."""
        return ((self.planes, 2 * self.maps),)

    @property
    def work(self) -> int:
        """Multiplications and comparisons of one decision, roughly."""
        return self.cells * self.maps * (2 * self.planes + WAYS * (self.sweeps + 1))

    def neighbours(self) -> np.ndarray:
        """i64 `[cells, WAYS]`: the cell next to each, -1 outside."""
        cell = np.arange(self.cells).reshape(self.rows, self.columns)
        wide = np.pad(cell, 1, constant_values=-1)
        ways = (wide[:-2, 1:-1], wide[1:-1, 2:], wide[2:, 1:-1], wide[1:-1, :-2])
        return np.ascontiguousarray(np.stack([way.ravel() for way in ways], axis=1))


@dataclass(frozen=True)
class Pairs:
    """Sizes of a pairs layer, each at least 1; `traits` and `width` are multiples of 8."""

    items: int
    of_item: int
    spaces: int
    of_space: int
    traits: int
    width: int

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1 or self.traits % BLOCK or self.width % BLOCK:
            raise ValueError(
                f"pairs need at least one of everything, and traits and width in multiples of {BLOCK}; got {self}"
            )

    @property
    def inputs(self) -> int:
        """Number of observations they read."""
        return self.items * self.of_item + self.spaces * self.of_space

    @property
    def features(self) -> int:
        """Number of outputs: mean traits of items, then of spaces."""
        return 2 * self.traits

    @property
    def actions(self) -> int:
        return self.items * self.spaces

    @property
    def said(self) -> int:
        """Outputs of the last dense layer but the value: the context."""
        return self.width

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of their weights, as of dense layers; the last bias is added to all logits."""
        traits, part = self.traits, (self.traits, self.width)
        return (self.of_item, traits), (self.of_space, traits), part, part, (self.width, 1)

    @property
    def work(self) -> int:
        """Multiplications of one decision, roughly."""
        of_each = self.items * (self.of_item + self.width) + self.spaces * (self.of_space + self.width)
        return self.traits * of_each + 2 * self.width * self.actions


@dataclass(frozen=True)
class Places:
    """Sizes of a layer of places, each at least 1; of each at least 2 numbers are seen, its cell first."""

    rows: int
    columns: int
    places: int
    of_place: int
    traits: int
    reaches: int
    kinds: int

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1 or self.cells < 2 or self.of_place < 2:
            raise ValueError(
                f"places need two cells, two numbers seen of each and at least one of everything else; got {self}"
            )
        if (near := self.cells**2 * self.reaches) > MOST_NEAR:
            raise ValueError(f"places have at most {MOST_NEAR:,} cells times reaches times cells; got {near:,}")

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def inputs(self) -> int:
        """Number of observations it reads."""
        return self.places * self.of_place

    @property
    def features(self) -> int:
        """Number of outputs: mean traits."""
        return self.traits

    @property
    def actions(self) -> int:
        return self.kinds * self.cells

    @property
    def said(self) -> int:
        """Outputs of the last dense layer but the value: what is said of each kind."""
        return self.kinds

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of its weights, as of dense layers: to a place's traits, from those to its pulls."""
        return (self.of_place - 1, self.traits), (self.traits, self.reaches)

    @property
    def work(self) -> int:
        """Multiplications of one decision, roughly."""
        return self.places * (self.traits * (self.of_place + self.reaches) + self.cells * (self.reaches + 3))


Front = Grid | Pairs | Places
Judge = Pairs | Places
"""Layers behind which the last dense layer gives not logits, but `said` numbers that they make logits of."""
Weights = tuple[np.ndarray, np.ndarray]
"""Weights of one layer: W `[n_in, n_out]` and b `[n_out]`."""
FRONTS: dict[int, type[Grid] | type[Pairs] | type[Places]] = {5: Grid, 6: Pairs, 7: Places}
"""Layers in front of the dense ones, by the number of negative numbers that encode them in `layers`."""


def written(front: Front | None) -> tuple[int, ...]:
    """A layer as encoded in `layers`."""
    return tuple(-n for n in astuple(front)) if front else ()


def memory_of(layers: Sequence[int]) -> int:
    """Units of the memory; 0 for a network without one."""
    return -int(layers[-2]) if len(layers) > 3 and layers[-2] < 0 < layers[-3] else 0


def parse(layers: Sequence[int]) -> tuple[Front | None, tuple[int, ...]]:
    """The layer in front of a network's dense layers, or None, and the sizes of the dense layers, a memory left out.
    Raises ValueError for sizes that do not fit.
    """
    layers = without_memory(layers)
    numbers = tuple(itertools.takewhile(lambda n: n <= 0, layers[1:]))
    if not numbers:
        return None, layers
    dense = layers[1 + len(numbers) :]
    if len(numbers) not in FRONTS or not dense:
        raise ValueError(
            "negative numbers before the hidden sizes are 5 for a grid, 6 for pairs of items and spaces, 7 for places; "
            f"got {list(layers)}"
        )
    front = FRONTS[len(numbers)](*(-n for n in numbers))
    if front.inputs > layers[0]:
        raise ValueError(f"{front} reads {front.inputs} observations, but there are only {layers[0]}")
    if isinstance(front, Judge):
        if dense[-1] != front.actions + 1:
            raise ValueError(f"{front} needs {front.actions} actions and a value as outputs; got {dense[-1]} outputs")
        dense = (*dense[:-1], front.said + 1)
    return front, (front.features + layers[0] - front.inputs, *dense)


def without_memory(layers: Sequence[int]) -> tuple[int, ...]:
    """The same network with no memory between its hidden layers and its outputs."""
    layers = tuple(int(n) for n in layers)
    return (*layers[:-2], layers[-1]) if memory_of(layers) else layers


def is_network(layers: Sequence[int]) -> bool:
    """Whether these are sizes of a network."""
    try:
        front, dense = parse(layers)
    except ValueError:
        return False
    return len(dense) >= 2 and min(dense) >= 1 and layers[0] >= 1 and not (front and memory_of(layers))


def shapes(layers: Sequence[int]) -> list[tuple[int, int]]:
    """Inputs and outputs of the weights of each layer, those in front first, the memory last but one."""
    (front, dense), units = parse(layers), memory_of(layers)
    found = [*(front.shapes if front else ()), *itertools.pairwise(dense)]
    if units:
        width, outputs = found.pop()
        found += [(width + units, GATES * units), (units, outputs)]
    return found


def work(layers: Sequence[int]) -> int:
    """Multiplications of one decision, roughly; raises ValueError for layers that are none."""
    front = parse(layers)[0]
    dense = shapes(layers)[len(front.shapes) if front else 0 :]
    return (front.work if front else 0) + sum(n_in * n_out + n_out for n_in, n_out in dense)


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


def traits_of_each(pairs: Pairs, parts: Sequence[Weights], obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Traits f32 `[..., items, traits]` and `[..., spaces, traits]` from observations `[..., n_obs]`; `parts`: the
    weights of the pairs' layers.
    """
    (of_items, item_bias), (of_spaces, space_bias), *_ = parts
    middle, before = pairs.items * pairs.of_item, obs.shape[:-1]
    items = obs[..., :middle].reshape(*before, pairs.items, pairs.of_item)
    spaces = obs[..., middle : pairs.inputs].reshape(*before, pairs.spaces, pairs.of_space)
    return np.maximum(items @ of_items + item_bias, 0), np.maximum(spaces @ of_spaces + space_bias, 0)


def mean_traits(pairs: Pairs, parts: Sequence[Weights], obs: np.ndarray) -> np.ndarray:
    """What the next layer reads, f32 `[..., features + rest]`, of observations `[..., n_obs]`."""
    means = [traits.mean(axis=-2) for traits in traits_of_each(pairs, parts, obs)]
    return np.concatenate([*means, obs[..., pairs.inputs :]], axis=-1).astype(np.float32)


def judge_pairs(pairs: Pairs, parts: Sequence[Weights], obs: np.ndarray, context: np.ndarray) -> np.ndarray:
    """Logits f32 `[..., items * spaces]`, item by item, from observations and the context `[..., width]`."""
    items, spaces = traits_of_each(pairs, parts, obs)
    _, _, (of_items, item_bias), (of_spaces, space_bias), (weigh, bias) = parts
    item, space = items @ of_items + item_bias, spaces @ of_spaces + space_bias + context[..., None, :]
    rows = [np.maximum(item[..., k : k + 1, :] + space, 0) @ weigh[:, 0] for k in range(pairs.items)]
    return (np.concatenate(rows, axis=-1) + bias).astype(np.float32)
