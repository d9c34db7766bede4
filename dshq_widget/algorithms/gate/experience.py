"""Decisions to learn from: every one is stored, carried out or not, in a buffer that drops the oldest first."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence

import numpy as np

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.shape import N_FEATURES, PROTECTORS, WORKERS

LEAST_PRIORITY = 1e-3
"""Added to every priority, so that no decision is out of reach (assumed)."""

UNKNOWN = -1.0
"""Queen energy of a decision that is stored without what the gate saw, as earlier releases stored them."""

RECORD = np.dtype(
    [
        ("observation", "f4", N_FEATURES),
        ("spawn_chunk", "i4"),
        ("spawn_type", "i4"),
        ("nn_confidence", "f4"),
        ("gate_signal", "f8"),
        ("R_expected", "f8"),
        ("gate_components", "f8", len(parts.NAMES)),
        ("actual_reward", "f8"),
        ("was_executed", "?"),
        ("timestamp", "f8"),
        ("territory_id", "i4"),
        ("model_version", "i8"),
        ("workers", "i4", WORKERS),
        ("protectors", "i4", PROTECTORS),
        ("queen_energy", "f4"),
    ]
)
"""One decision in the buffer; `actual_reward` is NaN while there is none. Dead units, and those that a drill does not
have, are -1.
"""


SEEN = ("workers", "protectors", "queen_energy")
"""What the gate saw; files of earlier releases lack it."""


@dataclasses.dataclass(frozen=True)
class Experience:
    """One decision."""

    observation: np.ndarray
    """f32 `[28]`: the features that the policy saw."""
    spawn_chunk: int
    """0..399."""
    spawn_type: str
    """energy or combat."""
    nn_confidence: float
    """Probability of the proposal under the policy that made it, chunk times type."""
    gate_signal: float
    R_expected: float
    gate_components: dict[str, float]
    was_executed: bool
    """Whether it was sent."""
    timestamp: float
    """Seconds on the trainer's clock."""
    territory_id: int = 0
    model_version: int = 0
    """Version of the policy that proposed it."""
    actual_reward: float | None = None
    """What the window after a sent proposal brought, -1..1; None for WAIT, and while a SEND is pending."""
    workers: Sequence[int] | np.ndarray = ()
    """Chunks, -1 for the dead: with the next two what the gate saw, by which it can judge every other proposal."""
    protectors: Sequence[int] | np.ndarray = ()
    queen_energy: float = UNKNOWN


def training_rewards(batch: np.ndarray, gate_weight: float = 0.3, actual_weight: float = 0.7) -> np.ndarray:
    """f64 `[n]`: gate signal and actual reward of a sent decision, weighted; the gate signal alone of any other and of
    a pending one. Source: Nexus of Mind, continuous-training-loop.md.
    """
    actual, signal = batch["actual_reward"], batch["gate_signal"]
    complete = batch["was_executed"] & ~np.isnan(actual)
    return np.where(complete, gate_weight * signal + actual_weight * np.nan_to_num(actual), signal)


def beyond(batch: np.ndarray, signals: np.ndarray, actual_weight: float) -> np.ndarray:
    """f64 `[n]`: what training rewards add to `signals` `[n]` of the same proposals; 0 where nothing is known of what
    they brought.
    """
    actual = batch["actual_reward"]
    complete = batch["was_executed"] & ~np.isnan(actual)
    return np.where(complete, actual_weight * (np.nan_to_num(actual) - signals), 0.0)


class ExperienceBuffer:
    """The last `capacity` decisions. Any thread may add, complete and sample.

    A sent decision is sampled at once, by its gate signal; `complete` fills in its reward in place at the territory's
    next observation. A territory has at most one pending decision.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1 decision, got {capacity}")
        self._records = np.zeros(capacity, RECORD)
        self._added = 0  # in all; decision n lies in row n % capacity
        self._pending: dict[int, int] = {}  # territory -> number of its decision
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return min(self._added, len(self._records))

    @property
    def added(self) -> int:
        """Decisions added in all."""
        return self._added

    @property
    def pending(self) -> int:
        """Sent decisions whose reward is not known yet."""
        return len(self._pending)

    def add(self, experience: Experience) -> None:
        """Append a decision; the oldest goes if the buffer is full. Raises ValueError and stores nothing if it is not
        finite or has another shape.
        """
        row = np.zeros((), RECORD)
        seen = np.asarray(experience.observation, np.float32)
        if seen.shape != (N_FEATURES,) or not np.isfinite(seen).all():
            raise ValueError(f"an observation must be {N_FEATURES} finite features, got {seen.shape}: {seen!r:.80}")
        if not (np.isfinite(experience.gate_signal) and np.isfinite(experience.R_expected)):
            raise ValueError(f"a gate signal must be finite, got {experience.gate_signal} of {experience.R_expected}")
        row["observation"] = seen
        for name in ("spawn_chunk", "nn_confidence", "gate_signal", "R_expected", "was_executed", "timestamp"):
            row[name] = getattr(experience, name)
        row["spawn_type"] = parts.TYPES.index(experience.spawn_type)
        row["gate_components"] = [experience.gate_components[name] for name in parts.NAMES]
        row["actual_reward"] = np.nan if experience.actual_reward is None else experience.actual_reward
        row["territory_id"], row["model_version"] = experience.territory_id, experience.model_version
        for name in ("workers", "protectors"):
            units = getattr(experience, name)
            row[name] = np.pad(np.asarray(units, np.int32), (0, row[name].size - len(units)), constant_values=-1)
        row["queen_energy"] = experience.queen_energy
        with self._lock:
            self._records[self._added % len(self._records)] = row
            if experience.was_executed and experience.actual_reward is None:
                self._pending[experience.territory_id] = self._added
            self._added += 1

    def complete(self, territory_id: int, actual_reward: float) -> bool:
        """Fill in the reward of the territory's pending decision. Returns False if none is pending, or if it was
        dropped meanwhile. Raises ValueError for a reward that is not finite.
        """
        if not np.isfinite(actual_reward):
            raise ValueError(f"an actual reward must be finite, got {actual_reward}")
        with self._lock:
            number = self._pending.pop(territory_id, None)
            if number is None or number < self._added - len(self._records):
                return False
            self._records["actual_reward"][number % len(self._records)] = actual_reward
            return True

    def sample(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        priority: bool = False,
        complete: bool = False,
        seen: bool = False,
    ) -> np.ndarray:
        """A copy of at most `size` decisions, RECORD `[n]`, none twice; uniform, or with `priority` by the size of the
        gate signal. `complete` takes only sent decisions whose reward is known, `seen` only those stored with what the
        gate saw.
        """
        with self._lock:
            records = self._records[: len(self)]
            rows = None
            if complete:
                rows = np.flatnonzero(records["was_executed"] & ~np.isnan(records["actual_reward"]))
            elif seen and (records["queen_energy"] == UNKNOWN).any():
                rows = np.flatnonzero(records["queen_energy"] != UNKNOWN)
            n = len(records) if rows is None else len(rows)
            share = None
            if priority and n:
                weight = (
                    np.abs(records["gate_signal"] if rows is None else records["gate_signal"][rows]) + LEAST_PRIORITY
                )
                share = weight / weight.sum()
            chosen = rng.choice(n, min(size, n), replace=False, p=share, shuffle=False) if n else np.zeros(0, np.int64)
            return records[chosen if rows is None else rows[chosen]]

    def newest(self, n: int) -> np.ndarray:
        """A copy of the last `n` decisions, oldest first, RECORD `[<= n]`."""
        with self._lock:
            n = min(n, len(self))
            return self._records[np.arange(self._added - n, self._added) % len(self._records)]

    def rejudge(self, judge: object) -> None:
        """Compute expected rewards and gate signals again from the stored components, after the gate's weights or its
        threshold have changed; `judge` is `SimulationGate.judge`.
        """
        with self._lock:
            n = len(self)
            expected, signal = judge(self._records["gate_components"][:n])  # type: ignore[operator]
            self._records["R_expected"][:n], self._records["gate_signal"][:n] = expected, signal

    def state(self) -> dict[str, np.ndarray]:
        """Everything, for a checkpoint: arrays by name."""
        with self._lock:
            n = len(self)
            saved = {f"train.gate.{name.lower()}": self._records[name][:n].copy() for name in RECORD.names or ()}
            saved["train.gate.was_executed"] = saved["train.gate.was_executed"].astype(np.uint8)
            saved["train.gate.known"] = (~np.isnan(saved["train.gate.actual_reward"])).astype(np.uint8)
            saved["train.gate.actual_reward"] = np.nan_to_num(saved["train.gate.actual_reward"])  # files hold no NaN
            pending = np.array(sorted(self._pending.items()), np.int64).reshape(-1, 2)
            sizes = {"added": self._added, "capacity": len(self._records)}
            return (
                saved
                | {f"train.gate.{k}": np.array(v, np.int64) for k, v in sizes.items()}
                | {"train.gate.pending": pending}
            )

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned: row by row at equal capacity, else the newest decisions that fit."""
        with self._lock:
            n, capacity = len(state["train.gate.timestamp"]), len(self._records)
            added = int(state["train.gate.added"])
            same = int(state["train.gate.capacity"]) == capacity
            first = 0 if same else max(n - capacity, 0)  # the oldest decision kept, of n
            rows = np.arange(n) if same else (np.arange(added - n, added) % n)[first:]
            for name in RECORD.names or ():
                key = f"train.gate.{name.lower()}"
                unknown = name in SEEN and key not in state
                self._records[name][: len(rows)] = UNKNOWN if unknown else state[key][rows]
            self._records["actual_reward"][: len(rows)][state["train.gate.known"][rows] == 0] = np.nan
            gone = 0 if same else added - n + first
            self._added = added - gone
            pending = state["train.gate.pending"].tolist()
            self._pending = {who: number - gone for who, number in pending if number >= gone}
