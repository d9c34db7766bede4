"""Processes that were asked to end and may take their time."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class Stopped(Protocol):
    """A process, or several."""

    def stop(self, grace: float, /) -> None:
        """Ask for the end, by force after `grace` seconds. Returns at once; twice is fine."""


One = TypeVar("One", bound=Stopped)


class Leaving(Generic[One]):
    """Of those that leave at most `most` may take their time; of more the oldest are ended by force. Whoever starts and
    ends processes in turn would have any number of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._ones: list[One] = []  # the oldest first

    def add(self, one: One) -> None:
        """It was asked to end."""
        self._ones.append(one)
        while len(self._ones) > self._most:
            self._ones.pop(0).stop(0.0)

    def gone(self, one: One) -> None:
        """It has ended."""
        if one in self._ones:
            self._ones.remove(one)
