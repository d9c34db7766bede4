"""The games of a network with a memory: the rules as compiled code, the network in numpy, all games at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dshq_kernels.play.returns import gae
from dshq_kernels.play.rollout import (
    AGENT_STEPS,
    DECISIONS,
    DRAWS,
    EPISODES,
    KEPT_WORDS,
    RETURN_MAX,
    RETURN_MIN,
    RETURN_SUM,
    RETURNS,
    STATS,
    WINS_0,
    WINS_1,
    Samples,
    empty_stats,
)
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.recurrent.samples import Sequences
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.generator import pack_generator, unpack_generator
from dshq_widget.learning.masks import mask_bits
from dshq_widget.learning.parts import Experience
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.recurrent import RecurrentNetwork
from dshq_widget.policy.recurrent_episodes import decide


class RecurrentGames:
    """`num_envs` games of a drill of one side that continue from rollout to rollout, and their memories."""

    dropped, memory_mb = 0, 0.0

    def __init__(self, drill: CompiledDrill, config: TrainConfig, spec: PolicySpec) -> None:
        self.drill, self.spec, self.game = drill, spec, drill.game()
        self.potential = np.array([term["kind"] == "potential" for term in drill.spec["terms"]], bool)
        n, repeat = config.num_envs // LANES, drill.spec["action_repeat"]
        self.rng = np.random.default_rng([config.seed, 0x3E30])
        self.tiles = self.game.new(n)
        self.tiles["rng_key"] = self.rng.integers(0, 1 << 32, (n, LANES), np.uint32)
        self.tiles["practice"] = 1
        self.game.reset(self.tiles, np.ones((n, LANES), np.uint8))
        self.tiles["ticks"] = self.rng.integers(0, max(1, drill.spec["time_limit"] // repeat), (n, LANES)) * repeat
        self.state_of_memories = np.zeros((n, LANES, 2 * spec.memory), np.float32)
        self.running = np.zeros((n, LANES))
        """Returns so far."""
        self.scenes = np.zeros((0, self.tiles.itemsize // (4 * LANES)), np.uint32)

    def next(self, learner: RecurrentPPO, config: TrainConfig, version: int) -> Experience:
        """Play one rollout with the learner's own weights."""
        network = RecurrentNetwork(self.spec, learner.blob())
        weights = self.drill.term_weights(config.reward_weights)
        shape = (len(self.tiles), config.rollout_length, LANES)
        n_obs, words = Samples.sizes(self.drill.spec)
        obs = np.empty((*shape[:2], n_obs, LANES), np.float32)
        mask = np.zeros((*shape[:2], words, LANES), np.uint32)
        action = np.empty(shape, np.int32)
        log_prob, value, reward, final, begins = (np.zeros(shape, np.float32) for _ in range(5))
        terminated, late = np.zeros(shape, bool), np.zeros(shape, bool)
        start, stats = self.state_of_memories.copy(), empty_stats(len(weights))
        for t in range(shape[1]):
            obs[:, t] = self.game.observe(self.tiles)[:, 0]
            allowed = self.game.mask(self.tiles)[:, 0] if words else None
            if allowed is not None:
                mask[:, t] = mask_bits(allowed)
            before = self.game.terms(self.tiles)[:, 0]
            action[:, t], log_prob[:, t], value[:, t], self.state_of_memories = decide(
                network, obs[:, t], allowed, self.state_of_memories, self.rng.random((shape[0], LANES))
            )
            self.tiles["action"][:, 0] = action[:, t]
            self.game.decide(self.tiles)
            self.game.tick(self.tiles, self.drill.spec["action_repeat"])
            after = self.game.terms(self.tiles)[:, 0]
            gains = np.where(self.potential[:, None], np.float32(config.gamma) * after - before, after)
            paid = gains * weights[:, None]
            reward[:, t] = paid.sum(axis=1)
            stats[len(STATS) :] += paid.sum(axis=(0, 2))
            self.running += reward[:, t]
            terminated[:, t], winner = self.game.status(self.tiles)
            over = terminated[:, t] | (self.tiles["ticks"] >= self.drill.spec["time_limit"])
            late[:, t] = over & ~terminated[:, t]
            if late[:, t].any():
                final[:, t] = self._values(network)
            if over.any():
                self._end(over, winner, stats, config.scene_share)
            if t + 1 < shape[1]:
                begins[:, t + 1] = over
        stats[AGENT_STEPS] = action.size
        rewards, values, finals, ends, cuts = map(_by_step, (reward, value, final, terminated, late))
        following = self._values(network).ravel()
        found = gae(rewards, values, following, finals, ends, cuts, config.gamma, config.gae_lambda)
        advantage, returns = (x.reshape(shape[1], shape[0], LANES).transpose(1, 0, 2) for x in found)
        samples = Sequences(
            obs=_units(obs),
            action=_units(action),
            log_prob=_units(log_prob),
            value=_units(value),
            advantage=_units(advantage),
            returns=_units(returns),
            mask=_units(mask),
            begins=_units(begins),
            state=start,
        )
        return Experience(samples, np.arange(len(samples.action)), stats)

    def _values(self, network: RecurrentNetwork) -> np.ndarray:
        """Values of what the games show now, f32 `[tiles, 16]`; the memories stay as they are."""
        return network.step(self.game.observe(self.tiles)[:, 0].transpose(0, 2, 1), self.state_of_memories)[1]

    def _end(self, over: np.ndarray, winner: np.ndarray, stats: np.ndarray, scene_share: float) -> None:
        """Count the episodes that are over, begin new ones and empty their memories."""
        gains = self.running[over]
        stats[[EPISODES, RETURNS]] += len(gains)
        stats[WINS_0] += (winner[over] > 0).sum()
        stats[WINS_1] += (winner[over] < 0).sum()
        stats[DRAWS] += (winner[over] == 0).sum()
        stats[DECISIONS] += (-(-self.tiles["ticks"][over] // self.drill.spec["action_repeat"])).sum()
        stats[RETURN_SUM] += gains.sum()
        stats[RETURN_MIN], stats[RETURN_MAX] = min(stats[RETURN_MIN], gains.min()), max(stats[RETURN_MAX], gains.max())
        self._begin(over)
        if len(self.scenes):
            tile, lane = np.nonzero(over & (self.rng.random(over.shape) < scene_share))
            words = self.tiles.view(np.uint32).reshape(len(self.tiles), -1, LANES)
            which = self.rng.integers(0, len(self.scenes), len(tile))
            words[tile, KEPT_WORDS:, lane] = self.scenes[which, KEPT_WORDS:]

    def _begin(self, chosen: np.ndarray) -> None:
        """New episodes where `chosen`, bool `[tiles, 16]`."""
        self.game.reset(self.tiles, chosen.astype(np.uint8))
        self.running[chosen] = 0
        self.state_of_memories[chosen] = 0

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share of the new games from one of `scenes`, u32 `[n, words]`, from now on."""
        self.scenes = np.ascontiguousarray(scenes, np.uint32)

    def mend(self, samples: Sequences) -> None:
        """Begin new games everywhere: a number that is not finite may be in any memory."""
        self._begin(np.ones((len(self.tiles), LANES), bool))

    def forget_before(self, version: int) -> None:
        """Does nothing: every rollout is played with the newest weights."""

    def state(self) -> dict[str, np.ndarray]:
        """Games, memories and the generator of actions, for an exact continuation."""
        return {
            "train.tiles": self.tiles.view(np.uint8).ravel().copy(),
            "train.running": self.running.copy(),
            "train.memories": self.state_of_memories.copy(),
            "generator.actions": pack_generator(self.rng),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned if the number of games, the rules and the network are the same."""
        tiles = self.tiles.view(np.uint8).reshape(-1)
        same = "train.memories" in state and state["train.memories"].shape == self.state_of_memories.shape
        if same and state["train.tiles"].shape == tiles.shape:
            tiles[:] = state["train.tiles"]
            self.running[:] = state["train.running"]
            self.state_of_memories = state["train.memories"].copy()
            self.rng = unpack_generator(state["generator.actions"])


def _by_step(rows: np.ndarray) -> np.ndarray:
    """`[tiles, T, 16]` -> `[T, games]`."""
    return np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)


def _units(rows: np.ndarray) -> np.ndarray:
    """`[tiles, T, ...]` -> `[tiles T, ...]`."""
    return np.ascontiguousarray(rows).reshape(rows.shape[0] * rows.shape[1], *rows.shape[2:])
