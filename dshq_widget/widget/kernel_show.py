"""The show of a Gymnasium environment, which the page cannot play by itself: the kernel steps it and sends its frames.

A process plays (gyms/show.py). This passes the show's settings to it and its frames to the page, one at a time. The
process starts with the first page, and again at a reset after a failure.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dshq_widget.gyms.environment import Environment
from dshq_widget.runtime.leaving import Leaving

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.slots import WeightSlots
    from dshq_widget.runtime.supervisor import Child, Exit
    from dshq_widget.training.latest_policy import PolicyVersion

ROLE = "dshq_widget.gyms.show:run"
STUCK_SECONDS = 30.0
PANELS = ("transport", "training", "seat", "pace", "status", "headline", "charts", "log", "hyper", "algorithm")
"""The panels that work without rules."""


class KernelShow:
    """Thread-safe. `changed` is called, from any thread, when `frame` or `problem` has something new. `network`: how
    the process finds a network of a person's own (policy/own_network.py, `Found`).
    """

    def __init__(
        self,
        environment: Environment,
        show: Mapping[str, Any],
        changed: Callable[[], None],
        network: Mapping[str, str] | None = None,
    ):
        self.environment, self._changed, self._network = environment, changed, dict(network or {})
        self._lock = threading.RLock()
        self._show = dict(show)
        self._child: Child | None = None
        self._leaving: Leaving[Child] = Leaving(1)
        self._block: SharedBlock | None = None
        self._slots: WeightSlots | None = None
        self._fixed: dict[str, Any] = {}
        self._newest: tuple[PolicyVersion, TrainConfig] | None = None
        self._frame: dict[str, Any] | None = None
        self._problem = ""
        self._closed = False

    def frame(self) -> dict[str, Any] | None:
        """The newest FRAME for the page, with its picture in `buffers`; None if there is no new one since the last
        call.
        """
        with self._lock:
            frame, self._frame = self._frame, None
            return frame

    def problem(self) -> str:
        """Why there are no more frames; "" if all is well. Each problem is returned once."""
        with self._lock:
            problem, self._problem = self._problem, ""
            return problem

    def begin(self) -> None:
        """A page has appeared: start the show, or send the page a frame."""
        with self._lock:
            if self._child is None:
                self._start()
            self._send({"type": "LOOK", "visible": True})
            self._send({"type": "FRAME_SHOWN"})

    def look(self, visible: bool) -> None:
        """Whether the page is visible."""
        self._send({"type": "LOOK", "visible": visible})

    def shown(self) -> None:
        """The page has shown the last frame and can take another."""
        self._send({"type": "FRAME_SHOWN"})

    def step(self, count: int) -> None:
        """Make `count` steps while the show is paused."""
        if type(count) is not int or not 1 <= count <= 10_000:
            raise ValueError(f"count must be a whole number from 1 to 10000, got {count!r:.60}")
        self._send({"type": "STEP", "count": count})

    def follow(self, show: Mapping[str, Any]) -> None:
        """Apply the current `show` trait."""
        with self._lock:
            before, self._show = self._show, dict(show)
            if any(show[key] != before[key] for key in ("playing", "speed", "swap")):
                self._send({"type": "SHOW", **{key: show[key] for key in ("playing", "speed", "swap")}})
            if show["match"] != before["match"]:
                if self._child is None and self._fixed:  # it failed, or has not started
                    self._start()
                else:
                    self._send({"type": "RESET_SHOW", "seed": show["seed"]})

    def take(self, newest: PolicyVersion, config: TrainConfig) -> None:
        """Play this policy from the next step on, in an environment made by the settings `config`."""
        with self._lock:
            self._newest = newest, config
            if self._child is None or self._slots is None:
                return
            if self._fixed != _fixed(newest, config):
                self._start()
            else:
                self._publish(newest)

    def close(self) -> None:
        """End the show; twice is fine."""
        with self._lock:
            self._closed = True
            self._end()

    def _start(self) -> None:
        """Start a process with the newest policy, replacing any other."""
        from dshq_widget.runtime.memory import SharedBlock  # numba comes with these; keep it out of the import
        from dshq_widget.runtime.slots import WeightSlots
        from dshq_widget.runtime.supervisor import supervisor

        if self._closed or self._newest is None:
            return
        self._end()
        newest, config = self._newest
        self._fixed = _fixed(newest, config)
        self._block = SharedBlock.create(WeightSlots.nbytes_for(len(newest.weights)))
        self._slots = WeightSlots.create(self._block, len(newest.weights))
        self._publish(newest)
        spec = self.environment.spec
        fps = spec.tick_rate / config.action_repeat
        job = {"environment": spec.environment.to_json(), "fps": fps, "seed": self._show["seed"], **self._fixed}
        job["network"] = self._network
        blocks = {"weights": self._block}
        start = supervisor(os.getpid()).start
        self._child = start(ROLE, job, blocks, self._receive, self._ended, stuck_seconds=STUCK_SECONDS)
        self._send({"type": "SHOW", **{key: self._show[key] for key in ("playing", "speed", "swap")}})

    def _publish(self, newest: PolicyVersion) -> None:
        assert self._slots is not None
        self._slots.publish(self._slots.latest + 1, newest.version, np.array(newest.weights))

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._child is not None:
                self._child.send(message)

    def _receive(self, child: Child, message: Mapping[str, Any]) -> None:
        with self._lock:
            if child is not self._child or message["type"] != "FRAME":
                return
            state = {key: value for key, value in message.items() if key != "jpeg"}
            self._frame = {**state, "buffers": [base64.b64decode(message["jpeg"])]}
        self._changed()

    def _ended(self, child: Child, end: Exit) -> None:
        with self._lock:
            if child is not self._child:
                return
            self._end()
            self._problem = (
                "" if end.expected else f"the show has stopped ({end.error}). Press Reset match to restart it."
            )
        self._changed()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop()
            self._leaving.add(child)
        if self._block is not None:
            self._block.close()
        self._block = self._slots = None


def _fixed(newest: PolicyVersion, config: TrainConfig) -> dict[str, Any]:
    """What cannot change in a running show."""
    from dshq_widget.policy.gym_policy import made  # numba comes with it, too

    network = {"layers": newest.layers, "activation": newest.activation, "distribution": config.action_distribution}
    return {**network, "made": made(config.to_json())}
