"""The continuous trainer as the learner of a run, and what it and the gate report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.action_rewards import NAMES
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import Experience as Decision
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.learning.parts import Experience, Learner, Progress
from dshq_widget.learning.run import Companion, Run
from dshq_widget.runtime.words import reason_of

RECENT = 100
"""Decisions over which `send_share` and `gate_signal_mean` are taken (assumed)."""
MOST_BINS = 1000
"""Bins of the run's history; when they are full, two neighbours become one."""


class GateLearner(Learner):
    """Steps of a ContinuousTrainer. A step that fails is reported by `warn`, skipped and survived."""

    def __init__(
        self, trainer: ContinuousTrainer, seed: int, untrained: np.ndarray, warn: Callable[[str], None]
    ) -> None:
        self.trainer, self._seed, self._untrained, self._warn = trainer, seed, untrained, warn
        self._failed = 0

    @property
    def skipped(self) -> int:
        return self.trainer.skipped + self._failed

    @property
    def player(self) -> ContinuousTrainer:
        return self.trainer

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        try:
            return self.trainer.step(progress.rate, experience.samples)
        except Exception as error:  # the next step may work; a run of failures ends the training (learning/run.py)
            self._failed += 1
            self._warn(f"a training step of the gate failed: {reason_of(error)}")
            return {}

    def schedule(self, progress: Progress) -> dict[str, float]:
        return {"learning_rate": self.trainer.settings.learning_rate * progress.rate}

    def blob(self) -> np.ndarray:
        return self.trainer.get_model_for_inference().network.blob()

    def load(self, blob: np.ndarray) -> None:
        """Raises ValueError for weights that are not those of a gate's policy; version 0 has none yet."""
        fresh = np.array_equal(blob, self._untrained)
        first = GateNetwork.initial(self._seed, self.trainer.settings.network)
        self.trainer.load(first if fresh else GateNetwork.from_blob(blob))

    def state(self) -> dict[str, np.ndarray]:
        return self.trainer.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.trainer.restore(state)


class History:
    """Sent decisions and gate signals (without the bonus) of a whole run, in at most MOST_BINS bins of equal size."""

    def __init__(self) -> None:
        self.size = 1
        self.bins: list[list[float]] = []  # [decisions, sent, sum of signals]

    def add(self, sent: bool, signal: float) -> None:
        """One decision more."""
        if not self.bins or self.bins[-1][0] >= self.size:
            if len(self.bins) >= MOST_BINS:
                self.bins = [
                    [a + b for a, b in zip(*pair, strict=True)] for pair in zip(*[iter(self.bins)] * 2, strict=True)
                ]
                self.size *= 2
            self.bins.append([0.0, 0.0, 0.0])
        last = self.bins[-1]
        last[0] += 1
        last[1] += sent
        last[2] += signal

    def restore(self, bins: list[list[float]], size: int) -> None:
        """Continue with these bins of `size` decisions."""
        self.bins, self.size = bins, size

    def tenths(self) -> dict[str, float]:
        """Share of SEND and mean gate signal, bonus left out, of the first and of the last tenth of the run."""
        if not self.bins:
            return {}
        tenth = max(len(self.bins) // 10, 1)
        values: dict[str, float] = {}
        for name, part in (("first", self.bins[:tenth]), ("last", self.bins[-tenth:])):
            n, sent, signals = np.sum(part, axis=0)
            values |= {f"send_share_{name}": sent / n, f"gate_signal_{name}": signals / n}
        return {key: float(value) for key, value in values.items()}


class GateReport(Companion):
    """Counts decisions, and adds the gate's numbers to every row of metrics."""

    def __init__(self, untrained: Mapping[str, float]) -> None:
        """`untrained`: what `proposed` (evaluator.py) says of an untrained policy."""
        self.history = History()
        self.untrained = {f"{name}_untrained": value for name, value in untrained.items()}
        self.games: GateGames | None = None
        self.trainer: ContinuousTrainer | None = None

    def heard(self, decision: Decision) -> None:
        """`GateGames.on_decision`."""
        found = decision.gate_components
        self.history.add(decision.was_executed, decision.gate_signal - found["capacity"] * found["exploration"])

    @property
    def metrics(self) -> dict[str, float]:
        if self.games is None:
            return {}
        buffer = self.games.buffer
        recent = buffer.newest(RECENT)
        shares = {}
        if len(recent):
            shares["send_share"] = float(recent["was_executed"].mean())
            shares["gate_signal_mean"] = float(recent["gate_signal"].mean())
            payable = recent["gate_components"][:, parts.CAPACITY] > 0
            bonus = np.where(payable, recent["gate_components"][:, parts.EXPLORATION], 0)
            shares["gate_signal_net"] = float((recent["gate_signal"] - bonus).mean())
            known = recent["actual_reward"][~np.isnan(recent["actual_reward"])]
            if len(known):
                shares["actual_reward_mean"] = float(known.mean())
        counts = {"buffer_size": len(buffer), "pending_count": buffer.pending, "exploration": self.games.gate.epsilon}
        return shares | self._predicted(recent) | counts | self.untrained | self.history.tenths()

    def _predicted(self, recent: np.ndarray) -> dict[str, float]:
        rewards = self.trainer.action_rewards if self.trainer else None
        if rewards is None or not len(recent):
            return {}
        means = rewards.predict(recent["observation"]).mean(axis=0).tolist()
        return {f"predicted_{name}": value for name, value in zip(NAMES, means, strict=True)}

    def begin(self, run: Run) -> None:
        assert isinstance(run.source, GateGames) and isinstance(run.learner, GateLearner)
        self.games, self.trainer = run.source, run.learner.trainer

    def state(self) -> dict[str, np.ndarray]:
        bins = np.array(self.history.bins, np.float64).reshape(-1, 3)
        return {"train.gate.history": bins, "train.gate.bin": np.array(self.history.size, np.int64)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if "train.gate.history" in state:
            self.history.restore(state["train.gate.history"][-MOST_BINS:].tolist(), int(state["train.gate.bin"]))
