"""A Dict or a Tuple of observations, part by part: its pictures and numbers in one row (policy/layout.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Path = tuple[str | int, ...]
"""The keys that lead to a part, from the outermost on."""
Space = gym.Space[Any]


def parts(space: Space, path: Path = ()) -> Iterator[tuple[Path, Space]]:
    """Every part of a space that is no Dict or Tuple itself, in Gymnasium's order."""
    if isinstance(space, gym.spaces.Dict):
        inside: Any = space.spaces.items()
    elif isinstance(space, gym.spaces.Tuple):
        inside = enumerate(space.spaces)
    else:
        yield path, space
        return
    for key, part in inside:
        yield from parts(part, (*path, key))


def _found(observation: Any, path: Path) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _names(found: Iterable[tuple[Path, Space]]) -> tuple[str, ...]:
    return tuple("/".join(map(str, path)) for path, _ in found)


class Only(gym.ObservationWrapper):
    """One part by itself; the others are left out."""

    def __init__(self, env: gym.Env, path: Path):
        super().__init__(env)
        self.path, self.observation_space = path, _found(env.observation_space, path)
        self.left_out = _names(part for part in parts(env.observation_space) if part[0] != path)

    def observation(self, observation: Any) -> Any:
        """See `gymnasium.ObservationWrapper`."""
        return _found(observation, self.path)


class Part(gym.Env):
    """One part of what an environment shows, as an environment that the wrappers of pictures may stand around."""

    def __init__(self, space: Space):
        self.observation_space, self.action_space = space, gym.spaces.Discrete(1)
        self.shown: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """See `gymnasium.Env.reset`."""
        return self.shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`."""
        return self.shown, 0.0, False, False, {}


class InOneRow(gym.Wrapper):
    """f32 `[n]`: pictures, each as `see` makes it of an environment that shows it alone, then all numbers. What is
    neither is left out.
    """

    def __init__(
        self,
        env: gym.Env,
        see: Callable[[gym.Env], gym.Env],
        is_picture: Callable[[Space], bool],
        has_numbers: Callable[[Space], bool],
    ):
        super().__init__(env)
        every = list(parts(env.observation_space))
        shown = [(path, Part(space)) for path, space in every if is_picture(space)]
        others = [(path, space) for path, space in every if not is_picture(space)]
        self._seen = [(path, part, see(part)) for path, part in shown]
        self._numbers = [(path, space) for path, space in others if has_numbers(space)]
        self.left_out = _names(part for part in others if not has_numbers(part[1]))
        self.pictures = tuple(tuple(seen.observation_space.shape or ()) for _, _, seen in self._seen)
        size = sum(map(int, map(np.prod, self.pictures))) + sum(gym.spaces.flatdim(space) for _, space in self._numbers)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """See `gymnasium.Env.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._row(observation, lambda seen: seen.reset()[0]), info

    def step(self, action: Any) -> tuple[NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        return self._row(observation, lambda seen: seen.step(0)[0]), paid, terminated, truncated, info

    def _row(self, observation: Any, look: Callable[[gym.Env], Any]) -> NDArray[np.float32]:
        found: list[Any] = []
        for path, part, seen in self._seen:
            part.shown = _found(observation, path)
            found.append(np.ravel(look(seen)))
        found += [gym.spaces.flatten(space, _found(observation, path)) for path, space in self._numbers]
        return np.concatenate(found, dtype=np.float32, casting="unsafe")
