"""`dshq bench --device cuda`: the rates of one GPU, each with two theoretical limits: from the bytes to move, at the
measured bandwidth, and from the operations to do, at the measured rates.

Floors count what no program could leave out: of two branches the cheaper, every sample written once and read once an
epoch, and of a network its products alone.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import cuda

from dshq_kernels.backends import threads
from dshq_kernels.backends.threads import add, multiply
from dshq_kernels.network.layers import shapes
from dshq_kernels.play.raster import HEIGHT, ROW_BYTES
from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO, products
from dshq_widget.contract.settings import of_drill
from dshq_widget.contract.version import __version__
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda.frames import Painter
from dshq_widget.gpu.cuda.games import CudaGames, shared
from dshq_widget.gpu.cuda.graphs import captured
from dshq_widget.gpu.play import Play
from dshq_widget.pixels.ring import ReplayRing
from dshq_widget.policy.network import PolicySpec

ROUNDS = 3
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
SAMPLE_BYTES = 8 + 4 * 6 + 2
"""Fields of a sample besides its observations: action; log-probability, value, reward, advantage, return, next value;
two ends.
"""
COUNTED = ("add", "subtract", "multiply", "divide", "square_root")


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
    the lower of its two floors. `kernels` as in `ResidentPPO`: without them the network is torch's own operations.
    Raises RuntimeError without a GPU.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("torch found no usable CUDA device: run `dshq doctor` for details")
    game, bench = compiled(drill), Bench(torch.device(device), seconds, SIZES | (sizes or {}))
    config = of_drill(game.spec).replace({"memory": 0})
    learner = ResidentPPO(
        PolicySpec.for_config(game.spec, config),
        device=device,
        precision=precision,
        graph=device == "cuda",
        kernels=kernels,
    )
    bandwidth, scalar, products = bench.copy(), bench.scalar(), bench.products(precision)
    rates = {
        "sim_ticks_per_second": bench.simulation(game),
        **bench.learning(game, learner, config.gamma, config.gae_lambda),
        "frames_per_second": bench.frames(game),
    }
    work = Costs(game, learner.spec).work()
    floors: dict[str, float] = {}
    for name, (moved, operations, multiplied) in work.items():
        floors[f"{name}_by_bytes"] = bandwidth / moved
        floors[f"{name}_by_operations"] = 1 / (operations / scalar + multiplied / products)
    lowest = {name: min(floors[f"{name}_by_bytes"], floors[f"{name}_by_operations"]) for name in rates}
    return {
        "machine": machine(bench.device),
        "drill": game.name,
        "precision": precision,
        "kernels": learner.network is not None,
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


class Bench:
    """Measures on one device; `sizes` as in `SIZES`."""

    def __init__(self, device: torch.device, seconds: float, sizes: dict[str, int]):
        self.device, self.seconds, self.sizes = device, seconds, sizes

    def rate(self, call: Callable[[], Any], work: float) -> float:
        """`work` per second of the fastest of at least `ROUNDS` rounds, each waited for."""
        call()
        self._wait()
        best, rounds, end = float("inf"), 0, time.perf_counter() + self.seconds
        while rounds < (ROUNDS if self.seconds else 1) or time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            self._wait()
            best = min(best, time.perf_counter() - begin)
            rounds += 1
        return work / best

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

    def learning(self, drill: CompiledDrill, learner: ResidentPPO, gamma: float, gae_lambda: float) -> dict[str, float]:
        """Agent steps per second of self-play alone, and of self-play and one epoch of PPO in turn."""
        play = Play(
            CudaGames(drill, self.sizes["games"], self.device),
            learner,
            losses.gae,
            length=self.sizes["length"],
            shares={"self": 1.0},
            graph=self.device.type == "cuda",
        )
        play.settings(gamma, gae_lambda)
        hyper = Hyper(minibatch_size=self.sizes["minibatch"])
        steps = float(play.rollout.samples)
        return {
            "rollout_steps_per_second": self.rate(play.next, steps),
            "ppo_steps_per_second": self.rate(lambda: learner.learn(play.next(), hyper), steps),
        }

    def frames(self, drill: CompiledDrill) -> float:
        """Frames per second into the replay ring, a decision played and a step pushed for each."""
        n, steps = self.sizes["frame_games"], self.sizes["frame_steps"]
        games = CudaGames(drill, n, self.device)
        games.begin(np.arange(n, dtype=np.uint32), np.zeros(n, np.int32))
        ring, painter = ReplayRing(2 * steps, n, self.device), Painter(games)
        actions = torch.zeros((drill.spec.sides, n), dtype=torch.int32, device=self.device)
        zeros = torch.zeros(n, device=self.device)
        none, first = torch.zeros_like(actions[0]), torch.zeros(n, dtype=torch.bool, device=self.device)

        def draw() -> None:
            games.follow()
            for _ in range(steps):
                games.decide(actions)
                painter.draw(ring.obs_slot())
                ring.push_step(actions[0], zeros, first, zeros, none)

        return self.rate(draw, float(steps * n))

    def _one(self, work: Callable[[], None]) -> Callable[[], Any]:
        """Work as one launch, where there are graphs."""
        return captured(work).replay if self.device.type == "cuda" else work


class Costs:
    """What has to be moved and done: of one tick, one agent step with and without learning, one frame."""

    def __init__(self, drill: CompiledDrill, network: PolicySpec):
        spec = drill.spec
        self.source, self.sides = drill.devices["cuda"], spec.sides
        self.repeat, self.n_obs = spec.action_repeat, spec.n_obs
        self.weights = sum(n_in * n_out for n_in, n_out in shapes(network.layers))

    def work(self) -> dict[str, tuple[float, float, float]]:
        """Bytes, single operations and operations of matrix products by the name of each rate.

        Of a frame only its bytes count, written once: how many operations drawing takes is up to the program, which may
        leave out every shape that lies elsewhere.
        """
        decision = 4.0 * least(self.source, "tick", _words) + 4.0 * least(self.source, "decide", _words)
        ticks = float(least(self.source, "tick", _operations, self.repeat))
        sample = 4.0 * self.n_obs + SAMPLE_BYTES
        seen = float(least(self.source, "observe", _operations))
        turn = 4.0 * least(self.source, "turn", _words)
        step = turn / self.sides + sample, (ticks + seen) / self.sides, 2.0 * self.weights
        return {
            "sim_ticks_per_second": (decision / self.repeat, ticks / self.repeat, 0.0),
            "rollout_steps_per_second": step,
            "ppo_steps_per_second": (step[0] + sample, step[1], 8.0 * self.weights),
            "frames_per_second": (HEIGHT * ROW_BYTES + decision, ticks, 0.0),
        }


def least(source: str, kernel: str, count: Callable[[ast.AST], int], times: int = 1) -> int:
    """What `count` finds in one thread of a kernel at least: loops in full, of branches the cheaper. `times` stands for
    the kernel's own number of rounds.
    """
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}

    def total(node: ast.AST) -> int:
        if isinstance(node, ast.For):
            assert isinstance(node.iter, ast.Call)
            kernels_own = any(isinstance(bound, ast.Name) for bound in node.iter.args)
            rounds = times if kernels_own else len(range(*map(ast.literal_eval, node.iter.args)))
            return rounds * sum(map(total, node.body))
        if isinstance(node, ast.If):
            body, other = sum(map(total, node.body)), sum(map(total, node.orelse))
            return total(node.test) + (body if _inside(node) else min(body, other))
        return count(node) + sum(map(total, ast.iter_child_nodes(node)))

    return sum(map(total, functions[kernel].body))


def _inside(node: ast.If) -> bool:
    """Whether this is the kernel's own question: is there a game for this thread?"""
    return "s.shape" in ast.unparse(node.test)


def _operations(node: ast.AST) -> int:
    return int(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in COUNTED)


def _words(node: ast.AST) -> int:
    return int(isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "s")


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
