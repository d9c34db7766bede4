"""Policies of `.dshq` files, ready to act."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.policy.action_spaces import DISTRIBUTIONS
from dshq_widget.policy.checkpoint import METADATA, Checkpoint, check_whole, load, setting_of
from dshq_widget.policy.gym_policy import USUALLY_MADE, GymPolicy, gym_policy
from dshq_widget.policy.layout import pictures_of
from dshq_widget.policy.own_network import Found
from dshq_widget.policy.own_policy import OwnGymPolicy, OwnPolicy
from dshq_widget.policy.own_spec import spec_of
from dshq_widget.policy.policy import Policy
from dshq_widget.policy.recurrent import RecurrentPolicy


def load_policy(path: str | os.PathLike[str], *, network: Callable[..., Any] | None = None) -> Policy:
    """The policy in a `.dshq` file, or of the package's ladder ("ball:gold"), ready to act; raises CheckpointError. Of
    a network of your own, `network` is its class or function, `network(observation_shape, action_size)`.
    """
    return as_policy(load(path), None if network is None else Found.of(network))


def as_policy(saved: Checkpoint, network: Found | None = None) -> Policy:
    """The policy in a checkpoint, with its metadata; `network` is a person's own. Raises CheckpointError where it is
    more than a network, or a person's own that is not given, NetworkError where it is another one.
    """
    metadata = {key: getattr(saved, key) for key in METADATA}
    if saved.environment:
        return as_gym_policy(saved, metadata, network)
    if network is not None:
        return OwnPolicy(spec_of(saved.network, saved.layers, (), network), saved.weights, metadata)
    check_whole(saved)
    made = RecurrentPolicy if saved.memory else Policy
    return made(saved.layers, saved.activation, saved.weights, metadata)


def as_gym_policy(
    saved: Checkpoint, metadata: Mapping[str, Any] | None = None, network: Found | None = None
) -> GymPolicy:
    """The same for a Gymnasium environment."""
    if network is None:
        check_whole(saved)
    distribution = setting_of(saved, "action_distribution", DISTRIBUTIONS[0])
    how = {key: setting_of(saved, key, usual) for key, usual in USUALLY_MADE.items()}
    if not (pictures_of(saved.environment) or "pictures" in saved.environment):
        how["flat"] = True  # older files' pictures beside numbers are numbers
    environment = {**saved.environment, "made": how}
    if network is not None:
        spec = spec_of(saved.network, saved.layers, pictures_of(saved.environment), network)
        return OwnGymPolicy(spec, saved.weights, environment, distribution, metadata)
    return gym_policy(saved.layers, saved.activation, saved.weights, environment, distribution, metadata)
