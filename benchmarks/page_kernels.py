"""The rules and the learner as WebAssembly in Node beside the same functions as machine code, one thread each.

`python -m benchmarks.page_kernels` writes benchmarks/results/page_kernels-*.json: ticks per second of one tile of Ball,
inferences per second of its network, agent steps per second of `play` with the default opponents, samples per second
of `learn` in the default minibatch; of machine code, of the build with 128-bit vectors and of the one with relaxed
SIMD. Rounds are interleaved; of each figure the best round counts, since others on the machine only slow it. Predicted
before measuring, from a prototype: ticks .4, inference .16 and .24, play and learn between them.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import describe, write
from dshq_kernels.network.gradient import SUMS, learn_scratch
from dshq_kernels.network.mlp import ACTIVATIONS, make_plan, pack
from dshq_kernels.network.update import learn
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_kernels.simd.vector import aligned
from dshq_widget.cli import bench
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.env.trace import node
from dshq_widget.policy.network import PolicySpec, initial_weights
from tests.harness.wasm_host import Host

GAMES, LENGTH, MINIBATCH = 1024, 32, 4096
TICKS = 120
NUMBERS = {"advantage_scale": 1.0, "reward_scale": 1.0, "clip": 0.2, "value_coef": 0.5, "entropy_coef": 0.003}
ADAM = {"learning_rate": 1e-4, "epsilon": 1e-5, "max_norm": 0.5}
BUILDS = {"simd128": False, "relaxed": True}


class Subject:
    """What is measured: Ball with its default network and opponents."""

    def __init__(self) -> None:
        self.drill = compile_drill(Ball)
        config = of_drill(self.drill.spec)
        self.network = PolicySpec.for_config(self.drill.spec, config)
        self.plan = make_plan(self.network.layers, self.network.separate)
        self.activation = ACTIVATIONS[self.network.activation]
        self.params = pack(self.plan, initial_weights(self.network.layers, 1))
        shares = {"self": 0.75, "chaser": 0.125, "random": 0.125}
        self.games = Rollouts(
            *(self.drill.game(), self.drill.spec, self.network.layers, self.activation),
            games=GAMES,
            length=LENGTH,
            shares=shares,
            seed=1,
            separate=self.network.separate,
        )
        self.samples = Samples.new(self.games.units, *Samples.sizes(self.drill.spec))
        self.play()
        order = np.random.default_rng(0).permutation(self.games.trainable)
        self.order = order[: len(order) // (MINIBATCH // 16) * (MINIBATCH // 16)]
        self.bounds = np.arange(0, len(self.order) + 1, MINIBATCH // 16)
        self.state = aligned((1, 3, self.params.size))
        self.state[0, 0] = self.params
        self.gradients = aligned((2, 1, self.params.size + 16))
        self.scratch = aligned((1, learn_scratch(self.plan)))

    @property
    def steps(self) -> int:
        return len(self.games.trainable) * 16

    def play(self) -> None:
        stats = self.games.new_stats()
        self.games.play(self.params, self.samples, stats, gamma=0.995, gae_lambda=0.95)

    def learn(self) -> None:
        f32 = np.float32
        learn(
            *(0, 1, 0, self.plan, self.activation, self.state, self.gradients, self.scratch),
            (*self.samples.addresses(), 1),
            *(self.order, np.ones(len(self.order), f32), self.bounds, np.zeros((0, 2), f32)),
            (f32(0), f32(1), f32(1)),
            np.zeros(0, f32),
            (f32(NUMBERS["clip"]), False, f32(NUMBERS["value_coef"]), f32(NUMBERS["entropy_coef"])),
            (*ADAM.values(), 0.0, 0),
            np.zeros((1, SUMS + 4)),
        )

    def native(self, seconds: float) -> dict[str, float]:
        """Rates of machine code."""
        game, tiles = self.games, self.drill.game()
        one = tiles.new(1)
        return {
            "ticks": bench.rate(lambda: tiles.tick(one, TICKS), 16 * TICKS, seconds),
            "inference": bench.inference(self.network, seconds),
            "play": bench.rate(self.play, len(game.trainable) * 16, seconds),
            "learn": bench.rate(self.learn, len(self.order) * 16, seconds),
        }

    def module(self, relaxed: bool) -> dict[str, float]:
        """Rates of a WebAssembly build, warmed up first: V8 compiles twice."""
        host = Host(self.drill, relaxed)
        tile = host.put(self.drill.game().new(1))
        x = np.zeros((2, self.network.layers[0], 16), np.float32)
        work: dict[str, tuple[Callable[[int], Any], int, float]] = {
            "ticks": (lambda n: host.verb("tick", tile, TICKS, n), 300, 16 * TICKS),
            "inference": (lambda n: host.forward(self.plan, self.activation, self.params, x, n), 4000, 32),
            "play": (
                lambda n: host.rollout(self.games, self.params, self.samples, 0.995, 0.95, n),
                3,
                self.steps,
            ),
            "learn": (
                lambda n: host.update(
                    *(self.plan, self.activation, self.state, self.samples, self.order, self.bounds),
                    NUMBERS | ADAM,
                    n,
                ),
                3,
                len(self.order) * 16,
            ),
        }
        for call, times, _ in work.values():
            for _ in range(4):
                call(times)
        seconds = np.array(host.run()).reshape(len(work), 4)[:, 1:].min(axis=1)
        return {name: times * each / s for (name, (_, times, each)), s in zip(work.items(), seconds, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    subject = Subject()
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in ("native", *BUILDS)}
    began = time.monotonic()
    for k in range(arguments.rounds):
        rounds["native"].append(subject.native(arguments.seconds))
        for name, relaxed in BUILDS.items():
            rounds[name].append(subject.module(relaxed))
        print(f"round {k + 1} of {arguments.rounds}, {time.monotonic() - began:.0f} s", flush=True)
    rows = {name: {what: max(one[what] for one in found) for what in found[0]} for name, found in rounds.items()}
    ratios = {name: {what: row[what] / rows["native"][what] for what in row} for name, row in rows.items()}
    for name, row in rows.items():
        print(name, {what: f"{value / 1e6:.2f} M/s, {ratios[name][what]:.2f}" for what, value in row.items()})
    version = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    result: dict[str, object] = {"machine": describe(), "node": version, "layers": subject.network.layers}
    write("page_kernels", result | {"best": rows, "ratios_to_native": ratios, "rounds": rounds})


if __name__ == "__main__":
    main()
