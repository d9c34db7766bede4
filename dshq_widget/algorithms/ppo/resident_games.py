"""Games on the learner's device: on a GPU, in the memory that it learns from. Importing this imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.learner import Learner
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import DEVICES
from dshq_widget.gpu.games import make_games
from dshq_widget.gpu.play import Play
from dshq_widget.learning.opponents.slots import opponent_shares
from dshq_widget.learning.parts import Experience, SimpleSource


class ResidentGames(SimpleSource):
    """The games of one learner, on its device; see `games.OwnGames`."""

    parts = 1
    resident = True

    def __init__(self, drill: CompiledDrill, config: TrainConfig, learner: ResidentPPO):
        """Raises numba's error if it cannot use the GPU: check `gpu.device.why_no_rules` first."""
        self.drill = drill
        self.play = Play(
            make_games(drill, config.num_envs, learner.device),
            learner,
            losses.gae,
            length=config.rollout_length,
            shares=opponent_shares(config, drill.spec),
            seed=config.seed,
            graph=learner.device.type in DEVICES,
        )
        self.units = np.arange(self.play.rollout.samples // 16)
        self._scenes = np.zeros((0, self.play.games.words().shape[1]), np.uint32)

    def next(self, learner: Learner, config: TrainConfig, version: int) -> Experience:
        """Play one rollout with the learner's own weights."""
        play = self.play
        play.settings(config.gamma, config.gae_lambda, self.drill.term_weights(config.reward_weights))
        play.practise(self._scenes, config.scene_share)
        rollout = play.next()
        return Experience(rollout, self.units, rollout.stats.cpu().numpy())

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games against these earlier policies from now on, one blob per slot."""
        self.play.set_opponents(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share of the new games from one of `scenes`, u32 `[n, words]`, from now on."""
        self._scenes = scenes

    def mend(self, samples: object) -> None:
        """Restart the games whose samples are not finite."""
        self.play.mend()

    def state(self) -> dict[str, np.ndarray]:
        """The games' state for an exact continuation: states, running returns, the actions' generator."""
        return {
            "train.games": self.play.games.words(),
            "train.running": self.play.running.cpu().numpy(),
            "train.generator": self.play.generator.get_state().numpy(),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned if the number of games, the rules and the kind of device are the same."""
        games, generator = self.play.games.words(), self.play.generator.get_state()
        found = [state.get(name) for name in ("train.games", "train.running", "train.generator")]
        wanted = (games.shape, tuple(self.play.running.shape), tuple(generator.shape))
        if all(a is not None and a.shape == shape for a, shape in zip(found, wanted, strict=True)):
            words, running, bits = (np.array(array) for array in found)
            self.play.games.restore(words)
            self.play.running.copy_(torch.from_numpy(running))
            self.play.generator.set_state(torch.from_numpy(bits))
