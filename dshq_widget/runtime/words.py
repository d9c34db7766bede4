"""What an error says, whoever has written its class."""

from __future__ import annotations

MOST_SAID = 10_000
"""Letters of it: an error has to fit into a message."""
MOST_NAME = 200
"""Letters of its class's name."""


def words_of(error: BaseException) -> str | None:
    """An error's words, on one line. None where it cannot say itself: `__str__` of somebody's own class may raise, or
    call `sys.exit`, which would end the thread that asks.
    """
    try:
        return " ".join(str(error)[:MOST_SAID].split())
    except BaseException:
        return None


def reason_of(error: BaseException) -> str:
    """Its words, or the name of its class where it has none."""
    return words_of(error) or _class_of(error)


def said(error: BaseException) -> str:
    """The name of its class, and its words."""
    words = words_of(error)
    if words is None:
        words = "it does not say why"
    return ": ".join(filter(None, (_class_of(error), words)))


def _class_of(error: BaseException) -> str:
    """The name of its class, whatever that class's own class says it is."""
    return str(type.__dict__["__name__"].__get__(type(error)))[:MOST_NAME]
