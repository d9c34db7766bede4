"""Measures one GPU: how fast it copies, computes and multiplies, and how fast games run on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numba import cuda

from dshq_kernels.backends import threads
from dshq_kernels.backends.threads import add, multiply
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.cuda.games import CudaGames, shared
from dshq_widget.gpu.cuda.graphs import captured
from dshq_widget.gpu.precision import products
from dshq_widget.runtime.rates import ROUNDS, rate

SIZES = {
    "sim_games": 1 << 20,
    "games": 1 << 16,
    "length": 32,
    "minibatch": 1 << 18,
    "frame_games": 1 << 14,
    "frame_steps": 8,
    "copy_floats": 1 << 28,
    "matrix": 8192,
    "chains": 1 << 20,
    "chain_steps": 1 << 10,
}
"""Problem sizes (assumed: large enough to fill a data-centre GPU)."""
CHAINS = 8
"""Independent sums in a thread, so that none waits for its own last result."""


class Bench:
    """Measures on one device, each rate for about `seconds`; `sizes` are those of `SIZES` that are to be others."""

    def __init__(self, device: torch.device, seconds: float, sizes: Mapping[str, int] | None = None) -> None:
        self.device, self.seconds, self.sizes = device, seconds, {**SIZES, **(sizes or {})}

    def rate(self, call: Callable[[], Any], work: float) -> float:
        """`work` per second of the fastest round, each waited for."""
        return rate(call, work, self.seconds, self._wait, ROUNDS if self.seconds else 1)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def copy(self) -> float:
        """Bytes per second, read plus written, of one large copy."""
        a = torch.ones(self.sizes["copy_floats"], device=self.device)
        b = torch.empty_like(a)
        return self.rate(lambda: b.copy_(a), 2 * a.nbytes)

    def scalar(self) -> float:
        """Additions and multiplications per second that are rounded one by one, as the rules' are."""
        out = torch.ones(self.sizes["chains"], device=self.device)
        array = shared(out)
        steps, block = self.sizes["chain_steps"], 16 if threads.SIMULATED else 256
        grid = (len(out) + block - 1) // block
        return self.rate(lambda: chains[grid, block](array, steps), 2.0 * CHAINS * steps * len(out))

    def products(self, precision: str) -> float:
        """Multiplications and additions per second of a large matrix product."""
        n = self.sizes["matrix"]
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        a = torch.randn(n, n, device=self.device).to(dtype)
        out = torch.empty_like(a)
        with products(precision):
            return self.rate(lambda: torch.mm(a, a, out=out), 2.0 * n**3)

    def simulation(self, drill: CompiledDrill) -> float:
        """Ticks per second, random actions held, decisions included."""
        n, repeat, decisions = self.sizes["sim_games"], drill.spec.action_repeat, 10
        games = CudaGames(drill, n, self.device)
        rng = np.random.default_rng(0)
        games.begin(rng.integers(0, 1 << 32, n, np.uint32), np.zeros(n, np.int32))
        actions = torch.zeros((drill.spec.sides, n), dtype=torch.int32, device=self.device)
        allowed = torch.zeros((len(actions), drill.spec.n_actions, n), dtype=torch.uint8, device=self.device)
        games.mask(allowed)
        games.actions("random", 0, actions, allowed)
        games.action.copy_(actions)

        def play() -> None:
            games.follow()
            for _ in range(decisions):
                games.decide()

        return self.rate(self._one(play), float(decisions * repeat * n))

    def _one(self, work: Callable[[], None]) -> Callable[[], Any]:
        """Work as one launch, where there are graphs."""
        return captured(work).replay if self.device.type == "cuda" else work


@cuda.jit(cache=True)
def chains(out, steps):
    """`CHAINS` times `steps` multiplications and additions that are rounded one by one."""
    t = cuda.grid(1)
    if t < out.shape[0]:
        x = out[t]
        a, b, c, d, e, f, g, h = x, x, x, x, x, x, x, x
        for _ in range(steps):
            a = add(multiply(a, x), x)
            b = add(multiply(b, x), x)
            c = add(multiply(c, x), x)
            d = add(multiply(d, x), x)
            e = add(multiply(e, x), x)
            f = add(multiply(f, x), x)
            g = add(multiply(g, x), x)
            h = add(multiply(h, x), x)
        total = a + b + c + d + e + f + g + h
        out[t] = x if total > x else total
