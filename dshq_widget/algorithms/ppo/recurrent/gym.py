"""A memory for Gymnasium's environments: the learner, and the source of its sequences."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO, GymSamples
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO, step
from dshq_widget.algorithms.ppo.sights import Observations
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment


@dataclasses.dataclass
class GymSequences(GymSamples):
    """As `GymSamples`; unit `tile * length + t` is decision t of sixteen environments."""

    begins: NDArray[Any]
    """f32 `[units, 16]`: 1 where an episode begins, so that the memory is empty before the decision; else 0."""
    states: NDArray[Any]
    """f32 `[tiles, 16, 2 memory]`: the memories before the rollout's first decision."""

    @property
    def length(self) -> int:
        """Decisions of the rollout."""
        return len(self.action) // len(self.states)


class RecurrentGymPPO(RecurrentPPO, GymPPO):
    """See `learners.Learner`; sequences as `RecurrentPPO` learns from them, actions and pictures as `GymPPO`."""

    def hidden(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """See `RecurrentPPO.hidden`; observations `[N, *shape]` may have pictures (policy/layout.py)."""
        return super().hidden(self.trunk(obs, weights), weights)

    @torch.no_grad()
    def recall(self, obs: Observations, state: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Outputs f32 `[N, outputs]`, values f32 `[N]` and the next state f32 `[N, 2 memory]` of what the environments
        show now, never normalised, and the state before.
        """
        *_, (matrix, bias), (head, head_bias) = self._parts(self.weights)
        h, c = torch.from_numpy(state).to(self.device).chunk(2, -1)
        x = torch.cat([self.hidden(torch.as_tensor(obs).to(self.device)), h], -1)
        h, c = step(torch.addmm(bias, x, matrix), c)
        outputs = torch.addmm(head_bias, h, head).cpu().numpy()
        return outputs[:, :-1], outputs[:, -1], torch.cat([h, c], -1).cpu().numpy()


class RecurrentGymGames(GymGames):
    """See `GymGames`; its learner is `RecurrentGymPPO`. Every environment has a memory of its own."""

    def __init__(self, environment: Environment, config: TrainConfig, *given: Any, **named: Any):
        super().__init__(environment, config, *given, **named)
        self.state_of_memories = np.zeros((self.count, 2 * config.memory), np.float32)
        self._start, self._begins = self.state_of_memories, list[NDArray[Any]]()

    def _decide(self, learner: Any, t: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if t == 0:
            self._start, self._begins = self.state_of_memories, [np.zeros(self.count, np.float32)]
        outputs, values, self.state_of_memories = learner.recall(self.obs, self.state_of_memories)
        return outputs, values

    def _values(self, learner: Any, obs: Observations, rows: NDArray[Any]) -> NDArray[Any]:
        return learner.recall(obs, self.state_of_memories[rows])[1]

    def _begin(self, over: NDArray[Any], t: int) -> None:
        self.state_of_memories = np.where(over[:, None], np.float32(0), self.state_of_memories)
        self._begins.append(over.astype(np.float32))

    def _shaped(self, rows: NDArray[Any]) -> NDArray[Any]:
        return _by_tile(rows)

    def _samples(self, seen: Observations, *rows: NDArray[Any]) -> GymSequences:
        steps = len(seen)
        states = self._start.reshape(-1, LANES, self._start.shape[1])
        obs, *others = (_by_tile(field) for field in (seen, *rows, np.stack(self._begins[:steps])))
        action, log_prob, value, advantage, returns, begins = others
        return GymSequences(
            obs=self._turned(obs),
            action=action,
            log_prob=log_prob,
            value=value,
            advantage=advantage,
            returns=returns,
            begins=begins,
            states=states,
        )


def _by_tile(values: Any) -> Any:
    """`[T, N, ...]` -> `[N / 16 T, 16, ...]`, of numpy's or of torch's."""
    steps, count, *rest = values.shape
    tiles = values.reshape(steps, count // LANES, LANES, *rest).swapaxes(0, 1)
    return tiles.reshape(-1, LANES, *rest)
