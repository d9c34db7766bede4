"""Games of a drill for a network of a person's own: its module decides, and NumPy steps the tiles."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.play.gae import gae
from dshq_kernels.play.loops import STATS
from dshq_kernels.play.players import SELF
from dshq_kernels.play.rollout import alternate_sides, empty_stats, opponent_kind, share_tiles
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymSamples
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.learning import seeds
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.policy.action_spaces import Actions


class Looks(Protocol):
    """The learner, as the games need it."""

    def look(self, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits f32 `[N, n_actions]` and values f32 `[N]` of observations f32 `[N, n_obs]`."""
        ...

    def log_prob(self, outputs: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
        """f32 `[N]` of actions f32 `[N, 1]`."""
        ...


def actions_of(drill: CompiledDrill) -> Actions:
    """A drill's actions, as an environment's."""
    return Actions("choice", (drill.spec.n_actions,))


class DrillGames(SimpleSource):
    """`config.num_envs` practice games. A row is a learning side: both of a game against itself, else one of them, and
    those of an opponent take turns. `version` is the one that the run continues from. Raises ConfigError for opponents
    that are policies.
    """

    def __init__(self, drill: CompiledDrill, config: TrainConfig, version: int = 0) -> None:
        spec, games = drill.spec, config.num_envs
        self.drill, self.actions = drill, actions_of(drill)
        self.batch = Batch(drill, games, gamma=config.gamma)
        self.batch.seed(seeds.of_games(seeds.apart(config.seed, version), games))
        self.rng = np.random.default_rng([config.seed, seeds.ACTIONS, version])
        self.learning = np.ones((games, spec.sides), bool)
        """Whose decisions are learned from, `[games, sides]`."""
        self.scripts: dict[str, NDArray[Any]] = {}
        """Opponent -> the games, bool `[games]`, in which it has the other side."""
        if spec.sides == 2:
            self._deal(config)
        self.game_of = np.nonzero(self.learning)[0]
        """Of each row, `[rows]`."""
        rows = len(self.game_of)
        self.length, self.total = np.zeros(games, np.int64), np.zeros(rows)
        self.terms = np.zeros((rows, len(spec.terms)))
        self._look()

    def _deal(self, config: TrainConfig) -> None:
        """Opponents over the tiles, in the shares of the settings."""
        spec, tiles = self.drill.spec, self.batch.num_games // LANES
        names = {opponent_kind(name, spec): name for name, share in config.opponents.items() if share}
        shares = {kind: config.opponents[name] for kind, name in names.items()}
        kinds = share_tiles(tiles, shares)
        sides = alternate_sides(kinds).repeat(LANES)
        for kind, name in names.items():
            here = (kinds == kind).repeat(LANES)
            if kind != SELF:
                self.scripts[name] = here
                self.learning[here, 1 - sides[here]] = False

    def next(self, learner: Looks, config: TrainConfig, version: int) -> Experience:
        """Play one rollout with the learner's own weights."""
        batch, steps, rows = self.batch, config.rollout_length, len(self.game_of)
        batch.pay(gamma=config.gamma, weights=self.drill.term_weights(config.reward_weights))
        stats = empty_stats(self.terms.shape[1])
        seen = np.empty((steps, *self.obs.shape), np.float32)
        said = np.empty((steps, rows, self.actions.outputs), np.float32)
        drawn = np.empty((steps, rows, 1), np.float32)
        values, rewards, final = (np.zeros((steps, rows), np.float32) for _ in range(3))
        ended, cut = (np.zeros((steps, rows), bool) for _ in range(2))
        allowed = np.ones(said.shape, bool)
        for t in range(steps):
            seen[t] = self.obs
            said[t], values[t] = learner.look(self.obs)
            if self.mask is not None:
                allowed[t] = self.mask
                said[t] = np.where(self.mask, said[t], np.float32(FORBIDDEN))
            drawn[t] = self.actions.draw(said[t], "", self.rng)
            rewards[t], ended[t], cut[t] = self._step(drawn[t][:, 0], stats)
            over = ended[t] | cut[t]
            if cut[t].any():
                final[t, cut[t]] = learner.look(self._rows(batch.observe())[cut[t]])[1]
            if over.any():
                batch.reset(np.bincount(self.game_of[over], minlength=batch.num_games) > 0)
            self._look()
        following = learner.look(self.obs)[1]
        advantages, returns = gae(rewards, values, following, final, ended, cut, config.gamma, config.gae_lambda)
        log_prob = learner.log_prob(said.reshape(-1, said.shape[-1]), drawn.reshape(-1, 1)).reshape(steps, rows)
        stats[STATS.index("agent_steps")] = steps * rows
        obs, *others = map(_units, (seen, drawn, log_prob, values, advantages, returns))
        samples = GymSamples(np.ascontiguousarray(obs.transpose(0, 2, 1)), *others)
        if self.mask is not None:
            samples.mask = _units(allowed)
        return Experience(samples, np.arange(len(samples.value)), stats)

    def _step(self, drawn: NDArray[Any], stats: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """One decision of all games, with those of the rows: rewards f32, and which ended or were cut, `[rows]`."""
        batch = self.batch
        given = np.zeros(self.learning.shape, np.int64)
        for name, games in self.scripts.items():
            given[games] = batch.scripted(name)[games]
        given[self.learning] = drawn
        paid, of_terms, terminated, truncated = batch.step(given)
        rewards = paid[self.learning]
        self.length += 1
        self.total += rewards
        self.terms += of_terms[self.learning]
        over = terminated | truncated
        if over.any():
            self._count(over, stats)
        return rewards, terminated[self.game_of], truncated[self.game_of]

    def _count(self, over: NDArray[Any], stats: NDArray[Any]) -> None:
        """Add the games that are over, bool `[games]`, to the sums."""
        winners, rows = self.batch.winners()[over], over[self.game_of]
        totals = self.total[rows]
        for name, value in (
            ("episodes", over.sum()),
            ("wins_0", (winners > 0).sum()),
            ("wins_1", (winners < 0).sum()),
            ("draws", (winners == 0).sum()),
            ("decisions", self.length[over].sum()),
            ("returns", rows.sum()),
            ("return_sum", totals.sum()),
        ):
            stats[STATS.index(name)] += value
        low, high = STATS.index("return_min"), STATS.index("return_max")
        stats[low], stats[high] = min(stats[low], totals.min()), max(stats[high], totals.max())
        stats[len(STATS) :] += self.terms[rows].sum(0)
        self.length[over], self.total[rows], self.terms[rows] = 0, 0, 0

    def _look(self) -> None:
        """What the rows see now, and may do."""
        self.obs = self._rows(self.batch.observe())
        self.mask = None
        if self.drill.spec.masked:
            self.mask = self.actions.allowing(self._rows(self.batch.mask()) != 0)

    def _rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """`[games, sides, k]` -> `[rows, k]`."""
        return values[self.learning]

    def mend(self, samples: Any) -> None:
        """New episodes in the games that show what is not finite."""
        bad = ~np.isfinite(self.batch.observe()).all((1, 2))
        rows = bad[self.game_of]
        self.batch.reset(bad)
        self.length[bad], self.total[rows], self.terms[rows] = 0, 0, 0
        self._look()


def _units(values: NDArray[Any]) -> NDArray[Any]:
    """`[T, rows, ...]` -> `[T * rows / 16, 16, ...]`."""
    return np.ascontiguousarray(values.reshape(-1, LANES, *values.shape[2:]))
