"""What the loop that plays for learning (loops.py) takes, and the memory in which it works, as named tuples for
compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Games(NamedTuple):
    """The games: addresses of the verbs (int64), address of the tiles' records, `tile_bytes` apart, what
    `loops.shape_of` returns, who plays the other side of each tile (int64), the returns so far, f32
    `[tiles, sides, 16]`, and the address of the states of the players' memories, f32 `[tiles, sides, 2 units, 16]`,
    or 0.
    """

    verbs: np.ndarray
    tiles: int
    tile_bytes: int
    shape: tuple[int, int, int, int, int]
    opponents: np.ndarray
    running: np.ndarray
    memories: int


class Players(NamedTuple):
    """The learner's network: plan, activation, address of the padded parameters; the address of further blocks, those
    of opponents that are policies, `policy_bytes` apart.
    """

    plan: np.ndarray
    activation: int
    params: int
    policies: int
    policy_bytes: int


class Rewards(NamedTuple):
    """What is paid: weight (f32) and kind (bool) of each term, the discount, and lambda of the advantages."""

    weights: np.ndarray
    potential: np.ndarray
    gamma: np.float32
    gae_lambda: np.float32


class Chances(NamedTuple):
    """Seed and first count of the actions' generator; scenes, u32 `[n, words]`, and the share of new episodes that
    begin as one of them.
    """

    seed: int
    first_count: int
    scenes: np.ndarray
    scene_share: np.float32


class Room(NamedTuple):
    """Addresses of the memory of one thread, of `loops.scratch_floats`, and bytes of what stands in it. All but `rest`
    are rows of f32 `[16]`.
    """

    wide: int
    """`[2 tiles, sides, n_obs]`."""
    before: int
    """Terms before a decision, `[2 tiles, sides, n_terms]`."""
    after: int
    term_sums: int
    """`[n_terms]`."""
    status: int
    """`[2 tiles, 2]`."""
    reward: int
    """`[length, 2]`, as `over` and `final`."""
    over: int
    final: int
    chance: int
    """One row."""
    cumulated: int
    """`[n_actions]`."""
    masks: int
    """`[2 tiles, sides, n_actions]` where there is a mask."""
    rest: int
    """What a forward pass works in."""
    obs_bytes: int
    term_bytes: int
    mask_bytes: int
    memory_bytes: int


class Group(NamedTuple):
    """Two units that go through the network together. `both`: they are the sides of one tile; `halves` is 1 where
    there is one unit, `distinct` the number of tiles.
    """

    tiles: tuple[int, int]
    """Their numbers."""
    tile: tuple[int, int]
    """Addresses of their records."""
    side: tuple[int, int]
    seen: tuple[int, int]
    """What the two see, in `Room.wide`."""
    mine: int
    """States of the two units' memories."""
    other: int
    both: bool
    whole: bool
    """Observations go straight to the samples."""
    halves: int
    distinct: int
    unit: int
    """The first of its samples' units."""
