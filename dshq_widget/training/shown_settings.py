"""What the page needs to show the settings of a run: those that its algorithm reads, and what they start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_widget import algorithms
from dshq_widget.algorithms import settings_read
from dshq_widget.contract import presets, settings


def shown_settings(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """For a drill's `spec` and an algorithm: `schema`, `defaults` and `presets` of the shared settings, and
    `own_defaults`, those of the algorithm's section.

    Presets say nothing of settings that the algorithm does not read; those for a device that it refuses are left out.
    """
    algorithm = algorithms.get(name)
    base = settings.of_drill(spec).replace(algorithm.defaults, algorithm.fixed)
    schema = settings_read.schema(name)
    offered = {
        preset: {**row, "values": {key: value for key, value in row["values"].items() if key in schema}}
        for preset, row in presets.described(base).items()
        if row["values"]["device"] not in algorithm.refuses
    }
    own = algorithm.read()
    return {
        "schema": schema,
        "defaults": base.to_json(),
        "presets": offered,
        "own_defaults": {} if own is None else own.to_json(),
    }
