"""Search by particles in plain numpy on `Snapshots`, for drills of one side (docs/explain/search.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dshq_widget.env.snapshots import Snapshots


class Policy(Protocol):
    """What a search asks: `load_policy` returns one."""

    def forward(self, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits (n, n_actions) and values (n,) of observations (n, n_obs)."""
        ...

    def act(self, obs: NDArray[Any], rng: np.random.Generator, *, mask: NDArray[Any]) -> NDArray[Any]:
        """An action for each, (n,)."""
        ...


@dataclass(frozen=True)
class Found:
    """What a search found."""

    action: int
    """The action to play."""
    root_actions: NDArray[Any]
    """i64 (K,): each particle's first action."""
    weights: NDArray[Any]
    """f64 (K,), sum 1."""
    totals: NDArray[Any]
    """f64 (K,): G, the discounted sum of each slot's advantages."""
    ess: list[float]
    """Effective sample size / K after each decision."""

    def target(self, n_actions: int) -> NDArray[Any]:
        """q: the weight of each action, f64 (n_actions,)."""
        return np.bincount(self.root_actions, self.weights, n_actions)


def softmax(gains: NDArray[Any], temperature: float) -> NDArray[Any]:
    """exp(gains / temperature) as shares of their sum."""
    powers = np.exp((gains - gains.max()) / temperature)
    return powers / powers.sum()


def temperature_for(gains: NDArray[Any], epsilon: float) -> float:
    """The temperature at which softmax is `epsilon` nats from uniform; where none is, the closest of a wide range."""
    spread = max(float(np.ptp(gains)), 1e-30)
    cold, hot = spread * 1e-3, spread * 1e3
    for _ in range(60):
        middle = math.sqrt(cold * hot)
        weights = softmax(gains, middle)
        entropy = -np.sum(weights * np.log(np.maximum(weights, 1e-300)))
        cold, hot = (middle, hot) if entropy < math.log(len(gains)) - epsilon else (cold, middle)
    return hot


def search(
    kept: Snapshots,
    state: int,
    policy: Policy,
    rng: np.random.Generator,
    *,
    particles: int = 16,
    depth: int = 4,
    period: int = 4,
    least_ess: float = 0.5,
    temperature: float = 0.0,
    epsilon: float = 0.5,
    gamma: float = 1.0,
    gae_lambda: float = 1.0,
    greedy: bool = False,
) -> Found:
    """Search from `state`, which stays as it is; every state that is saved is released, also if it fails."""
    particles_ids = np.empty(0, np.int64)

    def renew(ids: NDArray[Any]) -> NDArray[Any]:
        """Copies with random streams of their own in place of the particles held so far."""
        nonlocal particles_ids
        made = kept.branch(ids, rng.integers(0, 1 << 32, len(ids)))
        kept.release_batch(particles_ids)
        particles_ids = made
        return made

    try:
        batch = kept.batch.like(particles)
        batch.restore(range(particles), kept.states(np.full(particles, state)))
        seen, mask = batch.observe()[:, 0], batch.mask()[:, 0]
        ids = renew(np.full(particles, state))
        value = policy.forward(seen)[1].astype(np.float64)
        actions = policy.act(seen, rng, mask=mask)
        first = actions.copy()
        gains, totals, ess = np.zeros(particles), np.zeros(particles), []
        alive = np.ones(particles, bool)
        weights = np.full(particles, 1 / particles)
        for d in range(depth):
            made = kept.simulate_batch(ids, actions[:, None])
            kept.release_batch(ids)
            ids = particles_ids = made.state_ids
            seen, mask = made.observations[:, 0], made.action_mask[:, 0]
            following = policy.forward(seen)[1].astype(np.float64)
            delta = made.rewards[:, 0] + np.where(made.terminated, 0.0, gamma * following) - value
            gains += np.where(alive, delta, 0.0)
            totals += np.where(alive, delta, 0.0) * (gamma * gae_lambda) ** d
            value, alive = following, alive & ~made.terminated & ~made.truncated
            weights = softmax(gains, temperature or temperature_for(gains, epsilon))
            ess.append(1 / np.square(weights).sum() / particles)
            due = (d + 1) % period == 0 if period else ess[-1] < least_ess
            if due and d + 1 < depth:
                parents = rng.choice(particles, particles, p=weights)
                ids = renew(ids[parents])
                seen, mask, first = seen[parents], mask[parents], first[parents]
                value, alive, gains = value[parents], alive[parents], np.zeros(particles)
            actions = policy.act(seen, rng, mask=mask)
        shares = np.bincount(first, weights, kept.batch.spec.n_actions)
        action = int(shares.argmax()) if greedy else int(first[rng.choice(particles, p=weights)])
        return Found(action, first, weights, totals, ess)
    finally:
        kept.release_batch(particles_ids)
