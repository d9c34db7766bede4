"""When what is sent to the page; sender.py sends it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

SEND_SECONDS = 1 / 30
"""Time between two turns of the sender, on average."""
ACK_SECONDS = 1.0
"""An unacknowledged message is sent once more after this time; after that nothing is sent until the page speaks."""
METRICS_SECONDS = 0.5
HEARTBEAT_SECONDS = 1.0
"""While training runs, the kernel sends at least this often, so that the page notices a lost kernel."""
LIVE = (
    *("drill", "policy", "status", "status_text", "error", "paused", "metrics", "league", "scenes", "rivals"),
    *("config", "show", "controls", "seat", "seq"),
)
"""Traits sent to a page whose state is out of date; `show` only if it has changed since."""
LARGE, LARGE_A_SECOND = frozenset({"policy", "rivals"}), 32 << 20
"""Traits that may hold files, and how many bytes of them are sent: every page gets them, and one that asks for them
without end, as with each HELLO, would have the others dropped, for which they come too fast.
"""


class Flow:
    """Decides what to send when. Pure bookkeeping over `now`, in seconds, used only by the sender thread.

    One message is in flight at a time. After ACK_SECONDS without an acknowledgement its traits are sent once more.
    After that nothing is sent until the page speaks; then it gets what it did not acknowledge and what has changed
    since (a hidden page gets no policy and no metrics). So a page that has message n has everything before it.
    """

    def __init__(self) -> None:
        self.seq = 0
        self.spoken = False
        self.hidden = False
        self._acked = 0
        self._sent_at = -math.inf
        self._retried = False
        self._silent = False
        self._owed: set[str] = set()  # sent, but not acknowledged
        self._asked: set[str] = set()  # by a HELLO, and not sent since: no answer to an earlier message has it
        self._withheld: set[str] = set()  # of these, what a hidden page gets later, and what is large
        self._large_at = -math.inf  # when large traits may be sent again
        self._last: dict[str, float] = {}
        self._show_seq = 0  # the last message that held the trait `show`

    def seen(self, visible: bool) -> None:
        """Whether somebody sees the page."""
        self.hidden = not visible

    def received(self, ack: int | None = None, *, hello: bool = False) -> None:
        """The page sent something: an acknowledgement, a HELLO from a new view, or anything else. `ack` is the last
        message it received.
        """
        self.spoken = True
        if ack is not None and self._acked < ack <= self.seq:
            self._acked = ack
            self._retried = False
        if ack == self.seq:
            self._owed = set()
        elif hello:
            changing = ack is not None and self._show_seq <= ack < self.seq  # perhaps, by the user, at this moment
            self._asked |= set(LIVE) - ({"show"} if changing else set())
        if self._silent or hello:
            self._silent = self._retried = False
            self._acked = self.seq

    @property
    def reachable(self) -> bool:
        """Whether a page has spoken and still responds."""
        return self.spoken and not self._silent

    @property
    def waiting(self) -> bool:
        """Whether an acknowledgement is still expected, or a page that is seen is owed something."""
        owed = self._owed or self._asked or (self._withheld and not self.hidden)
        return (self._acked < self.seq or bool(owed)) and not self._silent

    def due(self, dirty: Iterable[str], now: float, running: bool, swap_seconds: float) -> set[str]:
        """The traits to send at this turn; empty if there is nothing to send, or an answer is missing."""
        since = now - self._sent_at
        pauses = {"metrics": METRICS_SECONDS, "seat": METRICS_SECONDS, "policy": swap_seconds}
        if self._silent:
            return set()
        if self._acked < self.seq:
            if since < ACK_SECONDS:
                return set()
            if self._retried:
                self._silent = True
                return set()
            self._retried = True
            return self._owed_now(pauses, now)
        keys = {
            key
            for key in dirty
            if not (key in pauses and (self.hidden or now - self._last.get(key, -math.inf) < pauses[key]))
        } - self._too_large(now)
        if owed := self._owed_now(pauses, now):  # to a page that is back, or new
            return {*owed, *keys}
        return keys or ({"seq"} if running and not self.hidden and since >= HEARTBEAT_SECONDS else set())

    def hurry(self, key: str) -> None:
        """That trait does not wait for its pause: what was sent before it means nothing any more."""
        self._last.pop(key, None)

    def _too_large(self, now: float) -> frozenset[str]:
        return LARGE if now < self._large_at else frozenset()

    def _owed_now(self, pauses: Collection[str], now: float) -> set[str]:
        """What is owed. From a hidden page what changes often is withheld until it is seen again."""
        owed = self._owed | self._asked | self._withheld
        self._withheld = owed & {*(pauses if self.hidden else ()), *self._too_large(now)}
        self._owed -= self._withheld
        self._asked -= self._withheld
        return owed - self._withheld

    def sent(self, keys: Collection[str], now: float, nbytes: int = 0) -> None:
        """`keys` went out as message `seq + 1`; the large ones among them hold `nbytes`."""
        self.seq += 1
        self._large_at = max(self._large_at, now + nbytes / LARGE_A_SECOND)
        self._sent_at = now
        self._owed |= set(keys)
        self._asked -= set(keys)
        for key in keys:
            self._last[key] = now
        if "show" in keys:
            self._show_seq = self.seq

    def sent_message(self, now: float) -> None:
        """A message that needs no acknowledgement went out."""
        self._sent_at = max(self._sent_at, now - ACK_SECONDS / 2) if self._acked < self.seq else now
