"""Untrained policies, whose weights are drawn when somebody needs them: of a large network that takes seconds, up to a
minute on a busy machine. So it happens while nobody holds the trainer's lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.latest_policy import PolicyVersion

AT_ONCE = 1 << 17
"""Floats of a network that is drawn where it is asked for: that takes milliseconds."""

log = logging.getLogger("dshq_widget")


class Untrained(PolicyVersion):
    """Version 0 of a network with this seed. The first who asks for its weights draws them, whoever else asks meanwhile
    waits for that.
    """

    def __init__(self, network: PolicySpec, seed: int) -> None:
        fixed = {"version": 0, "step": 0, "layers": network.layers, "activation": network.activation}
        for name, value in {**fixed, "network": network, "seed": seed, "_lock": threading.Lock()}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_weights", None)

    network: PolicySpec
    seed: int
    _lock: threading.Lock
    _weights: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """See PolicyVersion; raises MemoryError, or what a person's own network raises."""
        with self._lock:
            if self._weights is None:
                weights = self.network.untrained(self.seed)
                weights.setflags(write=False)
                object.__setattr__(self, "_weights", weights)
            assert self._weights is not None
            return self._weights

    def draw(self) -> None:
        self.weights  # noqa: B018  # the getter draws

    @property
    def drawn(self) -> bool:
        return self._weights is not None

    @property
    def floats(self) -> int:
        return self.network.floats

    def fits(self, network: PolicySpec) -> bool:
        return self.network == network

    def same(self, other: PolicyVersion) -> bool:
        """Whether the weights of that one are, or will be, the same."""
        return isinstance(other, Untrained) and (self.network, self.seed) == (other.network, other.seed)


class Drawing:
    """Draws untrained policies on a thread, one after the other; of those that are asked for meanwhile only the newest.
    `done` is called after each one, `fail` with a sentence if it cannot be drawn.
    """

    def __init__(self, done: Callable[[], None], fail: Callable[[str], None]) -> None:
        self._done, self._fail = done, fail
        self._lock = threading.Lock()
        self._wanted: PolicyVersion | None = None
        self._asked: PolicyVersion | None = None
        self._going = False

    def ready(self, policy: PolicyVersion) -> bool:
        """Whether its weights are there. If not they are drawn from now on, once; small ones at once."""
        if policy.drawn:
            return True
        if policy.floats <= AT_ONCE:
            policy.draw()
            return True
        with self._lock:
            if policy is not self._asked:
                if not self._going:
                    threading.Thread(target=self._run, name="dshq-draw", daemon=True).start()
                self._going, self._asked, self._wanted = True, policy, policy
        return False

    def _run(self) -> None:
        while True:
            with self._lock:
                policy, self._wanted = self._wanted, None
                self._going = policy is not None
            if policy is None:
                return
            try:
                policy.draw()
            except Exception as error:  # of a person's own network it may be any
                log.warning("an untrained network of layers %s cannot be drawn", list(policy.layers), exc_info=error)
                self._fail(f"the untrained network cannot be drawn: {error or type(error).__name__}")
            self._done()
