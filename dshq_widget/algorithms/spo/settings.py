"""The settings of SPO, section `spo` of a configuration. A field's docstring is the help shown for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from dshq_widget.contract.sections import Section
from dshq_widget.contract.setting import NEXT_UPDATE, RESTART, setting


@dataclasses.dataclass(frozen=True)
class SpoSettings(Section):
    """Search, replay and learning of SPO. Defaults: Stoix's `ff_spo.yaml`, unless a field says otherwise. That one is
    made for hundreds of millions of decisions; rates marked as measured learn within a minute (docs/LOG.md).
    """

    ALIASES: ClassVar[Mapping[str, str]] = {"critic_lr": "critic_learning_rate"}

    num_particles: int = setting(16, "int", "Particles", RESTART, "search", lo=1, hi=4096)
    """Copies of the state that are played ahead for each decision."""
    search_depth: int = setting(4, "int", "Search depth", RESTART, "search", unit="decisions", lo=1, hi=64)
    """Decisions that each copy is played ahead."""
    search_gamma: float = setting(0.0, "float", "Search discount", NEXT_UPDATE, "search", lo=0.0, hi=1.0)
    """Discount within a search; 0: `gamma`, with which potentials are paid and the critic learns (the source has 1)."""
    search_gae_lambda: float = setting(1.0, "float", "Search GAE lambda", NEXT_UPDATE, "search", lo=0.0, hi=1.0)
    """Weight of a later advantage within a search relative to one a decision earlier."""
    resampling: str = setting("period", "choice", "Resampling", NEXT_UPDATE, "search", choices=("period", "ess"))
    """When particles are resampled: every `resampling_period` decisions, or where their effective number is small."""
    resampling_period: int = setting(
        4, "int", "Resampling period", NEXT_UPDATE, "search", unit="decisions", lo=1, hi=1000
    )
    """Decisions of a search between two resamplings; after the last one nothing is resampled."""
    resampling_ess_threshold: float = setting(0.5, "float", "Least ESS", NEXT_UPDATE, "search", lo=0.0, hi=1.0)
    """Share of effective particles below which they are resampled."""
    adaptive_temperature: bool = setting(True, "bool", "Learned temperature", NEXT_UPDATE, "search")
    """Whether the temperature of the weights is learned; else it is `fixed_temperature`."""
    fixed_temperature: float = setting(0.5, "float", "Fixed temperature", NEXT_UPDATE, "search", lo=0.0, hi=1e6)
    """The temperature if it is not learned; 0: found for each decision, so that the weights are `epsilon` nats from
    uniform.
    """
    epsilon: float = setting(0.5, "float", "Weights' distance", NEXT_UPDATE, "search", unit="nats", lo=0.0, hi=10.0)
    """KL divergence of the weights from uniform ones that the temperature is learned for."""
    init_log_temperature: float = setting(-1.0, "float", "First temperature", RESTART, "search", lo=-18.0, hi=20.0)
    """The learned temperature is softplus of a number that begins here (measured; the source has 3)."""
    root_exploration_dirichlet_alpha: float = setting(
        1.0, "float", "Noise alpha", NEXT_UPDATE, "search", lo=0.001, hi=1000.0
    )
    """Parameter of the Dirichlet noise in the policy at the root."""
    root_exploration_dirichlet_fraction: float = setting(
        0.0, "float", "Noise share", NEXT_UPDATE, "search", lo=0.0, hi=1.0
    )
    """Share of that noise."""
    critic_learning_rate: float = setting(0.0, "float", "Critic's rate", NEXT_UPDATE, "optimiser", lo=0.0, hi=1.0)
    """Adam's step size of what only the critic uses; 0: `learning_rate`, which is that of all the rest."""
    dual_lr: float = setting(3e-2, "float", "Dual rate", NEXT_UPDATE, "optimiser", lo=0.0, hi=1.0)
    """Adam's step size of the temperature and of alpha (measured; the source has 1e-3)."""
    epsilon_policy: float = setting(
        0.02, "float", "Policy's distance", NEXT_UPDATE, "loss", unit="nats", lo=0.0, hi=10.0
    )
    """KL divergence from the target network's policy that alpha is learned for (measured; the source has 1e-3)."""
    init_log_alpha: float = setting(3.0, "float", "First alpha", RESTART, "loss", lo=-18.0, hi=20.0)
    """Alpha, the weight of the trust region, is softplus of a number that begins here."""
    tau: float = setting(0.02, "float", "Target's share", NEXT_UPDATE, "optimiser", lo=0.0, hi=1.0)
    """Share of the newest network that the target network takes over at each step (measured; the source has 0.005)."""
    replay_buffer_size: int = setting(
        65_536, "int", "Replay", RESTART, "replay", unit="decisions", lo=64, hi=10_000_000
    )
    """Decisions kept, first in, first out."""
    sample_sequence_length: int = setting(32, "int", "Sequence", RESTART, "replay", unit="decisions", lo=1, hi=1024)
    """Successive decisions learned from together."""
    sample_period: int = setting(1, "int", "Sequence period", NEXT_UPDATE, "replay", unit="decisions", lo=1, hi=1024)
    """Sequences begin at multiples of it."""
    sample_batch_size: int = setting(
        32, "int", "Sequences", RESTART, "replay", unit="sequences", lo=16, hi=65536, multiple=16
    )
    """Sequences of a learning step; sixteen games that are played side by side are sampled together."""
    replay_ratio: float = setting(8.0, "float", "Replay ratio", NEXT_UPDATE, "replay", lo=0.0, hi=1000.0)
    """How often each decision is learned from, on average (measured: docs/LOG.md)."""

    def search(self, temperature: float) -> dict[str, Any]:
        """Keywords of a search (dshq_kernels/search/searcher.py, `how`), but for what only play in training has: noise
        at the root. `temperature`: the learned one; it counts where it is learned. Without a discount where it is the
        run's.
        """
        own = {"gamma": self.search_gamma} if self.search_gamma else {}
        return own | {
            "period": self.resampling_period if self.resampling == "period" else 0,
            "least_ess": self.resampling_ess_threshold,
            "temperature": temperature if self.adaptive_temperature else self.fixed_temperature,
            "epsilon": self.epsilon,
            "gae_lambda": self.search_gae_lambda,
        }
