"""The algorithms, one folder each with its losses, learners and runs.

`algorithms` is the registry: to add one to the package, write its folder and list its `ALGORITHM` here. One of your own
needs neither: give it to `Trainer(algorithm=MINE)`, to `dshq train --algorithm module:NAME`, or install it under the
entry point `dshq_widget.algorithms` (docs/howto/own-algorithm.md).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import metadata
from typing import Any

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.algorithms.dreamer import ALGORITHM as DREAMER
from dshq_widget.algorithms.gate import ALGORITHM as GATE
from dshq_widget.algorithms.ppo import ALGORITHM as PPO
from dshq_widget.algorithms.spo import ALGORITHM as SPO
from dshq_widget.contract.setting import ConfigError, nearest
from dshq_widget.runtime.own_modules import look_in

PACKAGED = (
    PPO,
    SPO,
    GATE,
    DREAMER,
)
"""Those of this package, in the order in which they are offered."""
algorithms: dict[str, Algorithm] = {each.name: each for each in PACKAGED}
"""All that are known in this process."""

ENTRY_POINTS = "dshq_widget.algorithms"
"""The group of entry points of installed packages; the name is the algorithm's, the object an `Algorithm`."""


def register(algorithm: Algorithm) -> Algorithm:
    """Make `algorithm` known in this process, also in the place of an earlier one that a notebook's cell made. Raises
    ValueError for the name of one of the package.
    """
    known = algorithms.get(algorithm.name)
    if known in PACKAGED and known is not algorithm:
        raise ValueError(f"there is an algorithm {algorithm.name!r} in the package: give yours another name")
    algorithms[algorithm.name] = algorithm
    return algorithm


def get(name: str) -> Algorithm:
    """The algorithm called `name`, here or in an installed package. Raises ValueError for an unknown one."""
    if name not in algorithms:
        for entry in metadata.entry_points(group=ENTRY_POINTS, name=str(name)):
            return register(_checked(entry.load(), entry.value))
        near = get_close_matches(str(name), algorithms, 1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no algorithm {name!r}. Known algorithms: {', '.join(algorithms)}.{hint}")
    return algorithms[name]


def chosen(algorithm: str | Algorithm) -> Algorithm:
    """What a person chose: an algorithm, a name, or `module:NAME`, whose module is imported, and which is known from
    now on. Never for the name in a file: a file runs no code. Raises ValueError.
    """
    if isinstance(algorithm, Algorithm):
        return register(algorithm)
    module, colon, name = algorithm.partition(":")
    if not colon:
        return get(algorithm)
    look_in(os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"wanted an algorithm like my_module:ALGORITHM, got {algorithm!r}: {error}; run in the module's "
            "folder, or install it"
        ) from error
    return register(_checked(found, algorithm))


def _checked(found: Any, name: str) -> Algorithm:
    if not isinstance(found, Algorithm):
        raise ValueError(f"wanted an Algorithm (dshq_widget.algorithms.algorithm) in {name!r}, got {found!r:.60}")
    return found


BROUGHT: dict[str, str] = {
    "page": (
        "engine=page trains in the page that shows the match, and there is no page here: use "
        "DrillWidget(engine='page') or `dshq play DRILL --engine page`"
    ),
}
"""Engines that whoever shows the match brings along (`Trainer(start=...)`), and what is said where nobody does."""


def engines() -> list[str]:
    """Where a run of any algorithm may take place: on this machine, on what is brought along, or on their engines."""
    return ["local", *BROUGHT, *dict.fromkeys(name for each in algorithms.values() for name in each.engines)]


def engine(name: str, ray_address: str, algorithm: Algorithm, brought: bool = False) -> dict[str, str]:
    """Where a run takes place, for its job. Raises ConfigError for an unknown engine, for one that was to be
    `brought` along, or for an address that nobody uses, Refused if `algorithm` does not have this engine.
    """
    if name not in engines():
        raise ConfigError(f"engine must be {' or '.join(engines())}, got {name!r:.60}{nearest(str(name), engines())}")
    if name in BROUGHT:
        algorithm.require(name)
        if not brought:
            raise ConfigError(BROUGHT[name])
    else:
        algorithm.start_on(name)
    if ray_address and name != "ray":
        raise ConfigError(f"ray_address={ray_address!r} is only for engine=ray, got engine={name}: leave it out")
    return {"engine": name, "ray_address": ray_address}


def section(given: Mapping[str, Mapping[str, Any]] | None, algorithm: Algorithm) -> Mapping[str, Any]:
    """The settings of `algorithm` among those of several; the others are ignored. Raises ConfigError for settings that
    stand under no algorithm's name.
    """
    for name, values in (given or {}).items():
        if name not in algorithms or not isinstance(values, Mapping):
            raise ConfigError(
                f"algorithm_settings must be like {{{algorithm.name!r}: {{...}}}}, "
                f"got {name!r}: {values!r:.60}{nearest(name, sorted(algorithms))}"
            )
    return (given or {}).get(algorithm.name, {})
