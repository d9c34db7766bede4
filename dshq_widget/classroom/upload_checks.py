"""Checks of uploads: files are treated as hostile, and their rate is limited."""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Callable

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.rounds import digest, drill_of
from dshq_widget.classroom.submit import bare
from dshq_widget.policy import checkpoint

MAX_UPLOAD_BYTES = 16 * 1024 * 1024
"""Largest file in bytes; `dshq submit` sends only the policy, a few tens of KB."""
MAX_FLOATS = 500_000
"""Largest number of parameters: the server's cost of a block grows with it."""
UPLOADS_PER_MINUTE = 6


@dataclasses.dataclass(frozen=True)
class Admitted:
    """A checked policy that fits its drill."""

    drill: str
    version: int
    step: int
    digest: str
    content: bytes
    """A `.dshq` file of the policy alone."""


def admit(content: bytes) -> Admitted:
    """Read the bytes of a `.dshq` file. Raises CheckpointError if it is not a policy or its drill has no league."""
    saved = checkpoint.parse(content, "the file")
    checkpoint.check_whole(saved)
    name = saved.drill
    try:
        spec = drill_of(name).spec
    except LeagueError as error:
        raise checkpoint.CheckpointError(
            f"the file plays {name[:40]!r}, but there is no league for it: {error}"
        ) from None
    wanted = (spec["n_obs"], spec["n_actions"] + 1)
    if saved.environment or (saved.layers[0], saved.layers[-1]) != wanted:
        raise checkpoint.CheckpointError(
            f"the file's network has layers {list(saved.layers)}, but {name!r} needs {wanted[0]} inputs and "
            f"{wanted[1]} outputs: train it with this release"
        )
    if saved.weights.size > MAX_FLOATS:
        raise checkpoint.CheckpointError(
            f"the file's network has {saved.weights.size:,} parameters; the limit is {MAX_FLOATS:,}: train a "
            "smaller one"
        )
    return Admitted(name, saved.version, saved.step, digest(saved), bare(saved))


class Limiter:
    """At most `most` events of one account within `seconds`; forgets accounts that are quiet."""

    def __init__(
        self, most: int = UPLOADS_PER_MINUTE, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self.seconds, self.clock = most, seconds, clock
        self._times: dict[str, collections.deque[float]] = {}

    def wait(self, account: str) -> float:
        """Count one event and return 0; or the seconds after which there may be one, and count nothing."""
        now = self.clock()
        for name in [name for name, times in self._times.items() if times[-1] <= now - self.seconds]:
            del self._times[name]
        times = self._times.setdefault(account, collections.deque(maxlen=self.most))
        if len(times) == self.most and times[0] > now - self.seconds:
            return times[0] + self.seconds - now
        times.append(now)
        return 0.0
