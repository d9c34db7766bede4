"""Learners and rollout workers as threads of this process, which cost no second of a processor to start."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

import pytest

from dshq_widget.runtime import process, supervisor
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.priority import Priority

PATIENCE = 120.0
"""Seconds that a role which was told to stop may take."""


class ThreadChannel:
    """What `process.Channel` is to a role: messages to the parent and commands from it."""

    def __init__(self, told: Callable[[], object]):
        self.dropped = 0
        self.progress = 0
        self.messages: deque[dict] = deque()
        self._told = told
        self._commands: deque[dict] = deque()
        self._arrived = threading.Event()
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def send(self, message: dict) -> bool:
        line = json.dumps(message, separators=(",", ":"))
        if len(line) >= process.OUTBOX_BYTES:
            raise ValueError(f"a message has at most {process.OUTBOX_BYTES:,} bytes, not {len(line) + 1:,}")
        self.messages.append(json.loads(line))
        self._told()
        return True

    def poll(self, timeout: float = 0.0) -> list[dict]:
        deadline = time.monotonic() + timeout
        self.progress += 1
        while not self._commands and not self._closed and (left := deadline - time.monotonic()) > 0:
            self._arrived.wait(left)
        self._arrived.clear()
        return [self._commands.popleft() for _ in range(len(self._commands))]

    def flush(self) -> None:
        """Everything has been sent."""

    def take(self, line: bytes) -> None:
        """A command of the parent."""
        command = json.loads(line)
        if command["type"] == "STOP":
            self._closed = True
        else:
            self._commands.append(command)
        self._arrived.set()


def again(block: SharedBlock) -> SharedBlock:
    """The same memory, mapped once more, as another process would."""
    where = block.where
    return SharedBlock.attach(os.dup(where) if isinstance(where, int) else where, block.nbytes)


class RoleThread(threading.Thread):
    """A role that runs; what `subprocess.Popen` is to the supervisor."""

    def __init__(self, role: str, channel: ThreadChannel, config: dict, blocks: Mapping[str, SharedBlock]):
        super().__init__(name=f"dshq-role-{role}", daemon=True)
        self.pid = None  # a test that asks for it wants a process
        self.returncode: int | None = None
        self._role, self._channel, self._config = role, channel, config
        self._blocks = {name: again(block) for name, block in blocks.items()}

    def run(self) -> None:
        def work() -> None:
            process.resolve(self._role)(self._channel, self._config, self._blocks)

        try:
            self.returncode = process.ended(self._channel, work)
        finally:
            for block in self._blocks.values():
                block.close()

    def poll(self) -> int | None:
        """The exit status, once it has ended."""
        return None if self.is_alive() else self.returncode

    def terminate(self) -> None:
        """A thread cannot be killed: it has been told to stop, and the test fails if it does not."""

    kill = terminate


class ThreadRun:
    """What `supervisor._Run` is to a child: one run of its role."""

    def __init__(self, owner, role, config, blocks, threads, on_message):
        self.failure: dict = {}
        self.tail = bytearray()
        self._on_message = on_message
        self._channel = ThreadChannel(lambda: owner._ask(self._hear))
        self.process = RoleThread(role, self._channel, json.loads(json.dumps(config)), blocks)
        with STARTING:
            RUNNING.append(self.process)
            self.process.start()

    @property
    def last_beat(self) -> float:
        return time.monotonic()

    @property
    def progress(self) -> int:
        return self._channel.progress

    def health(self, stuck_seconds: float) -> str:
        return "running" if self.progress else "starting"

    def queue(self, line: bytes) -> None:
        self._channel.take(line)

    def close(self) -> None:
        self._hear()

    def _hear(self) -> None:
        while self._channel.messages:
            message = self._channel.messages.popleft()
            if message["type"] == "FAILED":
                self.failure = message
            self._on_message(message)


RUNNING: list[RoleThread] = []
"""Those that the block in `in_threads` has started."""
STARTING = threading.Lock()
"""Held from a thread's entry there to its start, which is on the supervisor's thread."""


@contextlib.contextmanager
def in_threads() -> Iterator[None]:
    """The supervisor starts threads within the block, which have ended with it."""
    if supervisor._Run is ThreadRun:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor, "_Run", ThreadRun)
        patch.setattr(Priority, "start", lambda self: self)
        try:
            yield
        finally:
            with STARTING:
                started = list(RUNNING)
                RUNNING.clear()
            for thread in started:
                thread.join(PATIENCE)
    left = [thread.name for thread in started if thread.is_alive()]
    assert not left, f"{left} continue: close the trainer or widget that started them"


@pytest.fixture
def learners_in_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """`in_threads` for one test, unless it is marked `processes`."""
    with contextlib.nullcontext() if request.node.get_closest_marker("processes") else in_threads():
        yield
