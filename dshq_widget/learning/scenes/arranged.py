"""Arranged scenes that a share of the practice games starts from: the kernel's list and its checks.

A scene is a game's state, u32 `[words]` in declaration order (docs/architecture.md), without its generator and clock.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dshq_widget.contract.game_spec import DrillSpec, GameSpec

MOST_SCENES = 8
STATE_KEY = "train.scenes"
"""Name of the tensor in a checkpoint."""
HEAD = ("rng_key", "rng_count", "practice", "ticks")
"""Fields that a scene does not fix: they are 0, so that every game from it has its own random numbers and its full
time.
"""


@dataclasses.dataclass(frozen=True)
class Success:
    """How often side 0 won from a scene, and the policy version that played."""

    share: float
    version: int


def parse(spec: DrillSpec, state: bytes) -> np.ndarray:
    """A game's state block as a scene, u32 `[words]`; raises ValueError if it is not a state of this drill."""
    if len(state) != 4 * spec.words:
        raise ValueError(f"a scene of {spec.name!r} has {4 * spec.words} bytes, got {len(state)}")
    scene = np.frombuffer(state, "<u4").astype(np.uint32)
    at = 0
    for field in spec.fields:
        values = scene[at : at + field.words]
        at += field.words
        if field.name in HEAD:
            values[:] = 0
        if field.type == "f32" and not np.isfinite(values.view(np.float32)).all():
            raise ValueError(f"a scene's numbers must be finite, but its {field.name!r} is not")
        if field.type == "bool" and (values > 1).any():
            raise ValueError(f"a scene's {field.name!r} must be 0 or 1")
    x0, y0, x1, y1 = spec.world
    for name, (x, y) in zip([handle.name for handle in spec.drag], places(spec, scene), strict=True):
        if not (x0 <= x <= x1 and y0 <= y <= y1):
            raise ValueError(f"{name!r} is outside the world at {x:.3g}, {y:.3g}: put it inside {list(spec.world)}")
    return scene


def places(spec: DrillSpec, scene: np.ndarray) -> list[list[float]]:
    """x, y in world units of everything in the drill's `drag`."""
    begin, at = {}, 0
    for field in spec.fields:
        begin[field.name] = at
        at += field.words
    numbers = scene.view(np.float32)
    return [
        [round(float(numbers[begin[name] + handle.index]), 4) for name in (handle.x, handle.y)] for handle in spec.drag
    ]


def key_of(scene: np.ndarray) -> str:
    """Key of a scene in messages: equal for equal places and speeds."""
    return hashlib.sha256(scene.astype("<u4").tobytes()).hexdigest()[:12]


class Scenes:
    """At most MOST_SCENES scenes of one game, oldest first, and the policy's results on each. Only a drill has any."""

    def __init__(self, spec: GameSpec):
        self.spec = spec
        self._scenes: dict[str, np.ndarray] = {}
        self._before: dict[str, Success] = {}
        self._now: dict[str, Success] = {}

    @property
    def _drill(self) -> DrillSpec:
        if not isinstance(self.spec, DrillSpec):
            raise ValueError(f"scenes are states of a drill's rules, and {self.spec.name!r} has none: choose a drill")
        return self.spec

    def add(self, state: bytes) -> str:
        """Add a scene and return its key. Raises ValueError for an invalid scene, or if there are too many."""
        scene = parse(self._drill, state)
        key = key_of(scene)
        if key not in self._scenes and len(self._scenes) >= MOST_SCENES:
            raise ValueError(f"the limit of {MOST_SCENES} scenes is reached: remove one first")
        self._scenes[key] = scene
        return key

    def remove(self, key: str) -> None:
        """Remove a scene; raises ValueError for an unknown key."""
        if key not in self._scenes:
            raise ValueError(f"there is no scene {key!r:.40}: it has been removed")
        for kept in (self._scenes, self._before, self._now):
            kept.pop(key, None)

    def clear(self) -> None:
        """Remove all."""
        for kept in (self._scenes, self._before, self._now):
            kept.clear()

    def forget(self) -> None:
        """Keep the scenes, but clear their results."""
        self._before.clear()
        self._now.clear()

    def packed(self) -> list[str]:
        """All scenes for a message: the bytes of each in hex."""
        return [scene.astype("<u4").tobytes().hex() for scene in self._scenes.values()]

    def measured(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store the learner's results, rows of `key`, `share` and `version`; the first one stays as `before`."""
        for row in rows:
            if row["key"] in self._scenes:
                found = Success(float(row["share"]), int(row["version"]))
                self._before.setdefault(row["key"], found)
                self._now[row["key"]] = found

    def rows(self) -> list[dict[str, Any]]:
        """Plain rows: `key`, `places` as in `places`, and how often side 0 wins: `before` as the policy was when the
        scene was first practised, and `now`, each `{share, version}`, or None where nobody has measured it yet.
        """
        return [
            {
                "key": key,
                "places": places(self._drill, scene),
                "before": _plain(self._before.get(key)),
                "now": _plain(self._now.get(key)),
            }
            for key, scene in self._scenes.items()
        ]

    def put_into(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A checkpoint's tensors with these scenes in place of any others."""
        others = {name: tensor for name, tensor in state.items() if name != STATE_KEY}
        return others | saved_state(np.array(list(self._scenes.values()), np.uint32))

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `put_into` stored; does nothing if there are no scenes. Raises ValueError if they belong to a
        different drill.
        """
        if STATE_KEY not in state:
            return
        saved = state[STATE_KEY]
        if saved.dtype != np.uint32 or saved.ndim != 2:
            raise ValueError(f"{STATE_KEY} must be u32 [n, words], got {saved.dtype} of shape {saved.shape}")
        self.clear()
        for scene in saved:
            self.add(scene.astype("<u4").tobytes())


def _plain(found: Success | None) -> dict[str, Any] | None:
    return None if found is None else dataclasses.asdict(found)


def saved_state(scenes: np.ndarray) -> dict[str, np.ndarray]:
    """The checkpoint's tensor of `scenes`, u32 `[n, words]`; none where there are no scenes."""
    return {STATE_KEY: scenes} if len(scenes) else {}
