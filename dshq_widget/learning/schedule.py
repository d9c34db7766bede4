"""Schedules of settings over a run, by agent steps."""

from __future__ import annotations

import math

from dshq_widget.contract.settings import TrainConfig

FINAL_RATE = 0.1
"""What a schedule leaves of the learning rate (measured: docs/LOG.md) and of the clip range (assumed), as a share."""
WARM_UP = 0.02
"""Warm-up share of a cosine schedule (assumed)."""


def share_done(config: TrainConfig, agent_steps: float) -> float:
    """How much of the schedules' length is over, 0..1."""
    return min(1.0, agent_steps / config.total_agent_steps)


def rate_factor(config: TrainConfig, agent_steps: float) -> float:
    """The factor of the learning rate after `agent_steps`: it falls to `FINAL_RATE`, in a line or a cosine."""
    done = share_done(config, agent_steps)
    if config.lr_schedule == "linear":
        return 1 - (1 - FINAL_RATE) * done
    if config.lr_schedule == "cosine":
        rise = min(1.0, (done + 1e-3) / WARM_UP)
        return rise * (FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2)
    return 1.0


def clip_factor(config: TrainConfig, agent_steps: float) -> float:
    """The factor of the clip range after `agent_steps`. OpenAI Baselines' `ppo2` goes to 0 with Atari games."""
    return 1 - (1 - FINAL_RATE) * share_done(config, agent_steps) if config.clip_schedule == "linear" else 1.0
