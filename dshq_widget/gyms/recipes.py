"""Settings that training starts from in an environment, by its family. What the person names replaces them.

Sources: CleanRL's `ppo_atari.py` and `ppo_continuous_action.py` (Huang et al., "CleanRL", 2022), Stable-Baselines3's
`ppo.py` and the settings of its zoo (Raffin, "RL Baselines3 Zoo", 2020).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dshq_widget.policy import convolutions

ATARI = re.compile(r"ALE/|.*NoFrameskip-v[04]$")
"""Ids of Atari games, current and old. The old ones have no sticky actions; current ones repeat the last action in a
quarter of all frames (Machado et al., "Revisiting the Arcade Learning Environment", 2018)."""

NUMBERS: dict[str, Any] = {
    "num_envs": 16,
    "rollout_length": 128,
    "epochs": 10,
    "minibatch_size": 256,
    "learning_rate": 1e-3,
    "total_agent_steps": 1_000_000,
    "gamma": 0.99,
    "entropy_coef": 0.0,
    "normalize_observations": True,
    "normalize_rewards": True,
}
"""What training on numbers starts from: after Stable-Baselines3's `ppo.py` and Huang et al., 2022, with 16 games and a
larger step for larger minibatches."""
PIXELS: dict[str, Any] = {
    **NUMBERS,
    "epochs": 4,
    "learning_rate": 2.5e-4,
    "clip_epsilon": 0.1,
    "entropy_coef": 0.01,
    "total_agent_steps": 10_000_000,
    "hidden_sizes": (512,),
    "activation": "relu",
    "normalize_observations": False,
    "normalize_rewards": False,
}
"""The same on pixels: CleanRL's `ppo_atari.py`."""
SMALL_PICTURES: dict[str, Any] = {
    **NUMBERS,
    "epochs": 4,
    "entropy_coef": 0.01,
    "hidden_sizes": (128,),
    "activation": "relu",
    "normalize_observations": False,
}
"""The same on pictures under 32 pixels, as MiniGrid's and MinAtar's: rl-starter-files (Willems, 2018) has 4 epochs of
minibatches of 256 from 16 environments, a rate of 0.001 and an entropy bonus of 0.01; MinAtar's network has one hidden
layer of 128 (Young and Tian, "MinAtar", 2019)."""
ROBOTS: dict[str, Any] = {
    **NUMBERS,
    "minibatch_size": 64,
    "learning_rate": 3e-4,
    "clip_value": True,
    "separate_value_net": True,
    "action_deviation": "free",
    "reward_clip": 10.0,
}
"""MuJoCo's robots: CleanRL's `ppo_continuous_action.py`, whose 2,048 steps of one environment are here 128 of 16."""

HILL: dict[str, Any] = {**NUMBERS, "action_repeat": 8}
"""A car that has to swing up: actions that are drawn at every step cancel out and never reach the goal."""
SWING: dict[str, Any] = {
    **NUMBERS,
    "minibatch_size": 64,
    "learning_rate": 5e-4,
    "gamma": 0.9,
    "total_agent_steps": 300_000,
}
"""Pendulum: the discount of Stable-Baselines3's zoo; the rest was tried (docs/LOG.md)."""

FAMILIES: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"(HalfCheetah|Hopper|Walker2d|Ant|Humanoid|HumanoidStandup|Swimmer|Reacher|Pusher)-v\d+$", ROBOTS),
    (r"Inverted(Double)?Pendulum-v\d+$", ROBOTS),
    (r"MountainCarContinuous-v\d+$", HILL),
    (r"Pendulum-v\d+$", SWING),
)
"""Pattern of the id -> settings; the first match counts."""


def suggested(gym_id: str, pictures: Sequence[Sequence[int]], alone: bool = True) -> dict[str, Any]:
    """The settings for an environment; `pictures`: the shapes of those that are read, if any, and whether no numbers
    are read beside them.
    """
    if pictures:
        found = SMALL_PICTURES if all(map(convolutions.is_small, pictures)) else PIXELS
        return {**found, "normalize_observations": not alone}
    return dict(next((found for pattern, found in FAMILIES if re.match(pattern, gym_id)), NUMBERS))
