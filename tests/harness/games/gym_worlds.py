"""Small Gymnasium environments for tests: `gym:tests.harness.games.gym_worlds:Easy-v0`. Importing registers them."""

import multiprocessing
import os
import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Easy(gym.Env):
    """Ten steps; each pays 1 for the option that is shown. Read as a Dict of everything that flattens."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, render_mode: str | None = None, start: int = 3):
        self.render_mode = render_mode
        self.action_space: spaces.Discrete = spaces.Discrete(2, start=start)
        parts = {"bit": spaces.Discrete(2), "place": spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.MultiBinary(1)))}
        self.observation_space = spaces.Dict(parts)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return self._look(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(np.int64(action)), action
        paid = float(action - self.action_space.start == self.bit)
        self.steps += 1
        return self._look(), paid, False, self.steps >= 10, {}

    def _look(self) -> Any:
        self.bit = int(self.np_random.integers(2))
        return {"bit": np.int64(self.bit), "place": (np.zeros(2, np.float32), np.zeros(1, np.int8))}

    def render(self) -> np.ndarray:
        return np.full((30, 60, 3), 20 * self.steps, np.uint8)


class Late(Easy):
    """Falls apart after an update or two."""

    wear = 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.wear += 1
        if self.wear > 60:
            raise RuntimeError("the wheel fell off")
        return super().step(action)


class Leaving(Easy):
    """Ends the process that it is in, at its first step: in a way that Python hears of, or not."""

    def __init__(self, render_mode: str | None = None, crash: bool = False):
        super().__init__(render_mode)
        self.crash = crash

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self.crash:
            os._exit(0)
        sys.exit("no licence")


class Unpaid(Easy):
    """Pays what is no number after an update or two."""

    wear = 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.wear += 1
        obs, paid, *rest = super().step(action)
        return obs, paid if self.wear < 60 else float("nan"), *rest


class Endless(Easy):
    """Its steps never end."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        time.sleep(1e6)
        return super().step(action)


class Opening(Easy):
    """In a process of its own it is never there."""

    def __init__(self, *given: Any, **named: Any):
        if multiprocessing.parent_process() is not None:
            time.sleep(1e6)
        super().__init__(*given, **named)


class Nan(Easy):
    """Shows what is no number."""

    def _look(self) -> Any:
        return {**super()._look(), "place": (np.full(2, np.nan, np.float32), np.zeros(1, np.int8))}


class Several(gym.Env):
    """Two choices at once, over numbers."""

    observation_space = spaces.Box(-np.inf, np.inf, (2, 2), np.float64)
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        return np.zeros((2, 2)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        return np.zeros((2, 2)), float(action[1] == 2), False, False, {}


class Untold(Several):
    """Its actions are words."""

    action_space = spaces.Text(5)


class Pictures(Easy):
    """A dark or a light picture says which option pays."""

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode, start=0)
        self.observation_space = spaces.Box(0, 255, (48, 64, 3), np.uint8)

    def _look(self) -> Any:
        super()._look()
        return np.full((48, 64, 3), 40 + 160 * self.bit, np.uint8)


class Recall(gym.Env):
    """Shows one of two options at first, and four steps later pays 1 for it."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.steps, self.bit = 0, int(self.np_random.integers(2))
        return np.array([2 * self.bit - 1, 0], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.steps += 1
        over = self.steps == 5
        return np.array([0, self.steps == 4], np.float32), float(over and action == self.bit), over, False, {}


class Lives(gym.Env):
    """Like an Atari game: FIRE serves; two steps later one of three lives is lost. A step pays 2."""

    observation_space = spaces.Box(0, 10, (2,), np.float32)
    action_space = spaces.Discrete(3)

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE", "RIGHT"]

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.lives, self.flying = 3, 0
        return self._look(), {"lives": self.lives}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self.flying:
            self.flying = (self.flying + 1) % 3
            self.lives -= self.flying == 0
        elif action == 1:
            self.flying = 1
        return self._look(), 2.0, self.lives == 0, False, {"lives": self.lives}

    def _look(self) -> np.ndarray:
        return np.array([self.lives, self.flying], np.float32)


class Barred(Easy):
    """One of three options is forbidden, and taking it is an error."""

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode, start=0)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        obs, _ = super().reset(seed=seed)
        return obs, self._allowed()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert action != self.barred, "a forbidden action was taken"
        obs, paid, over, cut, _ = super().step(action)
        return obs, paid, over, cut, self._allowed()

    def _allowed(self) -> dict:
        self.barred = int(self.np_random.integers(3))
        return {"action_mask": np.array([k != self.barred for k in range(3)], np.int8)}


class Askew(Barred):
    """Its mask has a number too few."""

    def _allowed(self) -> dict:
        return {"action_mask": super()._allowed()["action_mask"][:2]}


class Tiny(Easy):
    """A picture of 6 by 8 yes and no, two deep, says which option pays; a text beside it says nothing."""

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode, start=0)
        parts = {"seen": spaces.Box(0, 1, (6, 8, 2), np.bool_), "mission": spaces.Text(20)}
        self.observation_space = spaces.Dict(parts)

    def _look(self) -> Any:
        super()._look()
        seen = np.zeros((6, 8, 2), bool)
        seen[2, 3, self.bit] = True
        return {"seen": seen, "mission": "find it"}


class Marks(Easy):
    """Two marks, each there or not; a number beside says which counts: whether it is there is the option that pays."""

    SPACES: dict[str, spaces.Space] = {
        "which": spaces.Box(-np.inf, np.inf, (1,), np.float64),
        "mission": spaces.Text(20),
        "seen": spaces.Box(0, 255, (6, 7), np.uint8),
    }

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode, start=0)
        self.observation_space = spaces.Dict(self.SPACES)

    def _look(self) -> Any:
        marks, which = self.np_random.integers(2, size=2), int(self.np_random.integers(2))
        self.bit = int(marks[which])
        seen = np.zeros((6, 7), np.uint8)
        seen[1, 1], seen[4, 5] = 255 * marks
        return {"which": np.array([50.0 + 2 * which]), "seen": seen, "mission": "look"}


class Together(Marks):
    """The same as a Tuple, with a second picture, larger and dark, and an option of three."""

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode)
        dark = spaces.Box(0, 1, (40, 36, 2), np.bool_)
        self.observation_space = spaces.Tuple((self.observation_space, spaces.Discrete(3), dark))

    def _look(self) -> Any:
        return (super()._look(), np.int64(1), np.zeros((40, 36, 2), bool))


class Words(Easy):
    """Texts alone."""

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode)
        self.observation_space = spaces.Dict({"mission": spaces.Text(20)})


def register(limit: int, threshold: float | None, *worlds: type[gym.Env]) -> None:
    for world in worlds:
        gym.register(f"{world.__name__}-v0", world, max_episode_steps=limit, reward_threshold=threshold)


register(10, None, Barred, Askew, Words, Late, Leaving, Unpaid, Endless, Opening, Nan, Pictures)
register(10, 9.5, Tiny, Marks, Together, Easy)
register(8, None, Several, Untold)
register(20, 0.95, Recall)
register(60, None, Lives)
gym.register("Faulty-v0", Late, max_episode_steps=10)
gym.register("Crashing-v0", Leaving, max_episode_steps=10, kwargs={"crash": True})
