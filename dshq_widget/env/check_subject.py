"""What a check of a drill is given and gives back: the drill under test, and findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.cpu import CpuGame
from dshq_widget.drill.compiled import CompiledDrill

MOST_DECISIONS = 10_000
"""Of an episode that is played to its end. A longer one is played as far as this."""


@dataclass(frozen=True)
class Finding:
    """Result of one check: `ok` is None if it could not run; `mend` says how to fix a failure."""

    name: str
    ok: bool | None
    text: str
    mend: str = ""
    where: str = ""
    """FILE:LINE of the rule that a failure is about, where there is one."""


class Broken(Exception):
    """A failed check: what is wrong (`text`), how to fix it (`mend`) and which rule it is about, if it is one."""

    def __init__(self, text: str, mend: str, rule: str = ""):
        super().__init__(f"{text}: {mend}")
        self.text, self.mend, self.rule = text, mend, rule


class Impossible(Exception):
    """A check that cannot run here, and why."""


class Subject:
    """A drill under test and its compiled game. `written`: its class, whose lines findings name."""

    def __init__(self, drill: CompiledDrill, written: object = None):
        self.drill, self.spec, self.written = drill, drill.spec, written
        self.longest = drill.spec.time_limit // drill.spec.action_repeat
        """Decisions of the longest episode."""
        self.decisions = min(self.longest, MOST_DECISIONS)
        """Of them, as many as are played."""
        self.names: list[str] = [name for name, _, _ in drill.spec.fields]
        """Of the state's fields."""

    @cached_property
    def game(self) -> CpuGame:
        return self.drill.game()

    @property
    def part(self) -> str:
        """How much of an episode was played, as the end of a sentence; "" where all of it was."""
        if self.decisions == self.longest:
            return ""
        return (
            f" in the first {self.decisions:,} decisions; `time_limit` allows {self.longest:,}, more than are played "
            "here, and an evaluation plays each episode to its end"
        )

    def where(self, rule: str) -> str:
        """FILE:LINE of one of its rules; "" if there is none of that name, or the drill came here translated."""
        code = getattr(getattr(self.written, rule, None), "__code__", None) if rule else None
        return f"{code.co_filename}:{code.co_firstlineno}" if code else ""

    def advance(self, state: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
        """One decision of every game; returns which games are over, bool (n_tiles, 16)."""
        state["action"] = actions
        self.game.decide(state)
        self.game.tick(state, self.spec.action_repeat)
        return self.game.status(state)[0] | (state["ticks"] >= self.spec.time_limit)

    def play(self, state: NDArray[Any], decisions: int, who: str = "random") -> None:
        """Play many decisions; finished games restart."""
        for _ in range(decisions):
            self.game.reset(state, self.advance(state, self.game.actions(state, who)))

    def moments(self, state: NDArray[Any], decisions: int) -> Iterator[int]:
        """Random play; yields at the start and after every decision, before finished games restart."""
        yield 0
        for k in range(decisions):
            over = self.advance(state, self.game.actions(state, "random"))
            yield k + 1
            self.game.reset(state, over)

    def half_turn(self, state: NDArray[Any]) -> NDArray[Any]:
        """The same states seen from the other side."""
        turned = state.copy()
        for name, _, length in self.spec.fields:
            values = state[name][:, ::-1] if length == 2 else state[name]
            turned[name] = -values if name in self.spec.half_turn else values
        return turned

    def unequal(self, a: NDArray[Any], b: NDArray[Any]) -> str:
        """The first state field whose values differ (the sign of zero aside), or ""."""
        return next((name for name in self.names if not np.array_equal(a[name], b[name])), "")
