"""A policy that was made elsewhere, or changed, as a `.dshq` file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dshq_widget import drills
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.policy import checkpoint
from dshq_widget.policy.compatibility import check_weights
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.policy import Policy


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """Write a policy to a `.dshq` file without an optimiser's state, and return its absolute path; training continues
    from it with fresh moments. `metadata["drill"]` says what it plays. Raises CheckpointError if that is not a drill
    of the package and `metadata["rules_hash"]` is missing, if the network does not fit the drill, or if the weights do
    not fit the network.
    """
    known = {key: value for key, value in policy.metadata.items() if key in checkpoint.METADATA}
    environment: dict[str, Any] = {}
    if isinstance(policy, GymPolicy):
        environment = {key: value for key, value in policy.environment.items() if key != "made"}
    else:
        drill = drills.drills.get(known.get("drill", ""))
        compiled = compile_drill(drill) if drill else None  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
        if compiled is None and "rules_hash" not in known:
            raise checkpoint.CheckpointError(
                "the policy does not say what it plays: give it metadata={'drill': NAME} with a drill of the package, "
                "or 'rules_hash' of your own drill too"
            )
        ours = compiled is not None and known.setdefault("rules_hash", compiled.rules_hash) == compiled.rules_hash
        spec = compiled.spec if compiled and ours else None
        if spec and (policy.spec.layers[0], policy.spec.n_actions) != (spec.n_obs, spec.n_actions):
            raise checkpoint.CheckpointError(
                f"{spec.name} has {spec.n_obs} observations and {spec.n_actions} actions, and the network "
                f"{policy.spec.layers[0]} and {policy.spec.n_actions}"
            )
    saved = checkpoint.Checkpoint(
        **{"drill": "", "rules_hash": "", **known},
        layers=policy.spec.layers,
        activation=policy.spec.activation,
        weights=policy.weights,
        environment=environment,
        network=policy.spec.own,
    )
    check_weights(saved, os.path.basename(path))
    return checkpoint.save(path, saved)
