"""A node's player: an actor of Ray that plays all games of its node with the weights that each call brings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo import compiling
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.contract.version import __version__
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.budget import peak_memory_mb


class Order(NamedTuple):
    """What a call asks for besides weights."""

    version: int
    """Of the weights."""
    hyper: Mapping[str, Any]
    """The settings, as JSON."""
    opponents: int
    """Number of the set of opponents; another number is another set."""
    scenes: int
    """Number of the set of scenes."""


MOST_HALF = 16.0
"""Largest observation that is sent as float16, which is then right to 0.008 of its unit (2^-11 of its size)."""


def packed(observations: np.ndarray) -> np.ndarray:
    """Observations, f32, as float16, most of what a rollout weighs; as they are where one is beyond `MOST_HALF`."""
    fits = observations.size and observations.min() >= -MOST_HALF and observations.max() <= MOST_HALF
    return observations.astype(np.float16) if fits else observations


class Chunk(NamedTuple):
    """One rollout of one node."""

    version: int
    """Of the policy that played."""
    samples: tuple[np.ndarray, ...]
    """The fields of `Samples`, in order; observations are `packed`."""
    units: np.ndarray
    """int64: the units to learn from."""
    stats: np.ndarray
    """f64 `[len(STATS) + n_terms]`."""
    memory_mb: float
    """Peak memory of the player's process."""

    @property
    def rows(self) -> int:
        """Units of samples, those to learn from and others."""
        return len(self.samples[0])

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in (*self.samples, self.units, self.stats))


@dataclasses.dataclass(frozen=True)
class Weights:
    """A policy as `OwnGames` needs it."""

    flat: np.ndarray  # f32

    def blob(self) -> np.ndarray:
        """The flat weights."""
        return self.flat


class NodePlayer:
    """The games of one node: `num_envs` of them on `threads` threads. `drill` and `hyper` are JSON. Raises RuntimeError
    if this node has another version of the package than the learner, `package`.
    """

    def __init__(self, drill: dict[str, Any], hyper: dict[str, Any], seed: int, threads: int, package: str) -> None:
        if package != __version__:
            raise RuntimeError(
                f"this node has dshq-widget {__version__}, and the learner has {package}: install {package} on it"
            )
        self._drill = CompiledDrill.from_json(drill)
        self._config = TrainConfig.from_values({**hyper, "seed": seed})
        self._threads = threads
        self._opponents = self._scenes = 0
        self._games = OwnGames(self._drill, self._config, threads)

    def ready(self) -> None:
        """Compile how games are played."""
        spec = PolicySpec.for_config(self._drill.spec, self._config)
        compiling.play(self._drill, self._config, Weights(spec.untrained(self._config.seed)))

    def play(self, order: Order, weights: np.ndarray, opponents: np.ndarray | None, scenes: np.ndarray | None) -> Chunk:
        """Play one rollout with `weights`, f32, against `opponents`, f32 `[slots, floats]`, practising from `scenes`,
        u32 `[n, words]`. Games whose samples are not finite begin again.
        """
        if opponents is not None and order.opponents != self._opponents:
            self._games.set_opponents(list(opponents))
            self._opponents = order.opponents
        if scenes is not None and order.scenes != self._scenes:
            self._games.practise(scenes.copy())  # what Ray hands out is read-only
            self._scenes = order.scenes
        played = self._games.next(Weights(weights), TrainConfig.from_values(order.hyper), order.version)
        self._games.mend(played.samples)
        samples = dataclasses.replace(played.samples, obs=packed(played.samples.obs))
        arrays = tuple(getattr(samples, field.name) for field in dataclasses.fields(Samples))
        return Chunk(order.version, arrays, played.units, played.stats, peak_memory_mb())
