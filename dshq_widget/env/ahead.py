"""Matches of pages, played a little ahead where a page cannot compute the policy: state by state the same, to the bit.

A page asks for as many decisions as it will soon need, and plays them by its own rules (js/features/dream/ahead.ts).
Nothing is computed that no page has asked for.
"""

from __future__ import annotations

import base64
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch

SPREAD = 0x9E3779B1
"""2^32 divided by the golden ratio, odd: D. Knuth, "The Art of Computer Programming", volume 3, 6.4."""
MOST_PAGES = 4
"""Pages that are played for at once; the one that asked longest ago is forgotten."""
MOST_ASKED = 64
"""Decisions that a page may be ahead."""
MOST_STEPS = 2
"""Steps of its dream that a page asks for before it has seen them (js/features/dream/link.ts, `UNDER_WAY`)."""
FLUSH_SECONDS = 0.1
"""Longest time that a decision waits for others to be sent with it."""


@dataclass(frozen=True)
class Decision:
    """What was decided at a tick of the page's clock."""

    tick: int
    sum: int
    """Of the state before it (`check_sum`)."""
    actions: list[int]
    """Of each side."""
    seen: bool
    """Whether the policy saw the game and chose; else its last action is kept."""


def check_sum(words: NDArray[Any]) -> int:
    """The sum of a state's words u32, each multiplied by (2 i + 1) `SPREAD`, modulo 2^32; js/features/dream/ahead.ts
    has it, too.
    """
    weights = (2 * np.arange(len(words), dtype=np.uint32) + 1) * np.uint32(SPREAD)
    return int((words * weights).sum(dtype=np.uint32))


class Match:
    """One game from the page's state on. `start` is the field of DECIDE: `state` (its bytes in hex), `tick`, `repeat`
    (ticks per decision), `opponent` (of a drill of two sides) and `at_reset` (policies change between games only).
    The policy chooses at every `keep`-th decision of a game, as it did in training.
    """

    def __init__(self, drill: CompiledDrill, start: Mapping[str, Any], keep: int = 1) -> None:
        self.batch = Batch(drill, 1, practice=False)
        words = np.frombuffer(bytes.fromhex(start["state"]), "<u4")
        self.batch.restore([0], words[None].astype(np.uint32))
        self.tick, self.repeat, self.opponent = int(start["tick"]), int(start["repeat"]), str(start["opponent"])
        self.at_reset, self.keep = bool(start["at_reset"]), keep
        self._kept, self._action = 0, 0
        self.first = True
        """Nothing before the next decision counts: a game begins, or the page's match is taken up."""
        self._rng = np.random.default_rng([int(words[0]), self.tick, 0x5707])
        self._only = np.ones(1, bool)

    @property
    def chooses(self) -> bool:
        """Whether the next decision is the policy's, and no kept action."""
        return self.first or self._kept == 0

    def play(self, choose: Callable[[], int]) -> Decision:
        """Play one decision, and into the next game if this one ends. `choose` is called where the policy chooses."""
        batch, tiles = self.batch, self.batch.tiles
        seen = self.chooses
        if seen:
            self._action, self._kept = choose(), self.keep
        self._kept -= 1
        actions = [self._action, *([self._scripted()] if batch.sides == 2 else [])]
        made = Decision(self.tick, check_sum(batch.snapshot([0])[0]), actions, seen)
        for side, action in enumerate(actions):
            tiles["action"][0, side, 0] = action
        batch.game.decide(tiles)
        self._pass(self.repeat)
        terminated, truncated = batch.over()
        self.first = bool((terminated | truncated)[0])
        if self.first:
            seconds = REST_SECONDS["goal" if batch.winners()[0] else "draw"]
            self._pass(max(1, floor(seconds * batch.spec.tick_rate + 0.5)))
            batch.practise(False, self._only)
            batch.reset(self._only)
        return made

    def _pass(self, ticks: int) -> None:
        self.batch.game.tick(self.batch.tiles, ticks)
        self.tick += ticks

    def _scripted(self) -> int:
        """The other side's action; chance has a generator of its own, because the game's belongs to the game."""
        if self.opponent == "random":
            return int(self._rng.integers(0, self.batch.spec.n_actions))
        return int(self.batch.scripted(self.opponent)[0, 1])


M = TypeVar("M", bound=Match)


@dataclass
class Ahead(Generic[M]):
    """What is played for one page."""

    plan: int
    """The page's number of this plan: it makes another one whenever its match took another way."""
    match: M
    asked: int = 0
    version: int = -1
    watched: bool = False
    made: list[Decision] = field(default_factory=list)
    since: float = 0.0
    """When the oldest decision that is not sent yet was made."""


P = TypeVar("P", bound=Ahead[Any])


def newest(commands: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What is to be done of messages of the table `kernel_to_show` that wait together. Whoever asks for the same again
    wants the newest answer: of each page the last start, and the last question of a kind. So one that asks without end
    does not keep the others' matches from going on.
    """
    found, asked, started = list[Mapping[str, Any]](), Counter[tuple[str, int]](), 0
    for command in reversed(commands):
        start = command["type"] == "DECIDE" and command["start"] is not None
        kind, page = "START" if start else command["type"], command["page"]
        most = {"DECIDE": len(commands), "DREAM_ACT": MOST_STEPS}.get(kind, 1)
        if asked[kind, page] < most and not (start and started == MOST_PAGES):
            found.append(command)
            asked[kind, page] += 1
            started += start
    return found[::-1]


class Pages(Generic[P]):
    """`obey` takes the pages' messages, `advance` makes one decision for each page that asked. Who inherits says how a
    plan begins (`begin`), who decides (`decide`) and which `version` that is; `renew` takes over the newest one.
    """

    def __init__(self, send: Callable[[dict[str, Any]], object]) -> None:
        self._send_message = send
        self.pages: OrderedDict[int, P] = OrderedDict()

    @property
    def version(self) -> int:
        """Of what decides."""
        raise NotImplementedError

    def begin(self, start: Mapping[str, Any], before: P | None, plan: int) -> P:
        """A match that is played from `start` on; `before` is what was played for the same page."""
        raise NotImplementedError

    def decide(self, played: P) -> Decision:
        """Play one decision."""
        raise NotImplementedError

    def renew(self) -> None:
        """Decide by the newest version from now on. Never waits."""
        raise NotImplementedError

    def answer(self, kind: str, page: int, played: P, command: Mapping[str, Any]) -> None:
        """A message of another kind than DECIDE, about a plan that is known."""

    def extras(self, played: P) -> tuple[bytes, dict[str, Any]]:
        """What is sent with the decisions made: bytes, and more fields."""
        return b"", {"surprises": []}

    def follow(self, commands: Sequence[Mapping[str, Any]]) -> None:
        """The messages that have come, then a decision for whom asks."""
        for command in newest(commands):
            self.obey(command)
        self.advance()

    def obey(self, command: Mapping[str, Any]) -> None:
        """One message of the table `kernel_to_show`. One about a plan that is not known is answered by DECIDE_AGAIN."""
        kind, page, plan = command["type"], command["page"], command["plan"]
        if kind == "DECIDE" and command["start"] is not None:
            before = self.pages.pop(page, None)
            self.pages[page] = self.begin(command["start"], before, plan)
            while len(self.pages) > MOST_PAGES:
                self.pages.popitem(last=False)
        played = self.pages.get(page)
        if played is None or played.plan != plan:
            self._send_message({"type": "DECIDE_AGAIN", "page": page, "plan": plan})
        elif kind == "DECIDE":
            played.asked = min(played.asked + command["count"], MOST_ASKED)
            played.watched = command["watch"]
        else:
            self.answer(kind, page, played, command)

    @property
    def busy(self) -> bool:
        """Whether a decision is asked for."""
        return any(played.asked or played.made for played in self.pages.values())

    def advance(self) -> None:
        """One decision for each page that asked for some."""
        now = time.monotonic()
        for page, played in self.pages.items():
            if played.asked:
                self._decide(page, played, now)
            if played.made and (not played.asked or now - played.since >= FLUSH_SECONDS):
                self._tell(page, played)

    def _decide(self, page: int, played: P, now: float) -> None:
        if played.match.first or (played.match.chooses and not played.match.at_reset):
            self.renew()
        if played.made and played.version != self.version:
            self._tell(page, played)
        played.version = self.version
        played.since = played.since if played.made else now
        played.made.append(self.decide(played))
        played.asked -= 1

    def _tell(self, page: int, played: P) -> None:
        rows = [[made.tick, made.sum, *made.actions] for made in played.made]
        data, more = self.extras(played)
        self.send("DECISIONS", page, played, data, version=played.version, decisions=rows, **more)
        played.made = []

    def send(self, kind: str, page: int, played: P, data: bytes, **fields: Any) -> None:
        """A message about a page's plan."""
        message = {"type": kind, "page": page, "plan": played.plan, **fields}
        self._send_message({**message, "data": base64.b64encode(data).decode()})
