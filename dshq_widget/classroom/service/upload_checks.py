"""Checks of uploads: files are treated as hostile, and their rate is limited."""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Callable

from dshq_kernels.network import layers
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.rounds import digest, drill_of
from dshq_widget.classroom.submit import bare
from dshq_widget.policy import checkpoint

MAX_UPLOAD_BYTES = 16 * 1024 * 1024
"""Largest file in bytes; `dshq submit` sends only the policy, a few tens of KB."""
MAX_FLOATS = 500_000
"""Largest number of parameters."""
MAX_WORK = 1_000_000
"""Most operations of one decision, on which the server's cost of a block depends. Dense layers use each parameter once;
a layer in front of them uses its own many times.
"""
MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024
"""Of all uploads that are being received."""
SMALL_BYTES = 256 * 1024
"""An upload of that size, what `dshq submit` and the widget send, never waits for others: whoever sends large ones
slowly keeps nobody from handing in.
"""
UPLOADS_PER_MINUTE = 6
BODY_SECONDS = 60.0
"""How long the body of a request may take."""


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
        drill = drill_of(name)
    except LeagueError as error:
        raise checkpoint.CheckpointError(
            f"the file plays {name[:40]!r}, but there is no league for it: {error}"
        ) from None
    spec = drill.spec
    wanted = (spec.n_obs, spec.n_actions + 1)
    if saved.environment or (saved.layers[0], saved.layers[-1]) != wanted:
        raise checkpoint.CheckpointError(
            f"the file's network has layers {list(saved.layers)}, but {name!r} needs {wanted[0]} inputs and "
            f"{wanted[1]} outputs: train it with this release"
        )
    if saved.rules_hash != drill.rules_hash:
        raise checkpoint.CheckpointError(
            f"the file was trained with other rules of {name!r} ({saved.rules_hash[:16]}, here {drill.rules_hash}): "
            "train it with the release of the league"
        )
    front = layers.written(layers.parse(saved.layers)[0])
    if front not in ((), tuple(spec.front)):
        raise checkpoint.CheckpointError(
            f"the file's network begins with {list(front)}, which {name!r} does not have: train it with this release"
        )
    if (costs := layers.work(saved.layers)) > MAX_WORK:
        raise checkpoint.CheckpointError(
            f"the file's network costs {costs:,} operations a decision; the limit is {MAX_WORK:,}: train a smaller one"
        )
    if saved.weights.size > MAX_FLOATS:
        raise checkpoint.CheckpointError(
            f"the file's network has {saved.weights.size:,} parameters; the limit is {MAX_FLOATS:,}: train a "
            "smaller one"
        )
    return Admitted(name, saved.version, saved.step, digest(saved), bare(saved))


class InFlight:
    """Uploads that are being received: one of an account, and a limited number of bytes in all, small ones apart."""

    def __init__(
        self,
        most: int = MAX_IN_FLIGHT_BYTES,
        seconds: float = BODY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self.seconds, self.clock = most, seconds, clock
        self._now: dict[str, tuple[float, int]] = {}

    def busy(self, account: str) -> str:
        """Why an account has to wait for its other upload, "" if there is none."""
        found = self._now.get(account)
        busy = found is not None and found[0] > self.clock() - self.seconds
        return "Another upload of yours is being received: try again in a minute" if busy else ""

    def refusal(self, account: str, nbytes: int) -> str:
        """Count an upload and return ""; or say why it has to wait, and count nothing."""
        now = self.clock()
        self._now = {name: each for name, each in self._now.items() if each[0] > now - self.seconds}
        if busy := self.busy(account):
            return busy
        if nbytes > SMALL_BYTES and sum(size for _, size in self._now.values()) + nbytes > self.most:
            return "Too many uploads at once: try again in a minute"
        self._now[account] = now, nbytes
        return ""

    def over(self, account: str) -> None:
        """That account's upload has ended, however."""
        self._now.pop(account, None)


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
