"""When the sender thread has its turns."""

import pytest

from dshq_widget.widget import sender as module
from dshq_widget.widget.flow import SEND_SECONDS
from dshq_widget.widget.sender import Sender


class Clock:
    """Stands in for the module `time`."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def times(clock: Clock, late: float, seconds: float) -> list[float]:
    """When pictures were sent to a page that is always ready for one, where each turn comes `late` seconds after it was
    due.
    """
    sent: list[float] = []
    outbox = Sender(lambda keys, seq: None, lambda message: sent.append(clock.now))
    outbox.flow.received(hello=True)
    outbox.flow.received(outbox.flow.seq)
    until = clock.now + seconds
    while clock.now < until:
        clock.now += 0.001
        if outbox.due:
            clock.now += late
            outbox.send(True, 1.0, lambda: {"type": "FRAME"})
    return sent


@pytest.mark.parametrize("late", [0.0, 0.01, 0.03])
def test_turns_that_come_late_cost_no_pictures(clock: Clock, late: float):
    """With the time counted from the end of each turn, 10 ms late were 23 pictures a second."""
    sent = times(clock, late, 10.0)
    assert 10.0 / SEND_SECONDS * 0.98 <= len(sent) <= 10.0 / SEND_SECONDS + 2


def test_what_was_missed_is_not_caught_up(clock: Clock):
    """After ten seconds in which nothing was sent at most two turns are due at once, not three hundred."""
    outbox = Sender(lambda keys, seq: None, lambda message: None)
    outbox.flow.received(hello=True)
    outbox.send(True, 1.0, lambda: {"type": "FRAME"})
    clock.now += 10.0
    turns = 0
    while outbox.due:
        outbox.send(True, 1.0, lambda: {"type": "FRAME"})
        turns += 1
    assert turns <= 2
