"""How this process shares the processors: low beside a page that draws, and never so low that training starves.

Where the kernel groups processes by session (autogroup, sched(7)), `nice` means little between a notebook's kernel and
a browser. A gentle process gets a session of its own. Once a second the weight of that session's group is set by what
the process really got: lighter while it has most of a processor and others wait, heavier while it has less than
`FLOOR`. Where groups do not count, as in most containers, the weight does nothing; then its nice value is lowered, if
the system allows that.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import psutil

from dshq_widget.runtime.budget import processor_seconds
from dshq_widget.system import priority

log = logging.getLogger(__name__)

FLOOR = 0.5
"""Processors below which others take too much (contract/metrics.py, `processors`)."""
AMPLE = 0.8
"""Processors above which it can afford to be lighter."""
CONTENDED = 0.1
"""Processors that are waited for, from which on others want them, too."""
LEVELS = ((19, 10), (15, 10), (10, 10), (5, 10), (0, 10), (0, 5), (0, 0))
"""(nice of the session's group, nice of the process), the lightest first. A group of nice 10 weighs a tenth of one of
nice 0; the next 5 are three times as much (kernel/sched/core.c, sched_prio_to_weight)."""
FIRST_LEVEL = 2
LOOK_SECONDS = 1.0
REPORT_LOOKS = 3
"""Looks in a row with too little before it is reported, and looks between two reports."""
NAMED = 2
"""Most processes that a report names."""

Report = Callable[[float, dict[str, float] | None], object]
"""Called with the processors that this process has, and those that others have, by their names, as far as it may see
them; None: it has enough again."""


class Priority:
    """Looks once a second, in a thread of its own. `report` is called while others leave too little, and once when that
    is over. Only a `gentle` process changes its priority, and only where the system lets it (system/priority.py).
    """

    def __init__(self, report: Report = lambda _processors, _takers: None, *, gentle: bool) -> None:
        self.processors = 0.0
        """Processors that this process had in the last second."""
        self._report, self._gentle = report, gentle and priority.ADJUSTABLE
        self._level, self._most = FIRST_LEVEL, len(LEVELS) - 1
        self._short, self._reported = 0, False
        self._others: dict[int, tuple[str, float]] = {}

    def start(self) -> Priority:
        """Begin to look. The process leaves the notebook's process group if it is gentle: the parent-death signal and
        the watchdog end it then, not a signal to the group.
        """
        if self._gentle:
            try:
                priority.own_group()
            except OSError as error:
                self._give_up(error)
        if self._gentle:
            self._apply(FIRST_LEVEL)
        threading.Thread(target=self._keep, name="dshq-priority", daemon=True).start()
        return self

    def look(self, ran: float, waited: float) -> None:
        """Adjust the priority and report, after a second of `ran` processors and of waiting for `waited`."""
        self.processors = ran
        if self._gentle and (level := min(next_level(self._level, ran, waited), self._most)) != self._level:
            self._apply(level)
        self._short = self._short + 1 if ran < FLOOR and waited > CONTENDED else 0
        if self._short and self._short % REPORT_LOOKS == 0:
            self._report(ran, self._takers())
            self._reported = True
        elif self._reported and not self._short:
            self._report(ran, None)
            self._reported = False
        if self._short % REPORT_LOOKS == REPORT_LOOKS - 1:
            self._others = _used()

    def _keep(self) -> None:
        before, began = processor_seconds(), time.monotonic()
        while True:
            time.sleep(LOOK_SECONDS)
            after, now = processor_seconds(), time.monotonic()
            ran, waited = ((new - old) / (now - began) for new, old in zip(after, before, strict=True))
            before, began = after, now
            self.look(ran, waited)

    def _apply(self, level: int) -> None:
        """Take that level, or stay where the system does not allow it."""
        group, nice = LEVELS[level]
        now_group, now_nice = LEVELS[self._level]
        try:
            changed = group if group != now_group or level == FIRST_LEVEL else None
            priority.weigh(changed, nice if nice != now_nice else None)
        except PermissionError:  # a lower nice value needs a right that few processes have
            self._most = min(self._most, level - 1)
        except OSError as error:
            self._give_up(error)
        else:
            self._level = level

    def _give_up(self, error: OSError) -> None:
        """Keep the priority from now on: training matters more than its share."""
        self._gentle = False
        log.warning("the system refuses to change this process's priority, so it keeps the one it has: %s", error)

    def _takers(self) -> dict[str, float]:
        """Processors of the busiest other processes since the last look, by name."""
        taken: defaultdict[str, float] = defaultdict(float)
        for pid, (name, seconds) in _used().items():
            if pid != os.getpid() and pid in self._others:
                taken[name] += (seconds - self._others[pid][1]) / LOOK_SECONDS
        busiest = sorted(taken, key=lambda name: -taken[name])[:NAMED]
        return {name: taken[name] for name in busiest if taken[name] > CONTENDED}


def next_level(level: int, ran: float, waited: float) -> int:
    """The level after a second in which the process ran on `ran` processors and waited for `waited`."""
    if waited <= CONTENDED:
        return level
    if ran < FLOOR:
        return min(level + 1, len(LEVELS) - 1)
    return max(level - 1, 0) if ran > AMPLE else level


def _used() -> dict[int, tuple[str, float]]:
    """Name and processor seconds of every process that this one may see."""
    found = {}
    for process in psutil.process_iter(["name", "cpu_times"]):
        name, times = process.info["name"], process.info["cpu_times"]
        if name and times:
            found[process.pid] = (name, times.user + times.system)
    return found
