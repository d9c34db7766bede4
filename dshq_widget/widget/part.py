"""What a feature brings to the kernel's half of the widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshq_widget.training.trainer import Trainer
    from dshq_widget.widget.sender import Sender

Handler = Callable[[Mapping[str, Any], Any], None]
"""Executes a message of the page: its content, and its buffers."""


@dataclass(frozen=True)
class Ends:
    """What a part may use of its widget."""

    trainer: Trainer
    outbox: Sender
    beside: Callable[..., None]
    """`beside(what, work, *arguments)` does something on a thread of its own that may take seconds."""
    blocked: Callable[[], bool]
    """Whether the page's messages wait while a cell runs, because they come on the thread that runs it."""


class Part:
    """One feature's part in one widget. This one does nothing; a feature's own says what differs."""

    engine = ""
    """The engine (`DrillWidget(engine=...)`) whose runs `start` starts, as algorithms/algorithm.py has `Start`."""

    def __init__(self) -> None:
        self.start: Any = None

    def check(self, trainer: Trainer) -> None:
        """Raises ConfigError if its engine cannot train this."""

    def join(self, ends: Ends) -> Mapping[str, Handler]:
        """The widget is there. Returns how it executes messages of the page that are its own, by their type."""
        return {}

    def follow(self, now: float) -> None:
        """Called about ten times a second while training runs, by one thread; `now` in s, of a monotonic clock."""

    def check_wait(self) -> None:
        """Raises RuntimeError if waiting for training would never end."""

    def for_export(self, trainer: Trainer, needed: bool, warn: Callable[[str], None]) -> Mapping[str, Any] | None:
        """What an exported page needs to train by itself; None if it cannot, or, if it is `needed`, ValueError or
        RuntimeError.
        """
        return None
