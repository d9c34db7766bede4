"""What a Ray cluster costs and what it could bring: rates with 1, 2 and 3 nodes beside one local process on the same
cores, sizes and rates of the messages, and a model of larger clusters made of them.

`python -m benchmarks.ray_rates` writes benchmarks/results/ray_rates-*.json; it needs the extra `ray`. The nodes of
`tests/harness/processes/ray_cluster.py` share this machine's cores with the learner, so their rates show the overhead,
not a gain. Prediction, stated before measuring: on two cores Ray with one node reaches half of the local rate or more,
and more nodes change little. Asked: three quarters. `processor_seconds` says who used the cores during each run: the
learner's command, the players, Ray's own processes by name.

The model. A rollout has S agent steps and C bytes, weights have W bytes. One node plays a rollout in t_p seconds; the
learner fetches and copies it in t_c seconds and learns from it in t_u seconds; a network carries B bytes/s each way at
the learner. Of N nodes, then,

    agent steps/s = S * min(N / t_p, 1 / (t_c + t_u), B / C, B / W)

because every rollout brings C bytes in and takes W bytes out, and the learner's process fetches and learns in turn.
All but B is measured here; B is a figure of the network that is assumed, 1.25e9 (10 Gbit/s).
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo.cluster.connection import connected
from dshq_widget.algorithms.ppo.cluster.player import NodePlayer, Order
from dshq_widget.contract.settings import of_drill
from dshq_widget.contract.version import __version__
from dshq_widget.env.batch import compiled
from dshq_widget.policy.network import PolicySpec
from tests.harness.processes.ray_cluster import RayCluster

NODES = (1, 2, 3)
MODELLED = (8, 64, 512)
NETWORK_BYTES = 1.25e9
MESSAGES = 30
"""Rollouts fetched to measure messages."""
KEPT = ("agent_steps_per_second", "updates_per_second", "policy_lag", "rollout_ms", "update_ms", "dropped_chunks")


def train(drill: str, seconds: float, flags: list[str], cluster: RayCluster | None = None) -> dict[str, Any]:
    """One command, and who used the processors meanwhile."""
    command = [sys.executable, "-m", "dshq_widget.cli", "train", drill, "--seconds", str(seconds), "--json", *flags]
    environment = {**os.environ, **(cluster.environment if cluster else {})}
    before, mine = used(cluster), resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        after = dict(before)
        while run.poll() is None:  # players end with the run
            time.sleep(0.25)
            after |= {name: max(value, after.get(name, 0.0)) for name, value in used(cluster).items()}
        assert run.stdout
        said = run.stdout.read()
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    trained = json.loads(said.splitlines()[-1])
    metrics = {name: trained["metrics"].get(name) for name in KEPT}
    processors = {name: value - before.get(name, 0.0) for name, value in after.items()}
    processors["learner's command"] = spent.ru_utime + spent.ru_stime - mine.ru_utime - mine.ru_stime
    rate = trained["agent_steps"] / trained["seconds"]
    return {**metrics, "agent_steps_per_second": rate, "processor_seconds": processors}


def used(cluster: RayCluster | None) -> dict[str, float]:
    """Processor seconds of the cluster's processes so far, by name."""
    found: dict[str, float] = {}
    for process in cluster.processes() if cluster else []:
        try:
            words, times = process.cmdline(), process.cpu_times()
        except psutil.Error:
            continue
        name = "players" if "NodePlayer" in " ".join(words) else Path(words[0] if words else "").name
        found[name] = found.get(name, 0.0) + times.user + times.system
    return found


def messages(drill: str, cluster: RayCluster) -> dict[str, float]:
    """Sizes of the messages, and how long a node takes to play and the learner to fetch and copy a rollout."""
    game = compiled(drill)
    config = of_drill(game.spec)
    weights = PolicySpec.for_config(game.spec, config).untrained(0)
    with connected(cluster.address) as ray:
        player = ray.remote(NodePlayer).remote(game.to_json(), config.to_json(), 0, 1, __version__)
        ray.get(player.ready.remote())
        order, played, fetched = Order(1, config.to_json(), 0, 0), [], []
        for _ in range(MESSAGES):
            flat = ray.put(weights)
            begin = time.perf_counter()
            call = player.play.remote(order, flat, None, None)
            ray.wait([call], fetch_local=False)
            played.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            chunk = ray.get(call)
            copies = [array.astype(np.float32) for array in chunk.samples]
            fetched.append(time.perf_counter() - begin)
        assert len(copies[0]) == chunk.rows
        return {
            "agent_steps": len(chunk.units) * 16,
            "rollout_bytes": chunk.nbytes,
            "weight_bytes": weights.nbytes,
            "play_seconds": statistics.median(played),
            "fetch_seconds": statistics.median(fetched),
        }


def model(sizes: dict[str, float], update_seconds: float, nodes: int) -> dict[str, Any]:
    """The formula above; `limit` names the smallest term."""
    terms = {
        "play": nodes / sizes["play_seconds"],
        "learner": 1 / (sizes["fetch_seconds"] + update_seconds),
        "network in": NETWORK_BYTES / sizes["rollout_bytes"],
        "network out": NETWORK_BYTES / sizes["weight_bytes"],
    }
    limit = min(terms, key=lambda name: terms[name])
    rates = {name: sizes["agent_steps"] * term for name, term in terms.items()}
    return {"nodes": nodes, "agent_steps_per_second": rates[limit], "limit": limit, "terms": rates}


def main() -> None:
    """Measure and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for _ in range(options.rounds):
        rows.append({"nodes": 0, **train(options.drill, options.seconds, ["--workers", "0"])})
        for nodes in NODES:
            with RayCluster(nodes=nodes) as cluster:
                flags = ["--engine", "ray", "--ray-address", cluster.address]
                rows.append({"nodes": nodes, **train(options.drill, options.seconds, flags, cluster)})
            print(json.dumps(rows[-1]), flush=True)
    with RayCluster(nodes=1) as cluster:
        os.environ.update(cluster.environment)
        sizes = messages(options.drill, cluster)
    update_seconds = statistics.median(row["update_ms"] for row in rows if row["nodes"] == 0) / 1000
    modelled = [model(sizes, update_seconds, nodes) for nodes in (*NODES, *MODELLED)]
    result = {
        "drill": options.drill,
        "network_bytes_per_second_assumed": NETWORK_BYTES,
        "formula": "S * min(N / t_p, 1 / (t_c + t_u), B / C, B / W)",
        "rows": rows,
        "messages": sizes,
        "update_seconds": update_seconds,
        "model": modelled,
    }
    print(json.dumps({"messages": sizes, "model": modelled}, indent=1))
    print(write("ray_rates", result))


if __name__ == "__main__":
    main()
