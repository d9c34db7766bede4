"""Games as a world model meets them: frames, rewards and ends, and nothing else of their state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.play import raster
from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import empty_stats
from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.learning import seeds
from dshq_widget.learning.saved import fingerprint
from dshq_widget.learning.saved.saved_state import running_of, taken


@dataclass
class Arrival:
    """What arrives with the frames, each `[n]`: see pixels/ring.py."""

    reward: NDArray[Any]
    """f32: what the decision before brought; 0 where an episode begins."""
    is_first: NDArray[Any]
    """bool: an episode begins here."""
    continues: NDArray[Any]
    """f32: 0 where the episode was terminated, else 1, time-outs included."""
    episode_id: NDArray[Any]
    """i32, rising by 1 at each beginning."""


class PaidGames:
    """What `FrameGames` are on every device: who plays them, and what is paid.

    An action is kept for `repeat` decisions of the drill, or until the episode ends. In a drill of two sides
    `opponent`, a baseline or "random" or "idle", plays side 1, at each decision. `weights` are those of the reward
    terms; `gamma` is the discount of a step. Only what arrives is multiplied by `reward_scale`. Raises ConfigError for
    an opponent that the drill does not have.
    """

    weights: NDArray[Any]

    def __init__(self, spec: DrillSpec, n: int, repeat: int, reward_scale: float, opponent: str) -> None:
        known = ("random", "idle", *spec.baselines)
        if spec.sides == 2 and opponent not in known:
            raise ConfigError(f"dreamer.opponent must be one of {', '.join(known)}, got {opponent!r}")
        self.spec, self.n, self.opponent = spec, n, opponent
        self.n_actions, self.n_terms = spec.n_actions, len(spec.terms)
        self.repeat, self.reward_scale = repeat, float(np.float32(reward_scale))

    def pay_at(self, gamma: float) -> None:
        """Potentials are paid with this discount of a step, which is the learner's, from now on."""
        self.gamma = float(np.float32(gamma ** (1 / self.repeat)))

    def made_with(self) -> fingerprint.Fingerprint:
        """What rewards and frames depend on here."""
        how: dict[str, Any] = {"repeat": self.repeat, "reward scale": self.reward_scale}
        how |= {"opponent": self.opponent} if self.spec.sides == 2 else {}
        noses = [*self.spec.pointed, raster.REACH, raster.BREADTH, "the other's shade"]
        how |= {"noses in frames": noses} if self.spec.pointed else {}
        return fingerprint.paid(self.spec, self.weights, self.gamma) | how


class FrameGames(PaidGames):
    """`n` games on tiles of the processor. `arrival` belongs to the frames that `draw` would draw now.

    A game that ended shows its last frame; the next step begins its next episode, whatever the action. `weights`
    replaces weights of reward terms, `shaping=False` drops the potentials.
    """

    def __init__(
        self,
        drill: CompiledDrill,
        n: int,
        seed: int,
        *,
        repeat: int = 1,
        reward_scale: float = 1.0,
        opponent: str = "random",
        practice: bool = True,
        weights: Mapping[str, float] | None = None,
        shaping: bool = True,
        gamma: float = 1.0,
    ) -> None:
        super().__init__(drill.spec, n, repeat, reward_scale, opponent)
        self.batch = Batch(drill, n, seed, practice=practice, weights=weights, shaping=shaping)
        self.batch.seed(seeds.of_games(seed, n))
        self.weights = self.batch.weights
        self.pay_at(gamma)
        self._tones, self._view = raster.shades(drill.spec), raster.view(drill.spec.world)
        self.over = np.zeros(n, bool)
        self.arrival = Arrival(np.zeros(n, np.float32), np.ones(n, bool), np.ones(n, np.float32), np.zeros(n, np.int32))
        self._returns, self._terms, self._decisions = np.zeros(n), np.zeros((n, self.n_terms)), np.zeros(n)
        self.ended: NDArray[Any] = np.zeros(0)
        """Returns of the episodes that ended with the last step, f64."""
        self.lengths: NDArray[Any] = np.zeros(0)
        """Their lengths in decisions."""
        self.results: NDArray[Any] = np.zeros(0, np.int32)
        """Their winners: +1 for side 0."""

    def pay_at(self, gamma: float) -> None:
        super().pay_at(gamma)
        self.batch.pay(gamma=self.gamma)

    def begin_anew(self) -> None:
        """New episodes in all games; what the last step brought is forgotten."""
        self.batch.reset(np.ones(self.n, bool))
        self.over[:] = False
        self._returns[:] = self._decisions[:] = 0
        self._terms[:] = 0
        ids = self.arrival.episode_id + 1
        self.arrival = Arrival(np.zeros(self.n, np.float32), np.ones(self.n, bool), np.ones(self.n, np.float32), ids)

    def draw(self, out: NDArray[Any]) -> None:
        """What side 0 of every game sees into `out`, u8 `[n, 1, 72, 20]`."""
        raster.draw_into(out, self.batch.game, self.batch.tiles, self._tones, self._view)

    def step(self, actions: NDArray[Any]) -> NDArray[Any]:
        """`repeat` decisions in every game, `actions` whole numbers `[n]`. Games that were over start over instead.
        Returns stats f64 (learning/telemetry/report.py).
        """
        batch, anew, ended = self.batch, self.over, self.over.copy()
        reward, terminal, decided = np.zeros(self.n, np.float32), np.zeros(self.n, bool), 0
        given = np.zeros((self.n, batch.sides), np.int32)
        given[:, 0] = actions
        kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for _ in range(self.repeat):
            if batch.sides == 2:
                given[:, 1] = batch.scripted(self.opponent)[:, 1]
            rewards, paid, terminated, truncated = batch.step(given)
            playing = ~ended
            reward += np.where(playing, rewards[:, 0], np.float32(0))
            self._terms += paid[:, 0] * playing[:, None]
            self._decisions += playing
            decided += int(playing.sum())
            over = (terminated | truncated) & playing
            if over.any():
                terminal |= over & terminated
                ended |= over
                kept.append((over.nonzero()[0], batch.snapshot(over.nonzero()[0])))
            if ended.all():
                break
        for games, states in kept:
            batch.restore(games, states)
        self.over = ended & ~anew
        self._returns += reward
        stats = self._closed(self.over, decided)
        if anew.any():
            batch.reset(anew)
        before = self.arrival
        self.arrival = Arrival(
            reward * self.reward_scale,
            anew,
            np.where(terminal, np.float32(0), np.float32(1)),
            (before.episode_id + anew).astype(np.int32),
        )
        return stats

    def stats(self) -> NDArray[Any]:
        """Sums over no episodes at all."""
        return empty_stats(self.n_terms)

    def _closed(self, over: NDArray[Any], decided: int) -> NDArray[Any]:
        """The stats of a step in which the games `over` ended."""
        stats = self.stats()
        stats[STATS.index("agent_steps")] = decided
        self.ended, self.lengths = self._returns[over], self._decisions[over]
        self.results = self.batch.winners()[over]
        if over.any():
            stats[STATS.index("episodes")] = stats[STATS.index("returns")] = over.sum()
            stats[STATS.index("decisions")] = self.lengths.sum()
            stats[STATS.index("return_sum")] = self.ended.sum()
            stats[STATS.index("return_min")], stats[STATS.index("return_max")] = self.ended.min(), self.ended.max()
            stats[len(STATS) :] = self._terms[over].sum(axis=0)
            self._returns[over] = self._decisions[over] = 0
            self._terms[over] = 0
        return stats

    def state(self) -> dict[str, NDArray[Any]]:
        """The games and what arrives next, for an exact continuation."""
        arrival = self.arrival
        running = np.column_stack([self._returns, self._decisions, self._terms])
        rows = [self.over, arrival.reward, arrival.is_first, arrival.continues, arrival.episode_id]
        return {
            "train.tiles": self.batch.tiles.view(np.uint8).ravel().copy(),
            "train.running": running,
            "train.arrival": np.stack([np.asarray(row, np.float64) for row in rows]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> bool:
        """Take over what `state` returned; False, and nothing changes, for another number of games or other rules.
        Where other reward terms are paid now, their sums of the running episodes begin at 0.
        """
        tiles = self.batch.tiles.view(np.uint8).reshape(-1)
        if state["train.tiles"].shape != tiles.shape or state["train.arrival"].shape != (5, self.n):
            return False
        running = running_of(state, self.n)
        tiles[:] = state["train.tiles"]
        self._returns, self._decisions = running[:, 0].copy(), running[:, 1].copy()
        self._terms = taken(running[:, 2:], self._terms)
        over, reward, is_first, continues, episode = state["train.arrival"]
        self.over = over.astype(bool)
        self.arrival = Arrival(
            reward.astype(np.float32), is_first.astype(bool), continues.astype(np.float32), episode.astype(np.int32)
        )
        return True
