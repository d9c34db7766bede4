"""Searching from Python: `Search` holds a search's memory, and searches in arrays of tiles, on several threads."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.network.mlp import make_plan
from dshq_kernels.play.loops import shape_of
from dshq_kernels.play.players import POLICY, RANDOM
from dshq_kernels.search.arguments import Game, How, Network, Result, Rewards, units_of, work_at
from dshq_kernels.search.particles import move_others, search_tiles
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import aligned

EPSILON = 0.5
"""Nats between the weights and uniform ones. Stoix's `ff_spo.yaml`."""


def how(
    particles: int = 16,
    depth: int = 4,
    *,
    period: int = 4,
    least_ess: float = 0.5,
    temperature: float = 0.0,
    epsilon: float = EPSILON,
    gamma: float = 1.0,
    gae_lambda: float = 1.0,
    alpha: float = 1.0,
    fraction: float = 0.0,
    greedy: bool = False,
) -> How:
    """How to search, checked; the defaults are Stoix's `ff_spo.yaml`, but for the temperature, which is found for each
    decision. Raises ValueError.
    """
    limits = (
        ("particles", particles, 1, 65536),
        ("depth", depth, 1, 1000),
        ("period", period, 0, 1000),
        ("least_ess", least_ess, 0, 1),
        ("temperature", temperature, 0, 1e9),
        ("epsilon", epsilon, 0, 100),
        ("gamma", gamma, 0, 1),
        ("gae_lambda", gae_lambda, 0, 1),
        ("fraction", fraction, 0, 1),
    )
    for name, value, low, high in limits:
        if not low <= value <= high:
            raise ValueError(f"{name} of a search must be from {low} to {high:,}, got {value}")
    if alpha <= 0:
        raise ValueError(f"alpha of a search must be above 0, got {alpha}")
    f32 = np.float32
    return How(
        int(particles),
        int(depth),
        int(period),
        float(least_ess),
        float(temperature),
        float(epsilon),
        f32(gamma),
        f32(gae_lambda),
        float(alpha),
        float(fraction),
        bool(greedy),
    )


@dataclasses.dataclass(frozen=True)
class Others:
    """Who plays the other side, in the games and in the search: `kinds` int64 per tile (players.py). `params`: f32 `[k,
    n]`, padded parameters of those that are policies, of the network `layers` (default: the one that searches).
    """

    kinds: np.ndarray
    params: np.ndarray | None = None
    layers: tuple[int, ...] = ()
    activation: int = 0


class Search:
    """Searches in games of one drill with networks of one shape, at most `n_tiles` tiles of 16 games at a time.

    After `run`: `value` f32 `[tiles, 16]` of the roots; `action` i32, `weight` and `total` (G) f32 `[tiles, K, 16]` of
    their particles; `trace` f64 `[depth + 1, 4]`, sums over all searches so far (particles.py says of what). Raises
    ValueError for a network that does not fit the drill.
    """

    def __init__(
        self,
        game: Any,
        spec: PlayedSpec,
        layers: Sequence[int],
        activation: int,
        n_tiles: int,
        particles: int,
        depth: int,
        *,
        separate: bool = False,
        threads: int = 1,
        other_layers: Sequence[int] = (),
    ) -> None:
        self.spec, self.activation = spec, activation
        self.plan = make_plan(layers, separate)
        self.other_plan = make_plan(other_layers) if other_layers else self.plan
        for given in (layers, other_layers):
            if given and (given[0], given[-1]) != (spec.n_obs, spec.n_actions + 1):
                raise ValueError(
                    f"{spec.name} needs a policy of {spec.n_obs} inputs and {spec.n_actions + 1} outputs; "
                    f"got layers {list(given)}"
                )
        self.particles, self.depth, self.threads = particles, depth, max(1, min(threads, n_tiles))
        self.potential = np.array([term.kind == "potential" for term in spec.terms], np.bool_)
        self._game = Game(game.verbs, game.dtype.itemsize, shape_of(spec))
        self._raise_kept = game.raise_kept
        self.value = aligned((n_tiles, LANES))
        self.weight, self.total = aligned((n_tiles, particles, LANES)), aligned((n_tiles, particles, LANES))
        self.action = aligned((n_tiles, particles, LANES), np.int32)
        self._result = Result(*(one.ctypes.data for one in (self.value, self.action, self.weight, self.total)))
        self._traces = np.zeros((self.threads, depth + 1, 4))
        words = game.dtype.itemsize // (4 * LANES)
        needs = [units_of(plan, spec, words, particles) for plan in (self.plan, self.other_plan)]
        units = {name: max(need[name] for need in needs) for name in needs[0]}
        _, size = work_at(0, units)
        self._bytes = aligned((self.threads, size // 4))
        self._works = [work_at(part.ctypes.data, units)[0] for part in self._bytes]
        self._pool = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="dshq-search")
        self._turn = threading.Lock()

    @property
    def trace(self) -> np.ndarray:
        return self._traces.sum(axis=0)

    def run(
        self,
        params: np.ndarray,
        tiles: np.ndarray,
        how: How,
        *,
        weights: np.ndarray,
        gamma: float,
        seed: int,
        count: int,
        sides: np.ndarray | None = None,
        others: Others | None = None,
        active: np.ndarray | None = None,
    ) -> None:
        """Search in the games of `tiles`, and write the action of the side that searches into them.

        `params`: padded parameters. `weights`: f32 of each reward term, `gamma` the discount of potentials. `count`:
        the number of this decision. `sides`: int64 per tile (default: side 0); `others` (default: random actions).
        `active`: bool `[tiles, 16]` (default: all). Raises ValueError for more tiles or another K or depth than it was
        made for.
        """
        n = len(tiles)
        if n > len(self.value) or (how.particles, how.depth) != (self.particles, self.depth):
            raise ValueError(
                f"this search was made for {len(self.value)} tiles, {self.particles} particles and depth {self.depth}; "
                f"got {n} tiles, {how.particles} particles and depth {how.depth}: make another one"
            )
        sides = np.zeros(n, np.int64) if sides is None else sides
        others = others or Others(np.full(n, RANDOM, np.int64))
        active = np.ones((n, LANES), np.uint8) if active is None else np.ascontiguousarray(active, np.uint8)
        network = self._network(params, others)
        rewards = Rewards(np.asarray(weights, np.float32), self.potential, np.float32(gamma))

        def work(part: int) -> None:
            search_tiles(
                self._game,
                network,
                rewards,
                how,
                tiles.ctypes.data,
                n * part // self.threads,
                n * (part + 1) // self.threads,
                sides,
                others.kinds,
                active,
                seed & 0xFFFFFFFF,
                count,
                self._result,
                self._traces[part],
                self._works[part],
            )

        with self._turn:
            waiting = [self._pool.submit(work, part) for part in range(1, self.threads)]
            work(0)
            for other in waiting:
                other.result()
            self._raise_kept()

    def move_others(
        self, tiles: np.ndarray, sides: np.ndarray, others: Others, before: np.ndarray, seed: int, count: int
    ) -> None:
        """Write the action of the side that does not search into the games of `tiles`. `before`, i32 `[tiles, sides,
        16]`: the actions before the search, which is what a script finds.
        """
        action, where_searched = tiles["action"], (np.arange(len(tiles)), sides)
        searched = action[where_searched]
        action[where_searched] = before[where_searched]
        network = self._network(np.zeros(0, np.float32), others)
        where = (tiles.ctypes.data, 0, len(tiles), sides, others.kinds)
        with self._turn:
            move_others(self._game, network, *where, seed & 0xFFFFFFFF, count, self._works[0])
            self._raise_kept()
        action[where_searched] = searched

    def _network(self, params: np.ndarray, others: Others) -> Network:
        plan, activation = self.plan, self.activation
        if others.layers:
            activation = others.activation
            plan = self.other_plan
        if others.params is None and (others.kinds <= POLICY).any():
            raise ValueError("the other side is played by a policy: give its parameters")
        address, step = (0, 0) if others.params is None else (others.params.ctypes.data, others.params.strides[0])
        return Network(self.plan, self.activation, params.ctypes.data, plan, activation, address, step)
