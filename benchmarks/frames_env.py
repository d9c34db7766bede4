"""Drills of one side as Gymnasium environments of frames, for PPO on pixels beside Dreamer: the same frames, decisions
and rewards. `Trainer("gym:benchmarks.frames_env:Paddleball-v0")`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch

from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.env.batch import compiled
from dshq_widget.pixels import packing

DRILLS = ("paddleball", "approach")
SHADE = 255 // (packing.SHADES - 1)


class FramesEnv(gym.Env):
    """Observations u8 `[72, 80]`, shades 0, 85, 170, 255. Rewards are those of the drill times Dreamer's
    `reward_scale`, potentials with a discount of 1, so that an episode's return is its own plus what the potentials
    changed by.
    """

    def __init__(self, drill: str) -> None:
        self.drill = compiled(drill)
        own = self.drill.spec.algorithm_settings.get("dreamer", {})
        self.how = {key: own[key] for key in ("repeat", "reward_scale") if key in own}
        self.observation_space = gym.spaces.Box(0, 255, (packing.HEIGHT, packing.WIDTH), np.uint8)
        self.action_space = gym.spaces.Discrete(self.drill.spec.n_actions)
        self.frame = np.empty((1, *packing.PACKED), np.uint8)
        self.games: FrameGames | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self.games is None or seed is not None:
            self.games = FrameGames(self.drill, 1, int(self.np_random.integers(2**31)), **self.how)
        elif self.games.over[0]:
            self.games.step(np.zeros(1))  # begins the next episode
        return self._seen(self.games), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.games is not None
        self.games.step(np.array([action]))
        terminated = self.games.arrival.continues[0] == 0
        over = bool(self.games.over[0])
        return self._seen(self.games), float(self.games.arrival.reward[0]), terminated, over and not terminated, {}

    def _seen(self, games: FrameGames) -> np.ndarray:
        games.draw(self.frame)
        return packing.unpack(torch.from_numpy(self.frame))[0, 0].numpy() * np.uint8(SHADE)


for name in DRILLS:
    gym.register(
        f"{name.capitalize()}-v0", "benchmarks.frames_env:FramesEnv", kwargs={"drill": name}, disable_env_checker=True
    )
