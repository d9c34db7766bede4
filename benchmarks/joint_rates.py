"""Joint learning of the Ball Drill: agent steps a second of one and of two processes here, and what a model of the
all-reduce says of 2, 4 and 8 GPUs.

`python -m benchmarks.joint_rates` writes benchmarks/results/joint_rates-*.json. Both runs are started by torchrun, have
the same number of games for each process and the same samples for each process in a minibatch. No GPU is needed, and
none was used: the model is not measured. Expected (stated before measuring): on two cores 1.6 times one process.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of, said
from dshq_widget.contract.protocol import blob_floats
from dshq_widget.env.batch import compiled
from dshq_widget.policy.network import PolicySpec

GAMES, LENGTH, MINIBATCH = 1024, 32, 8192
PARTS = 6
"""Numbers that travel with the gradient: the parts of the loss, and the count."""
LINKS = {"NVLink": (300e9, 20e-6), "PCIe": (20e9, 40e-6)}
"""Bytes/s of each GPU in an all-reduce and seconds of a small one (assumed, from NCCL's own figures for 8 GPUs)."""
STEP_SECONDS = 65536 / 100e6
"""Of one minibatch of 65,536 samples for each GPU with the play that it needs, at the 100 million agent steps/s that
docs/howto/gpu.md asks of one (not measured)."""


def rate(processes: int, seconds: float) -> dict[str, Any]:
    """Agent steps/s of so many processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    settings = {"num-envs": GAMES, "rollout-length": LENGTH, "minibatch-size": MINIBATCH * processes}
    flags = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    train = ["dshq_widget.cli", "train", "ball", "--joint", "true", "--seconds", str(seconds), "--json", *flags]
    found = said([*command, *train])
    return {
        "processes": processes,
        "agent_steps": found["agent_steps"],
        "agent_steps_per_second": found["agent_steps_per_second"],
        "updates": found["updates"],
    }


def model(floats: int) -> list[dict[str, Any]]:
    """Seconds of an all-reduce for each minibatch as a ring, and the share of the ideal rate that is left."""
    size = 8 * (floats + PARTS)  # f64
    rows = []
    for link, (bandwidth, latency) in LINKS.items():
        for gpus in (2, 4, 8):
            seconds = 2 * (gpus - 1) / gpus * size / bandwidth + latency
            left = STEP_SECONDS / (STEP_SECONDS + seconds)
            rows.append({"link": link, "gpus": gpus, "bytes": size, "seconds": seconds, "times_one": gpus * left})
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rows = [rate(processes, arguments.seconds) for _ in range(arguments.rounds) for processes in (1, 2)]
    for row in rows:
        print(f"{row['processes']} processes: {row['agent_steps_per_second']:,.0f} agent steps/s")
    floats = blob_floats(PolicySpec.for_drill(compiled("ball").spec, (64, 64)).layers)
    predicted = model(floats)
    for row in predicted:
        print(f"{row['gpus']} GPUs over {row['link']}: {row['seconds'] * 1e6:.0f} us, {row['times_one']:.2f} times one")
    write("joint_rates", {"rows": rows, "model": predicted})


if __name__ == "__main__":
    main()
