"""One game as a PettingZoo `ParallelEnv`, agents `side_0` and `side_1`. A separate file: PettingZoo is an extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from pettingzoo import ParallelEnv

from dshq_widget.contract.finite import whole
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.batch import GAMMA, Batch
from dshq_widget.env.gym_envs import WIDTH, described, observation_box
from dshq_widget.env.picture import Painter


class DrillParallelEnv(ParallelEnv):
    """Both sides are agents; an ended game has no agents until `reset`. Options mean what they mean in
    `DrillVectorEnv`.
    """

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        *,
        seed: int = 0,
        practice: bool = False,
        weights: Mapping[str, float] | None = None,
        shaping: bool = False,
        gamma: float = GAMMA,
        render_mode: str | None = None,
        render_width: int = WIDTH,
    ):
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: expected 'rgb_array' or None, got {render_mode!r}")
        self.batch = Batch(drill, 1, seed, practice=practice, weights=weights, shaping=shaping, gamma=gamma)
        spec = self.batch.spec
        self.render_mode, self.render_width = render_mode, render_width
        self.metadata = {"name": f"dshq_{spec.name}_v0", **described(spec)}
        self.possible_agents = [f"side_{k}" for k in range(spec.sides)]
        self.agents: list[str] = []
        self.observation_spaces = {a: observation_box(spec) for a in self.possible_agents}
        self.action_spaces = {a: gym.spaces.Discrete(spec.n_actions) for a in self.possible_agents}

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.Space[Any]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode; `options["practice"]` as in `DrillEnv`. Other options are ignored, as PettingZoo wants it."""
        key = None if seed is None else whole("seed", seed) & 0xFFFFFFFF
        if options and "practice" in options:
            self.batch.practise(bool(options["practice"]), np.ones(1, bool))
        if key is None:
            self.batch.reset(np.ones(1, bool))
        else:
            self.batch.seed(np.array([key]))
        self.agents = list(self.possible_agents)
        return self._by_agent(self.batch.observe()[0]), self._with_masks({agent: {} for agent in self.agents})

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
        """One decision of both agents. Raises ValueError if one has no action, or the game is over."""
        if not self.agents:
            raise ValueError("the game has ended, or has not begun: call reset()")
        lack = [agent for agent in self.agents if agent not in actions]
        if lack:
            raise ValueError(f"expected an action of each agent, got none of {', '.join(lack)}")
        rewards, paid, terminated, truncated = self.batch.step([[actions[agent] for agent in self.possible_agents]])
        agents, names = self.agents, [t.name for t in self.batch.spec.terms]
        infos = {a: {f"reward_{n}": float(paid[0, k, j]) for j, n in enumerate(names)} for k, a in enumerate(agents)}
        result = (self._by_agent(self.batch.observe()[0]), {a: float(rewards[0, k]) for k, a in enumerate(agents)})
        ended = ({a: bool(terminated[0]) for a in agents}, {a: bool(truncated[0]) for a in agents})
        if terminated[0] or truncated[0]:
            self.agents = []
        return *result, *ended, self._with_masks(infos)

    def render(self) -> np.ndarray | None:
        """The game as a picture, u8 (height, width, 3); None without a render mode."""
        if self.render_mode is None:
            return None
        return Painter(self.batch.spec, self.render_width).draw(self.batch.game.scene(self.batch.tiles))

    def _with_masks(self, infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The infos and, of a drill with a mask, each agent's `action_mask`, i8 (n_actions,)."""
        if self.batch.game.masked:
            for agent, mask in self._by_agent(self.batch.mask()[0]).items():
                if agent in infos:
                    infos[agent]["action_mask"] = mask
        return infos

    def _by_agent(self, values: np.ndarray) -> dict[str, np.ndarray]:
        return {agent: values[k] for k, agent in enumerate(self.possible_agents)}
