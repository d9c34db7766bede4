"""Untrained policies, whose weights are drawn when somebody needs them: of a large network that takes seconds, up to a
minute on a busy machine. So it happens while nobody holds the trainer's lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.words import reason_of
from dshq_widget.training.latest_policy import PolicyVersion

AT_ONCE = 1 << 17
"""Floats of a network that is drawn where it is asked for: that takes milliseconds."""

log = logging.getLogger("dshq_widget")


class Draw:
    """The weights of a network with this seed. The first who asks for them draws them, whoever else asks meanwhile
    waits for that.
    """

    def __init__(self, network: PolicySpec, seed: int) -> None:
        self.network, self.seed = network, seed
        self.weights: np.ndarray | None = None
        self._lock = threading.Lock()

    def get(self) -> np.ndarray:
        """Raises MemoryError, or what a person's own network raises."""
        with self._lock:
            if self.weights is None:
                weights = self.network.untrained(self.seed)
                weights.setflags(write=False)
                self.weights = weights
            return self.weights

    def same(self, other: Draw) -> bool:
        """Whether that one has the same weights."""
        return (self.network, self.seed) == (other.network, other.seed)


class Untrained(PolicyVersion):
    """Version 0 of a network with this seed; in the place of one that has the same weights it draws none again."""

    def __init__(self, network: PolicySpec, seed: int, before: PolicyVersion | None = None) -> None:
        draw = Draw(network, seed)
        if isinstance(before, Untrained) and draw.same(before.of):
            draw = before.of
        fixed = {"version": 0, "step": 0, "layers": network.layers, "activation": network.activation, "of": draw}
        for name, value in fixed.items():
            object.__setattr__(self, name, value)

    of: Draw

    @property
    def weights(self) -> np.ndarray:
        """See PolicyVersion and `Draw.get`."""
        return self.of.get()

    def draw(self) -> None:
        self.weights  # noqa: B018  # the getter draws

    @property
    def drawn(self) -> bool:
        return self.of.weights is not None

    @property
    def floats(self) -> int:
        return self.of.network.floats

    def fits(self, network: PolicySpec) -> bool:
        return self.of.network == network


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
            except (Exception, SystemExit) as error:  # of a person's own network it may be any
                log.warning("an untrained network of layers %s cannot be drawn", list(policy.layers), exc_info=error)
                self._fail(f"the untrained network cannot be drawn: {reason_of(error)}")
            self._done()
