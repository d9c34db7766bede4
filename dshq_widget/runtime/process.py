"""The child's side of a supervised process: `python -m dshq_widget.runtime.process ROLE PARENT_PID`.

A role is a function marked with `@role`, named "module:function" and called as `function(channel, config, blocks)`: its
`Channel` to the parent, a dict of settings and a dict of `SharedBlock`s. Its configuration is one JSON line on stdin,
`{"messages": fd, "blocks": {name: [fd, nbytes]}, "config": {...}, "home": folder}`, where the parent found the role's
module in that folder; further lines are commands. It sends JSON lines through the pipe `messages`, so that stray prints
do not interfere.

A child never outlives its parent, by three independent means: the kernel's parent-death signal (Linux), a watchdog
thread that asks for the parent's id twice a second, and the end of stdin. It ignores SIGINT, which a notebook's
interrupt sends to the whole process group, and runs at lower priority than the notebook.
"""

import ctypes
import importlib
import json
import os
import re
import select
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.own_modules import look_in

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
Role = TypeVar("Role", bound=Callable[..., None])
ROLE = re.compile(r"[a-z_]\w*(\.\w+)*:\w+")
STDIN = 0
WATCH_SECONDS = 0.5
NICENESS = 10
OUTBOX_BYTES = 1 << 20
FLUSH_SECONDS = 2.0
ORPHANED = 3  # exit status


class Channel:
    """JSON messages to the parent and commands from it.

    `send` and `poll` belong to the role's main loop; a watchdog thread reads commands, sends a BEAT twice a second and
    ends the process when the parent is gone. A BEAT carries how often the main loop has polled, which reveals a stuck
    loop.
    """

    def __init__(self, messages: int, parent: int, unread: bytes = b""):
        os.set_blocking(messages, False)
        self.dropped = 0  # messages dropped because the parent did not read for too long
        self._messages = messages
        self._parent = parent
        self._inbox = bytearray(unread)
        self._outbox = bytearray()
        self._outbox_lock = threading.Lock()
        self._commands: deque[dict[str, Any]] = deque()
        self._arrived = threading.Event()
        self._closed = False
        self._progress = 0
        self._take_lines()
        threading.Thread(target=self._watch, name="dshq-watchdog", daemon=True).start()

    @property
    def closed(self) -> bool:
        """True once the parent has asked to stop: the role should return soon."""
        return self._closed

    def send(self, message: dict[str, Any]) -> bool:
        """Queues a JSON-able message and never blocks; False when 1 MB waits unread and the message was dropped.

        Raises ValueError for a message that is too large. Use shared blocks for arrays.
        """
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(line) > OUTBOX_BYTES:
            raise ValueError(f"a message has at most {OUTBOX_BYTES:,} bytes, not {len(line):,}; use a shared block")
        with self._outbox_lock:
            if len(self._outbox) + len(line) > OUTBOX_BYTES:
                self.dropped += 1
                return False
            self._outbox += line
            self._write()
        return True

    def poll(self, timeout: float = 0.0) -> list[dict[str, Any]]:
        """Commands that arrived, oldest first, waiting up to `timeout` seconds for the first. Call it in every turn."""
        deadline = time.monotonic() + timeout
        self._progress += 1
        while not self._commands and not self._closed and (left := deadline - time.monotonic()) > 0:
            self._arrived.wait(min(left, WATCH_SECONDS))
            self._progress += 1
        self._arrived.clear()
        return [self._commands.popleft() for _ in range(len(self._commands))]

    def flush(self) -> None:
        """Wait, 2 s at most, until everything has been sent to the parent."""
        deadline = time.monotonic() + FLUSH_SECONDS
        while self._outbox and time.monotonic() < deadline:
            time.sleep(0.01)
            with self._outbox_lock:
                self._write()

    def _write(self) -> None:
        """Write what the pipe accepts now; the caller holds the lock."""
        try:
            while self._outbox:
                del self._outbox[: os.write(self._messages, self._outbox)]
        except BlockingIOError:
            return  # The pipe is full; the watchdog tries again.
        except BrokenPipeError:
            os._exit(ORPHANED)

    def _watch(self) -> None:
        stdin = select.poll()
        stdin.register(STDIN, select.POLLIN)
        next_beat = 0.0
        while os.getppid() == self._parent:
            if stdin.poll(WATCH_SECONDS * 1000):
                received = os.read(STDIN, 1 << 16)
                if not received:
                    break
                self._inbox += received
                self._take_lines()
            now = time.monotonic()
            if now >= next_beat:
                next_beat = now + WATCH_SECONDS
                self.send({"type": "BEAT", "progress": self._progress})
        os._exit(ORPHANED)

    def _take_lines(self) -> None:
        *lines, rest = self._inbox.split(b"\n")
        self._inbox = rest
        for line in lines:
            command = json.loads(line)
            if command["type"] == "STOP":
                self._closed = True
            else:
                self._commands.append(command)
        if lines:
            self._arrived.set()


def main(role: str, parent: int) -> int:
    """Runs one role to its end and returns the exit status: 0, or 1 after a FAILED message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # The supervisor started us with it blocked.
    die_with_parent(parent)
    if os.nice(0) < NICENESS:
        os.nice(NICENESS - os.nice(0))
    line, unread = _first_line()
    settings = json.loads(line)
    channel = Channel(settings["messages"], parent, unread)
    try:
        if settings.get("home"):
            look_in(settings["home"])
        function = resolve(role)
        blocks = {name: SharedBlock.attach(fd, nbytes) for name, (fd, nbytes) in settings["blocks"].items()}
        function(channel, settings["config"], blocks)
        return 0
    except Exception as error:
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        channel.send({"type": "FAILED", "error": sentence, "traceback": traceback.format_exc()})
        return 1
    finally:
        channel.flush()


def role(function: Role) -> Role:
    """Mark a function as a role that child processes can run."""
    function.__dshq_role__ = True  # type: ignore[attr-defined]
    return function


def resolve(name: str) -> Callable[..., None]:
    """The role that "module:function" names. Raises ValueError if it is not marked with `@role`."""
    if not ROLE.fullmatch(name):
        raise ValueError(f'a role is named "module:function", not "{name}"')
    module, function = name.split(":")
    found = getattr(importlib.import_module(module), function)
    if not getattr(found, "__dshq_role__", False):
        raise ValueError(f'"{name}" is not a role: mark the function with @role (dshq_widget/runtime/process.py)')
    return found


def die_with_parent(parent: int) -> None:
    """End this process once its parent, `parent`, ends, or at once if it has ended already. Only Linux has the signal;
    elsewhere only the second part is done.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # The parent died before the line above.
        os._exit(ORPHANED)


def _first_line() -> tuple[bytes, bytes]:
    """The configuration line, and the bytes after it."""
    received = bytearray()
    while b"\n" not in received:
        piece = os.read(STDIN, 1 << 16)
        if not piece:
            os._exit(ORPHANED)
        received += piece
    line, _, rest = received.partition(b"\n")
    return bytes(line), bytes(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
