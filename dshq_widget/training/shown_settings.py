"""What the page needs to show the settings of a run: those that its algorithm reads, and what they start from."""

from __future__ import annotations

from typing import Any

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.contract import presets, settings
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.gyms.environment import EnvironmentSpec


def without_meaning(spec: GameSpec) -> set[str]:
    """The shared settings that change nothing in a drill or environment of this `spec`."""
    environment = spec if isinstance(spec, EnvironmentSpec) else None
    atari = environment is not None and environment.atari
    box = environment is not None and environment.environment.actions.kind == "box"
    applies = {
        "joint": False,  # processes that torchrun starts have no page
        "action_distribution": box,
        "opponents": spec.sides == 2,
        "reward_weights": bool(spec.terms),
        "scene_share": environment is None,
        "action_repeat": environment is not None,
        "fire_on_reset": atari,
        "life_ends_episode": atari,
        "frames": atari,
    }
    return {key for key, meant in applies.items() if not meant}


def shown_settings(spec: GameSpec, algorithm: Algorithm) -> dict[str, Any]:
    """For a drill's `spec` and an algorithm: `schema`, `defaults` and `presets` of the shared settings, and
    `own_defaults`, those of the algorithm's section, `curves`, its charts, and `panel`, its panel or None.

    The schema has the settings that the algorithm reads and that mean something in this drill, and presets say nothing
    of others. Presets for a device that the algorithm refuses are left out.
    """
    own = algorithm.read(algorithm.suggested(spec))
    base = settings.of_drill(spec).replace(algorithm.defaults, algorithm.decided(own))
    unused = without_meaning(spec)
    schema = {key: entry for key, entry in algorithm.schema().items() if key not in unused}
    offered = {
        preset: {**row, "values": {key: value for key, value in row["values"].items() if key in schema}}
        for preset, row in presets.described(base).items()
        if row["values"]["device"] not in algorithm.refuses
    }
    return {
        "schema": schema,
        "defaults": base.to_json(),
        "presets": offered,
        "own_defaults": {} if own is None else own.to_json(),
        "curves": [curve.to_json() for curve in algorithm.curves if curve.sides in (0, spec.sides)],
        "panel": algorithm.panel.to_json() if algorithm.panel else None,
    }
