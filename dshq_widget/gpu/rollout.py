"""Training data: tensors on one device whose addresses never change. A *row* is one learning side of a game."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.lanes import LANES


@dataclasses.dataclass(frozen=True)
class Rollout:
    """Samples of T decisions of R rows, all on one device."""

    obs: Tensor  # f32 [T, R, n_obs]
    action: Tensor  # i64 [T, R]
    log_prob: Tensor  # f32 [T, R]
    value: Tensor  # f32 [T, R]
    advantage: Tensor  # f32 [T, R]
    returns: Tensor  # f32 [T, R]
    mask: Tensor  # bool [T, R, n_actions]; no actions without a mask
    reward: Tensor  # f32 [T, R]
    terminated: Tensor  # bool [T, R]
    truncated: Tensor  # bool [T, R]: the time was up, and it was not terminated
    final_value: Tensor  # f32 [T, R]: of an episode's last observation where truncated, else 0
    last_value: Tensor  # f32 [R]: of the observation after the last decision
    stats: Tensor  # f64 [len(STATS) + n_terms], as of `dshq_kernels.play.loops`

    @classmethod
    def new(cls, length: int, rows: int, n_obs: int, masks: int, terms: int, device: torch.device) -> Rollout:
        """Zeros; `masks`: the actions of a drill that forbids some, else 0."""
        sizes = {"obs": n_obs, "mask": masks}
        dtypes = {"action": torch.int64, "mask": torch.bool, "terminated": torch.bool, "truncated": torch.bool}
        made: dict[str, Tensor] = {}
        for field in dataclasses.fields(cls):
            shape = (length, rows, sizes[field.name]) if field.name in sizes else (length, rows)
            made[field.name] = torch.zeros(shape, dtype=dtypes.get(field.name, torch.float32), device=device)
        made["last_value"] = torch.zeros(rows, device=device)
        made["stats"] = torch.zeros(len(STATS) + terms, dtype=torch.float64, device=device)
        return cls(**made)

    @property
    def samples(self) -> int:
        """T times R."""
        return self.action.numel()

    def mean_return(self, units: np.ndarray) -> float:
        """Mean of all `returns`, whatever the `units`; waits for the device."""
        return float(self.returns.mean())

    def to_samples(self) -> Samples:
        """The same on the host, 16 neighbouring rows to a unit; waits for the device."""
        n_obs, words = self.obs.shape[-1], -(-self.mask.shape[-1] // 32)
        samples = Samples.new(self.samples // LANES, n_obs, words)
        samples.obs[:] = self.obs.reshape(-1, LANES, n_obs).transpose(1, 2).cpu().numpy()
        for name in ("action", "log_prob", "value", "advantage", "returns"):
            getattr(samples, name)[:] = getattr(self, name).reshape(-1, LANES).cpu().numpy()
        if words:
            bits = np.zeros((self.samples, words * 32), np.uint32)
            bits[:, : self.mask.shape[-1]] = self.mask.reshape(self.samples, -1).cpu().numpy()
            packed = (bits.reshape(self.samples, words, 32) << np.arange(32, dtype=np.uint32)).sum(-1, dtype=np.uint32)
            samples.mask[:] = packed.reshape(-1, LANES, words).transpose(0, 2, 1)
        return samples
