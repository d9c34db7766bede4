"""Evaluates the policy of a file in a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from dshq_widget.gyms.environment import PREFIX
from dshq_widget.gyms.making import make, telling
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.evaluate import summary
from dshq_widget.policy.gym_policy import GymPolicy, RecurrentGymPolicy

MOST_STEPS = 100_000
"""Of an episode whose environment has no limit of its own, as CliffWalking (assumed): a policy may walk there for ever,
and a file may hold one that does.
"""


def evaluate_environment(
    policy: GymPolicy, name: str, episodes: int, *, seed: int = 0, greedy: bool = False
) -> dict[str, Any]:
    """Play `episodes` in turn, episode k with seed `seed + k`, with the environment's own rewards. Returns the keys of
    `evaluate.evaluate_alone`. Raises GymError if the environment cannot be created, or fails, or an episode has no end.
    """
    env = make(name.removeprefix(PREFIX), **policy.environment.get("made", {}))
    target = env.spec.reward_threshold if env.spec else None
    known = gym.registry.get(env.unwrapped.spec.id) if env.unwrapped.spec else None
    most = (known.max_episode_steps if known else None) or MOST_STEPS  # not a limit that is asked for in the name
    rng = np.random.default_rng([seed, 0xE7A1])
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    try:
        for k in range(episodes):
            with telling(name, "reset"):
                obs, info = env.reset(seed=seed + k)
            over = False
            if isinstance(policy, RecurrentGymPolicy):
                policy.forget()
            while not over:
                action = policy.act(obs, rng, greedy, policy.allowed(info))
                with telling(name, "step"):
                    obs, reward, terminated, truncated, info = env.step(action)
                returns[k] += float(reward)
                lengths[k] += 1
                over = terminated or truncated
                if not over and lengths[k] >= most:
                    raise GymError(
                        f"{name}: wanted an episode that ends, got one of {most:,} steps that goes on: limit it, with "
                        "+TimeLimit(max_episode_steps=...) in the name"
                    )
    finally:
        env.close()
    return summary(returns, lengths, target)
