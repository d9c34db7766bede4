"""The table of costs that ends a run, and the budgets that `make test-all` holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

SHOWN = 20
"""The most expensive tests that are listed."""

LOOP_SECONDS = 0.05
"""What `clock.loop_seconds` is on the processor that BUDGETS was last measured on (an AMD EPYC)."""

BUDGETS: dict[str, float] = {
    "algorithms": 115,
    "browser": 140,
    "classroom": 45,
    "cli": 45,
    "contract": 8,
    "drills": 42,
    "env": 50,
    "formats": 5,
    "gpu": 42,
    "gyms": 24,
    "kernels": 70,
    "learning": 20,
    "lessons": 50,
    "page_training": 20,
    "pixels": 12,
    "policy": 18,
    "project": 48,
    "runtime": 58,
    "training": 70,
    "widget": 26,
}
"""Seconds of a processor that a room's fast tests may take: about half above what was measured."""


@dataclass(frozen=True)
class Cost:
    """What one test took: `seconds` of processors in all, `compiling` of them in numba."""

    test: str
    seconds: float
    compiling: float
    slow: bool = False

    @property
    def room(self) -> str:
        """The folder below tests/."""
        parts = PurePosixPath(self.test.partition("::")[0]).parts
        return parts[1] if len(parts) > 2 else parts[0]


def by_room(costs: Sequence[Cost]) -> dict[str, list[Cost]]:
    """Rooms, the most expensive first."""
    rooms: dict[str, list[Cost]] = {}
    for cost in costs:
        rooms.setdefault(cost.room, []).append(cost)
    return dict(sorted(rooms.items(), key=lambda row: -sum(cost.seconds for cost in row[1])))


def lines(costs: Sequence[Cost], starting: float, compiled: Mapping[str, int]) -> Iterator[str]:
    """The table: rooms, the most expensive tests, and how many programs numba compiled."""
    yield f"{'room':<16} {'tests':>6} {'running':>8} {'compiling':>10} {'together':>9}"
    for room, found in by_room(costs).items():
        together, compiling = (sum(getattr(cost, name) for cost in found) for name in ("seconds", "compiling"))
        yield f"{room:<16} {len(found):>6} {together - compiling:>8.1f} {compiling:>10.1f} {together:>9.1f}"
    yield f"{'importing':<16} {'':>6} {starting:>8.1f}"
    together = starting + sum(cost.seconds for cost in costs)
    compiling = sum(cost.compiling for cost in costs)
    yield f"{'all':<16} {len(costs):>6} {together - compiling:>8.1f} {compiling:>10.1f} {together:>9.1f}"
    rules = sum(module.startswith("dshq_rules_") for module in compiled)
    yield f"numba compiled {sum(compiled.values())} functions, those of {rules} programs of rules among them"
    yield f"the {SHOWN} most expensive tests:"
    for cost in sorted(costs, key=lambda cost: -cost.seconds)[:SHOWN]:
        yield f"{cost.seconds:>8.1f} s, {cost.compiling:>5.1f} of them compiling  {cost.test}"


def over_budget(costs: Sequence[Cost], loop_seconds: float) -> Iterator[str]:
    """A sentence for each room whose fast tests took more than BUDGETS allows on a processor of that pace."""
    pace = loop_seconds / LOOP_SECONDS
    for room, found in by_room([cost for cost in costs if not cost.slow]).items():
        together = sum(cost.seconds for cost in found)
        allowed = BUDGETS.get(room, float("inf")) * pace
        if together > allowed:
            yield (
                f"tests/{room} took {together:.0f} s of a processor, its budget is {allowed:.0f} s here: make its "
                "tests cheaper, or give it more in tests/harness/costs/table.py with a reason"
            )
