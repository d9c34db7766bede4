"""The algorithms, one folder each with its losses, learners and runs.

`algorithms` is the registry: to add one, write its folder and list its `ALGORITHM` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.algorithms.dreamer import ALGORITHM as DREAMER
from dshq_widget.algorithms.gate import ALGORITHM as GATE
from dshq_widget.algorithms.ppo import ALGORITHM as PPO
from dshq_widget.algorithms.spo import ALGORITHM as SPO
from dshq_widget.contract.run_file import ALGORITHM_SECTIONS
from dshq_widget.contract.settings import ConfigError, nearest

algorithms: dict[str, Algorithm] = {each.name: each for each in (PPO, SPO, GATE, DREAMER)}

ENGINES = ("local", "page", "ray")
"""Where games may be played: on this machine, in the page, on a Ray cluster."""


def get(name: str) -> Algorithm:
    """The algorithm called `name`. Raises ValueError for an unknown one."""
    if name not in algorithms:
        near = get_close_matches(str(name), algorithms, 1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no algorithm {name!r}. Known algorithms: {', '.join(algorithms)}.{hint}")
    return algorithms[name]


def engine(name: str, ray_address: str, algorithm: Algorithm) -> dict[str, str]:
    """Where the games of a run are played, for its job. Raises ConfigError for an unknown engine or an address that
    nobody uses, Refused if `algorithm` does not have this engine.
    """
    if name not in ENGINES:
        raise ConfigError(f"engine must be {' or '.join(ENGINES)}, got {name!r:.60}{nearest(str(name), ENGINES)}")
    if name != "local":
        algorithm.require(name)
    if ray_address and name != "ray":
        raise ConfigError(f"ray_address={ray_address!r} is only for engine=ray, got engine={name}: leave it out")
    return {"engine": name, "ray_address": ray_address}


def section(given: Mapping[str, Mapping[str, Any]] | None, algorithm: Algorithm) -> Mapping[str, Any]:
    """The settings of `algorithm` among those of several; the others are ignored. Raises ConfigError for settings that
    stand under no algorithm's name.
    """
    known = {*algorithms, *ALGORITHM_SECTIONS}
    for name, values in (given or {}).items():
        if name not in known or not isinstance(values, Mapping):
            raise ConfigError(
                "algorithm_settings must be like {'gate': {...}}, "
                f"got {name!r}: {values!r:.60}{nearest(name, sorted(known))}"
            )
    return (given or {}).get(algorithm.name, {})
