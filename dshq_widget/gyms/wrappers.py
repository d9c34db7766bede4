"""Wrappers that settings ask for. Each works on one environment, in training, evaluation and the show alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

FIRE = 1
"""The action of that meaning, where a game has it (OpenAI Baselines, `atari_wrappers.py`)."""


class ActionRepeat(gym.Wrapper):
    """Takes each action `times` times, or until the episode ends; rewards add up."""

    def __init__(self, env: gym.Env, times: int):
        super().__init__(env)
        self.times = times

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`."""
        paid = 0.0
        for _ in range(self.times):
            obs, reward, terminated, truncated, info = self.env.step(action)
            paid += float(reward)
            if terminated or truncated:
                break
        return obs, paid, terminated, truncated, info


class FireOnReset(gym.Wrapper):
    """Presses FIRE where an episode begins and where a life is lost: some of Atari's games wait for it."""

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.lives = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """See `gymnasium.Env.reset`."""
        self.env.reset(seed=seed, options=options)
        obs, _, terminated, truncated, info = self.env.step(FIRE)
        if terminated or truncated:
            obs, info = self.env.reset()
        self.lives = info.get("lives", 0)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`; where a life is lost, what FIRE pays is added."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        paid, before, self.lives = float(reward), self.lives, info.get("lives", 0)
        if self.lives < before and not (terminated or truncated):
            obs, reward, terminated, truncated, info = self.env.step(FIRE)
            paid += float(reward)
        return obs, paid, terminated, truncated, info


def waits_for_fire(env: gym.Env) -> bool:
    """Whether a game has FIRE among its actions, as Baselines and CleanRL ask."""
    meanings: list[str] = getattr(env.unwrapped, "get_action_meanings", list)()
    return len(meanings) > FIRE and meanings[FIRE] == "FIRE"


class Screens(gym.wrappers.AtariPreprocessing):
    """An Atari game as `AtariPreprocessing` reads it, but for the size: grey, uint8 `[height, width]` of the console's
    screen, the brighter of the last two frames.
    """

    def __init__(self, env: gym.Env, **how: Any):
        super().__init__(env, **how)
        self.observation_space = gym.spaces.Box(0, 255, self.obs_buffer[0].shape, np.uint8)

    def _get_obs(self) -> NDArray[np.uint8]:
        newest, before = self.obs_buffer
        brighter: NDArray[np.uint8] = np.maximum(newest, before, out=newest)
        return brighter.copy()


class Staying(gym.Wrapper):
    """Turns `sys.exit` of an environment into an error: a process of Gymnasium's would end and leave no reason."""

    def reset(self, **how: Any) -> Any:
        """See `gymnasium.Env.reset`."""
        return self._stayed(self.env.reset, **how)

    def step(self, action: Any) -> Any:
        """See `gymnasium.Env.step`."""
        obs, reward, *ends = self._stayed(self.env.step, action)
        return obs, float(reward), *ends

    def _stayed(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        try:
            return call(*given, **named)
        except SystemExit as error:
            raise RuntimeError(f"SystemExit: {error}") from error
