"""A drill's games as Stable-Baselines3's `VecEnv`: one batch of tiles in one process. Needs the extra `sb3`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.gym_envs import DrillVectorEnv


class SB3VecEnv(VecEnv):
    """`num_envs` games of a drill for Stable-Baselines3 and sb3-contrib, `action_masks` included.

    Options are those of `DrillVectorEnv`, without `autoreset`: Stable-Baselines3 wants finished games to begin again at
    once. With `opponent="self"` there are two rows a game. An info of a row that has ended has `terminal_observation`,
    `TimeLimit.truncated` and `winner`; all others are empty. Wrap it in `VecMonitor` for returns in the log.
    """

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        num_envs: int = 16,
        *,
        opponent: str | None = None,
        **options: Any,
    ):
        self.games = DrillVectorEnv(drill, num_envs, opponent=opponent, autoreset="same_step", **options)
        rows = self.games.num_envs
        self._actions = np.zeros(rows, np.int64)
        super().__init__(rows, self.games.single_observation_space, self.games.single_action_space)
        self.metadata["render_fps"] = self.games.metadata["render_fps"]

    def reset(self) -> NDArray[Any]:
        """New episodes everywhere, with the seeds and options that `seed` and `set_options` left."""
        seeds = self._seeds[:: self.games.learning]
        options = self._options[0]
        if any(row != options for row in self._options):
            raise ValueError("set_options: all games share their options; give one dict")
        seed = None if seeds[0] is None else [int(seed or 0) for seed in seeds]
        observations, infos = self.games.reset(seed=seed, options=options)
        self.reset_infos = [{key: rows[k] for key, rows in infos.items()} for k in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Observations, rewards f32 and ends bool `(rows,)`, and infos of the last actions."""
        observations, rewards, terminated, truncated, said = self.games.step(self._actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(done):
            infos[row] = {
                "terminal_observation": said["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row]),
                "winner": int(said["winner"][row]),
            }
        return observations, rewards, done, infos

    def action_masks(self) -> NDArray[Any]:
        """What each row may do next, bool (rows, n_actions)."""
        return self.games.action_masks()

    def close(self) -> None:
        self.games.close()

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        return self.games.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The same attribute of the games for every row; raises AttributeError if they have none."""
        return [getattr(self.games, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets it for all rows: they are one object."""
        setattr(self.games, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Only `action_masks`, whose rows have a meaning each; raises AttributeError for other methods."""
        if method_name != "action_masks":
            raise AttributeError(
                f"the games are one batch, not {self.num_envs} environments, so there is no {method_name!r} of each: "
                "call it on `.games`"
            )
        masks = self.games.action_masks(*method_args, **method_kwargs)
        return [masks[k] for k in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]
