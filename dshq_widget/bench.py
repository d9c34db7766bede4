"""`dshq bench`: this machine's ceilings, this package's rates beside them, and the naive layout of the same rules as a floor."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dshq_widget.drill import CompiledDrill
from dshq_widget.env import compiled
from dshq_widget.naive import NaiveGame

GAMES = 1024


def rate(call: Callable[[], Any], work: float, seconds: float) -> float:
    """`work` per second of the fastest of at least three rounds."""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        rounds += 1
    return work / best


def machine() -> dict[str, Any]:
    """What a figure must be read with."""
    import llvmlite.binding as llvm
    import numba

    return {
        "processor": _processor(), "architecture": platform.machine(), "target": llvm.get_host_cpu_name(), "cores": os.cpu_count(),
        "system": platform.system(), "python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__,
    }  # fmt: skip


def bench(drill: str | CompiledDrill, seconds: float = 2.0) -> dict[str, Any]:
    """`{machine, drill, ceilings, rates, ratios}`; names and units in docs/contract.md."""
    game = compiled(drill)
    ceilings = {"gemm_gflops_per_core": gemm(seconds), "copy_gb_per_second": copy(seconds)}
    tiles, naive = simulation(game, seconds), NaiveGame(game).rate(GAMES, seconds)
    rates = {"sim_ticks_per_second_per_core": tiles, **learning(game, seconds)}
    return {"machine": machine(), "drill": game.name, "ceilings": ceilings, "rates": rates, "ratios": {"tiles_to_naive_layout": tiles / naive}}


def simulation(drill: CompiledDrill, seconds: float) -> float:
    """Ticks per second of one core, random actions held, decisions included."""
    game = drill.game()
    tiles = game.new(GAMES // 16, practice=True)
    tiles["action"] = game.actions(tiles, "random")
    repeat = drill.spec["action_repeat"]

    def play() -> None:
        for _ in range(20):
            game.decide(tiles)
            game.tick(tiles, repeat)

    return rate(play, 20 * repeat * GAMES, seconds)


def gemm(seconds: float) -> float:
    """float32 matrix product of 768 x 768, GFLOP/s of one core (NumPy's BLAS held to one thread)."""
    from threadpoolctl import threadpool_limits

    n = 768
    a = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32)
    out = np.empty_like(a)
    with threadpool_limits(1):
        return rate(lambda: np.matmul(a, a, out=out), 2 * n**3, seconds) / 1e9


def copy(seconds: float) -> float:
    """Memory copy of 256 MB, GB/s read plus written, one core."""
    a = np.ones(1 << 26, np.float32)
    b = np.empty_like(a)
    return rate(lambda: np.copyto(b, a), 2 * a.nbytes, seconds) / 1e9


def learning(drill: CompiledDrill, seconds: float) -> dict[str, float]:
    """Inferences and update samples per second of one core, and agent steps per second of the whole loop on all usable cores."""
    from dshq_widget.learners.probe import probe

    return probe(drill, seconds)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.processor())
    except OSError:
        return platform.processor()
