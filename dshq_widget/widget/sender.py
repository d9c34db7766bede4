"""The kernel's messages to the page: changed traits and queued messages, and when they are sent.

Who has something to say calls `put`: commands.py answers, match.py, policy_show.py and the features' parts tell. The
newest policy is a trait, which trained.py sets (`_refresh`) and flow.py paces.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

from dshq_widget.contract import messages
from dshq_widget.contract.setting import printable_lines
from dshq_widget.widget.flow import LARGE, SEND_SECONDS, Flow
from dshq_widget.widget.looking import SPEAKER, told_to

MOST_BYTES = 64 << 20
"""Of files that wait for the page: the largest there is, alone, or smaller ones."""
POLL_SECONDS = 0.1
MOST_WAITING, MOST_IN_A_ROW = 64, 2
"""Messages that wait for the page, and how many of them go before traits have a turn, too: whoever makes messages
without end, a page that sends nonsense and gets an error each time, does not keep them from the others.
"""

Message = dict[str, Any]


class Sender:
    """Any thread may add something; one thread sends. Traits change only under `lock`.

    `send_traits(keys, seq)` sends traits as message `seq`; `send_message` sends one message with its `buffers`.
    `weight(keys)`: the bytes of those traits.
    """

    def __init__(
        self,
        send_traits: Callable[[set[str], int], None],
        send_message: Callable[[Message], None],
        weight: Callable[[set[str]], int] = lambda _: 0,
    ) -> None:
        self._send_traits, self._send_message, self._weight = send_traits, send_message, weight
        self.lock = threading.RLock()
        self.flow = Flow()
        self.messages: deque[Message] = deque()
        self._queueing = threading.Lock()
        self._in_a_row = 0
        self._due_at = 0.0
        self._changed: set[str] = set()
        self._something_to_do = threading.Event()

    def refusal(self, nbytes: int = 0) -> str:
        """Why a file of so many bytes, of a length yet unknown by default, has to wait; "" if it may be queued."""
        with self._queueing:
            waiting = sum(len(part) for message in self.messages for part in message.get("buffers") or ())
        if waiting == 0 or waiting + nbytes <= MOST_BYTES:
            return ""
        return f"{waiting >> 20} MB of other files are on their way to the page: ask again when they have come"

    def put(self, message: Message) -> None:
        """Queue a message for the page. When too many wait, one is left out (`_expendable`). Of those with all curves
        only the newest waits.
        """
        with self._queueing:
            if message["type"] == "HISTORY" and message["start"] == 0:
                self.messages = deque(old for old in self.messages if old["type"] != "HISTORY")
            self.messages.append(message)
            if len(self.messages) > MOST_WAITING:
                self.messages.remove(self._expendable())
        self.notify()

    def answer(self, message: Message) -> None:
        """Queue a message for the page whose message is being handled: a file of megabytes is no other page's."""
        self.put({**message, "page_of": SPEAKER.get()})

    def _expendable(self) -> Message:
        """The oldest line for the log, else of the answers to the page, or the messages of the kind, of which most wait
        the oldest, files last: a page that asks without end loses its own answers, not those of the others.
        """
        waiting = list(self.messages)
        if lines := [old for old in waiting if old["type"] == "LOG"]:
            return lines[0]
        whose = [old.get("page_of") or old["type"] for old in waiting]
        [(most, _)] = Counter(whose).most_common(1)
        theirs = [old for old, one in zip(waiting, whose, strict=True) if one == most]
        return next((old for old in theirs if not old.get("buffers")), theirs[0])

    def log(self, level: str, text: str) -> None:
        """Send the page a line for its log; `level` is notice, warning or error. It may be what somebody's own code has
        said.
        """
        self.put(messages.Log(level, printable_lines(text)).to_json())

    def changed(self, names: Iterable[str]) -> None:
        """Mark traits to be sent."""
        self._changed |= set(names)
        self.notify()

    def has(self, name: str) -> bool:
        """Whether that trait is waiting to be sent."""
        return name in self._changed

    def known(self, name: str) -> None:
        """The page already has the current value of that trait."""
        self._changed.discard(name)

    def notify(self) -> None:
        """Notify the sender thread that there is something to do."""
        self._something_to_do.set()

    def wait(self, running: bool) -> None:
        """Wait until there is something to do; only briefly while training runs or an acknowledgement is missing. It
        may be a message of the page while nothing is `due` yet.
        """
        unsent = (self._changed or self.messages) and self.flow.reachable
        seconds = POLL_SECONDS if running or unsent or self.flow.waiting else None
        if (early := self._due_at - time.monotonic()) > 0:
            seconds = early
        self._something_to_do.wait(seconds)
        self._something_to_do.clear()

    @property
    def due(self) -> bool:
        """Whether the shortest time between messages is over."""
        return time.monotonic() >= self._due_at

    def send(self, running: bool, swap_seconds: float, frame: Callable[[], Message | None]) -> None:
        """Send what is due: traits or a message, and what `frame` returns, a picture of the show. Pictures wait for no
        others, since the page answers each before there is another.
        """
        now = time.monotonic()
        turn = self._in_a_row >= MOST_IN_A_ROW
        self._in_a_row = 0 if turn else self._in_a_row + 1
        if keys := self._due(now, running, swap_seconds, turn):
            with self.lock:
                self._changed -= keys
                self.flow.sent(keys, now, self._weight(keys & LARGE))
                self._send_traits(keys, self.flow.seq)
            self._sent()
        elif self.flow.reachable and (message := self._next()):
            self._tell(message)
        if self.flow.reachable and (picture := frame()):
            self._tell(picture)

    def _tell(self, message: Message) -> None:
        with told_to(message.pop("page_of", "")):
            self._send_message(message)
        self.flow.sent_message(time.monotonic())
        self._sent()

    def _sent(self) -> None:
        """Something was sent. Turns that come a little late do not move those after them: `SEND_SECONDS` on average."""
        now = time.monotonic()
        if now >= self._due_at:  # not what goes with another message of the same turn
            self._due_at = max(self._due_at + SEND_SECONDS, now)

    def _next(self) -> Message | None:
        with self._queueing:
            return self.messages.popleft() if self.messages else None

    def _due(self, now: float, running: bool, swap_seconds: float, turn: bool) -> set[str]:
        """Traits to send now; queued messages go first, unless it is the traits' turn."""
        if self.messages and self.flow.reachable and not turn:
            return set()
        return self.flow.due(tuple(self._changed), now, running, swap_seconds)
