"""Training that never waits for the game: a step at every interval, on whatever the buffer holds.

`ContinuousTrainer` makes single steps for a run (run.py). Whoever plays reads `get_model_for_inference`: a finished
version that nothing changes any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dshq_widget.algorithms.gate import losses
from dshq_widget.algorithms.gate.action_rewards import ActionRewards, known, taken
from dshq_widget.algorithms.gate.experience import ExperienceBuffer, beyond, training_rewards
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.network import Adam, GateNetwork
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.learning.saved.generator import pack_generator, unpack_generator

BASELINE_MEMORY = 0.01
"""Weight of a batch in the running mean of training rewards (assumed)."""
VALUE_COEF = 0.5
"""Weight of the reward head's squared error (assumed)."""


class Model(NamedTuple):
    """A version of the policy."""

    version: int
    network: GateNetwork


class ContinuousTrainer:
    """Trains on `buffer`; one step is one version. `settings` may be replaced between two steps."""

    def __init__(self, buffer: ExperienceBuffer, settings: GateSettings | None = None, *, seed: int = 0) -> None:
        self.buffer, self.settings = buffer, settings or GateSettings()
        self.seed, self.rng = seed, np.random.default_rng([seed, 0x57E9])
        network = GateNetwork.initial(seed, self.settings.network)
        self.adam, self.baseline = Adam(network.layout.size), 0.0
        self.action_rewards = ActionRewards(seed) if self.settings.action_rewards else None
        self.skipped = 0
        self._model = Model(0, network)

    def get_model_for_inference(self) -> Model:
        """The newest version. Nothing changes it, so no lock is held while it is used."""
        return self._model

    def change(self, settings: GateSettings) -> None:
        """Train by other settings from now on."""
        self.settings = settings

    @property
    def ready(self) -> bool:
        """Whether the buffer holds enough for a step."""
        return len(self.buffer) >= self.settings.min_batch_size

    def step(self, rate: float = 1.0, batch: np.ndarray | None = None) -> dict[str, float]:
        """One training step on a sample, or on `batch` (RECORD `[n]`), with the learning rate times `rate`. Returns its
        metrics; empty, and no version, if there is too little to learn from or the gradient is not finite.
        """
        s = self.settings
        if batch is None:
            which = {"complete": s.mode != "gated", "seen": s.every}
            batch = self.buffer.sample(s.batch_size, self.rng, priority=s.priority, **which) if self.ready else None
        if batch is None or len(batch) == 0:
            return {}
        network = self._model.network
        reward = self._rewards(batch)
        chunk_logits, type_logits, value, hidden = network.forward(batch["observation"])
        heads = losses.Heads.of(chunk_logits, type_logits)
        ratio = losses.ratios(heads, batch["spawn_chunk"], batch["spawn_type"], batch["nn_confidence"])
        compared, (loss, entropy, d_chunk, d_kind) = self._slopes(batch, heads, ratio, reward)
        error = (value - batch["R_expected"]).astype(np.float32) if s.reward_head else np.zeros(len(batch), np.float32)
        gradient = network.gradient(hidden, d_chunk, d_kind, 2 * VALUE_COEF / len(batch) * error)
        if not np.isfinite(gradient).all():
            self.skipped += 1
            return {}
        self.baseline += BASELINE_MEMORY * (float(compared.mean()) - self.baseline)
        learned = GateNetwork(self.adam.step(network.flat, gradient, s.learning_rate * rate))
        self._model = Model(self._model.version + 1, learned)
        metrics = {
            "loss_policy": loss,
            "entropy": entropy,
            "grad_norm": float(np.sqrt(np.dot(gradient, gradient))),
            "training_reward": float(reward.mean()),
            "batch_size": float(len(batch)),
        }
        if s.reward_head:
            metrics["loss_value"] = float((error**2).mean())
        if self.action_rewards:
            weights, rate = ratio * known(batch), s.learning_rate * rate
            metrics["loss_action_rewards"] = self.action_rewards.learn(
                batch["observation"], taken(batch), reward, weights, rate
            )
        return metrics

    def _slopes(
        self, batch: np.ndarray, heads: losses.Heads, ratio: np.ndarray, reward: np.ndarray
    ) -> tuple[np.ndarray, losses.Slopes]:
        """What is compared with its running mean, `[n]`, and the loss (losses.py)."""
        s, chosen, kinds, compared = self.settings, batch["spawn_chunk"], batch["spawn_type"], reward
        if s.every:
            signals = SimulationGate(s).signals(batch["workers"], batch["protectors"], batch["queen_energy"])
            compared = beyond(batch, signals[np.arange(len(batch)), kinds, chosen], s.actual_weight)
        if self.adam.steps == 0:
            self.baseline = float(compared.mean())
        advantage = (ratio * (compared - self.compared_with(batch))).astype(np.float32)
        if s.loss == "target_shaping":
            return compared, losses.target_shaping(heads, chosen, kinds, reward.astype(np.float32))
        of_proposals = losses.policy_gradient(heads, chosen, kinds, advantage, 0.0 if s.every else s.entropy_coef)
        if not s.every:
            return compared, of_proposals
        of_all = losses.expected_signal(heads, signals, s.entropy_coef)
        loss, _, d_chunk, d_kind = of_proposals
        return compared, (of_all[0] + loss, of_all[1], of_all[2] + d_chunk, of_all[3] + d_kind)

    def compared_with(self, batch: np.ndarray) -> float | np.ndarray:
        """What the policy gradient subtracts from rewards: their running mean, or one number for each decision."""
        return self.baseline

    def _rewards(self, batch: np.ndarray) -> np.ndarray:
        if self.settings.mode in ("filter", "ungated"):
            return batch["actual_reward"]
        return training_rewards(batch, self.settings.gate_weight, self.settings.actual_weight)

    def load(self, network: GateNetwork) -> None:
        """Continue from other weights with a fresh optimiser, as the next version; predictions begin untrained, too."""
        self.adam = Adam(network.layout.size)
        self.action_rewards = ActionRewards(self.seed) if self.settings.action_rewards else None
        self._model = Model(self._model.version + 1, network)

    # ---- exact continuation

    def state(self) -> dict[str, np.ndarray]:
        """Optimiser, running mean and generator, for a checkpoint; the buffer has a state of its own."""
        numbers = [self._model.version, self.adam.steps, self.skipped, 0]  # files have four
        own = {
            "train.gate.adam": np.stack([self.adam.mean, self.adam.square]),
            "train.gate.numbers": np.array(numbers, np.int64),
            "train.gate.baseline": np.array(self.baseline),
            "train.gate.rng": pack_generator(self.rng),
        }
        return own | (self.action_rewards.state() if self.action_rewards else {})

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned, after `load`."""
        if self.action_rewards:
            self.action_rewards.restore(state)
        size = self._model.network.layout.size
        if "train.gate.adam" not in state or state["train.gate.adam"].shape != (2, size):
            return
        mean, square = (row.copy() for row in state["train.gate.adam"])
        version, steps, self.skipped, _ = state["train.gate.numbers"].tolist()
        self.adam.restore(mean, square, steps if square.any() else 0)  # fresh moments have no steps
        self._model = Model(version, self._model.network)
        self.baseline = float(state["train.gate.baseline"])
        self.rng = unpack_generator(state["train.gate.rng"])
