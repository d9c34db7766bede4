"""The games that a gate's policy plays: a decision each, then fifteen seconds of what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import empty_stats
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.gate import gate
from dshq_widget.algorithms.gate.observation import observe
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.learning import seeds
from dshq_widget.learning.saved import fingerprint
from dshq_widget.learning.saved.saved_state import running_of, taken


class Territories:
    """`n` games of the Territory Drill. A finished one starts over at once."""

    def __init__(self, drill: CompiledDrill, n: int, seed: int, weights: Mapping[str, float] | None = None) -> None:
        self.batch = Batch(drill, n, seed, weights=weights, practice=False, shaping=False)
        self.batch.seed(seeds.of_games(seed, n))
        self.seconds = drill.spec.action_repeat / drill.spec.tick_rate
        self.n_terms = len(drill.spec.terms)
        self._returns, self._terms, self._decisions = np.zeros(n), np.zeros((n, self.n_terms)), np.zeros(n)

    def __len__(self) -> int:
        return self.batch.num_games

    def made_with(self) -> fingerprint.Fingerprint:
        """What rewards depend on here."""
        return fingerprint.paid(self.batch.spec, self.batch.weights, float(self.batch.gamma))

    def features(self) -> np.ndarray:
        """What the policy reads: f32 `[n, 28]`."""
        return self.batch.observe()[:, 0]

    def observation(self, territory: int) -> dict[str, Any]:
        """What the gate reads (observation.py)."""
        return observe(self.batch.tiles[territory // LANES], territory % LANES)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Carry out actions i64 `[n]`. Returns the windows' rewards f64 `[n]` and stats f64
        (learning/telemetry/report.py).
        """
        rewards, paid, terminated, truncated = self.batch.step(actions[:, None])
        over = terminated | truncated
        self._returns += rewards[:, 0]
        self._terms += paid[:, 0]
        self._decisions += 1
        stats = self.stats()
        stats[STATS.index("agent_steps")] = len(self)
        if over.any():
            ended = self._returns[over]
            stats[STATS.index("episodes")] = stats[STATS.index("returns")] = over.sum()
            stats[STATS.index("decisions")] = self._decisions[over].sum()
            stats[STATS.index("return_sum")] = ended.sum()
            stats[STATS.index("return_min")], stats[STATS.index("return_max")] = ended.min(), ended.max()
            stats[len(STATS) :] = self._terms[over].sum(axis=0)
            self._returns[over] = self._decisions[over] = 0
            self._terms[over] = 0
            self.batch.reset(over)
        return rewards[:, 0].astype(np.float64), stats

    def stats(self) -> np.ndarray:
        """Sums over no episodes at all."""
        return empty_stats(self.n_terms)

    def state(self) -> dict[str, np.ndarray]:
        """The games, for an exact continuation."""
        running = np.column_stack([self._returns, self._decisions, self._terms])
        return {"train.tiles": self.batch.tiles.view(np.uint8).ravel().copy(), "train.running": running}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned if the number of games and the rules are the same. Where other reward
        terms are paid now, their sums of the running episodes begin at 0. Raises ValueError, and changes nothing, for
        games that no gate can read.
        """
        tiles = self.batch.tiles.view(np.uint8).reshape(-1)
        if "train.tiles" in state and state["train.tiles"].shape == tiles.shape:
            running, before = running_of(state, len(self)), tiles.copy()
            tiles[:] = state["train.tiles"]
            try:
                if not np.isfinite(self.features()).all():
                    raise ValueError("its games show numbers that are not finite")
                for k in range(len(self)):
                    gate.read(self.observation(k))
            except ValueError:
                tiles[:] = before
                raise
            self._returns, self._decisions = running[:, 0].copy(), running[:, 1].copy()
            self._terms = taken(running[:, 2:], self._terms)
