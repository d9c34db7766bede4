"""Evaluates the policy on arranged scenes: matches from exactly that state, at intervals during training."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run
from dshq_widget.learning.scenes.arranged import key_of, saved_state
from dshq_widget.learning.worker import unpack
from dshq_widget.policy.evaluate import network, opponent, play
from dshq_widget.policy.network import PolicySpec

MATCHES = 128
PAUSE_SECONDS = 5.0
"""Seconds between two measurements of all scenes; longer if they take long."""
MOST_SHARE = 0.05
"""Largest share of time for them (assumed)."""


class SceneEvaluation:
    """Plays each scene MATCHES times, with the policy as side 0 against the drill's first baseline, or random play if
    it has none. The random numbers are the same every time, so that versions can be compared.
    """

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int):
        self.drill, self.spec, self.seed = drill, spec, seed
        self.scenes = np.zeros((0, drill.spec.words), np.uint32)
        self.pause, self._played = PAUSE_SECONDS, time.monotonic()
        self._known: set[str] = set()

    def take(self, scenes: np.ndarray) -> None:
        """Use these scenes, u32 `[n, words]`, from now on."""
        self.scenes = scenes
        self._known &= {key_of(scene) for scene in scenes}

    @property
    def due(self) -> bool:
        """Whether a scene has never been played, or all results are old."""
        waited = time.monotonic() - self._played >= self.pause
        return len(self.scenes) > 0 and (waited or len(self._known) < len(self.scenes))

    def play(self, weights: np.ndarray, version: int) -> list[dict[str, Any]]:
        """Play all scenes; returns rows for `Scenes.measured`."""
        begin = time.monotonic()
        player, other = network(self.spec.layers, self.spec.activation, weights), opponent("scripted", self.drill)
        rows = []
        for scene in self.scenes:
            played = play(self.drill, player, other, MATCHES, seed=self.seed, scene=scene)
            rows.append({"key": key_of(scene), "share": float((played.result > 0).mean()), "version": version})
        self._known = {str(row["key"]) for row in rows}
        self._played = time.monotonic()
        self.pause = max(PAUSE_SECONDS, (self._played - begin) / MOST_SHARE)
        return rows


class TakesScenes(Protocol):
    """A source that can start a share of its games from scenes."""

    def practise(self, scenes: np.ndarray) -> None:
        """u32 `[n, words]`."""
        ...


class ScenePractice(Companion):
    """Lets `source` practise from scenes, and reports the results on each: on a new one before learning from it, on all
    of them at intervals.
    """

    def __init__(self, evaluation: SceneEvaluation, source: TakesScenes) -> None:
        self.evaluation, self.source = evaluation, source

    def begin(self, run: Run) -> None:
        self._take(run, run.job.get("scenes", []))

    def receive(self, run: Run, command: Mapping[str, Any]) -> None:
        if command["type"] == "SCENES":
            self._take(run, command["scenes"])

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        if self.evaluation.due:
            self._evaluate(run)

    def _take(self, run: Run, packed: list[str]) -> None:
        scenes = unpack(packed, self.evaluation.scenes.shape[1])
        self.source.practise(scenes)
        self.evaluation.take(scenes)
        if self.evaluation.due:
            self._evaluate(run)

    def _evaluate(self, run: Run) -> None:
        rows = self.evaluation.play(run.learner.blob(), run.version)
        run.channel.send({"type": "SCENES", "rows": rows})

    def state(self) -> dict[str, np.ndarray]:
        return saved_state(self.evaluation.scenes)
