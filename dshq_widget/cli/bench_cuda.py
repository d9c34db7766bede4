"""`dshq bench --device cuda`: the rates of one GPU, each with two theoretical limits: from the bytes to move, at the
measured bandwidth, and from the operations to do, at the measured rates (gpu/cuda/costs.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dshq_widget import algorithms
from dshq_widget.contract.version import __version__
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda.bench import Bench
from dshq_widget.gpu.cuda.costs import Costs
from dshq_widget.gpu.cuda.frames import Painter
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.pixels.ring import ReplayRing


def bench_cuda(
    drill: str | CompiledDrill,
    seconds: float = 2.0,
    *,
    precision: str = "tf32",
    device: str = "cuda",
    sizes: dict[str, int] | None = None,
    kernels: bool | None = None,
) -> dict[str, Any]:
    """`{machine, drill, precision, kernels, sizes, ceilings, rates, floors, ratios}`. A ratio is a rate as a share of
    the lower of its two floors. `sizes` as in `Bench`. `precision` and `kernels` are for the algorithms' learners:
    `kernels=False` has torch's own operations for the network. Raises RuntimeError without a GPU.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("torch found no usable CUDA device: run `dshq doctor` for details")
    game, bench = compiled(drill), Bench(torch.device(device), seconds, sizes)
    bandwidth, scalar, products = bench.copy(), bench.scalar(), bench.products(precision)
    rates = {"sim_ticks_per_second": bench.simulation(game)}
    costs, said = Costs(game), dict[str, Any]()
    work = {"sim_ticks_per_second": costs.tick, "frames_per_second": costs.frame}
    for found in [each.benches["cuda"] for each in algorithms.algorithms.values() if "cuda" in each.benches]:
        measured = found(game, bench, precision, kernels)
        rates, work, said = {**rates, **measured.rates}, {**work, **measured.work}, {**said, **measured.said}
    rates["frames_per_second"] = frames(game, bench)
    floors: dict[str, float] = {}
    for name in rates:
        moved, operations, multiplied = work[name]
        floors[f"{name}_by_bytes"] = bandwidth / moved
        floors[f"{name}_by_operations"] = 1 / (operations / scalar + multiplied / products)
    lowest = {name: min(floors[f"{name}_by_bytes"], floors[f"{name}_by_operations"]) for name in rates}
    return {
        "machine": machine(bench.device),
        "drill": game.name,
        "precision": precision,
        **said,
        "sizes": bench.sizes,
        "ceilings": {
            "copy_gb_per_second": bandwidth / 1e9,
            "scalar_gflops": scalar / 1e9,
            "matrix_gflops": products / 1e9,
        },
        "rates": rates,
        "floors": floors,
        "ratios": {f"{name}_to_floor": rate / lowest[name] for name, rate in rates.items()},
    }


def machine(device: torch.device) -> dict[str, Any]:
    """The machine that the figures belong to."""
    found: dict[str, Any] = {"version": __version__, "torch": torch.__version__, "cuda": torch.version.cuda}
    if device.type == "cuda":
        gpu = torch.cuda.get_device_properties(device)
        found |= {"gpu": gpu.name, "gpu_gb": round(gpu.total_memory / 1e9, 1), "processors": gpu.multi_processor_count}
    return found


def frames(drill: CompiledDrill, bench: Bench) -> float:
    """Frames per second into the replay ring, a decision played and a step pushed for each."""
    n, steps, device = bench.sizes["frame_games"], bench.sizes["frame_steps"], bench.device
    games = CudaGames(drill, n, device)
    games.begin(np.arange(n, dtype=np.uint32), np.zeros(n, np.int32))
    ring, painter = ReplayRing(2 * steps, n, device), Painter(games)
    actions = torch.zeros((drill.spec.sides, n), dtype=torch.int32, device=device)
    zeros = torch.zeros(n, device=device)
    none, first = torch.zeros_like(actions[0]), torch.zeros(n, dtype=torch.bool, device=device)

    def draw() -> None:
        games.follow()
        for _ in range(steps):
            games.decide(actions)
            painter.draw(ring.obs_slot())
            ring.push_step(actions[0], zeros, first, zeros, none)

    return bench.rate(draw, float(steps * n))
