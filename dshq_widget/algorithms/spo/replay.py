"""The replay of SPO: what games saw, did and searched, as rings of units of 16 games."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from dshq_kernels.run.draws import Draws
from dshq_kernels.search.sequences import Ring
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import aligned
from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.contract.setting import ConfigError
from dshq_widget.learning.saved.compressed import OtherSize, compress, fill, pieces
from dshq_widget.learning.saved.saved_state import LARGEST, MOST
from dshq_widget.policy.checkpoint import CheckpointError

PARTS = ("obs", "mask", "reward", "over", "terminated", "action", "weight", "total", "final_at", "finals")


class Replay:
    """`capacity` decisions of `n_tiles` tiles of 16 games; the ring of `sequences.study`, and G (`total`).

    Observations behind an episode that ran out of time are kept in a ring of their own, `finals`, since the next
    decision of that game sees a new episode. Raises ConfigError if fewer decisions fit than a sequence needs.
    """

    def __init__(self, spec: DrillSpec, n_tiles: int, size: int, particles: int, length: int) -> None:
        self.n_tiles, self.length, self._actions = n_tiles, length, spec.n_actions
        self.capacity = size // (n_tiles * LANES)
        if self.capacity < length + 2:
            raise ConfigError(
                f"replay_buffer_size must hold {length + 2} decisions of each of {n_tiles * LANES} games, "
                f"{(length + 2) * n_tiles * LANES:,} in all, got {size:,}: raise it, or lower num_envs or "
                "sample_sequence_length"
            )
        t, n_obs, words = self.capacity, spec.n_obs, -(-spec.n_actions // 32)
        decisions = max(1, -(-spec.time_limit // spec.action_repeat))
        late = min(t, LANES * (t // decisions + 2)) * n_tiles  # most units in which an episode ran out of time
        self.obs = aligned((t, n_tiles, n_obs, LANES))
        self.mask = aligned((t, n_tiles, words if spec.masked else 0, LANES), np.uint32)
        self.reward, self.over, self.terminated = (aligned((t, n_tiles, LANES)) for _ in range(3))
        self.action = aligned((t, n_tiles, particles, LANES), np.int32)
        self.weight, self.total = (aligned((t, n_tiles, particles, LANES)) for _ in range(2))
        self.final_at = np.full((t, n_tiles), -1, np.int64)
        self.finals = aligned((late, n_obs, LANES))
        self.decisions = 0
        """Decisions of each game so far."""
        self.lates = 0
        self.ring = Ring(
            t,
            n_tiles,
            particles,
            self.obs.ctypes.data,
            self.mask.ctypes.data if spec.masked else 0,
            self.reward.ctypes.data,
            self.over.ctypes.data,
            self.terminated.ctypes.data,
            self.action.ctypes.data,
            self.weight.ctypes.data,
            self.final_at.ctypes.data,
            self.finals.ctypes.data,
        )

    def __len__(self) -> int:
        """Decisions of all games that are kept."""
        return min(self.decisions, self.capacity) * self.n_tiles * LANES

    @property
    def ready(self) -> bool:
        """Whether there is a sequence, and the decision behind it."""
        return self.decisions > self.length

    def row(self) -> int:
        """Where the next decision goes."""
        return self.decisions % self.capacity

    def keep_final(self, tile: int, observations: np.ndarray) -> None:
        """Keep what the games of a tile saw last, f32 `[n_obs, 16]`, beside the next decision to be added."""
        at = self.lates % len(self.finals)
        self.finals[at] = observations
        self.final_at[self.row(), tile] = at
        self.lates += 1

    def advance(self) -> None:
        """The decision in `row()` is complete; the next one overwrites the oldest."""
        self.decisions += 1
        self.final_at[self.row()] = -1

    def mean_return(self, units: np.ndarray) -> float:
        """Mean reward of the newest decisions, of as many as a sequence has; `units` says nothing here."""
        rows = np.arange(max(self.decisions - self.length, 0), self.decisions) % self.capacity
        return float(self.reward[rows].mean())

    def check_period(self, period: int) -> None:
        """Raises ConfigError for a `sample_period` of which the kept decisions may hold no whole sequence."""
        most = self.capacity - self.length - 1
        if period > most:
            raise ConfigError(
                f"sample_period must be {most} decisions at most, since the replay keeps {self.capacity} of each game "
                f"and a sequence has {self.length}, got {period}: lower it, or raise replay_buffer_size"
            )

    def sample(self, draws: Draws, batch: int, period: int) -> np.ndarray:
        """int64 `[batch, 2]`: a tile and the decision that a sequence begins with; all that are whole are as likely.
        `period` has passed `check_period`.
        """
        first = max(self.decisions - self.capacity + 1, 0)  # the row that is written next is left out
        first, last = -(-first // period), (self.decisions - 1 - self.length) // period
        starts = (first + draws.below(last + 1 - first, batch)) * period
        return np.stack([draws.below(self.n_tiles, batch), starts], axis=1)

    def units(self, sequences: np.ndarray) -> np.ndarray:
        """int64 `[n * length]`: the units of sequences, one after the other."""
        steps = (sequences[:, 1:] + np.arange(self.length)) % self.capacity
        return (steps * self.n_tiles + sequences[:, :1]).ravel()

    def clear(self) -> None:
        """Forget everything."""
        self.decisions = self.lates = 0
        self.final_at[:] = -1

    def state(self) -> dict[str, np.ndarray]:
        """Everything, compressed: u8 each."""
        kept = {f"train.replay.{name}": compress(getattr(self, name)) for name in PARTS}
        return kept | {"train.replay.counts": np.array([self.decisions, self.lates], np.int64)}

    def restore(self, state: Mapping[str, np.ndarray]) -> bool:
        """Take over what `state` returned; False, and nothing changes, if it was not as large. Raises CheckpointError
        for values that no replay has: machine code takes actions and places of finals for indices.
        """
        limits: dict[str, tuple[float, float]] = {
            "action": (0, self._actions - 1),
            "final_at": (-1, len(self.finals) - 1),
        }
        limits |= dict.fromkeys(("over", "terminated", "weight"), (0, 1))
        limits |= dict.fromkeys(("obs", "reward", "total", "finals"), (-LARGEST, LARGEST))  # NaN is in no limits
        try:
            packed = {name: state[f"train.replay.{name}"] for name in PARTS}
            within = [self._within(name, row, limits.get(name)) for name, row in packed.items()]
            decisions, lates = map(int, state["train.replay.counts"].tolist())
        except OtherSize:
            return False
        except (LookupError, TypeError, ValueError, zlib.error) as error:
            raise CheckpointError(f"its replay cannot be read ({error}); load only its weights instead") from error
        if not all(within) or not 0 <= decisions <= MOST or not 0 <= lates <= MOST:
            raise CheckpointError("its replay holds what no game gives; load only its weights instead")
        for name, row in packed.items():
            fill(row, getattr(self, name))
        self.decisions, self.lates = decisions, lates
        return True

    def _within(self, name: str, packed: np.ndarray, limits: tuple[float, float] | None) -> bool:
        """Whether a part of a file is within limits; None: whatever it is. Raises OtherSize where it is not as large as
        the replay's own.
        """
        target, good = getattr(self, name), True
        for _, piece in pieces(packed, target.nbytes):
            row = np.frombuffer(piece, target.dtype)
            good = good and (limits is None or bool(limits[0] <= row.min() and row.max() <= limits[1]))
        return good
