"""Messages from the page: checked, and queued for the sender thread. Nothing that a page sends makes this raise."""

from __future__ import annotations

import functools
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract import protocol
from dshq_widget.contract.finite import is_text, leaves
from dshq_widget.widget import page_protocol
from dshq_widget.widget.fence import Fence
from dshq_widget.widget.looking import Looking, spoken_by
from dshq_widget.widget.rivals import Rivals
from dshq_widget.widget.sender import Sender

INBOX_MAX, BYTES_MAX = 1000, 128 << 20
CROWDED, CROWDED_BYTES = 8, 48 << 20
"""Messages that wait, and bytes that they hold: how many at most, and from when on a page should wait. Pages take turns
then, so the fewer wait, the sooner each is heard.
"""
SHARED = ("show", "snapshot")
"""The traits that a page may change."""
ITEM_BYTES = 64
"""What each of a message's values takes in memory beside its text, roughly."""
WARNINGS_MAX = 20
TURN_SECONDS = 0.1
"""After so long what was said to pages has a turn, too: compiling a line of rules takes seconds."""
MATCHES_AHEAD = 1 << 20
"""By how much a page may raise the number of the match, which only rises: one at a time, and some were lost."""

log = logging.getLogger("dshq_widget")


class Inbox:
    """Any thread may add messages; one thread calls `work`. `widget` has the traits `show` and `snapshot`, which the
    page may change. `execute(kind, content, buffers)` executes a message and may raise. `load_rival` sends the page the
    chosen opponent's policy. `known_rules()`: what snapshots of the match hold, by the hash of its rules. `looking`
    hears which page says something; who a page is, its comm tells.
    """

    def __init__(
        self,
        widget: Any,
        outbox: Sender,
        rivals: Rivals,
        execute: Callable[[str, Mapping[str, Any], Any], None],
        load_rival: Callable[[], None],
        fence: Fence,
        known_rules: Callable[[], Mapping[str, page_protocol.OfRules]],
        looking: Looking,
    ) -> None:
        self._widget, self._outbox, self._rivals, self._fence = widget, outbox, rivals, fence
        self._execute, self._load_rival, self._known_rules = execute, load_rival, known_rules
        self._looking = looking
        self._queue: queue.Queue[tuple[int, Callable[[], None]]] = queue.Queue(INBOX_MAX)
        self._bytes, self._counting = 0, threading.Lock()
        self._warned: set[str] = set()
        self.blocked = False
        """Whether the page's messages come on the main thread, and so wait while a cell runs there."""

    # ---- on any thread

    def well_formed(self, msg: Mapping[str, Any]) -> bool:
        """Whether ipywidgets can read a comm message; otherwise it would print a traceback into a cell. And whether its
        texts can be sent on: else no page would hear anything any more.
        """
        data = msg.get("content", {}).get("data")
        paths = data.get("buffer_paths", []) if isinstance(data, dict) else None
        if not isinstance(paths, list) or not all(page_protocol.reaches(data.get("state"), path) for path in paths):
            self._warn_once("a malformed comm message")
        elif data.get("method") not in ("update", "request_state", "custom"):
            self._warn_once(f"an unknown comm method {data.get('method')!r:.40}")
        elif not all(is_text(one) for one in leaves(data) if isinstance(one, str)):
            self._warn_once("a text with half of a character")
        else:
            return True
        return False

    def put_state(self, state: Any, page: str = "") -> None:
        """A page changed traits."""
        if not isinstance(state, dict):
            self._warn_once("state that is not an object")
            return
        for name, value in state.items():
            if name in SHARED:
                take = self._take_show if name == "show" else self._take_snapshot
                self._put(functools.partial(self._take_trait, take, value, page), held(value))
            elif name not in self._widget.keys:
                self._warn_once(f"an unknown trait {name!r:.40}")

    def put_message(self, content: Any, buffers: Any, page: str = "") -> None:
        """A page sent a message."""
        self.blocked = threading.current_thread() is threading.main_thread()
        self._put(functools.partial(self.take_message, content, buffers, page), held([content, buffers]))

    @property
    def crowded(self) -> bool:
        """Whether so much waits that nobody should send more."""
        return self._queue.qsize() >= CROWDED or self._bytes >= CROWDED_BYTES

    def _put(self, command: Callable[[], None], nbytes: int) -> None:
        with self._counting:
            room = self._bytes + nbytes <= BYTES_MAX
            self._bytes += nbytes if room else 0
        try:
            if room:
                self._queue.put_nowait((nbytes, command))
            else:
                self._warn_once(f"more than {BYTES_MAX >> 20} MB at once")
        except queue.Full:
            self._taken(nbytes)
            self._warn_once(f"more than {INBOX_MAX} messages at once")
        self._outbox.notify()

    def _taken(self, nbytes: int) -> None:
        with self._counting:
            self._bytes -= nbytes

    def _warn_once(self, what: str) -> None:
        """Log each kind of invalid message from the page once."""
        if what not in self._warned and len(self._warned) < WARNINGS_MAX:
            self._warned.add(what)
            log.warning("the page sent %s; it was ignored", what)

    # ---- on the thread that sends

    def work(self) -> None:
        """Execute the messages that wait now, for `TURN_SECONDS`; what comes meanwhile is for the next call, or pages
        that send without end would hear nothing. What one of them raises is reported to the page, and the next one is
        executed.
        """
        until = time.monotonic() + TURN_SECONDS
        for _ in range(self._queue.qsize()):
            nbytes, command = self._queue.get_nowait()
            self._fence.command("a message of the page", command)
            self._taken(nbytes)
            if time.monotonic() > until:
                self._outbox.notify()
                return

    def take_message(self, content: Any, buffers: Any, page: str = "") -> None:
        """One message of the table `page_to_kernel`; a bad one is logged and changes nothing."""
        kind = content.get("type") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in protocol.MESSAGES["page_to_kernel"]:
            self._warn_once(f"a message of unknown type {kind!r:.40}")
            return
        ack = content.get("seq") if kind in ("ACK", "HELLO") else None
        self._outbox.flow.received(ack if type(ack) is int else None, hello=kind == "HELLO")
        with spoken_by(page):
            good = self._fence.command(kind, self._execute, kind, content, buffers)
        self._looking.heard(page, content["visible"] if good and kind == "PAGE_STATE" else None)

    def _take_trait(self, take: Callable[[Any], None], value: Any, page: str) -> None:
        self._looking.heard(page)
        with spoken_by(page):
            take(value)

    def shown(self, value: Any) -> tuple[dict[str, Any], list[str]]:
        """The show with those of a page's settings that are valid, and what is wrong with the others. On any thread."""
        now = self._widget.show
        if not isinstance(value, dict):
            return now, ["show settings that are not an object"]
        good, bad = dict[str, Any](), list[str]()
        for name, setting in itertools.islice(value.items(), len(protocol.SHOW_DEFAULTS)):  # more cannot be right
            try:
                good[name] = page_protocol.check_show(name, setting, self._rivals.opponents)
            except ValueError as error:
                bad.append(f"a bad show setting: {error}")
        if good.get("match", 0) > now["match"] + MATCHES_AHEAD:
            bad.append(f"a bad show setting: match {good.pop('match')} is far beyond {now['match']}, the present one")
        good["match"] = max(good.get("match", 0), now["match"])
        return {**now, **good}, bad

    def _take_show(self, value: Any) -> None:
        """Apply the valid ones of the page's show settings; if one is invalid, the page gets the trait back."""
        widget = self._widget
        with self._outbox.lock:
            before, met = self._outbox.has("show"), widget.show["opponent"]
            widget.show, bad = self.shown(value)
            if bad:
                self._outbox.changed({"show"})
            elif not before and all(widget.show.get(name) == setting for name, setting in value.items()):
                self._outbox.known("show")
        for wrong in bad:
            self._warn_once(wrong)
        self._outbox.flow.received()
        if widget.show["opponent"] != met:
            self._fence.command("loading the opponent", self._load_rival)

    def _take_snapshot(self, value: Any) -> None:
        """Keep what the match needs to continue after a reload."""
        try:
            checked = page_protocol.snapshot(value, self._known_rules())
        except ValueError as error:
            self._warn_once(f"a bad snapshot: {error}")
            return
        with self._outbox.lock:
            self._widget.set_trait("snapshot", checked)
            self._outbox.known("snapshot")
        self._outbox.flow.received()


def held(value: Any) -> int:
    """Bytes that plain values, nested at will, and their buffers hold in memory, roughly."""
    waiting, total = [value], 0
    while waiting:
        one = waiting.pop()
        total += ITEM_BYTES
        if isinstance(one, (str, bytes, bytearray, memoryview)):
            total += len(one)
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            waiting += one
    return total
