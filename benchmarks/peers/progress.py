"""The clock of a training run in another library: its rate, when its last episodes were good enough, and its policies
of some moments, which are judged once the run is over.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import judge
from benchmarks.peers.settings import EPISODES, TARGET

PAUSE = 0.25
"""Seconds from one kept policy to the next, as between two evaluations of ours."""
STARTED = "PEERS_STARTED"
"""The variable in which the comparison says when it started a script, in seconds since 1970."""


class Ended(Exception):
    """The run has lasted long enough: the way out of a library's own loop."""


class Progress:
    """One run: `with Progress(...) as progress` around the library's own loop, where training begins. Tell it
    `episodes` as they end and each `update`. It leaves the loop after `seconds` or, if `solving`, once the mean return
    of the last 100 episodes reaches 475, at the end of an update in both cases.
    """

    def __init__(self, seconds: float, solving: bool) -> None:
        self.seconds, self.solving = seconds, solving
        self.returns: deque[float] = deque(maxlen=EPISODES)
        self.policies: list[tuple[float, int, judge.Layers]] = []
        self.agent_steps, self.spent = 0, 0.0
        self.reached: tuple[float, int] | None = None  # seconds and agent steps
        self.ready = self.began = 0.0

    def __enter__(self) -> Progress:
        self.ready, self.began = since_start(), time.perf_counter()
        return self

    def began_at(self, moment: float) -> None:
        """Training began at that `time.time()`: where the library's own preparation comes after this clock's start."""
        late = time.time() - moment
        self.ready += time.perf_counter() - late - self.began
        self.began = time.perf_counter() - late

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        return kind is Ended

    def episodes(self, returns: list[float]) -> None:
        """Returns of episodes that have just ended, oldest first."""
        self.returns.extend(returns)

    def update(self, agent_steps: int, policy: Callable[[], judge.Layers] | None = None) -> None:
        """An update has ended, after so many agent steps since the beginning. `policy` gives the layers (`judge.py`).
        Raises Ended.
        """
        self.agent_steps, self.spent = agent_steps, time.perf_counter() - self.began
        if self.solving and policy and (not self.policies or self.spent >= self.policies[-1][0] + PAUSE):
            self.policies.append((self.spent, agent_steps, [(w.copy(), b.copy()) for w, b in policy()]))
        if self.reached is None and len(self.returns) == EPISODES and np.mean(self.returns) >= TARGET:
            self.reached = self.spent, agent_steps
        if self.spent >= self.seconds or (self.solving and self.reached):
            raise Ended

    def result(self, **more: Any) -> dict[str, Any]:
        """Everything measured; `more` is added. The kept policies are judged now."""
        found = {
            "agent_steps": self.agent_steps,
            "seconds": self.spent,
            "ready_seconds": self.ready,
            "compile_seconds": 0.0,
            **more,
        }
        if self.solving:
            found["last_episodes"] = moment(self.reached)
            found["fresh_episodes"] = moment(judge.first_good(self.policies)) if self.policies else None
        return found


def since_start() -> float:
    """Seconds since this process was started, imports included; 0 where nobody said when."""
    started = os.environ.get(STARTED)
    return time.time() - float(started) if started else 0.0


def moment(reached: tuple[float, int] | None) -> dict[str, float]:
    """When something was reached; empty if it was not."""
    return {} if reached is None else {"seconds": reached[0], "agent_steps": reached[1]}


def say(found: dict[str, Any]) -> None:
    """Print a script's answer, its last line."""
    print(json.dumps(found), flush=True)
