"""A match of the page, played here a little ahead by the same rules: state by state the same, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play import raster
from dshq_widget.algorithms.dreamer.actor import Choose
from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch

SPREAD = 0x9E3779B1
"""2^32 divided by the golden ratio, odd: D. Knuth, "The Art of Computer Programming", volume 3, 6.4."""


@dataclass(frozen=True)
class Decision:
    """What was decided at a tick of the page's clock."""

    tick: int
    sum: int
    """Of the state before it (`check_sum`)."""
    actions: list[int]
    """Of each side."""
    seen: bool
    """Whether the policy saw a frame and chose; else its last action is kept."""


def check_sum(words: NDArray[Any]) -> int:
    """The sum of a state's words u32, each multiplied by (2 i + 1) `SPREAD`, modulo 2^32; js/features/dream/ahead.ts
    has it, too.
    """
    weights = (2 * np.arange(len(words), dtype=np.uint32) + 1) * np.uint32(SPREAD)
    return int((words * weights).sum(dtype=np.uint32))


class Match:
    """One game from the page's state on. `start` is the field of DECIDE: `state` (its bytes in hex), `tick`, `repeat`
    (ticks per decision), `opponent` (of a drill of two sides) and `at_reset` (policies change between games only).
    The policy chooses at every `keep`-th decision of a game, as it did in training.
    """

    def __init__(self, drill: CompiledDrill, start: Mapping[str, Any], keep: int = 1) -> None:
        self.batch = Batch(drill, 1, practice=False)
        words = np.frombuffer(bytes.fromhex(start["state"]), "<u4")
        self.batch.restore([0], words[None].astype(np.uint32))
        self.tick, self.repeat, self.opponent = int(start["tick"]), int(start["repeat"]), str(start["opponent"])
        self.at_reset, self.keep = bool(start["at_reset"]), keep
        self._kept, self._action = 0, 0
        self.first = True
        """Nothing before the next decision counts: a game begins, or the page's match is taken up."""
        self.frame = torch.empty((1, 1, raster.HEIGHT, raster.ROW_BYTES), dtype=torch.uint8)
        """What the policy saw last."""
        self._tones, self._view = raster.shades(drill.spec), raster.view(drill.spec.world)
        self._rng = np.random.default_rng([int(words[0]), self.tick, 0x5707])
        self._only = np.ones(1, bool)

    @property
    def chooses(self) -> bool:
        """Whether the next decision is the policy's, and no kept action."""
        return self.first or self._kept == 0

    def decide(self, choose: Choose) -> Decision:
        """Play one decision, and into the next game if this one ends."""
        batch, tiles = self.batch, self.batch.tiles
        seen = self.chooses
        if seen:
            raster.draw_into(self.frame.numpy(), batch.game, tiles, self._tones, self._view)
            first: Tensor = torch.tensor([self.first])
            self._action, self._kept = int(choose(self.frame, first)), self.keep
        self._kept -= 1
        actions = [self._action, *([self._scripted()] if batch.sides == 2 else [])]
        made = Decision(self.tick, check_sum(batch.snapshot([0])[0]), actions, seen)
        for side, action in enumerate(actions):
            tiles["action"][0, side, 0] = action
        batch.game.decide(tiles)
        self._pass(self.repeat)
        terminated, truncated = batch.over()
        self.first = bool((terminated | truncated)[0])
        if self.first:
            seconds = REST_SECONDS["goal" if batch.winners()[0] else "draw"]
            self._pass(max(1, floor(seconds * batch.spec.tick_rate + 0.5)))
            batch.practise(False, self._only)
            batch.reset(self._only)
        return made

    def _pass(self, ticks: int) -> None:
        self.batch.game.tick(self.batch.tiles, ticks)
        self.tick += ticks

    def _scripted(self) -> int:
        """The other side's action; chance has a generator of its own, because the game's belongs to the game."""
        if self.opponent == "random":
            return int(self._rng.integers(0, self.batch.spec.n_actions))
        return int(self.batch.scripted(self.opponent)[0, 1])
