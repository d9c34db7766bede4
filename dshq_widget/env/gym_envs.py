"""A batch of games as Gymnasium's environments: `DrillVectorEnv` for many games, `DrillEnv` for one side of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.batch import GAMMA, Batch

EVERY_DRILL = ("self", "random", "idle")


class DrillVectorEnv(VectorEnv):
    """A drill as `gymnasium.vector.VectorEnv`: f32 observations (rows, n_obs), Discrete actions,
    `infos["reward_<term>"]` per row, and of a drill with a mask `infos["action_mask"]`, i8 (rows, n_actions), for the
    next action.

    `autoreset` is Gymnasium's: "next_step" resets a finished game on the step after (its action is ignored, its reward
    is 0), "same_step" at once, the last observation then in `infos["final_obs"]`. The mode is in
    `metadata["autoreset_mode"]`.
    """

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        num_envs: int = 1,
        *,
        opponent: str | None = None,
        autoreset: str = "next_step",
        seed: int = 0,
        practice: bool = True,
        weights: Mapping[str, float] | None = None,
        shaping: bool = True,
        gamma: float = GAMMA,
    ):
        modes = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}
        if autoreset not in modes:
            raise ValueError(f"autoreset: expected one of {', '.join(modes)}, got {autoreset!r}")
        self.batch = Batch(drill, num_envs, seed, practice=practice, weights=weights, shaping=shaping, gamma=gamma)
        spec = self.batch.spec
        if spec["sides"] == 1 and opponent not in (None, *EVERY_DRILL):
            raise ValueError(f"opponent: {spec['name']!r} has one side, so there is no opponent: leave it out")
        default = (spec["baselines"] or ["random"])[0]
        self.opponent = (opponent or default) if spec["sides"] == 2 else None
        if self.opponent not in (None, "self", "idle"):
            self.batch.game.verb_of(self.opponent)
        self.learning = spec["sides"] if self.opponent == "self" else 1
        self.num_envs = num_envs * self.learning
        self.metadata = {"autoreset_mode": modes[autoreset], "render_modes": []}
        self.same_step = autoreset == "same_step"
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (spec["n_obs"],), np.float32)
        self.single_action_space = gym.spaces.Discrete(spec["n_actions"])
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._finished = np.zeros(num_envs, bool)

    def reset(self, *, seed: int | list[int] | None = None, options: dict | None = None) -> tuple[NDArray, dict]:
        """New episodes everywhere; an int seeds game g with seed + g, None continues the games' generators."""
        n = self.batch.num_games
        if seed is None:
            self.batch.reset(np.ones(n, bool))
        else:
            seeds = seed + np.arange(n) if isinstance(seed, int) else np.asarray(seed)
            if seeds.shape != (n,):
                raise ValueError(f"seed: expected an int or {n} of them, got {seeds.shape}")
            self.batch.seed(seeds)
        self._finished[:] = False
        return self._rows(self.batch.observe()), self._masks()

    def step(self, actions: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray, dict]:
        """One decision of every row."""
        batch = self.batch
        rows = np.asarray(actions).reshape(batch.num_games, self.learning)
        chosen = (
            rows
            if self.learning == batch.sides
            else np.concatenate([rows, batch.scripted(str(self.opponent))[:, 1:]], 1)
        )
        resting = self._finished.copy()
        if resting.any():
            batch.reset(resting)
            kept = batch.snapshot(np.flatnonzero(resting))
        rewards, paid, terminated, truncated = batch.step(chosen)
        if resting.any():
            batch.restore(np.flatnonzero(resting), kept)
            rewards[resting], paid[resting], terminated[resting], truncated[resting] = 0, 0, False, False
        done = terminated | truncated
        infos: dict[str, Any] = {
            f"reward_{t['name']}": self._rows(paid[:, :, k]) for k, t in enumerate(batch.spec["terms"])
        }
        if done.any():
            infos["winner"] = np.repeat(batch.winners(), self.learning)
        if self.same_step and done.any():
            last = self._rows(batch.observe())
            rows_done = np.repeat(done, self.learning)
            final = np.full(self.num_envs, None, object)
            for row in np.flatnonzero(rows_done):
                final[row] = last[row]
            infos["final_obs"], infos["_final_obs"] = final, rows_done
            batch.reset(done)
        self._finished = np.zeros_like(done) if self.same_step else done
        infos.update(self._masks())
        repeat = self.learning
        return (
            self._rows(batch.observe()),
            self._rows(rewards),
            np.repeat(terminated, repeat),
            np.repeat(truncated, repeat),
            infos,
        )

    def _masks(self) -> dict[str, Any]:
        return {"action_mask": self._rows(self.batch.mask())} if self.batch.game.masked else {}

    def snapshot(self, games: Sequence[int] | NDArray) -> NDArray:
        """See `Batch.snapshot`."""
        return self.batch.snapshot(games)

    def restore(self, games: Sequence[int] | NDArray, states: NDArray) -> None:
        """See `Batch.restore`; a restored game is playing, even if the one it replaces had finished."""
        self.batch.restore(games, states)
        self._finished[np.asarray(games)] = False

    def _rows(self, values: NDArray) -> NDArray:
        """(num_games, sides, ...) -> (rows, ...)."""
        return np.ascontiguousarray(values[:, : self.learning]).reshape(self.num_envs, *values.shape[2:])


class DrillEnv(gym.Env):
    """One side of one game as `gymnasium.Env`; the other side is a baseline, "random" or "idle"."""

    metadata = {"render_modes": []}

    def __init__(self, drill: str | type[Drill] | CompiledDrill, opponent: str | None = None, **options: Any):
        if opponent == "self":
            raise ValueError('opponent="self" has two rows: use make_vec, or make_parallel for two named agents')
        self._vector = DrillVectorEnv(drill, 1, opponent=opponent, **options)
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[NDArray, dict]:
        super().reset(seed=seed)
        first = int(self.np_random.integers(1 << 31)) if seed is not None else None
        observed, infos = self._vector.reset(seed=first)
        return observed[0], {k: v[0] for k, v in infos.items()}

    def step(self, action: int) -> tuple[NDArray, float, bool, bool, dict]:
        observed, rewards, terminated, truncated, infos = self._vector.step(np.array([action]))
        return (
            observed[0],
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {k: v[0] for k, v in infos.items()},
        )
