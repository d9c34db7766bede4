"""`dshq bench`: this machine's ceilings, this package's rates, and the baseline layout of the same rules."""

from __future__ import annotations

import os
import platform
import subprocess
from typing import Any

import numpy as np

from dshq_kernels.backends.own_python import own_python
from dshq_kernels.network import mlp
from dshq_kernels.simd import vector
from dshq_widget import algorithms
from dshq_widget.cli.baseline_layout import NaiveGame
from dshq_widget.contract.settings import of_drill
from dshq_widget.contract.torch_needed import torch_missing
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.rates import rate

GAMES = 1024


def machine() -> dict[str, Any]:
    """The machine that the figures belong to."""
    import llvmlite.binding as llvm
    import numba

    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "target": llvm.get_host_cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def bench(drill: str | CompiledDrill, seconds: float = 2.0) -> dict[str, Any]:
    """`{machine, drill, ceilings, rates, ratios}`; names and units in docs/contract.md. The network is one without a
    memory. Rates of learning are what the algorithms measure (`Algorithm.benches`).
    """
    game = compiled(drill)
    ceilings = {"gemm_gflops_per_core": gemm(seconds), "copy_gb_per_second": copy(seconds)}
    tiles, naive = simulation(game, seconds), NaiveGame(game).rate(GAMES, seconds)
    network = PolicySpec.for_config(game.spec, of_drill(game.spec).replace({"memory": 0}))
    rates = {"sim_ticks_per_second_per_core": tiles, "inferences_per_second_per_core": inference(network, seconds)}
    for measure in [each.benches["cpu"] for each in algorithms.algorithms.values() if "cpu" in each.benches]:
        rates |= measure(game, seconds).rates
    return {
        "machine": machine(),
        "drill": game.name,
        "ceilings": ceilings,
        "rates": rates,
        "ratios": {"tiles_to_naive_layout": tiles / naive},
    }


def simulation(drill: CompiledDrill, seconds: float) -> float:
    """Ticks per second of one core, random actions held, decisions included."""
    game = drill.game()
    tiles = game.new(GAMES // 16, practice=True)
    tiles["action"] = game.actions(tiles, "random")
    repeat = drill.spec.action_repeat

    def play() -> None:
        for _ in range(20):
            game.decide(tiles)
            game.tick(tiles, repeat)

    return rate(play, 20 * repeat * GAMES, seconds)


def gemm(seconds: float) -> float:
    """float32 matrix product of 768 x 768 on one thread, GFLOP/s: in torch, or in numpy where torch is missing."""
    if torch_missing("bench"):
        return numpy_gemm(seconds)
    import torch

    n, threads = 768, torch.get_num_threads()
    a = torch.randn(n, n)
    out = torch.empty_like(a)
    torch.set_num_threads(1)
    try:
        return rate(lambda: torch.mm(a, a, out=out), 2 * n**3, seconds) / 1e9
    finally:
        torch.set_num_threads(threads)


def numpy_gemm(seconds: float) -> float:
    """The same in numpy, in a process of its own: only there can its threads be limited."""
    code = "from dshq_widget.runtime.rates import rate; import numpy, sys; a = numpy.ones((768, 768), numpy.float32)"
    code += "; out = a.copy(); print(rate(lambda: numpy.matmul(a, a, out), 2 * 768**3, float(sys.argv[1])))"
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = own_python("-c", code, str(seconds))
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env={**os.environ, **one})
    return float(said.stdout) / 1e9


def copy(seconds: float) -> float:
    """Memory copy of 256 MB, GB/s read plus written, one core."""
    a = np.ones(1 << 26, np.float32)
    b = np.empty_like(a)
    return rate(lambda: np.copyto(b, a), 2 * a.nbytes, seconds) / 1e9


def inference(network: PolicySpec, seconds: float) -> float:
    """Forward passes per second of one core, in pairs of 16 lanes as the games make them."""
    plan = mlp.make_plan(network.layers)
    params = mlp.pack(plan, network.initial(np.random.default_rng(0)))
    inputs = vector.aligned((64, 2, network.layers[0], 16))
    inputs[:] = np.random.default_rng(1).standard_normal(inputs.shape)
    scratch = vector.aligned(mlp.play_scratch(plan))
    activation = mlp.ACTIVATIONS[network.activation]
    return rate(
        lambda: forward_pairs(
            plan, activation, params.ctypes.data, inputs.ctypes.data, len(inputs), 20, scratch.ctypes.data
        ),
        20 * len(inputs) * 32,
        seconds,
    )


@vector.compiled
def forward_pairs(plan, activation, params, inputs, pairs, rounds, scratch):
    """`rounds` times the network over `pairs` pairs of units that lie one after the other."""
    unit = plan[0, mlp.N_IN] * 64
    for _ in range(rounds):
        for k in range(pairs):
            x = inputs + 2 * k * unit
            mlp.forward_lanes(plan, activation, params, x, x + unit, 0, 0, mlp.NO_MEMORY, scratch)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(
                (line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.processor()
            )
    except OSError:
        return platform.processor()
