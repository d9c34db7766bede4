"""Whether what a run keeps in memory fits into this machine."""

from __future__ import annotations

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.sections import Section
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.runtime import budget


def needed(algorithm: Algorithm, spec: GameSpec, config: TrainConfig, section: Section | None) -> float:
    """Bytes that a run takes with these settings."""
    return algorithm.memory(algorithm.shaped(spec, section), config, section)


def check_room(
    algorithm: Algorithm, spec: GameSpec, config: TrainConfig, section: Section | None, share: float = 1.0
) -> None:
    """Raises MemoryError for settings with which a run takes more than a share of what is free now."""
    need, free = needed(algorithm, spec, config, section), budget.memory_available()
    if need > share * free:
        own = "" if section is None else f", or settings of {algorithm.name}"
        part = "" if share == 1 else f", of which a page may ask for {share * free / 1e9:.3g} GB"
        raise MemoryError(
            f"these settings need {need / 1e9:.3g} GB of memory or more, and {free / 1e9:.3g} GB are free{part}: lower "
            f"num_envs or rollout_length{own}"
        )
