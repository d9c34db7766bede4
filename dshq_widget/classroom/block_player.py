"""A process that plays blocks of the league, so that no network can hold the service up: `BlockPlayer` starts it, gives
it one block at a time and ends it when a deadline has passed. `python -m dshq_widget.classroom.block_player` is the
process: a job as one line of JSON in, its outcome as one line out. It ends with its standard input.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from dshq_kernels.backends.own_python import own_python
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.runtime.variables import without_secrets
from dshq_widget.runtime.words import said
from dshq_widget.system import processes
from dshq_widget.system.pids import used

BLOCK_SECONDS = 120.0
"""Longest time of a block, of a processor: that others take it, or that somebody stops the service or the machine for a
while, is no network's fault. Blocks of the largest networks take seconds.
"""
READY_SECONDS = 1200.0
"""Longest time on the clock, of a block and until a process has played one of random play against itself: without the
package's machine code it compiles the drill's first, which no network is to blame for.
"""
LOOK_SECONDS = 0.5
"""How often it is asked how long a process had a processor."""


class TooSlow(Exception):
    """The process did not answer within its time, or ended twice."""


class _Ended(Exception):
    """The process ended, for want of memory, or because somebody ended it; or its answer is to another question."""


class BlockPlayer:
    """The parent's end; used by one thread."""

    def __init__(self, seconds: float = BLOCK_SECONDS) -> None:
        self._seconds, self._asked = seconds, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._ready = set[str]()
        """Drills of which the process has played a block."""
        self._stopped, self._starting = False, threading.Lock()

    def play(self, job: dict[str, Any]) -> dict[str, Any]:
        """The outcome of a block as `outcome_of` writes it. Raises TooSlow; and LeagueError for what the process
        raised, for one that plays no block at all, and after `stop`.
        """
        for _ in range(2):
            try:
                process = self._started()
                self._make_ready(process, job["drill"])
                answer = self._ask(process, job, self._seconds)
            except (_Ended, BrokenPipeError):
                ready = job["drill"] in self._ready
                self._end()
                continue
            except BaseException:  # an answer that is still on its way would be taken for the next block's
                self._end()
                raise
            if "error" in answer:
                raise LeagueError(answer["error"])
            return answer
        if not ready:
            raise LeagueError("the process that plays blocks ended twice before its first block")
        raise TooSlow("its process ended twice")

    def _make_ready(self, process: subprocess.Popen[bytes], drill: str) -> None:
        """Have the process play a block that counts for nobody, so that the time of the first one is its own."""
        if drill in self._ready:
            return
        answer = self._ask(process, {"drill": drill, "ready": True}, math.inf)
        if "error" in answer:
            raise LeagueError(answer["error"])
        self._ready.add(drill)

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:  # or `stop` could miss a process that is being started
            if self._stopped:
                raise LeagueError("the service is stopping")
            if self._process is None:
                command = own_python("-m", "dshq_widget.classroom.block_player")
                environment, pipe = without_secrets(os.environ), subprocess.PIPE
                # a group of its own: Ctrl-C ends the service, and no block that is being played
                self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, **processes.GROUP)
                self._answers = queue.SimpleQueue()
                threading.Thread(target=_read, args=(self._process, self._answers.put), daemon=True).start()
            return self._process

    def _ask(self, process: subprocess.Popen[bytes], job: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert process.stdin is not None
        self._asked += 1
        process.stdin.write(json.dumps({**job, "number": self._asked}).encode() + b"\n")
        process.stdin.flush()
        answer = self._heard(process, seconds)
        if not answer.endswith(b"\n"):
            raise _Ended
        try:
            found = json.loads(answer)
            if found.pop("number") == self._asked:
                return dict(found)
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        raise _Ended  # it says what it was not asked for

    def _heard(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """The next line that it says. Raises TooSlow where it has had a processor for `seconds`, LeagueError where
        it had none.
        """
        began, had = time.monotonic(), used(process.pid)
        while True:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=min(LOOK_SECONDS, READY_SECONDS))
            if used(process.pid) - had >= seconds:
                raise TooSlow(f"it took more than {seconds:g} s of a processor")
            if time.monotonic() - began > READY_SECONDS:
                raise LeagueError(
                    f"the process that plays blocks did not answer within {READY_SECONDS:g} s: the machine is too busy"
                )

    def stop(self) -> None:
        """End the process, whatever it does, and start none any more. From any thread; twice is fine."""
        with self._starting:
            self._stopped, process = True, self._process
        if process is not None:
            process.kill()
            process.wait()

    def _end(self) -> None:
        process, self._process = self._process, None
        self._ready.clear()
        if process is not None:
            process.kill()
            process.wait()
            with contextlib.suppress(BrokenPipeError):  # what it has not read
                process.stdin.close()  # type: ignore[union-attr]


def _read(process: subprocess.Popen[bytes], put: Callable[[bytes], object]) -> None:
    """Hand on each line that the process writes, and whatever follows the last one at its end."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            put(line)
    put(b"")


def outcome_of(job: dict[str, Any]) -> dict[str, Any]:
    """Play the block of a job: `drill`, `seed`, `digests`, and `pair`, each entry by its `name` or `content`, the
    base64 of a `.dshq` file. Returns wins, draws and losses of the first, and a game as gzipped JSON in base64.
    """
    from dshq_widget.classroom import rounds

    pair = [rounds.player_of(job["drill"], each["name"], _content(each)) for each in job["pair"]]
    wins, draws, losses, replay = rounds.played(rounds.drill_of(job["drill"]), pair, job["seed"], tuple(job["digests"]))
    return {"wins": wins, "draws": draws, "losses": losses, "replay": base64.b64encode(replay).decode()}


def get_ready(drill: str) -> dict[str, Any]:
    """Play a block of random play against itself, which imports and compiles all that a block needs."""
    pair = [{"name": "random", "content": None}] * 2
    outcome_of({"drill": drill, "seed": 0, "digests": ["random", "random"], "pair": pair})
    return {}


def _content(each: dict[str, Any]) -> bytes | None:
    return None if each["content"] is None else base64.b64decode(each["content"])


def main() -> None:
    """Play until standard input ends; then end at once, also in mid-block."""
    jobs: queue.Queue[bytes] = queue.Queue()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer

    def listen() -> None:
        for line in sys.stdin.buffer:
            jobs.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        job = json.loads(jobs.get())
        try:
            answer = get_ready(job["drill"]) if job.get("ready") else outcome_of(job)
        except Exception as error:  # the referee shows it to the instructor
            answer = {"error": said(error)}
        answers.write(json.dumps({**answer, "number": job["number"]}).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
