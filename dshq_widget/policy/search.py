"""A policy that searches: how it does in matches (docs/explain/search.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_kernels.search.matches import Searching
from dshq_kernels.search.searcher import how
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.checkpoint import Checkpoint


def searching(
    drill: CompiledDrill,
    particles: int,
    depth: int,
    config: TrainConfig | None = None,
    own: Mapping[str, Any] | None = None,
) -> Searching:
    """Search for `drill` with the rewards and the discount of a run's settings (default: the drill's own). It plays the
    action with the most weight. `own`: keywords of `how` that replace these; where nothing says the temperature, it is
    found for each decision. Raises ValueError for wrong numbers.
    """
    config = config or of_drill(drill.spec)
    chosen = how(particles, depth, **{"gamma": config.gamma, **(own or {})}, greedy=True)
    return Searching(chosen, drill.term_weights(config.reward_weights), config.gamma)


def searching_of(
    saved: Checkpoint, drill: CompiledDrill, particles: int, depth: int, own: Mapping[str, Any] | None = None
) -> Searching:
    """The same for the policy of a file: the settings that it was trained with."""
    config = TrainConfig.from_values(saved.config).paying_for([term.name for term in drill.spec.terms])
    return searching(drill, particles, depth, config, own)


def parse(text: str) -> tuple[int, int]:
    """Particles and depth of `K,DEPTH`; (0, 0) is no search. Raises ValueError."""
    parts = text.split(",")
    try:
        particles, depth = (int(part) for part in parts)
    except ValueError:
        raise ValueError(f"wanted K,DEPTH such as 16,4 (0,0: the policy alone), got {text!r}") from None
    if (particles, depth) != (0, 0):
        how(particles, depth)
    return particles, depth
