"""The games of SPO: every decision is found by search, and kept in the replay."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.play.loops import (
    AGENT_STEPS,
    DECISIONS,
    DRAWS,
    EPISODES,
    RETURN_MAX,
    RETURN_MIN,
    RETURN_SUM,
    RETURNS,
    STATS,
    WINS_0,
    WINS_1,
)
from dshq_kernels.play.players import POLICY, SELF
from dshq_kernels.play.rollout import alternate_sides, empty_stats, share_tiles
from dshq_kernels.search.arguments import How
from dshq_kernels.search.matches import OTHERS_SEED
from dshq_kernels.search.searcher import Others, Search, how
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.spo.replay import Replay
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.masks import mask_bits
from dshq_widget.learning.opponents.slots import Opponents, opponent_shares, slot_count
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.learning.saved import fingerprint
from dshq_widget.policy.network import PolicySpec


class Player(Protocol):
    """What the games need of the learner."""

    @property
    def temperature(self) -> float:
        """Of the weights; 0: found for each decision."""
        ...

    @property
    def noise(self) -> float:
        """Share of noise at the root beyond what the settings say."""
        ...

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights."""
        ...


class SearchedGames(SimpleSource):
    """`num_envs` games that continue from rollout to rollout; one side searches and learns. `warn(sentence)` hears when
    the replay begins empty.
    """

    parts = 1

    def __init__(
        self,
        drill: CompiledDrill,
        config: TrainConfig,
        settings: SpoSettings,
        spec: PolicySpec,
        threads: int,
        warn: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.drill, self.settings, self._warn = drill, settings, warn
        self.game = drill.game()
        n = config.num_envs // LANES
        self.replay = Replay(
            drill.spec, n, settings.replay_buffer_size, settings.num_particles, settings.sample_sequence_length
        )
        self.replay.check_period(settings.sample_period)
        self.made: fingerprint.Fingerprint | None = None
        """The fingerprint of what the replay holds; None: nobody knows."""
        self.search = Search(
            self.game,
            drill.spec,
            spec.layers,
            mlp.ACTIVATIONS[spec.activation],
            n,
            settings.num_particles,
            settings.search_depth,
            separate=spec.separate,
            threads=threads,
        )
        self.kinds = np.array([term.kind == "potential" for term in drill.spec.terms], bool)
        two = drill.spec.sides == 2
        kinds = share_tiles(n, opponent_shares(config, drill.spec) if two else {SELF: 1.0})
        self.opponents = dict(config.opponents) if two else {}
        self.sides = alternate_sides(kinds) if two else np.zeros(n, np.int64)
        earlier = slot_count(config, drill.spec) if two else 0
        self.policies = Opponents(self.search.plan, earlier + 1)  # the last one is the newest
        self.kinds_of_others = np.where(kinds == SELF, POLICY - earlier, kinds)
        rng = np.random.default_rng([config.seed, 0x590])
        self.seed, self.count = int(rng.integers(1 << 32)), 0
        self.tiles = self.game.new(n)
        self.tiles["rng_key"] = rng.integers(0, 1 << 32, (n, LANES), np.uint32)
        self.tiles["practice"] = 1
        self.game.reset(self.tiles, np.ones((n, LANES), np.uint8))
        decisions = max(1, drill.spec.time_limit // drill.spec.action_repeat)
        self.tiles["ticks"] = rng.integers(0, decisions, (n, LANES)) * drill.spec.action_repeat
        self.running = np.zeros((n, LANES))  # returns so far
        self.seconds = 0.0
        """Time spent playing."""

    def how(self, player: Player, gamma: float) -> How:
        """How to search now; `gamma` is the run's discount."""
        s = self.settings
        return how(
            s.num_particles,
            s.search_depth,
            **{"gamma": gamma, **s.search(player.temperature)},
            alpha=s.root_exploration_dirichlet_alpha,
            fraction=min(1.0, s.root_exploration_dirichlet_fraction + player.noise),
        )

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience:
        """Play one rollout, or as many as it takes until there is a sequence to learn from; `samples` is the replay."""
        self._forget_other_than(self.made_with(config))
        weights, chosen = self.drill.term_weights(config.reward_weights), self.how(learner, config.gamma)
        policies = self.policies.params
        assert policies is not None
        params = mlp.pack(self.search.plan, learner.blob(), policies[-1])
        others = Others(self.kinds_of_others, policies)
        stats, begun, began = empty_stats(len(weights)), self.replay.decisions, time.monotonic()
        while self.replay.decisions - begun < config.rollout_length or not self.replay.ready:
            self._decide(params, chosen, others, weights, config.gamma, stats)
        made = (self.replay.decisions - begun) * len(self.tiles) * LANES
        stats[AGENT_STEPS] = made
        self.seconds += time.monotonic() - began
        return Experience(self.replay, np.zeros(0, np.int64), stats, decisions=made)

    def change(self, settings: SpoSettings) -> None:
        """Search by other settings from now on."""
        self.settings = settings

    def made_with(self, config: TrainConfig) -> fingerprint.Fingerprint:
        """The fingerprint of now. A search's returns, which say what the policy learns, have a discount of
        their own.
        """
        paid = fingerprint.paid(self.drill.spec, self.drill.term_weights(config.reward_weights), config.gamma)
        return paid | {"opponents": self.opponents, "search discount": self.settings.search_gamma}

    def _forget_other_than(self, now: fingerprint.Fingerprint) -> None:
        """Begin an empty replay, and say so, where it was made with another fingerprint."""
        if self.replay.decisions and (said := fingerprint.difference(self.made, now)):
            self.replay.clear()
            self._warn(said)
        self.made = now

    def _decide(
        self, params: np.ndarray, chosen: How, others: Others, weights: np.ndarray, gamma: float, stats: np.ndarray
    ) -> None:
        """One decision in every game."""
        game, tiles, replay, row = self.game, self.tiles, self.replay, self.replay.row()
        each = np.arange(len(tiles))
        replay.obs[row] = game.observe(tiles)[each, self.sides]
        if replay.mask.size:
            replay.mask[row] = mask_bits(game.mask(tiles)[each, self.sides])
        before, done = game.terms(tiles)[each, self.sides], tiles["action"].copy()
        self.search.run(
            params,
            tiles,
            chosen,
            weights=weights,
            gamma=gamma,
            seed=self.seed,
            count=self.count,
            sides=self.sides,
            others=others,
        )
        if self.drill.spec.sides == 2:
            self.search.move_others(tiles, self.sides, others, done, self.seed ^ OTHERS_SEED, self.count)
        self.count += 1
        replay.action[row], replay.weight[row] = self.search.action, self.search.weight
        replay.total[row] = self.search.total
        game.decide(tiles)
        game.tick(tiles, self.drill.spec.action_repeat)
        after = game.terms(tiles)[each, self.sides]
        paid = np.where(self.kinds[:, None], np.float32(gamma) * after - before, after) * weights[:, None]
        reward = paid.sum(axis=1) if paid.shape[1] else np.zeros((len(tiles), LANES), np.float32)
        terminated, winner = game.status(tiles)
        late = tiles["ticks"] >= self.drill.spec.time_limit
        over = terminated | late
        replay.reward[row], replay.over[row], replay.terminated[row] = reward, over, terminated
        stats[len(STATS) :] += paid.sum(axis=(0, 2))[: len(weights)]
        self.running += reward
        if over.any():
            self._end(over, late & ~terminated, winner, stats)
        replay.advance()

    def _end(self, over: np.ndarray, late: np.ndarray, winner: np.ndarray, stats: np.ndarray) -> None:
        """Count the episodes that are over, keep what those that ran out of time saw last, and begin new ones."""
        tiles = self.tiles
        if late.any():
            seen = self.game.observe(tiles)
            for tile in np.flatnonzero(late.any(axis=1)):
                self.replay.keep_final(int(tile), seen[tile, self.sides[tile]])
        gains = self.running[over]
        stats[EPISODES] += len(gains)
        stats[RETURNS] += len(gains)
        stats[WINS_0] += (winner[over] > 0).sum()
        stats[WINS_1] += (winner[over] < 0).sum()
        stats[DRAWS] += (winner[over] == 0).sum()
        stats[DECISIONS] += (-(-tiles["ticks"][over] // self.drill.spec.action_repeat)).sum()
        stats[RETURN_SUM] += gains.sum()
        stats[RETURN_MIN], stats[RETURN_MAX] = min(stats[RETURN_MIN], gains.min()), max(stats[RETURN_MAX], gains.max())
        self.running[over] = 0
        self.game.reset(tiles, over.astype(np.uint8))

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games, and search in them, against these earlier policies from now on, one blob per slot."""
        self.policies.set_opponents(policies)

    def mend(self, samples: Any) -> None:
        """Forget what was kept, since something in it is not finite, and begin new games."""
        self.replay.clear()
        self.running[:] = 0
        self.game.reset(self.tiles, np.ones((len(self.tiles), LANES), np.uint8))

    def state(self) -> dict[str, np.ndarray]:
        """Games, replay and counters, for an exact continuation."""
        made = {} if self.made is None else fingerprint.packed(self.made)
        return (
            self.replay.state()
            | made
            | {
                "train.tiles": self.tiles.view(np.uint8).ravel().copy(),
                "train.running": self.running.copy(),
                "train.count": np.array(self.count, np.int64),
            }
        )

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned. With another number of games or other rules, games start over; then, and with
        a replay of another shape, the replay begins empty. What was made with another fingerprint goes with the next
        rollout, which knows the settings.
        """
        if "train.replay.counts" not in state:
            return
        tiles = self.tiles.view(np.uint8).reshape(-1)
        if state["train.tiles"].shape != tiles.shape:
            self._warn("the file has other games than this run: the replay begins empty, and the games start over")
            return
        tiles[:] = state["train.tiles"]
        self.running[:] = state["train.running"]
        self.count = int(state["train.count"])
        if not self.replay.restore(state):
            self._warn("the replay has another shape than the file's: it begins empty")
        self.made = fingerprint.unpacked(state)
