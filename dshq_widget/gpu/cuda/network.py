"""A policy network on a GPU in single launches: one plays, one learns from a minibatch and one gathers what its
programs found, one takes Adam's step. They compute the same as `TorchPPO`; networks that they do not support use torch.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dshq_widget.policy.network import PolicySpec

PRODUCTS = {"f32": "tf32x3", "tf32": "tf32", "bf16": "bf16"}
"""Triton's matrix products by the learner's name: three of tf32 are one of float32 but for its last bits."""
BETAS = (0.9, 0.999)
"""Of Adam's moments; torch's own defaults."""
MOST_WORDS = {"f32": 14_000, "tf32": 28_000, "bf16": 42_000}
"""Padded weights of the largest network whose minibatch fits into the 227 KB of shared memory of a Hopper GPU, as
Triton 3.9 compiles it (tests/kernels/test_network.py)."""


class Launch(NamedTuple):
    """Rows that one program takes at a time, and its warps (chosen by registers and spills, not yet by time)."""

    rows: int
    warps: int


def padded(count: int) -> int:
    """The next power of two, at least 16, as matrix units need."""
    return max(16, 1 << (count - 1).bit_length())


def why_unsupported(spec: PolicySpec, precision: str) -> str:
    """Why the kernels do not support a network, in a few words; "" if they do."""
    if spec.front or spec.pictures or spec.memory or len(spec.layers) != 4:
        return "it does not consist of exactly two dense hidden layers"
    words, most = padded_words(spec), MOST_WORDS[precision]
    return f"it has {words} weights in {precision}, padded; the limit is {most}" if words > most else ""


def padded_words(spec: PolicySpec) -> int:
    """Weights of a network in whose layers every width is `padded`, without biases."""
    return sum(padded(a) * padded(b) for a, b in itertools.pairwise(spec.layers))


def usable(device: torch.device) -> bool:
    """Whether Triton can run here: on a GPU, or in its interpreter (TRITON_INTERPRET=1) on a processor."""
    here = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return here and importlib.util.find_spec("triton") is not None


class Network:
    """The kernels of one network; `weights` and all tensors that they are given lie on `weights`' device."""

    def __init__(self, spec: PolicySpec, weights: Tensor, precision: str):
        """Raises ValueError for an unsupported network, ImportError without Triton."""
        from dshq_widget.gpu.cuda import network_kernels

        if wrong := why_unsupported(spec, precision):
            raise ValueError(f"the single-launch kernels do not support this network: {wrong}")
        self._kernels = network_kernels
        self.spec, self.weights = spec, weights.detach()
        n_obs, hidden_1, hidden_2, n_out = spec.layers
        wide = [padded(width) for width in spec.layers]
        self.sizes: dict[str, Any] = {
            "n_obs": n_obs,
            "hidden_1": hidden_1,
            "hidden_2": hidden_2,
            "n_actions": n_out - 1,
            **dict(zip(("wide_obs", "wide_1", "wide_2", "wide_out"), wide, strict=True)),
            "relu": spec.activation == "relu",
            "precision": PRODUCTS[precision],
        }
        """Compile-time constants of both kernels."""
        large = padded_words(spec) > MOST_WORDS["f32"]
        self.playing = Launch(64, 8 if wide[0] > 64 else 4)
        self.learning = Launch(16, 8) if large else Launch(32, 8 if wide[0] > 64 else 4)
        device = weights.device
        gpu = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
        together = 1 if large or precision == "f32" else 2  # programs that fit into a multiprocessor's shared memory
        self._most_programs = together * (gpu.multi_processor_count if gpu else 2)
        self._partial = torch.zeros(self._most_programs, spec.floats + 5, device=device)
        self.slope = torch.zeros(spec.floats, device=device)
        """f32 `[floats]`: of the last minibatch's loss."""
        self.parts = torch.zeros(5, dtype=torch.float64, device=device)
        """f64 `[5]`: the last minibatch's means, in the order of `resident.PARTS`."""

    def _options(self, at: Launch) -> dict[str, Any]:
        """How a kernel of the whole network is compiled and launched."""
        return {**self.sizes, "block": at.rows, "num_warps": at.warps, "num_stages": 1, "enable_fp_fusion": True}

    def act(
        self,
        seen: Tensor,
        allowed: Tensor | None,
        rows: Tensor,
        chance: Tensor,
        chosen: Tensor,
        kept: Mapping[str, Tensor] | None = None,
        weights: Tensor | None = None,
    ) -> None:
        """Draw an action for each of the sides `rows`, i64 `[N]` of side * n + game, from what they see, f32 `[sides,
        n_obs, n]`, and may do, u8 `[sides, n_actions, n]`, with a uniform number each, `[sides, n]`.

        Actions go to `chosen`, i32 `[sides, n]`. `kept` names the tensors of a rollout's decision (`obs`, `mask`,
        `action`, `log_prob`, `value`) that are written, too. `weights` are another policy's.
        """
        at, count = self.playing, len(rows)
        out = kept or dict.fromkeys(("obs", "mask", "action", "log_prob", "value"), seen)
        self._kernels.act[((count + at.rows - 1) // at.rows,)](
            seen,
            seen if allowed is None else allowed,
            rows,
            chance,
            self.weights if weights is None else weights,
            out["obs"],
            out["mask"].view(torch.uint8) if kept and allowed is not None else seen,
            out["action"],
            out["log_prob"],
            out["value"],
            chosen,
            seen.shape[2],
            count,
            masked=allowed is not None,
            kept=kept is not None,
            **self._options(at),
        )

    def learn(
        self,
        samples: Mapping[str, Tensor],
        index: Tensor,
        factor: Tensor,
        scales: Mapping[str, Tensor],
        real: Tensor,
        clip_value: bool,
    ) -> None:
        """The loss's `slope` and `parts` over the samples `index`, i64 `[N]`, of a rollout: `obs`, `mask` (bool,
        without actions where nothing is masked), `action`, `log_prob`, `value`, `advantage`, `returns`, all `[T, R,
        ...]`; `factor` f32 `[N]` of their advantages.

        `scales` are the tensors `shift` and `factor` of observations, `clip_epsilon`, `value_coef`, `entropy_coef`,
        `mean` and `scale` of advantages, `reward_scale`; `real`, f32 `[floats]`, is 0 where there is no weight.
        """
        at, size, floats = self.learning, len(index), self.spec.floats
        programs = min((size + at.rows - 1) // at.rows, self._most_programs)
        masked = samples["mask"].shape[-1] > 0
        self._kernels.slopes[(programs,)](
            samples["obs"],
            samples["mask"].view(torch.uint8) if masked else samples["obs"],
            *(samples[name] for name in ("action", "log_prob", "value", "advantage", "returns")),
            index,
            factor,
            size,
            *(scales[name] for name in ("shift", "factor", "clip_epsilon", "value_coef", "entropy_coef")),
            *(scales[name] for name in ("mean", "scale", "reward_scale")),
            self.weights,
            self._partial,
            masked=masked,
            clip_value=clip_value,
            **self._options(at),
        )
        columns = 64
        self._kernels.gather[((floats + 5 + columns - 1) // columns,)](
            self._partial, real, self.slope, self.parts, programs, size, floats=floats, rows=16, columns=columns
        )

    def step(
        self,
        slope: Tensor,
        parts: Tensor,
        count: Tensor,
        moments: Mapping[str, Tensor],
        stopped: Tensor,
        report: Tensor,
        limits: Mapping[str, Tensor],
        *,
        margin: float,
        epsilon: float,
    ) -> None:
        """Adam with this `epsilon`, unless the minibatch is left out, and the sums of `report`: see
        `resident.ResidentPPO._step`. `moments` are torch's own (`exp_avg`, `exp_avg_sq`, `step`), `limits` the tensors
        `learning_rate`, `max_grad_norm` and `target_kl`, of which `margin` times may be reached.
        """
        self._kernels.step[(1,)](
            slope,
            parts,
            count,
            self.weights,
            *(moments[name] for name in ("exp_avg", "exp_avg_sq", "step")),
            stopped.view(torch.uint8),
            report,
            *(limits[name] for name in ("learning_rate", "max_grad_norm", "target_kl")),
            margin=margin,
            floats=self.spec.floats,
            beta_1=BETAS[0],
            beta_2=BETAS[1],
            epsilon=epsilon,
            block=4096,
            num_warps=16,
        )


def own_network(spec: PolicySpec, weights: Tensor, precision: str, wanted: bool | None) -> Network | None:
    """See `plug.Device.network`."""
    if wanted is None:
        here = weights.device.type == "cuda" and usable(weights.device)
        wanted = here and not why_unsupported(spec, precision)
    return Network(spec, weights, precision) if wanted else None
