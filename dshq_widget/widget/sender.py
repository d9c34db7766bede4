"""What the kernel has to say to the page, traits that changed and messages in order, and when it goes out."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from dshq_widget.widget.page_protocol import SEND_SECONDS, Flow

POLL_SECONDS = 0.1

Message = dict[str, Any]


class Sender:
    """Any thread puts something in, one thread sends. Traits change under `lock` only.

    `send_traits(keys, seq)` puts traits on the wire as message `seq`, `send_message` one message with its `buffers`.
    """

    def __init__(self, send_traits: Callable[[set[str], int], None], send_message: Callable[[Message], None]) -> None:
        self._send_traits, self._send_message = send_traits, send_message
        self.lock = threading.RLock()
        self.flow = Flow()
        self.messages: deque[Message] = deque(maxlen=64)
        self._changed: set[str] = set()
        self._wake = threading.Event()

    def put(self, message: Message) -> None:
        """For the page, once there is one."""
        self.messages.append(message)
        self.wake()

    def log(self, level: str, text: str) -> None:
        """Tell the page a sentence: a notice, a warning or an error."""
        self.put({"type": "LOG", "level": level, "text": text})

    def changed(self, names: Iterable[str]) -> None:
        """These traits are to be sent."""
        self._changed |= set(names)
        self.wake()

    def has(self, name: str) -> bool:
        """Whether that trait is yet to be sent."""
        return name in self._changed

    def known(self, name: str) -> None:
        """The page has that trait as it stands."""
        self._changed.discard(name)

    def wake(self) -> None:
        """There is something to do for the thread that sends."""
        self._wake.set()

    def wait(self, running: bool) -> None:
        """Until there is something to do; while training runs, or an answer is missing, not for long."""
        unsent = (self._changed or self.messages) and self.flow.reachable
        self._wake.wait(POLL_SECONDS if running or unsent or self.flow.waiting else None)
        self._wake.clear()

    def send(self, running: bool, swap_seconds: float, frame: Callable[[], Message | None]) -> None:
        """Send what is due, at most one message, then rest as long as messages have to be apart. `frame` is asked for a
        picture where nothing else is to be sent.
        """
        now = time.monotonic()
        if keys := self._due(now, running, swap_seconds):
            with self.lock:
                self._changed -= keys
                self.flow.sent(keys, now)
                self._send_traits(keys, self.flow.seq)
        elif self.flow.reachable and (message := self.messages.popleft() if self.messages else frame()):
            self._send_message(message)
            self.flow.sent_message(time.monotonic())
        else:
            return
        time.sleep(SEND_SECONDS)

    def _due(self, now: float, running: bool, swap_seconds: float) -> set[str]:
        """Traits to send now; messages go before them."""
        if self.messages and self.flow.reachable:
            return set()
        return self.flow.due(tuple(self._changed), now, running, swap_seconds)
