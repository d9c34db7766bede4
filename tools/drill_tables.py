"""What a drill's numbers mean and where they lie, as Markdown: for `tools/tables.py` and the site's pages of drills."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from dshq_kernels.language.reading import common_fields, declared_fields
from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import source_of
from dshq_widget.drill.declaration import Choice, Drill, Observation
from tools.markdown import table

SPELLED = 30
"""Actions that have a row each; of more there is the rule that numbers them."""
LONGEST = 16
"""Names in a family such as "item 1 length", "item 1 width", "item 2 length", "item 2 width"."""
LEAST = 4
"""Times that a family's names have to come again before they share a row."""


def tables(drill: type[Drill], level: int) -> str:
    """Observations, actions and state of a drill, each below a heading of this level."""
    head = "#" * level
    return "\n\n".join(
        [
            f"{head} What the network reads",
            table(("index", "name", "scale", "unit", "meaning"), _observations(drill.observations)),
            f"{head} What it answers",
            *_actions(drill.actions),
            f"{head} The state of a game",
            table(("byte", "field", "type", "numbers"), _fields(drill)),
        ]
    )


def _observations(rows: Sequence[Observation]) -> Iterator[tuple[str, ...]]:
    kinds = [(_family(row.name), row.scale, row.unit, row.help) for row in rows]
    for first, step, count in families(kinds):
        for k in range(first, first + step):
            row, last = rows[k], k + step * (count - 1)
            name = row.name if count == 1 else f"{row.name} … {rows[last].name}"
            yield _indices(k, step, count), name, f"{row.scale:.4g}", row.unit, row.help


def _actions(choices: Sequence[Choice]) -> Iterator[str]:
    sizes = [len(choice.options) for choice in choices]
    parts = []
    for k, choice in enumerate(choices):
        times = prod(sizes[k + 1 :])
        parts.append(f"{times:,} × {choice.name}" if times > 1 else choice.name)
    yield f"One of {prod(sizes):,} actions: index = {' + '.join(parts)}, each the number of its option."
    if prod(sizes) <= SPELLED:
        rows = itertools.product(*(choice.options for choice in choices))
        names = [choice.name for choice in choices]
        yield table(("index", *names), [(str(k), *row) for k, row in enumerate(rows)])
    else:
        yield table(("choice", "options"), [(choice.name, ", ".join(_options(choice))) for choice in choices])


def _options(choice: Choice) -> Iterator[str]:
    for first, _, count in families([_family(option) for option in choice.options], longest=1):
        numbered = f"{first} {choice.options[first]}"
        last = first + count - 1
        yield numbered if count == 1 else f"{numbered} … {last} {choice.options[last]}"


def _fields(drill: type[Drill]) -> Iterator[tuple[str, ...]]:
    word = 0
    for field in (*common_fields(drill.sides), *declared_fields(source_of(drill))):
        yield str(4 * LANES * word), f"`{field.name}`", field.type, str(max(field.length, 1))
        word += max(field.length, 1)


def families(kinds: Sequence[Any], longest: int = LONGEST) -> Iterator[tuple[int, int, int]]:
    """Runs of equal kinds as (first, step, count): kinds first to first + step - 1 come `count` times, one after the
    other. What does not come again `LEAST` times is a run of its own.
    """
    at = 0
    while at < len(kinds):
        runs = ((step, _times(kinds, at, step)) for step in range(1, longest + 1))
        step, count = next((run for run in runs if run[1] >= LEAST), (1, 1))
        yield at, step, count
        at += step * count


def _times(kinds: Sequence[Any], at: int, step: int) -> int:
    first, count = kinds[at : at + step], 1
    while kinds[at + step * count : at + step * (count + 1)] == first:
        count += 1
    return count


def _family(name: str) -> str:
    """A name without its numbers; one that has none is a family of its own."""
    return re.sub(r"[-+]?\d+", "#", name)


def _indices(first: int, step: int, count: int) -> str:
    if count == 1:
        return str(first)
    last = first + step * (count - 1)
    return f"{first} … {last}" if step == 1 else f"{first}, {first + step} … {last}"
