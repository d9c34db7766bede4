"""The simulation gate: what a proposed spawn is expected to bring, as a number.

The number is the cost function: it trains the policy for blocked proposals, too. The gate itself decides nothing; SEND
or WAIT is read off `gate_signal` where a decision is carried out (`sends`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.candidates import components_of
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import CHUNKS, COLUMNS

UNAFFORDABLE = -1.0
"""Gate signal, and expected reward, of a proposal that the queen cannot pay for."""
TOLERANCE = 1e-9
"""A signal up to this is still WAIT: 0.4 + 0.2 - 0.6 is 1.1e-16 in float64, and survival alone must never send."""


@dataclasses.dataclass(frozen=True)
class GateResult:
    """The judgement of one proposal."""

    gate_signal: float
    """R_expected minus the threshold, clipped to [-1, 1]; -1 if unaffordable."""
    R_expected: float
    """Expected reward, exploration bonus included; -1 if unaffordable."""
    components: dict[str, float]
    """survival 0..1, disruption -1..1, location -.4..0, capacity 0 or 1, exploration 0..epsilon."""


@dataclasses.dataclass(frozen=True)
class Judgements:
    """The judgements of all candidates, f64 `[2, 400]`: types (energy, combat) x chunks; components `[2, 400, 5]`."""

    gate_signal: np.ndarray
    R_expected: np.ndarray
    components: np.ndarray


class SimulationGate:
    """Judges proposals with the weights and the threshold of `settings`, which may be replaced at any time.

    `epsilon` is the current exploration bonus; annealing is the trainer's business. An observation is a mapping
    (observation.py) with `workers` and `protectors` (chunks, -1: dead), `queen_energy` and, for the bonus,
    `seconds_since_spawn` f32 `[400]`.
    """

    def __init__(self, settings: GateSettings | None = None) -> None:
        self.settings = settings or GateSettings()
        self.epsilon = self.settings.exploration

    def change(self, settings: GateSettings) -> None:
        """Judge by other settings from now on; the bonus stays."""
        self.settings = settings

    def explore(self, epsilon: float) -> None:
        """Add another exploration bonus from now on."""
        self.epsilon = epsilon

    def evaluate(
        self, observation: Mapping[str, Any], spawn_chunk: int, spawn_type: str, nn_confidence: float = 1.0
    ) -> GateResult:
        """Judge one proposal. `nn_confidence`, 0..1, never changes the result: confidence is no way past the gate.

        Raises ValueError for a chunk outside 0..399, an unknown type, or an observation that is not finite.
        """
        chunk, kind = check_proposal(spawn_chunk, spawn_type, nn_confidence)
        workers, protectors, energy, seconds = read(observation)
        found = np.empty(len(parts.NAMES))
        parts.measure(chunk, kind, workers, protectors, energy, seconds[chunk], self.epsilon, found)
        expected, signal = self.judge(found)
        return GateResult(float(signal), float(expected), dict(zip(parts.NAMES, found.tolist(), strict=True)))

    def evaluate_all(self, observation: Mapping[str, Any]) -> Judgements:
        """Judge every chunk and type at once. Raises ValueError for an observation that is not finite."""
        workers, protectors, energy, seconds = read(observation)
        found = np.empty((len(parts.TYPES), CHUNKS, len(parts.NAMES)))
        parts.measure_all(workers, protectors, energy, seconds, self.epsilon, found)
        expected, signal = self.judge(found)
        return Judgements(signal, expected, found)

    def signals(self, workers: np.ndarray, protectors: np.ndarray, queen_energy: np.ndarray) -> np.ndarray:
        """Gate signals f64 `[n, 2, 400]` of every candidate (types x chunks) in `n` states, without a bonus: chunks of
        workers `[n, w]` and protectors `[n, p]`, -1 for the dead, and energies `[n]`.
        """
        return self.judge(components_of(workers, protectors, queen_energy))[1]

    def judge(self, components: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected rewards and gate signals f64 `[...]` of components f64 `[..., 5]`, by the present weights and
        threshold: what is stored can be judged again after a change.
        """
        s = self.settings
        value = (
            s.survival_weight * components[..., parts.SURVIVAL]
            + s.disruption_weight * components[..., parts.DISRUPTION]
            + s.location_weight * components[..., parts.LOCATION]
            + components[..., parts.EXPLORATION]
        )
        payable = components[..., parts.CAPACITY] > 0
        expected = np.where(payable, value, UNAFFORDABLE)
        signal = np.where(payable, np.clip(value - s.threshold, -1.0, 1.0), UNAFFORDABLE)
        return expected, signal


def sends(gate_signal: float) -> bool:
    """Whether a proposal is carried out: SEND above the threshold, WAIT at or below it."""
    return gate_signal > TOLERANCE


def check_proposal(spawn_chunk: Any, spawn_type: Any, nn_confidence: Any) -> tuple[int, int]:
    """(chunk, row of the type). Raises ValueError for a proposal that does not exist."""
    if isinstance(spawn_chunk, bool) or not isinstance(spawn_chunk, (int, np.integer)):
        raise ValueError(f"spawn_chunk must be a whole number from 0 to {CHUNKS - 1}, got {spawn_chunk!r:.60}")
    if not 0 <= spawn_chunk < CHUNKS:
        raise ValueError(
            f"spawn_chunk must be from 0 to {CHUNKS - 1} (z * {COLUMNS} + x on the map), got {spawn_chunk}"
        )
    if spawn_type not in parts.TYPES:
        raise ValueError(f"spawn_type must be 'energy' or 'combat', got {spawn_type!r:.60}")
    if not 0.0 <= float(nn_confidence) <= 1.0:
        raise ValueError(f"nn_confidence must be a probability from 0 to 1, got {nn_confidence!r:.60}")
    return int(spawn_chunk), parts.TYPES.index(spawn_type)


def read(observation: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """(workers i64, protectors i64, queen energy, seconds since a spawn f64 `[400]`) of an observation. Raises
    ValueError naming the entry that is missing or wrong.
    """
    missing = [key for key in ("workers", "protectors", "queen_energy") if key not in observation]
    if missing:
        raise ValueError(
            f"the observation lacks {' and '.join(missing)}: see dshq_widget/algorithms/gate/observation.py"
        )
    energy = float(observation["queen_energy"])
    seconds = np.asarray(observation.get("seconds_since_spawn", _NEVER), np.float64)
    if not np.isfinite(energy) or seconds.shape != (CHUNKS,) or not np.isfinite(seconds).all():
        raise ValueError(
            "the observation must be finite: queen_energy a number, seconds_since_spawn "
            f"{CHUNKS} numbers; got {energy!r} and shape {seconds.shape}"
        )
    return _chunks(observation, "workers"), _chunks(observation, "protectors"), energy, seconds


def _chunks(observation: Mapping[str, Any], key: str) -> np.ndarray:
    given = np.asarray(observation[key], np.float64).reshape(-1)
    if (
        not np.isfinite(given).all()
        or (given != np.floor(given)).any()
        or (given < -1).any()
        or (given >= CHUNKS).any()
    ):
        raise ValueError(f"{key} must be chunks from 0 to {CHUNKS - 1}, or -1 for the dead; got {given.tolist()!r:.80}")
    return given.astype(np.int64)


_NEVER = np.zeros(CHUNKS)
