"""The parent's side of supervised processes: one thread that starts, reads, watches, replaces and ends them.

It must be one thread that lives as long as the session, because Linux ends a child with the *thread* that started it
(system/posix/processes.py). Every method may be called from any thread and returns at
once, unless it says otherwise. Callbacks run on the supervisor's thread: they should be short.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import io
import json
import logging
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import FINISHED
from dshq_widget.runtime.variables import named_libraries
from dshq_widget.runtime.words import reason_of
from dshq_widget.system import processes
from dshq_widget.system.board import Board
from dshq_widget.system.pids import used

TURN_SECONDS = 0.25
REAP_SECONDS = 2.0  # to hear of the end of those that were killed
START_GRACE_SECONDS = 15.0  # an interpreter on a slow disk
SILENT_SECONDS = 3.0  # six missed beats
BEATING_SECONDS = 0.02
"""Processor time that three beats take at most, in ticks of a clock of 10 ms (Linux) or 16 ms (Windows); measured: 2 ms
a second.
"""
TAIL_BYTES = 16_384
INBOX_BYTES = 64 << 20  # commands queued for a child that does not read
STOP = b'{"type":"STOP"}\n'
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
WAITING = {"OMP_WAIT_POLICY": "passive"}
"""Threads of torch that wait for one another sleep. Else they spin, and where others use the processors too, nearly all
of the time goes into that.
"""

KILLED = -9
"""The status of a child that was killed, where there are signals."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Restart:
    """Replace a child that ends unexpectedly; its unread commands are lost."""

    limit: int = 5
    """Replacements allowed within `window`; one more ends the child for good."""
    window: float = 60.0
    """Seconds."""


@dataclass(frozen=True)
class Exit:
    """How one process of a child ended."""

    status: int | None
    """Exit status, FINISHED when its role returned, negative for a signal; None when it could not be started."""
    expected: bool
    """Whether it was asked to stop, or finished its role."""
    restarting: bool
    """Whether a replacement is being started under the same handle."""
    error: str
    """One sentence; empty when expected."""
    traceback: str
    """Python traceback that the child sent, or empty."""
    tail: str
    """The last 16 kB that the child printed."""


class Child:
    """Handle of one supervised role; it survives replacements (`generation` counts them)."""

    def __init__(
        self,
        supervisor: Supervisor,
        role: str,
        config: dict[str, Any],
        blocks: Mapping[str, SharedBlock],
        on_message: Callable[[Child, dict[str, Any]], None] | None,
        on_exit: Callable[[Child, Exit], None] | None,
        threads: int,
        restart: Restart | None,
        stuck_seconds: float,
    ) -> None:
        self.role = role
        self.generation = 0
        self.health = "starting"
        self._supervisor = supervisor
        self._config, self._blocks, self._threads = config, blocks, threads
        self._on_message, self._on_exit = on_message, on_exit
        self._restart = restart
        self._restarts: deque[float] = deque()  # times
        self._stuck_seconds = stuck_seconds
        self._run: _Run | None = None
        self._stopping = False
        self._killed_at = math.inf  # of time.monotonic(), if it does not stop
        self._over = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether its process, or a replacement, is running or starting."""
        return not self._over.is_set()

    @property
    def pid(self) -> int | None:
        """Id of its current process; None before the first and after the last."""
        run = self._run
        return run.process.pid if run else None

    @property
    def progress(self) -> int:
        """How often its main loop has polled, as of the last beat."""
        run = self._run
        return run.progress if run else 0

    def send(self, message: dict[str, Any]) -> None:
        """Queue a JSON-able command with a `type`; it is dropped if the child has ended."""
        self._supervisor._ask(self._queue, json.dumps(message).encode() + b"\n")

    def amend(self, changes: dict[str, Any]) -> None:
        """Change the configuration of a process that replaces this one."""
        self._config = {**self._config, **json.loads(json.dumps(changes))}

    def stop(self, timeout: float = 3.0) -> None:
        """Asks for the end; kills it after `timeout` seconds. A second call may shorten that. Does not wait: see
        `join`.
        """
        self._supervisor._ask(self._stop, timeout)

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the child is over; False when it is not after `timeout` seconds. Not for callbacks."""
        return self._over.wait(timeout)

    # What follows runs on the supervisor's thread.

    def _start(self) -> None:
        self.health = "starting"
        config = {**self._config, "generation": self.generation}
        try:
            self._run = _Run(self._supervisor, self.role, config, self._blocks, self._threads, self._hear)
        except Exception as error:  # no memory or no thread for it, too: whoever waits for it hears why
            text = f"{self.role} could not be started: {reason_of(error)}"
            self._end(Exit(None, False, False, text, "", ""))

    def _queue(self, line: bytes) -> None:
        if self._run:
            self._run.queue(line)

    def _hear(self, message: dict[str, Any]) -> None:
        self._supervisor._safely(self._on_message, self, message)

    def _stop(self, timeout: float) -> None:
        if self._run is None:
            return
        if not self._stopping:
            self._run.queue(STOP)
        self._stopping = True
        self._killed_at = min(self._killed_at, time.monotonic() + timeout)

    def _check(self) -> None:
        """Called every turn: handle its end, escalate a stop, check its health."""
        run = self._run
        if run is None:
            return
        if run.process.poll() is not None:
            self._run = None
            self._reap(run)
            return
        if time.monotonic() >= self._killed_at:
            run.process.kill()
        health = run.health(self._stuck_seconds)
        if health != self.health:
            self.health = health
            self._hear({"type": "HEALTH", "health": health})

    def _reap(self, run: _Run) -> None:
        self._supervisor._safely(run.close)
        status, tail = run.process.returncode, run.tail.decode(errors="replace")
        expected = self._stopping or status == FINISHED
        error = "" if expected else run.failure.get("error") or _describe(self.role, status, tail)
        self._end(Exit(status, expected, self._may_restart(expected), error, run.failure.get("traceback", ""), tail))

    def _may_restart(self, expected: bool) -> bool:
        if expected or self._restart is None:
            return False
        while self._restarts and time.monotonic() - self._restarts[0] > self._restart.window:
            self._restarts.popleft()
        return len(self._restarts) < self._restart.limit

    def _end(self, end: Exit) -> None:
        if end.restarting:
            self._restarts.append(time.monotonic())
            self.generation += 1
            self._supervisor._safely(self._on_exit, self, end)
            self._start()
            return
        self.health = "over"
        self._supervisor._children.discard(self)
        self._supervisor._safely(self._on_exit, self, end)
        self._over.set()


class _Run:
    """One process of a child, with its three pipes; lives on the supervisor's thread."""

    def __init__(
        self,
        supervisor: Supervisor,
        role: str,
        config: dict[str, Any],
        blocks: Mapping[str, SharedBlock],
        threads: int,
        on_message: Callable[[dict[str, Any]], None],
    ) -> None:
        self.last_beat = self._last_progress = time.monotonic()
        self.progress = 0
        self._used = 0.0  # processor seconds at the last progress
        self.failure: dict[str, Any] = {}  # its FAILED message
        self.tail = bytearray()  # the end of what it printed
        self._supervisor = supervisor
        self._on_message = on_message
        self._beaten = False
        self._partial = bytearray()  # of a message
        self._drops = False  # commands, since too many wait
        places = {name: [block.where, block.nbytes] for name, block in blocks.items()}
        self.process = processes.start(
            ["-P", "-m", "dshq_widget.runtime.process", role, str(os.getpid())],
            _environment(threads),
            [where for where, _ in places.values()],
        )
        try:
            self._connect({"blocks": places, "config": config, "home": _home_of(role)})
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _connect(self, given: Mapping[str, Any]) -> None:
        """Watch its pipes, and send its configuration."""
        pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        commands, messages, output = (cast(io.FileIO, pipe) for pipe in pipes)  # without buffers
        self._pulse = processes.Pulse(self.process.pid)
        board = self._supervisor._board
        self._commands = board.sink(commands)
        self._messages = board.source(messages, self._hear)
        self._output = board.source(output, self._overhear)
        self.queue(json.dumps(given).encode() + b"\n")

    def health(self, stuck_seconds: float) -> str:
        now = time.monotonic()
        if now - self.last_beat > (SILENT_SECONDS if self._beaten else START_GRACE_SECONDS):
            return "slow" if self._pulse.beats() else "silent"
        if now - self._last_progress > stuck_seconds and self.progress:
            waits = self._pulse.beats(BEATING_SECONDS) and used(self.process.pid) - self._used < stuck_seconds
            return "slow" if waits else "stuck"
        return "running" if self.progress else "starting"

    def queue(self, line: bytes) -> None:
        """Send a command, unless too much waits already; STOP is always sent."""
        if line != STOP and self._commands.waiting + len(line) > INBOX_BYTES:
            if not self._drops:
                log.error("process %d does not read its commands; more of them are dropped", self.process.pid)
            self._drops = True
            return
        self._commands.put(line)

    def close(self) -> None:
        """Read what the dead process left in its pipes and close them."""
        self._commands.close()
        self._take(self._messages.last())
        self._keep(self._output.last())

    def _hear(self) -> None:
        self._take(self._messages.take())

    def _take(self, received: bytes) -> None:
        self._partial += received
        *lines, rest = bytes(self._partial).split(b"\n")
        self._partial[:] = rest
        for line in lines:
            if not line.startswith(b"{"):  # printed before it was a role
                self._keep(line + b"\n")
                continue
            message = json.loads(line)
            if message["type"] == "BEAT":
                self._beat(message["progress"])
                continue
            if message["type"] == "FAILED":
                self.failure = message
            self._on_message(message)

    def _beat(self, progress: int) -> None:
        self._beaten = True
        self.last_beat = time.monotonic()
        if progress != self.progress:
            self.progress, self._last_progress = progress, self.last_beat
            self._used = used(self.process.pid)

    def _overhear(self) -> None:
        self._keep(self._output.take())

    def _keep(self, printed: bytes) -> None:
        self.tail += printed
        del self.tail[:-TAIL_BYTES]


class Supervisor:
    """Starts children and supervises them until `close`, or until this process ends."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._requests: SimpleQueue[Any] = SimpleQueue()
        self._board = Board()
        self._children: set[Child] = set()
        self._closing = False
        self._gate = threading.Lock()  # no requests are accepted after the request to close
        self._thread = threading.Thread(target=self._run, name="dshq-supervisor", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def start(
        self,
        role: str,
        config: dict[str, Any] | None = None,
        blocks: Mapping[str, SharedBlock] | None = None,
        on_message: Callable[[Child, dict[str, Any]], None] | None = None,
        on_exit: Callable[[Child, Exit], None] | None = None,
        threads: int = 1,
        restart: Restart | None = None,
        stuck_seconds: float = 4.0,
    ) -> Child:
        """Starts `role` ("dshq_widget.module:function") with a JSON-able `config`, to which `generation` is added.

        `blocks` stay open while the child lives. `on_message(child, message)` gets every message but BEATs, and HEALTH
        {health} when it changes: "starting", "running", "stuck" (its loop has not polled for `stuck_seconds`), "silent"
        (no beat for 3 s), "slow" (either of them, but it runs or waits for a processor, and has had too little of one).
        `on_exit(child, exit)` is called whenever a process of it ends. `threads` sets the libraries' thread counts.

        Raises RuntimeError after `close` or in a forked copy of the process, TypeError for a `config` that is not JSON.
        """
        config = json.loads(json.dumps(config or {}))  # a copy; errors are raised to the caller
        child = Child(self, role, config, blocks or {}, on_message, on_exit, threads, restart, stuck_seconds)
        if not self._ask(self._adopt, child):
            raise RuntimeError(f"this supervisor is closed and cannot start {role}; make a new Supervisor")
        return child

    def close(self, timeout: float = 3.0) -> None:
        """Stops all children as `Child.stop` does and waits until they are gone. Closing twice is fine."""
        if os.getpid() != self._owner:  # In a forked copy the children are not ours.
            return
        self._ask(self._begin_close, timeout, last=True)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout + REAP_SECONDS)
        atexit.unregister(self.close)

    def _ask(self, function: Callable[..., Any], *arguments: Any, last: bool = False) -> bool:
        """Call `function` on the supervisor's thread; False if it is closed, RuntimeError in a forked copy."""
        if os.getpid() != self._owner:
            raise RuntimeError("this is a fork of the process that owns the supervisor; make a new Supervisor here")
        with self._gate:
            if self._closing:
                return False
            self._closing = last
            self._requests.put((function, arguments))
            self._board.wake()
        return True

    # What follows runs on the supervisor's thread.

    def _run(self) -> None:
        processes.keep_interrupts_away()
        while self._children or not self._closing or not self._requests.empty():
            for ready in self._board.wait(TURN_SECONDS if self._children or self._closing else None):
                self._safely(ready)
            self._answer()
            for child in list(self._children):
                self._safely(child._check)
        self._board.close()

    def _answer(self) -> None:
        """Do what was asked for."""
        while True:
            try:
                function, arguments = self._requests.get_nowait()
            except Empty:
                return
            self._safely(function, *arguments)

    def _adopt(self, child: Child) -> None:
        self._children.add(child)
        child._start()

    def _begin_close(self, timeout: float) -> None:
        for child in list(self._children):
            child._stop(timeout)

    def _safely(self, function: Callable[..., Any] | None, *arguments: Any) -> None:
        """Call it; an exception is logged and does not end the thread, because that would kill every child."""
        if function is None:
            return
        try:
            function(*arguments)
        except (Exception, SystemExit):
            log.exception("a supervisor callback failed: %r", function)


@functools.cache
def _import_roots() -> list[str]:
    """Where this process found the project's packages, so that a child imports the same ones."""
    specs = [importlib.util.find_spec(name) for name in ("dshq_widget", "dshq_kernels")]
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin]


def _home_of(role: str) -> str:
    """The folder in which this process found the module of a role, so that a child finds one of the user's own, too; ""
    if it did not import it.
    """
    module = role.partition(":")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    return str(Path(file).absolute().parents[module.count(".")]) if file else ""


def _environment(threads: int) -> dict[str, str]:
    roots = [root for root in _import_roots() if Path(root).name not in ("site-packages", "dist-packages")]
    paths = [*roots, *filter(None, [os.environ.get("PYTHONPATH")])]
    counts = dict.fromkeys(THREAD_VARIABLES, str(threads))
    return {
        **WAITING,
        **named_libraries(os.environ),
        **counts,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONFAULTHANDLER": "1",
    }


def _describe(role: str, status: int, tail: str) -> str:
    if status < 0:
        hint = "; a common cause is that the system ran out of memory" if status == KILLED else ""
        return f"{role} was killed by signal {-status} ({signal.strsignal(-status)}){hint}"
    last = tail.strip().splitlines()[-1:] or ["it printed nothing"]
    hint = " before its work was done, as os._exit(0) in somebody's code does" if status == 0 else ""
    return f"{role} ended with status {status}{hint}: {last[0]}"


@functools.cache
def supervisor(pid: int) -> Supervisor:
    """The one supervisor of this process; a forked copy, which has another `pid`, gets its own."""
    return Supervisor()
