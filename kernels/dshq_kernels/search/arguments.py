"""What a search is told, where it works, and what comes out, as named tuples for compiled code (particles.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.network.mlp import N_ACTIONS, play_scratch
from dshq_kernels.play.loops import shape_of
from dshq_kernels.simd.lanes import LANES


class Game(NamedTuple):
    """What to search in: addresses of the verbs, bytes of a tile, and what `loops.shape_of` returns."""

    verbs: np.ndarray
    tile_bytes: int
    shape: tuple[int, int, int, int, int]


class Network(NamedTuple):
    """Who plays the particles: plan, activation and the address of the padded parameters; and the same of policies of
    the other side, `policy_bytes` apart.
    """

    plan: np.ndarray
    activation: int
    params: int
    other_plan: np.ndarray
    other_activation: int
    policies: int
    policy_bytes: int


class Rewards(NamedTuple):
    """What particles are paid: weight and kind of each term, and the discount of potentials."""

    weights: np.ndarray
    potential: np.ndarray
    gamma: np.float32


class How(NamedTuple):
    """How to search; docs/explain/search.md has the formulas."""

    particles: int
    depth: int
    period: int
    """Resample every so many decisions; 0: where the ESS is below `least_ess` of the particles."""
    least_ess: float
    temperature: float
    """0: the one for which the weights are `epsilon` nats from uniform."""
    epsilon: float
    gamma: np.float32
    gae_lambda: np.float32
    alpha: float
    """Of the Dirichlet noise in the root's policy."""
    fraction: float
    """Share of that noise."""
    greedy: bool
    """Play the action with the most weight instead of drawing one."""


class Work(NamedTuple):
    """Addresses of the memory of one thread; shapes in `units_of`."""

    root_obs: int
    root_mask: int
    prior: int
    prior_mask: int
    tiles: int
    obs: int
    masks: int
    out: int
    spare: int
    before: int
    after: int
    status: int
    reward: int
    sums: int
    value: int
    gain: int
    total: int
    alive: int
    first: int
    chosen: int
    weight: int
    parents: int
    chance: int
    log_prob: int
    row: int
    rest: int


class Result(NamedTuple):
    """Addresses of what comes out: f32 `[tiles, 16]` values of the roots; `[tiles, K, 16]` their particles' root
    actions (i32), weights and G.
    """

    value: int
    action: int
    weight: int
    total: int


def units_of(plan: np.ndarray, spec: PlayedSpec, words: int, particles: int) -> dict[str, int]:
    """Units of 16 numbers of every field of `Work`; `words`: of a state."""
    sides, n_obs, *_ = shape_of(spec)
    n_actions, held = int(plan[0, N_ACTIONS]), max(2, -(-particles // LANES))
    terms = max(1, len(spec.terms))
    return {
        "root_obs": sides * n_obs,
        "root_mask": sides * n_actions,
        "prior": n_actions + 1,
        "prior_mask": n_actions,
        "tiles": held * words,
        "obs": held * sides * n_obs,
        "masks": held * sides * n_actions,
        "out": held * (n_actions + 1),
        "spare": held * max(words, n_actions + 1),
        "before": held * sides * terms,
        "after": held * sides * terms,
        "status": held * 2,
        "reward": held,
        "sums": terms,
        **dict.fromkeys(("value", "gain", "total", "alive", "first", "chosen", "weight", "parents"), held),
        "chance": 1,
        "log_prob": 1,
        "row": n_actions,
        "rest": play_scratch(plan) // LANES + n_actions + 8,
    }


def work_at(address: int, units: Mapping[str, int]) -> tuple[Work, int]:
    """The memory that begins at `address`, and how many bytes it takes."""
    ends = np.cumsum([64 * units[name] for name in Work._fields]).tolist()
    return Work(*(address + offset for offset in (0, *ends[:-1]))), ends[-1]
