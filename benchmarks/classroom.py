"""A class on one machine: 1, 2, 4 and 8 students train the Ball Drill at once, each in a kernel held to half a
processor. Eight halves are four: on two processors each gets a quarter.

`python -m benchmarks.classroom` writes benchmarks/results/classroom-*.json. A student is a real kernel with a widget,
and a protocol client in place of a browser: it acknowledges what it gets, and twice a second says how the show is and
measures a round trip (HELLO to HISTORY: the page's message through the kernel's thread and back). Drawing costs a
student's own machine, not the server, and is left out. The clients run outside the shares, on the same processors.
Memory is the proportional set size of the kernel and its learner at the end; the single-user server beside them is
measured once.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.classroom.hub.share import Share

CPU = 0.5
START_SECONDS = 300.0
ROUND_TRIP_SECONDS = 0.5
CODE = "from dshq_widget import DrillWidget; w = DrillWidget('ball', seed={seed}); display(w)"


def proportional_megabytes(process: psutil.Process) -> float:
    """Of the process and its descendants, memory that several share divided among them; those that just ended count
    nothing.
    """
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
            continue
    return total / 1e6


class Student:
    """One kernel in its share, and the client that stands for a page."""

    def __init__(self, number: int, cpu: float) -> None:
        self.share = Share(f"bench-{number}", cpu)
        self.manager = KernelManager()
        self.manager.start_kernel(env={**os.environ, "CPU_LIMIT": str(cpu), "DSHQ_TRAINING_MINUTES": "30"})
        self.process = psutil.Process(self.manager.provisioner.process.pid)  # type: ignore[union-attr]
        self.share.join(self.process.pid)
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=START_SECONDS)
        self.comm, self.seq, self.status = "", 0, "idle"
        self.metrics: dict[str, Any] = {}
        self.metrics_at = 0.0
        self.delays: list[float] = []
        self._asked: float | None = None
        self._speaking = threading.Lock()
        self._over = threading.Event()
        self.client.execute(CODE.format(seed=number), store_history=False)
        self._thread = threading.Thread(target=self._page, daemon=True)
        self._thread.start()

    def say(self, kind: str, **fields: Any) -> None:
        """A custom message, as the page sends it."""
        data = {"method": "custom", "content": {"type": kind, **fields}}
        message = self.client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        with self._speaking:  # sockets are for one thread at a time
            self.client.shell_channel.send(message)

    def _page(self) -> None:
        told = 0.0
        while not self._over.is_set():
            with contextlib.suppress(queue.Empty):
                self._hear(self.client.get_iopub_msg(timeout=0.05))
            now = time.monotonic()
            if not self.comm or now - told < ROUND_TRIP_SECONDS:
                continue
            told = now
            state = {"fps": 60, "renderer": "none", "tick": 0, "score": [0, 0], "version": 0, "visible": True}
            self.say("PAGE_STATE", **state)
            if self._asked is None:
                self._asked = time.monotonic()
                self.say("HELLO", seq=self.seq)

    def _hear(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind == "comm_open" and "drill" in content["data"].get("state", {}):
            self.comm = content["comm_id"]
        elif kind == "comm_msg" and content["comm_id"] == self.comm:
            data = content["data"]
            if data["method"] == "custom" and data["content"]["type"] == "HISTORY" and self._asked is not None:
                self.delays.append(time.monotonic() - self._asked)
                self._asked = None
            elif data["method"] == "update":
                self._learn(data["state"])
        elif kind == "error":
            raise RuntimeError("\n".join(content["traceback"]))

    def _learn(self, state: dict[str, Any]) -> None:
        self.status = state.get("status", self.status)
        if "metrics" in state:
            self.metrics, self.metrics_at = state["metrics"], time.monotonic()
        if "seq" in state:
            self.seq = state["seq"]
            self.say("ACK", seq=self.seq)

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.share.close()


def until(good: Any, what: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not good():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {START_SECONDS:g} s for {what}")
        time.sleep(0.1)


def measure(count: int, seconds: float) -> dict[str, Any]:
    """So many students at once."""
    began = time.monotonic()
    students = [Student(number, CPU) for number in range(count)]
    try:
        until(lambda: all(student.comm for student in students), "widgets")
        for student in students:
            student.say("START_TRAINING")
        until(lambda: all(student.metrics.get("agent_steps") for student in students), "training")
        started = time.monotonic() - began
        for student in students:
            student.delays.clear()
        before = [(student.metrics["agent_steps"], student.metrics_at) for student in students]
        time.sleep(seconds)
        rates = [
            (student.metrics["agent_steps"] - steps) / (student.metrics_at - at)
            for student, (steps, at) in zip(students, before, strict=True)
        ]
        delays = sorted(delay for student in students for delay in student.delays)
        memory = [proportional_megabytes(student.process) for student in students]
        return {
            "students": count,
            "share": students[0].share.kind,
            "agent_steps_per_second": {"min": min(rates), "median": statistics.median(rates), "sum": sum(rates)},
            "round_trip_ms": {
                "median": 1000 * statistics.median(delays),
                "p95": 1000 * delays[int(0.95 * (len(delays) - 1))],
                "count": len(delays),
            },
            "megabytes_each": {"median": statistics.median(memory), "max": max(memory)},
            "win_rate_random": statistics.median(student.metrics.get("win_rate_random", 0.0) for student in students),
            "seconds_to_training": started,
        }
    finally:
        for student in students:
            student.close()


def server_megabytes() -> float:
    """A single-user server with nothing open."""
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.port=0", "--allow-root"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        time.sleep(10)
        found = proportional_megabytes(psutil.Process(server.pid))
        server.terminate()
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--students", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for count in arguments.students:
        rows.append(measure(count, arguments.seconds))
        print(json.dumps(rows[-1]), flush=True)
    server = server_megabytes()
    print(f"single-user server: {server:.0f} MB", flush=True)
    write("classroom", {"cpu_each": CPU, "server_megabytes": server, "rows": rows})


if __name__ == "__main__":
    main()
