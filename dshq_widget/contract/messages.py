"""The messages between page and kernel, one class each; `make tables` writes the page's types of them.

A message is an object whose `type` is the class's name in capitals, `StartTraining` -> `START_TRAINING`, with the
class's fields. Bytes travel beside it, as its buffers. What the page sends is checked where it is read
(widget/page_protocol.py): anybody may write anything there.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Value = float | str | bool | list[float]
"""Of a hyper-parameter."""
Metrics = dict[str, float]
Unit = Literal["tick", "decision"]


@dataclass(frozen=True)
class ShowEvent:
    """What happened in the show. `side`: who scored, -1 where no side is meant; `goalless`: a skip found no goal."""

    kind: Literal["goal", "draw", "swap", "reset", "goalless"]
    tick: int
    side: int
    version: int


@dataclass(frozen=True)
class PlanStart:
    """From where a policy elsewhere plays the match ahead (js/features/dream/ahead.ts)."""

    state: str
    """Its bytes in hex."""
    tick: int
    repeat: int
    """Ticks per decision."""
    opponent: str
    at_reset: bool
    """Policies change between games only."""


@dataclass(frozen=True)
class Message:
    """Base of all messages."""

    SETTINGS: ClassVar[bool] = False
    """Whether it also has any hyper-parameters, each under its key."""

    @classmethod
    def kind(cls) -> str:
        """Its `type`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).upper()

    def to_json(self, buffers: list[Any] | None = None) -> dict[str, Any]:
        """As it is sent: its type, its fields as they are, and `buffers` of a message that has some."""
        said = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"type": self.kind(), **said, **({} if buffers is None else {"buffers": buffers})}


# ---- page -> kernel


@dataclass(frozen=True)
class Hello(Message):
    """A view appeared."""

    seq: int
    """The last message that this page holds."""


@dataclass(frozen=True)
class Ack(Message):
    """Of the newest message."""

    seq: int


@dataclass(frozen=True)
class StartTraining(Message):
    """With these settings."""

    SETTINGS: ClassVar[bool] = True


@dataclass(frozen=True)
class StopTraining(Message): ...


@dataclass(frozen=True)
class ResetTrainer(Message):
    """Forget everything."""


@dataclass(frozen=True)
class StartFrom(Message):
    policy: str
    """Of the ladder."""


@dataclass(frozen=True)
class PauseTraining(Message): ...


@dataclass(frozen=True)
class ResumeTraining(Message): ...


@dataclass(frozen=True)
class NextUpdate(Message):
    """One update, with these settings if it has to start."""

    SETTINGS: ClassVar[bool] = True


@dataclass(frozen=True)
class SetHyper(Message):
    """One setting, or those of a section together: its name, and them by key."""

    key: str
    value: Value | dict[str, Value]


@dataclass(frozen=True)
class CheckReward(Message):
    """Whether it is one line of the rules language."""

    line: str


@dataclass(frozen=True)
class PayFor(Message):
    line: str
    """Empty: for nothing more."""


@dataclass(frozen=True)
class DrillScene(Message):
    """Practise from here."""

    state: str
    """Its bytes in hex."""
    rules_hash: str


@dataclass(frozen=True)
class DropScene(Message):
    key: str


@dataclass(frozen=True)
class ExtendTraining(Message): ...


@dataclass(frozen=True)
class ResumeRun(Message): ...


@dataclass(frozen=True)
class SubmitPolicy(Message): ...


@dataclass(frozen=True)
class PageState(Message):
    """The page's report on the show."""

    fps: float
    renderer: Literal["webgpu", "canvas2d"]
    tick: int
    score: tuple[float, float]
    version: int
    visible: bool


@dataclass(frozen=True)
class SavePolicy(Message):
    whole: bool = False
    """With all that continuing exactly needs."""
    request: int = 0
    """A number of the page's own, which the answer repeats: pages may ask for several files at once."""


@dataclass(frozen=True)
class SavePage(Message):
    request: int = 0
    """As in SavePolicy."""


@dataclass(frozen=True)
class LoadPolicy(Message):
    """One part of a file; its bytes are the buffer."""

    name: str
    part: int
    parts: int


@dataclass(frozen=True)
class RestoreHistory(Message):
    """The curves of the policy that was just loaded, for pages to come."""

    rows: list[Metrics]


@dataclass(frozen=True)
class Step(Message):
    """To the kernel: of a show that it plays. To the page: of the show there."""

    unit: Unit
    count: int


@dataclass(frozen=True)
class Decide(Message):
    """How many more decisions; `watch`: with frames."""

    page: int
    plan: int
    count: int
    watch: bool
    start: PlanStart | None


@dataclass(frozen=True)
class FrameShown(Message):
    """The next picture may come."""

    tick: int


# ---- kernel -> page


@dataclass(frozen=True)
class History(Message):
    start: int
    rows: list[Metrics]


@dataclass(frozen=True)
class Log(Message):
    level: str
    text: str


@dataclass(frozen=True)
class PolicyFile(Message):
    """Its bytes are the buffer, unless there is a problem."""

    name: str
    problem: str
    request: int
    """Of the message that it answers."""


@dataclass(frozen=True)
class PageFile(Message):
    """Its bytes are the buffer, unless there is a problem."""

    name: str
    problem: str
    request: int
    """Of the message that it answers."""


@dataclass(frozen=True)
class RewardChecked(Message):
    line: str
    problem: str
    """Empty: it can be paid for."""


@dataclass(frozen=True)
class Frame(Message):
    """A picture of the show that the kernel plays: a JPEG is its buffer."""

    tick: int
    score: tuple[float, float]
    version: int
    playing: bool
    events: list[ShowEvent]


@dataclass(frozen=True)
class Decisions(Message):
    """Made ahead of the match; frames are its buffer."""

    page: int
    plan: int
    version: int
    decisions: list[list[int]]
    surprises: list[tuple[int, float]]
    """Tick, and nats."""


@dataclass(frozen=True)
class DecideAgain(Message):
    """That plan is forgotten; null: every plan is."""

    page: int | None
    plan: int | None


PAGE_TO_KERNEL: tuple[type[Message], ...] = (
    *(Hello, Ack, StartTraining, StopTraining, ResetTrainer, StartFrom, PauseTraining, ResumeTraining, NextUpdate),
    *(SetHyper, CheckReward, PayFor, DrillScene, DropScene, PageState, SavePolicy, SavePage, LoadPolicy),
    *(RestoreHistory, Step, FrameShown, Decide, ExtendTraining, ResumeRun, SubmitPolicy),
)
KERNEL_TO_PAGE: tuple[type[Message], ...] = (
    *(History, Step, Log, PolicyFile, PageFile, RewardChecked, Frame, Decisions, DecideAgain),
)
ANY_SETTINGS = "..."
"""In a table of fields: any hyper-parameters, each under its key."""


def fields(kinds: Sequence[type[Message]]) -> dict[str, tuple[str, ...]]:
    """Message type -> its fields."""
    return {
        kind.kind(): (*(field.name for field in dataclasses.fields(kind)), *([ANY_SETTINGS] if kind.SETTINGS else []))
        for kind in kinds
    }
