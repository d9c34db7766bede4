"""A rollout as sequences: what each tile of 16 games saw and did, step after step."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Sequences:
    """As `dshq_kernels.play.rollout.Samples`; unit `tile * length + t` is decision t of a tile's games."""

    obs: np.ndarray
    """f32 `[units, n_obs, 16]`."""
    action: np.ndarray
    """i32 `[units, 16]`."""
    log_prob: np.ndarray
    """f32 `[units, 16]`, as are those below."""
    value: np.ndarray
    advantage: np.ndarray
    returns: np.ndarray
    mask: np.ndarray
    """u32 `[units, words, 16]`: bit k % 32 of word k // 32 allows action k; no words without a mask."""
    begins: np.ndarray
    """f32 `[units, 16]`: 1 where an episode begins, so that the memory is empty before the decision; else 0."""
    state: np.ndarray
    """f32 `[tiles, 16, 2 memory]`: the memories before the rollout's first decision."""

    @property
    def length(self) -> int:
        """Decisions of the rollout."""
        return len(self.action) // len(self.state)

    def mean_return(self, units: np.ndarray) -> float:
        """Mean of the `returns` of these units, int64 indices."""
        return float(np.mean(self.returns[units]))
