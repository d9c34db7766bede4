"""The settings of the gate, section `gate` of a configuration. A field's docstring is the help shown for it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar

from dshq_widget.contract.sections import Section
from dshq_widget.contract.setting import NEXT_UPDATE, NOW, RESTART, ConfigError, setting


@dataclasses.dataclass(frozen=True)
class GateSettings(Section):
    """Gate, buffer and clock of the continuous trainer. Defaults: Nexus of Mind (2026-01-21) unless a field says
    otherwise.
    """

    ALIASES: ClassVar[Mapping[str, str]] = {"reward_threshold": "threshold"}

    survival_weight: float = setting(0.4, "float", "Survival weight", NOW, "gate", lo=0.0, hi=1.0)
    """Weight of the probability that the parasite survives."""
    disruption_weight: float = setting(0.5, "float", "Disruption weight", NOW, "gate", lo=0.0, hi=1.0)
    """Weight of the share of units that the parasite disturbs."""
    location_weight: float = setting(0.1, "float", "Location weight", NOW, "gate", lo=0.0, hi=1.0)
    """Weight of the penalty for spawning far from workers."""
    threshold: float = setting(0.6, "float", "Threshold", NOW, "gate", unit="reward", lo=-1.0, hi=1.0)
    """Expected reward above which a proposal is sent; also the zero of the gate signal."""
    exploration: float = setting(0.2, "float", "Exploration bonus", NEXT_UPDATE, "gate", unit="reward", lo=0.0, hi=1.0)
    """Largest bonus for a chunk that has had no spawn for 300 s, at the start of the annealing."""
    exploration_decisions: int = setting(
        2000, "int", "Exploration length", NEXT_UPDATE, "gate", unit="decisions", lo=0, hi=1_000_000_000
    )
    """Decisions over which the exploration bonus falls linearly to 0; 0 keeps it (assumed)."""
    gate_weight: float = setting(0.3, "float", "Gate share", NEXT_UPDATE, "gate", lo=0.0, hi=1.0)
    """Share of the gate signal in the training reward of a sent proposal; `actual_weight` is the rest."""
    actual_weight: float = setting(0.7, "float", "Outcome share", NEXT_UPDATE, "gate", lo=0.0, hi=1.0)
    """Share of the actual reward in the training reward of a sent proposal."""
    learning_rate: float = setting(1e-3, "float", "Learning rate", NEXT_UPDATE, "gate", lo=0.0, hi=1.0)
    """Adam's step size."""
    batch_size: int = setting(32, "int", "Batch size", NEXT_UPDATE, "gate", unit="decisions", lo=1, hi=4096)
    """Decisions sampled for a training step."""
    min_batch_size: int = setting(8, "int", "Least batch", NEXT_UPDATE, "gate", unit="decisions", lo=1, hi=4096)
    """A training step is skipped while the buffer holds fewer decisions."""
    buffer_capacity: int = setting(10_000, "int", "Buffer", RESTART, "gate", unit="decisions", lo=16, hi=1_000_000)
    """Decisions kept, first in, first out."""
    training_interval: float = setting(
        1.0, "float", "Training interval", NEXT_UPDATE, "gate", unit="s", lo=0.01, hi=60.0
    )
    """Time between two training steps, on the clock below; a decision is made every 15 s."""
    clock: str = setting("virtual", "choice", "Clock", NEXT_UPDATE, "gate", choices=("virtual", "real"))
    """Virtual: as fast as the machine goes. Real: in real time beside the show."""
    territories: int = setting(16, "int", "Territories", RESTART, "gate", unit="games", lo=1, hi=4096)
    """Games that make a decision every 15 s; the source has one (measured: docs/LOG.md)."""
    network: str = setting("places", "choice", "Network", RESTART, "gate", choices=("places", "source"))
    """Places: splits each place that it sees into column and row, and judges a chunk by its position relative to them.
    Source: reads the numbers of the places as they are (28, 32, 16 units).
    """
    loss: str = setting(
        "policy_gradient", "choice", "Loss", NEXT_UPDATE, "gate", choices=("policy_gradient", "target_shaping")
    )
    """How a training reward changes the policy: see losses.py."""
    judged: str = setting("every", "choice", "Judged", NEXT_UPDATE, "gate", choices=("proposal", "every"))
    """What of a decision trains. Every: the gate signals of all 800 proposals that were possible, without a bonus
    (Ciosek and Whiteson, 2018), and how much what was sent brought beside its signal, by `actual_weight`. Proposal, the
    source's way: the training reward of what was proposed. Only the policy gradient in mode gated reads it (measured:
    docs/LOG.md).
    """
    entropy_coef: float = setting(0.003, "float", "Entropy coefficient", NEXT_UPDATE, "gate", lo=0.0, hi=1.0)
    """Weight of the entropy bonus of the policy gradient (measured for places: docs/LOG.md)."""
    priority: bool = setting(False, "bool", "Priority", NEXT_UPDATE, "gate")
    """Sample decisions in proportion to the size of their gate signal instead of uniformly."""
    reward_head: bool = setting(False, "bool", "Reward head", RESTART, "gate")
    """Whether the network also predicts the expected reward of its state (shown as the value)."""
    action_rewards: bool = setting(False, "bool", "Action rewards", RESTART, "gate")
    """Whether a second network predicts the reward of each action: to wait, to send an energy parasite, or a combat
    one. The predictions are charted; nothing learns from them, since as a baseline they gained nothing (measured:
    docs/LOG.md).
    """
    mode: str = setting(
        "gated", "choice", "Mode", NEXT_UPDATE, "gate", choices=("gated", "sent_only", "filter", "ungated")
    )
    """Gated: every decision trains. Sent only: blocked ones train nothing. Filter: as sent only, and the gate signal
    is left out of the training reward. Ungated: everything affordable is sent, and its actual reward alone trains.
    """
    enabled: bool = setting(True, "bool", "Continuous training", NEXT_UPDATE, "gate")
    """Whether training runs between decisions; off: one training step on each decision as it is made, or, if its
    outcome alone trains, as soon as that is known.
    """

    @property
    def every(self) -> bool:
        """Whether the signals of all candidates train, and not only what was proposed."""
        return self.judged == "every" and self.mode == "gated" and self.loss == "policy_gradient"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isclose(self.gate_weight + self.actual_weight, 1.0, abs_tol=1e-6):
            raise ConfigError(
                f"gate_weight and actual_weight must add to 1, got {self.gate_weight:g} and {self.actual_weight:g}"
            )
        if self.min_batch_size > self.batch_size:
            raise ConfigError(
                f"min_batch_size must be at most batch_size, got {self.min_batch_size} and {self.batch_size}"
            )
