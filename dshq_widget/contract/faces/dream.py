"""What a world model imagines, and a person in its dream."""

from __future__ import annotations

from dataclasses import dataclass

from dshq_widget.contract.face import Face
from dshq_widget.contract.messages import Message


@dataclass(frozen=True)
class Dream(Message):
    """Imagine what comes after that tick."""

    page: int
    plan: int
    tick: int


@dataclass(frozen=True)
class EnterDream(Message):
    """A person's dream begins there."""

    page: int
    plan: int
    tick: int


@dataclass(frozen=True)
class DreamAct(Message):
    """And continues with this action."""

    page: int
    plan: int
    action: int


@dataclass(frozen=True)
class Imagined(Message):
    """Frames are its buffer."""

    page: int
    plan: int
    tick: int
    ticks: list[int]
    stride: int
    reward: list[float]
    continues: list[float]


@dataclass(frozen=True)
class Dreamt(Message):
    """A frame is its buffer."""

    page: int
    plan: int
    reward: float
    continues: float


DREAM = Face(
    "dream",
    "what a world model sees, expects and imagines, and playing inside its dream",
    controls={
        "tab-dream": "Dream",
        "imagine-again": "Imagine again",
        "dream-screen": "Dream to play in",
        "dream-enter": "Play inside the dream",
        "dream-leave": "Leave the dream",
    },
    questions=(Dream, EnterDream, DreamAct),
    answers=(Imagined, Dreamt),
)
