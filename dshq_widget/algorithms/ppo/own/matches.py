"""Matches and episodes of a person's own network, counted as those of networks of layers are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.learning import seeds
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.policy import ladder
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.evaluate import rated, tallied
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.own_network import other
from dshq_widget.policy.own_policy import OwnPolicy
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.policy.policy import Policy

AT_ONCE = 256
"""Games side by side, at most."""
Decides = Callable[[Batch, NDArray[Any], NDArray[Any]], NDArray[Any]]
"""Whole numbers `[n]`: what a player does in each game of the batch, on the side that it has there, `[n]`; of its
observations f32 `[n, n_obs]`.
"""


def by_policy(policy: Policy, rng: np.random.Generator, greedy: bool) -> Decides:
    """A policy, whatever computes it."""

    def decide(batch: Batch, sides: NDArray[Any], obs: NDArray[Any]) -> NDArray[Any]:
        mask = batch.mask()[np.arange(batch.num_games), sides] != 0 if batch.spec.masked else None
        return policy.act(obs, rng, greedy, mask)

    return decide


def by_name(who: str) -> Decides:
    """A baseline, "random" or "idle"."""
    return lambda batch, sides, obs: batch.scripted(who)[np.arange(batch.num_games), sides]


def played(
    drill: CompiledDrill, first: Decides, second: Decides | None, matches: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """From proper starts, sides swapped half way: results i32 (+1 the first won), lengths i64 in decisions, and returns
    f64 of the first without potentials, `[matches]` each. The same seed plays the same ones.
    """
    found = []
    half = (matches + 1) // 2
    for begin in range(0, matches, AT_ONCE):
        numbers = np.arange(begin, min(begin + AT_ONCE, matches))
        sides = (numbers >= half).astype(np.int64) if drill.spec.sides == 2 else np.zeros(len(numbers), np.int64)
        found.append(_batch(drill, first, second, sides, seeds.apart(seed, seeds.EVALUATION, begin)))
    result, length, returns = (np.concatenate(part) for part in zip(*found, strict=True))
    return result, length, returns


def _batch(
    drill: CompiledDrill, first: Decides, second: Decides | None, sides: NDArray[Any], seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    n = len(sides)
    batch = Batch(drill, n, practice=False, shaping=False)
    batch.seed(seeds.of_games(seed, n))
    every = np.arange(n)
    result, length, returns = np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n)
    open_ = np.ones(n, bool)
    while open_.any():
        obs = batch.observe()
        given = np.zeros((n, batch.sides), np.int64)
        given[every, sides] = first(batch, sides, obs[every, sides])
        if second is not None:
            given[every, 1 - sides] = second(batch, 1 - sides, obs[every, 1 - sides])
        paid, _, terminated, truncated = batch.step(given)
        returns += np.where(open_, paid[every, sides], 0)
        length += open_
        over = open_ & (terminated | truncated)
        result[over] = np.where(sides == 0, 1, -1)[over] * batch.winners()[over]
        open_ &= ~over
    return result, length, returns


class OwnEvaluator(Evaluator):
    """See `Evaluator`; a person's module plays."""

    def __init__(self, drill: CompiledDrill, spec: OwnSpec, seed: int) -> None:
        super().__init__(drill, spec, seed)
        self.policy = OwnPolicy(spec, spec.untrained(seed))

    def _alone(self, weights: NDArray[Any], episodes: int, seed: int) -> dict[str, Any]:
        _, length, returns = played(self.drill, self._plays(weights, seed), None, episodes, seed)
        return rated(self.drill, returns, length)

    def _against(self, weights: NDArray[Any], name: str, matches: int, seed: int) -> dict[str, Any]:
        return tallied(*played(self.drill, self._plays(weights, seed), by_name(name), matches, seed), name)

    def _plays(self, weights: NDArray[Any], seed: int) -> Decides:
        self.policy.take(weights)
        return by_policy(self.policy, np.random.default_rng([seed, seeds.ACTIONS]), False)


def evaluate_saved(
    network: OwnSpec, drill: CompiledDrill, saved: Checkpoint, episodes: int, seed: int, greedy: bool, against: str
) -> dict[str, Any]:
    """See `Algorithm.evaluate`. Raises CheckpointError for a file of another network, or of another drill."""
    if why := other(saved.network, network.own):
        raise CheckpointError(f"the file cannot be played: {why}")
    if saved.layers != network.layers:
        raise CheckpointError(f"the file plays {saved.drill!r}, not {drill.name!r}: choose a file of the same drill")
    rng = np.random.default_rng([seed, seeds.ACTIONS])
    policy = by_policy(OwnPolicy(network, saved.weights), rng, greedy)
    if drill.spec.sides == 1:
        _, length, returns = played(drill, policy, None, episodes, seed)
        return rated(drill, returns, length)
    return tallied(*played(drill, policy, _rival(against, drill, rng, greedy), episodes, seed), against)


def _rival(who: str, drill: CompiledDrill, rng: np.random.Generator, greedy: bool) -> Decides:
    """The opponent of that name, or of a file. Raises ValueError."""
    text = os.fspath(ladder.full_name(drill.name, who))
    if text == "scripted":
        text = (drill.spec.baselines or ["random"])[0]
    known = ("random", "idle", *drill.spec.baselines)
    if text in known:
        return by_name(text)
    if (not text.endswith(".dshq") and ":" not in text) or text.startswith("league:"):
        raise ValueError(f"against: wanted {', '.join(known)}, a rung of the ladder or a .dshq file, got {who!r}")
    policy = load_policy(text)
    if policy.spec.memory:
        raise ValueError(f"against: {who!r} has a memory, and a network of your own meets policies without one")
    if (policy.spec.layers[0], policy.spec.n_actions) != (drill.spec.n_obs, drill.spec.n_actions):
        raise CheckpointError(f"{who!r} plays another drill than {drill.name!r}: choose a file of the same drill")
    return by_policy(policy, rng, greedy)
