"""Turns sums over many rollouts into one row of metrics, by the flat names of contract/metrics.py."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dshq_kernels.play.loops import STATS
from dshq_widget.contract.game_spec import GameSpec

RETURN_MIN, RETURN_MAX = STATS.index("return_min"), STATS.index("return_max")


def merge(parts: list[np.ndarray]) -> np.ndarray:
    """Combine the stats of several rollouts, f64 `[len(STATS) + n_terms]`: sums, and extremes of the extremes."""
    total = np.sum(parts, axis=0)
    total[RETURN_MIN] = min(part[RETURN_MIN] for part in parts)
    total[RETURN_MAX] = max(part[RETURN_MAX] for part in parts)
    return total


@dataclass
class Tally:
    """Sums since the last report."""

    began: float
    """Seconds of this run (`Run.spent`) at the last report. Evaluation, saving and pauses are none of them."""
    stats: list[np.ndarray] = field(default_factory=list)
    learned: list[dict[str, float]] = field(default_factory=list)
    rollout_seconds: float = 0.0
    update_seconds: float = 0.0
    lag: int = 0

    def add(self, stats: np.ndarray, learned: dict[str, float], lag: int, rollout: float, update: float) -> None:
        """Add one rollout and its update; times in seconds."""
        self.stats.append(stats)
        self.learned.append(learned)
        self.lag = max(self.lag, lag)
        self.rollout_seconds += rollout
        self.update_seconds += update

    def row(self, spec: GameSpec, spent: float) -> dict[str, float]:
        """The metrics of this report for a drill's `spec`, after `seconds` of the run; it must contain at least
        one update.
        """
        total = merge(self.stats)
        sums = dict(zip(STATS, total, strict=False))
        n, seconds = len(self.learned), max(spent - self.began, 1e-9)
        values: dict[str, float] = {
            "agent_steps_per_second": sums["agent_steps"] / seconds,
            "updates_per_second": n / seconds,
            "policy_lag": self.lag,
            "rollout_ms": 1000 * self.rollout_seconds / n,
            "update_ms": 1000 * self.update_seconds / n,
        }
        for name in {key for row in self.learned for key in row}:
            values[name] = float(np.mean([row[name] for row in self.learned if name in row]))
        if sums["episodes"]:
            values["episode_length_mean"] = sums["decisions"] / sums["episodes"]
        if sums["returns"]:
            values["return_mean"] = sums["return_sum"] / sums["returns"]
            values["return_min"], values["return_max"] = sums["return_min"], sums["return_max"]
            for term, value in zip(spec.terms, total[len(STATS) :], strict=True):
                values[f"reward_{term.name}"] = value / sums["returns"]
        return {name: value for name, value in values.items() if math.isfinite(value)}
