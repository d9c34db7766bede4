"""Checks whether a policy file fits a drill: its settings, as far as this release knows them, and its network."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dshq_kernels.network.layers import memory_of, without_memory
from dshq_widget import drills
from dshq_widget.contract import setting, settings
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.policy import ladder, own_network
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError, load, setting_of
from dshq_widget.policy.layout import pictures_of
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import SEPARATE


def known_drill(saved: Checkpoint, name: str, advice: str) -> str:
    """The name of the package's drill, or of the Gymnasium environment, that a file called `name` was trained on.
    Raises CheckpointError, with `advice`, if it is neither, and for an environment whose module would be imported: a
    file may name only what is registered, since an import runs code.
    """
    if saved.environment and ":" in saved.drill.removeprefix("gym:"):
        raise CheckpointError(
            f"{os.path.basename(name)!r} was trained on {saved.drill!r}, and a file may not import a module: {advice}"
        )
    if saved.environment or saved.drill in drills.drills:
        return saved.drill
    raise CheckpointError(
        f"{os.path.basename(name)!r} was trained on {saved.drill!r}, which is not a built-in drill: {advice}"
    )


def settings_of(saved: Checkpoint) -> TrainConfig:
    """A file's settings, as far as this release knows them; the network's shape comes from its layers. A run of
    joint learners continues alone unless it is asked to be joint again.
    """
    known = {key: value for key, value in saved.config.items() if key in settings.FIELDS and key != "joint"}
    if saved.network:
        return TrainConfig.from_values(known)
    layers, memory = without_memory(saved.layers), memory_of(saved.layers)
    hidden = [size // (2 if known.get("separate_value_net") else 1) for size in layers[1:-1] if size > 0]
    shape = {"hidden_sizes": hidden, "activation": saved.activation, "memory": memory}
    return TrainConfig.from_values(known, shape)


def other_rules(saved: Checkpoint, name: str, spec: GameSpec) -> str:
    """A sentence if the file called `name` was trained with other rules than the drill has now, else ""."""
    if saved.rules_hash == spec.rules_hash:
        return ""
    return f"{os.path.basename(name)} was trained with different rules of {spec.name}; it plays, but may play worse"


def check_layers(saved: Checkpoint, name: str, spec: GameSpec, network: PolicySpec) -> None:
    """Raises CheckpointError if the file called `name` holds a different network from this one."""
    if why := own_network.other(saved.network, network.own):
        raise CheckpointError(f"cannot continue from {name!r}: {why}")
    if saved.layers != network.layers:
        raise CheckpointError(
            f"{name!r} was trained on {saved.drill!r} with layers {list(saved.layers)}, but {spec.name!r} needs "
            f"{list(network.layers)}: choose a file for this drill and network"
        )
    if (pictures := pictures_of(saved.environment)) != spec.pictures_read:
        raise CheckpointError(
            f"{name!r} was trained on pictures of shape {list(pictures)}, but {spec.name!r} shows "
            f"{list(spec.pictures_read)}: choose a file for this environment"
        )


def check_weights(saved: Checkpoint, name: str, network: PolicySpec | None = None) -> None:
    """Raises CheckpointError if the weights in the file called `name` do not fit this network; None: the one that its
    own layers and settings declare, if it has layers.
    """
    if network is None and saved.network:
        return
    separate = setting_of(saved, SEPARATE, False)
    try:
        declared = PolicySpec(saved.layers, saved.activation, separate, pictures_of(saved.environment))
        wrong = (network or declared).misfit(saved.weights)
    except ValueError as error:
        raise CheckpointError(f"{name!r} has settings that do not fit its network: {error}") from None
    if wrong:
        raise CheckpointError(f"{name!r} has weights that do not fit its network: {wrong}")


def shape_of(saved: Checkpoint, name: str, spec: GameSpec) -> dict[str, Any]:
    """The settings that give this drill the file's network; raises CheckpointError if there are none."""
    try:
        config = settings_of(saved)
        network = PolicySpec.for_config(spec, config)
    except ValueError as error:
        raise CheckpointError(f"{name!r} has settings that this release does not support: {error}") from None
    check_layers(saved, name, spec, network)
    return {key: getattr(config, key) for key in ("hidden_sizes", "activation", "separate_value_net", "memory")}


def check_memory(spec: GameSpec, config: TrainConfig) -> None:
    """Raises ConfigError for a memory where there can be none."""
    wrong = {
        "this drill's network has other layers than dense ones": spec.front,
        "policy and value share it, so separate_value_net must be false": config.separate_value_net,
    }
    for why, applies in wrong.items():
        if config.memory and applies:
            raise setting.ConfigError(f"memory must be 0 here, got {config.memory}: {why}")


def ladder_weights(rung: str, drill: str, network: PolicySpec) -> np.ndarray:
    """The weights of a policy of the drill's ladder, f32 `[floats]`, as an opponent of `network`: in practice games
    both have the same shape. Raises ConfigError if they do not.
    """
    saved = load(ladder.path(drill, rung))
    if (saved.layers, saved.activation) != (network.layers, network.activation):
        hidden = ",".join(map(str, saved.layers[1:-1]))
        raise setting.ConfigError(
            f"opponents: {rung} has the network hidden_sizes={hidden}, activation={saved.activation}, and the learner "
            f"must have the same; got layers {list(network.layers)}, {network.activation}"
        )
    return saved.weights
