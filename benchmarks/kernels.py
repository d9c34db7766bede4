"""The project's network kernels beside torch eager and the arithmetic they cannot beat, one thread each, in one run.

`python -m benchmarks.kernels` writes benchmarks/results/kernels-*.json: inferences per second, and samples per second
of forward, backward and Adam in PPO's loss, of a tanh network of the given layers; torch at its best batch of several,
its data ready and in order (ours is gathered from 8 MB at random). `--prototype FILE` names a script that prints
"N M inf/s", a bare vector kernel of 24-64-64-32 without heads or masks: the single-core ceiling to hold ours against.
Rounds are interleaved; min / median / max are reported and ratios of medians. Targets (stated before measuring):
inference 80 % of the ceiling and 3.5 times torch eager, the update 3 times torch eager.
"""

from __future__ import annotations

import argparse
import itertools
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import describe, write
from dshq_widget.cli import bench
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.policy.network import PolicySpec

LAYERS = (24, 64, 64, 32)
BATCHES = (256, 1024, 4096, 16384)
SECONDS = 1.0


def torch_network(layers: tuple[int, ...]) -> torch.nn.Sequential:
    parts: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(layers):
        parts += [torch.nn.Linear(n_in, n_out), torch.nn.Tanh()]
    return torch.nn.Sequential(*parts[:-1])


def torch_inference(layers: tuple[int, ...], batch: int) -> float:
    network, x = torch_network(layers), torch.randn(batch, layers[0])
    with torch.inference_mode():
        return bench.rate(lambda: network(x), batch, SECONDS)


def torch_update(layers: tuple[int, ...], batch: int) -> float:
    """Samples per second of one PPO step: clipped loss, value loss, entropy, gradient limit, Adam."""
    network = torch_network(layers)
    adam = torch.optim.Adam(network.parameters(), lr=1e-4)
    x, advantage, returns = torch.randn(batch, layers[0]), torch.randn(batch), torch.randn(batch)
    action, before = torch.randint(layers[-1] - 1, (batch, 1)), torch.full((batch,), -3.4)

    def step() -> None:
        out = network(x)
        log_probs = torch.log_softmax(out[:, :-1], -1)
        ratio = (log_probs.gather(1, action)[:, 0] - before).exp()
        policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = policy + 0.25 * (out[:, -1] - returns).square().mean() - 0.003 * entropy
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        adam.step()

    return bench.rate(step, batch, SECONDS)


def prototype(path: Path) -> float:
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    found = re.search(r"([\d.]+)M inf/s", run.stdout)
    if found is None:
        raise ValueError(f"{path} printed no 'N M inf/s', but {run.stdout!r}")
    return float(found[1]) * 1e6


def best(measure: Callable[[tuple[int, ...], int], float], layers: tuple[int, ...]) -> float:
    return max(measure(layers, batch) for batch in BATCHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prototype", type=Path, help="a script that measures the bare kernel")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    ball = compiled("ball")
    config = of_drill(ball.spec)
    network = PolicySpec.for_config(ball.spec, config)
    measures: dict[str, Callable[[], float]] = {
        "inference": lambda: bench.inference(PolicySpec(LAYERS), SECONDS),
        "inference, torch eager": lambda: best(torch_inference, LAYERS),
        "update": lambda: bench.turns(ball, config, network, 1, SECONDS, playing=False),
        "update, torch eager": lambda: best(torch_update, network.layers),
    }
    if arguments.prototype:
        measures["inference, bare kernel"] = lambda: prototype(arguments.prototype)
    rounds: dict[str, list[float]] = {name: [] for name in measures}
    began = time.monotonic()
    for k in range(arguments.rounds):
        for name, measure in measures.items():
            rounds[name].append(measure())
        print(f"round {k + 1} of {arguments.rounds}, {time.monotonic() - began:.0f} s", flush=True)
    rows: dict[str, Any] = {
        name: {"min": min(found), "median": statistics.median(found), "max": max(found), "rounds": found}
        for name, found in rounds.items()
    }
    ratios = {
        f"{name.split(',')[0]} to {name.split(', ')[1]}": rows[name.split(",")[0]]["median"] / row["median"]
        for name, row in rows.items()
        if "," in name
    }
    for name, row in rows.items():
        print(f"{name:24} {row['min'] / 1e6:8.2f} {row['median'] / 1e6:8.2f} {row['max'] / 1e6:8.2f} M/s")
    print(ratios)
    gemm = bench.gemm(SECONDS)
    write(
        "kernels",
        {"machine": describe(), "layers": LAYERS, "update_layers": network.layers, "gemm_gflops_per_core": gemm}
        | {"rows": rows, "ratios_of_medians": ratios},
    )


if __name__ == "__main__":
    main()
