"""When a training was good enough: by its episodes, or by its policies, judged by CartPole-v1 itself, which is
Gymnasium's own vector environment, in 100 fresh episodes, actions sampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.peers.settings import EPISODES, TARGET

Layers = Sequence[tuple[np.ndarray, np.ndarray]]
"""A policy: weights f32 `[out, in]` and biases f32 `[out]` of each layer, tanh between them, two logits at the end."""
LIMIT = 500


def mean_return(layers: Layers, seed: int = 0) -> float:
    """Of 100 episodes that begin together."""
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    env = CartPoleVectorEnv(num_envs=EPISODES, max_episode_steps=LIMIT)
    rng = np.random.default_rng(seed)
    seen, _ = env.reset(seed=seed)
    alive, length = np.ones(EPISODES, bool), np.zeros(EPISODES)
    for _ in range(LIMIT):
        x = seen
        for weights, bias in layers[:-1]:
            x = np.tanh(x @ weights.T + bias)
        weights, bias = layers[-1]
        logits = x @ weights.T + bias
        right = 0.5 + 0.5 * np.tanh(0.5 * (logits[:, 1] - logits[:, 0]))  # the logistic function
        seen, _, terminated, truncated, _ = env.step((rng.random(EPISODES) < right).astype(np.int64))
        length += alive
        alive &= ~(terminated | truncated)
        if not alive.any():
            break
    return float(length.mean())


def first_good(policies: Sequence[tuple[float, int, Layers]]) -> tuple[float, int] | None:
    """Seconds and agent steps of the first policy whose mean return reaches 475; None if there is none."""
    for seed, (seconds, agent_steps, layers) in enumerate(policies):
        if mean_return(layers, seed) >= TARGET:
            return seconds, agent_steps
    return None


def good_after(ended: np.ndarray, returns: np.ndarray) -> int | None:
    """Decisions of each game until the last 100 episodes have a mean of 475; None if they never do. `ended`, bool, and
    `returns`, of the episode that ended there, are `[decisions, games]`.
    """
    where = np.argwhere(ended)
    if len(where) < EPISODES:
        return None
    sums = np.cumsum(np.concatenate([[0.0], returns[ended]]))
    means = (sums[EPISODES:] - sums[:-EPISODES]) / EPISODES
    good = np.flatnonzero(means >= TARGET)
    return int(where[good[0] + EPISODES - 1][0]) + 1 if len(good) else None
