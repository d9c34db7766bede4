"""Named sets of settings for kinds of machine: `DrillWidget(preset="classroom")`, `Trainer(preset=...)`, a list on the
page.

A preset says where and how much is computed, never what is learned: a drill's own network, rewards and rates stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dshq_widget.contract.setting import ConfigError, nearest
from dshq_widget.contract.settings import TrainConfig

KEYS = ("device", "workers", "num_envs", "rollout_length", "minibatch_size", "pace")
"""Settings that presets control. A preset resets the ones it does not set to the drill's own values."""


@dataclasses.dataclass(frozen=True)
class Preset:
    """`label` and `help` are what a person reads; `hyper` is what it sets."""

    label: str
    help: str
    hyper: Mapping[str, Any]


PRESETS = {
    "laptop": Preset("Fast laptop", "The drill's own settings on all free processors.", {}),
    "classroom": Preset(
        "Classroom",
        "For many people on one machine: half a processor each, no GPU, slow enough to watch.",
        {"device": "cpu", "workers": 0, "num_envs": 256, "pace": 100_000.0},
    ),
    "gpu": Preset(
        "GPU",
        "Learning on a CUDA GPU with many more games in parallel; useful for large networks.",
        {"device": "cuda", "num_envs": 8192, "minibatch_size": 65536},
    ),
}


def values(name: str, base: TrainConfig) -> dict[str, Any]:
    """The settings of a preset for a drill that starts from `base`; raises ConfigError for an unknown name."""
    if name not in PRESETS:
        known = ", ".join(repr(each) for each in PRESETS)
        raise ConfigError(f"preset must be one of {known}, got {name!r:.60}{nearest(name, PRESETS)}")
    return {key: getattr(base, key) for key in KEYS} | dict(PRESETS[name].hyper)


def described(base: TrainConfig) -> dict[str, dict[str, Any]]:
    """All presets for the page: name -> {label, help, values}."""
    return {name: {"label": p.label, "help": p.help, "values": values(name, base)} for name, p in PRESETS.items()}
