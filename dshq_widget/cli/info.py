"""`dshq info`: what a drill's numbers mean, as tables: observations, actions, rewards, and the bytes of a state."""

from __future__ import annotations

import itertools
from typing import Any

from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.game_spec import DrillSpec, to_plain

SHOWN = 40
"""Rows of a table that are printed; `--json` has all."""


def describe(spec: DrillSpec) -> dict[str, Any]:
    """The tables of a compiled drill.

    `observations`: index, name, scale, unit; the network reads value / scale. `meanings`: a text for each of them.
    `actions`: index, and the option of each choice; the first choice varies slowest. `state`: word, field, type, count;
    word w of game g of a tile of 16 games stands at byte 4 (16 w + g), little-endian.
    """
    names = [choice.name for choice in spec.actions]
    options = itertools.product(*(choice.options for choice in spec.actions))
    words = itertools.accumulate((field.words for field in spec.fields), initial=0)
    return {
        "drill": spec.name,
        "title": spec.title,
        "about": spec.about,
        "sides": spec.sides,
        "tick_rate": spec.tick_rate,
        "action_repeat": spec.action_repeat,
        "time_limit": spec.time_limit,
        "rules_hash": spec.rules_hash,
        "observations": [
            {"index": k, "name": row.name, "scale": row.scale, "unit": row.unit}
            for k, row in enumerate(spec.observations)
        ],
        "meanings": [row.help for row in spec.observations],
        "actions": [{"index": k, **dict(zip(names, row, strict=True))} for k, row in enumerate(options)],
        "rewards": to_plain(spec.terms),
        "state": [
            {"word": word, "field": field.name, "type": field.type, "count": field.words}
            for word, field in zip(words, spec.fields, strict=False)
        ],
        "lanes": LANES,
    }


def text(found: dict[str, Any]) -> str:
    """The same for people."""
    ticks, rate = found["time_limit"], found["tick_rate"]
    lines = [
        f"{found['title']} ({found['drill']}): {found['about']}".removesuffix(": "),
        f"{found['sides']} side{'s' * (found['sides'] > 1)}, {rate} ticks a second, a decision every "
        f"{found['action_repeat']}, an episode ends after {ticks} ticks ({ticks / rate:g} s)",
    ]
    explained = [{**row, "meaning": said} for row, said in zip(found["observations"], found["meanings"], strict=True)]
    for name in ("observations", "actions", "rewards", "state"):
        rows = explained if name == "observations" else found[name]
        lines += ["", f"{name} ({len(rows)})", *_table(rows[:SHOWN])]
        lines += [f"... and {len(rows) - SHOWN} more: --json has all"] if len(rows) > SHOWN else []
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    cells = [[*rows[0]], *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells)
    return [f"  {'  '.join(line)}".rstrip() for line in padded]


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
