"""How many rows and warps a program of the network's kernels should take: milliseconds of each choice, on a GPU.

`python -m benchmarks.gpu_launches` writes benchmarks/results/gpu_launches-*.json: medians of `triton.testing.do_bench`
by precision, kernel and size, with torch's own operations on the same samples beside them; null where a choice needs
more than the GPU has. `gpu.cuda.network.Network` takes what is best here. `TRITON_INTERPRET=1 ... --device cpu` tries
the script itself, small, and nothing is written.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton
from triton.runtime.errors import OutOfResources

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import PRECISIONS, ResidentPPO
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda.graphs import captured
from dshq_widget.gpu.cuda.network import Launch
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.policy.network import PolicySpec

CHOICES = [Launch(rows, warps) for rows, warps in itertools.product((16, 32, 64, 128), (4, 8))]
MINIBATCHES = 4096, 262_144
SIDES = 4096, 131_072


def milliseconds(work: Callable[[], None], device: str) -> float:
    """Of one launch of a CUDA graph of `work`, the median; on a processor of one call."""
    if device == "cpu":
        begin = time.perf_counter()
        work()
        return 1e3 * (time.perf_counter() - begin)
    return float(triton.testing.do_bench(captured(work).replay, return_mode="median"))


def of_choices(set_choice: Callable[[Launch], None], work: Callable[[], None], device: str) -> dict[str, float | None]:
    """By "rows x warps"."""
    found: dict[str, float | None] = {}
    for choice in CHOICES:
        set_choice(choice)
        try:
            found[f"{choice.rows} x {choice.warps}"] = milliseconds(work, device)
        except OutOfResources:
            found[f"{choice.rows} x {choice.warps}"] = None
    return found


def learning(spec: PolicySpec, precision: str, size: int, device: str) -> dict[str, Any]:
    """One minibatch, Adam's step included."""
    rollout = Rollout.new(1, size, spec.layers[0], 0, 0, torch.device(device))
    rollout.obs.normal_()
    rollout.advantage.normal_()
    rollout.log_prob.fill_(-float(np.log(spec.n_actions)))
    index, factor = torch.randperm(size, device=device), torch.ones(size, device=device)
    row: dict[str, Any] = {"kernel": "learn", "precision": precision, "samples": size}
    for kernels in (False, True):
        learner = ResidentPPO(spec, device=device, precision=precision, kernels=kernels)
        learner.learn(rollout, Hyper(learning_rate=0.0, minibatch_size=size))

        def work(learner: ResidentPPO = learner) -> None:
            learner._minibatch(rollout, index, factor, False)

        if learner.network is None:
            row["torch"] = milliseconds(work, device)
        else:
            network = learner.network
            row["choices"] = of_choices(
                lambda choice, network=network: setattr(network, "learning", choice),  # type: ignore[misc]
                work,
                device,
            )
    return row


def playing(spec: PolicySpec, precision: str, sides: int, device: str) -> dict[str, Any]:
    """One decision of so many sides."""
    learner = ResidentPPO(spec, device=device, precision=precision, kernels=True)
    network = learner.network
    assert network is not None
    seen, chance = torch.randn(1, spec.layers[0], sides, device=device), torch.rand(1, sides, device=device)
    rows, chosen = torch.arange(sides, device=device), torch.zeros(1, sides, dtype=torch.int32, device=device)
    obs = seen[0].T.contiguous()

    def by_torch() -> None:
        with torch.no_grad():
            learner.forward(obs, None, None)

    return {
        "kernel": "act",
        "precision": precision,
        "sides": sides,
        "torch": milliseconds(by_torch, device),  # the network alone, without the draw
        "choices": of_choices(
            lambda choice: setattr(network, "playing", choice),
            lambda: network.act(seen, None, rows, chance, chosen),
            device,
        ),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    device = parser.parse_args().device
    minibatches, many = (MINIBATCHES, SIDES) if device == "cuda" else ((64,), (64,))
    game = compiled("ball")
    spec = PolicySpec.for_config(game.spec, of_drill(game.spec))
    rows = []
    for precision in PRECISIONS:
        for row in (
            *(learning(spec, precision, size, device) for size in minibatches),
            *(playing(spec, precision, sides, device) for sides in many),
        ):
            print(json.dumps(row), flush=True)
            rows.append(row)
    if device == "cuda":
        write("gpu_launches", {"gpu": torch.cuda.get_device_name(), "rows": rows})


if __name__ == "__main__":
    main()
