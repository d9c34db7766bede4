"""The child's side of a supervised process: `python -m dshq_widget.runtime.process ROLE PARENT_PID`.

A role is a function marked with `@role`, named "module:function" and called as `function(channel, config, blocks)`: its
`Channel` to the parent, a dict of settings and a dict of `SharedBlock`s. Its configuration is one JSON line on stdin,
`{"blocks": {name: [where, nbytes]}, "config": {...}, "home": folder}`, where the parent found the role's module in that
folder; further lines are commands. It sends JSON lines through what was its stdout: what is printed goes to stderr, so
that stray prints do not interfere.

A child never outlives its parent, by three independent means: what the system has for it (`system.processes`), a
watchdog thread that asks twice a second whether the parent lives, and the end of stdin. It ignores SIGINT, which a
notebook's interrupt sends to the whole process group, and SIGTERM and SIGHUP, of which the parent makes an end that
saves first. It runs at lower priority than the notebook.
"""

import importlib
import io
import json
import os
import re
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.own_modules import look_in
from dshq_widget.runtime.words import MOST_SAID, said
from dshq_widget.system import priority, processes
from dshq_widget.system.outbox import Outbox

Role = TypeVar("Role", bound=Callable[..., None])
ROLE = re.compile(r"[a-z_]\w*(\.\w+)*:\w+")
STDIN, STDOUT, STDERR = 0, 1, 2
WATCH_SECONDS = 0.5
NICENESS = 10
OUTBOX_BYTES = 1 << 20
WAITING_BYTES = 1 << 20
"""Commands that may wait for the main loop; what comes then stays with the parent, which counts it."""
FLUSH_SECONDS = 2.0
MOST_TRACED = 100_000
"""Letters of a traceback's end: it has to fit into a message, too. Of each part of it there are `MOST_SAID` at most."""
ORPHANED = 3  # exit status
FINISHED = 86
"""The exit status of a role that has returned. Not 0: somebody else's code may end the process with that."""


class Channel:
    """JSON messages to the parent through the descriptor `messages`, and commands from it.

    `send` and `poll` belong to the role's main loop. One thread reads commands, one writes messages, and a watchdog
    sends a BEAT twice a second; each ends the process when the parent is gone. A BEAT carries how often the main loop
    has polled, which reveals a stuck loop.
    """

    def __init__(self, messages: int, parent: int, unread: bytes = b""):
        self.dropped = 0  # messages dropped because the parent did not read for too long
        self._outbox = Outbox(io.FileIO(messages, "w"), lambda: os._exit(ORPHANED))
        self._parent = processes.Parent(parent)
        self._inbox = bytearray(unread)
        self._commands: deque[tuple[int, dict[str, Any]]] = deque()  # bytes, and the command
        self._came = self._gone = 0  # bytes, each counted by one thread
        self._arrived, self._taken = threading.Event(), threading.Event()
        self._closed = False
        self._progress = 0
        self._take_lines()
        threading.Thread(target=self._listen, name="dshq-commands", daemon=True).start()
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
        if self._outbox.waiting + len(line) > OUTBOX_BYTES:
            self.dropped += 1
            return False
        self._outbox.put(line)
        return True

    def poll(self, timeout: float = 0.0) -> list[dict[str, Any]]:
        """Commands that arrived, oldest first, waiting up to `timeout` seconds for the first. Call it in every turn."""
        deadline = time.monotonic() + timeout
        self._progress += 1
        while not self._commands and not self._closed and (left := deadline - time.monotonic()) > 0:
            self._arrived.wait(min(left, WATCH_SECONDS))
            self._progress += 1
        self._arrived.clear()
        found = [self._commands.popleft() for _ in range(len(self._commands))]
        self._gone += sum(nbytes for nbytes, _ in found)
        self._taken.set()
        return [command for _, command in found]

    def flush(self) -> None:
        """Wait, 2 s at most, until everything has been sent to the parent."""
        self._outbox.flush(FLUSH_SECONDS)

    def _listen(self) -> None:
        while received := os.read(STDIN, 1 << 16):
            self._inbox += received
            self._take_lines()
            while self._came - self._gone > WAITING_BYTES:
                self._taken.wait()
                self._taken.clear()
        os._exit(ORPHANED)

    def _watch(self) -> None:
        while self._parent.lives():
            self.send({"type": "BEAT", "progress": self._progress})
            time.sleep(WATCH_SECONDS)
        os._exit(ORPHANED)

    def _take_lines(self) -> None:
        *lines, rest = self._inbox.split(b"\n")
        self._inbox = rest
        for line in lines:
            command = json.loads(line)
            if command["type"] == "STOP":
                self._closed = True
            else:
                self._came += len(line)
                self._commands.append((len(line), command))
        if lines:
            self._arrived.set()


def main(role: str, parent: int) -> int:
    """Runs one role to its end and returns the exit status: FINISHED, or 1 after a FAILED message."""
    processes.ignore_interrupts()
    processes.die_with(parent, ORPHANED)
    priority.step_aside(NICENESS)
    messages = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    line, unread = _first_line()
    settings = json.loads(line)
    channel = Channel(messages, parent, unread)

    def work() -> None:
        if settings.get("home"):
            look_in(settings["home"])
        function = resolve(role)
        blocks = {name: SharedBlock.attach(where, nbytes) for name, (where, nbytes) in settings["blocks"].items()}
        function(channel, settings["config"], blocks)

    try:
        return ended(channel, work)
    finally:
        channel.flush()


class ElsewhereError(Exception):
    """A role cannot continue, and the fault is not its own: the parent hears this sentence, without a traceback."""


def ended(channel: Channel, work: Callable[[], None]) -> int:
    """Do the work of a role; its exit status. `sys.exit`, of somebody else's code, is a failure like any other: a role
    that has done its work returns.
    """
    try:
        work()
        return FINISHED
    except ElsewhereError as error:
        channel.send({"type": "FAILED", "error": str(error), "traceback": ""})
    except (Exception, SystemExit) as error:
        channel.send({"type": "FAILED", "error": said(error), "traceback": traced(error)})
    return 1


def traced(error: BaseException) -> str:
    """The traceback as Python prints it, of bounded length."""
    parts = (part.rstrip("\n")[:MOST_SAID] for part in traceback.format_exception(error))
    return "\n".join(parts)[-MOST_TRACED:] + "\n"


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
    imported = importlib.import_module("dshq_widget.runtime.process")  # its ElsewhereError, not the one of __main__
    sys.exit(imported.main(sys.argv[1], int(sys.argv[2])))
