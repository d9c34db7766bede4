"""The learner's WebAssembly module in Node, fed with the processor's arrays: tests compare, benchmarks measure."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dshq_kernels.backends.cpu import verb_names
from dshq_kernels.backends.wasm import STACK_TOP
from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.mlp import ITEMS, MEAN, MEMORY, make_plan, pack, play_scratch
from dshq_kernels.network.pairs import ENTRIES
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.play import records
from dshq_kernels.play.loops import scratch_floats
from dshq_kernels.play.records import FORWARD, ROLLOUT, UPDATE, learner_module
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.trace import node

SCRIPT = Path(__file__).with_name("wasm_host.js")
SAMPLES = records.SAMPLES.split()


class Host:
    """Memory of the modules as this process sees it: arrays are put in, functions called, arrays read out again."""

    def __init__(self, drill: CompiledDrill, relaxed: bool = False):
        self._drill, self._relaxed = drill, relaxed
        self._memory = bytearray(STACK_TOP)
        self._calls: list[tuple[str | int, ...]] = []

    def put(self, array: np.ndarray) -> int:
        """A copy of an array; returns its address."""
        self._memory += bytes(-len(self._memory) % 64)
        address = len(self._memory)
        self._memory += np.ascontiguousarray(array).tobytes()
        return address

    def room(self, floats: int) -> int:
        """The address of that many floats of zeros."""
        return self.put(np.zeros(floats, np.float32))

    def read(self, address: int, like: np.ndarray) -> np.ndarray:
        """An array of the dtype and shape of `like`."""
        return np.frombuffer(bytes(self._memory[address : address + like.nbytes]), like.dtype).reshape(like.shape)

    def call(self, function: str, kind: np.dtype, values: dict[str, Any], times: int = 1) -> int:
        """Let `run` call a function `times` times with a record of `values` (0 where there is none); its address."""
        record = np.zeros(1, kind)
        for name, value in values.items():
            record[name] = value
        address = self.put(record)
        self._calls.append((function, times, address))
        return address

    def verb(self, name: str, tile: int, number: int, times: int = 1) -> None:
        """Let `run` call a verb of the drill `times` times with an address of a tile and a second number."""
        self._calls.append((name, times, tile, number))

    def run(self) -> list[float]:
        """Make all calls in Node, in order; the seconds that each took. Raises RuntimeError if one fails."""
        with tempfile.TemporaryDirectory() as folder:
            files = {name: Path(folder) / name for name in ("learner", "drill", "memory")}
            files["learner"].write_bytes(learner_module(self._relaxed))
            files["drill"].write_bytes(self._drill.wasm())
            files["memory"].write_bytes(self._memory)
            work = {name: str(path) for name, path in files.items()}
            flags = ["--experimental-wasm-relaxed-simd"] if self._relaxed else []
            run = subprocess.run(
                [node(), *flags, str(SCRIPT)],
                input=json.dumps({**work, "calls": self._calls, "entries": list(ENTRIES), "stack_top": STACK_TOP}),
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode != 0:
                raise RuntimeError(run.stderr[-2000:])
            self._memory = bytearray(files["memory"].read_bytes())
        self._calls.clear()
        return [milliseconds / 1e3 for milliseconds in json.loads(run.stdout)]

    def network(self, plan: np.ndarray, activation: int, params: np.ndarray | None) -> dict[str, int]:
        """The fields of a network; a plan with pairs gets the indices of their functions in the table."""
        if plan[0, ITEMS] > 0:
            plan = plan.copy()
            plan[0, MEAN:MEMORY] = 1 + np.arange(len(ENTRIES))
        fields = {"plan": self.put(plan), "layers": len(plan), "activation": activation}
        return fields if params is None else {**fields, "params": self.put(params)}

    def forward(self, plan: np.ndarray, activation: int, params: np.ndarray, x: np.ndarray, times: int = 1) -> int:
        """`forward` on f32 `[2, n_obs, 16]`; the address of its record, whose `result` is that of the outputs."""
        at = self.put(x)
        fields = {"x": at, "x_other": at + x[0].nbytes, "scratch": self.room(play_scratch(plan) + 64)}
        return self.call("forward", FORWARD, {**self.network(plan, activation, params), **fields}, times)

    def samples(self, samples: Samples) -> dict[str, int]:
        """The fields of samples."""
        return {name: self.put(getattr(samples, name)) if getattr(samples, name).size else 0 for name in SAMPLES}

    def rollout(
        self, games: Rollouts, params: np.ndarray, samples: Samples, gamma: float, gae_lambda: float, times: int = 1
    ) -> dict[str, int]:
        """`play` as `Rollouts.play` would call it; the addresses of what it writes."""
        spec = self._drill.spec
        mask_verb = verb_names(spec).index("mask") if spec.masked else 0
        written = {
            "tiles": self.put(games.tiles),
            "running": self.put(games.running),
            "memories": self.put(games.memories) if games.memories.size else 0,
            "stats": self.put(games.new_stats()),
            **self.samples(samples),
        }
        self.call(
            "play",
            ROLLOUT,
            {
                **self.network(games.plan, games.activation, params),
                **written,
                "verbs": self.put(1 + len(ENTRIES) + np.arange(len(verb_names(spec)))),
                "n_verbs": len(verb_names(spec)),
                "tile_bytes": games.tiles.itemsize,
                "n_tiles": games.n_tiles,
                **{name: getattr(spec, name) for name in ("sides", "n_obs", "time_limit", "action_repeat")},
                "mask_verb": mask_verb,
                "groups": self.put(games.groups),
                "n_groups": len(games.groups),
                "opponents": self.put(games.opponents),
                "length": games.length,
                "weights": self.put(games.weights),
                "potential": self.put(games.potential),
                "n_terms": len(games.weights),
                "gamma": np.float32(gamma),
                "gae_lambda": np.float32(gae_lambda),
                "seed": games.seed,
                "first_count": games.count,
                "scenes": self.put(games.scenes),
                "n_scenes": len(games.scenes),
                "scene_words": games.scenes.shape[1],
                "scene_share": games.scene_share,
                "scratch": self.room(scratch_floats(games.plan, spec, games.length)),
            },
            times,
        )
        return written

    def update(
        self,
        plan: np.ndarray,
        activation: int,
        state: np.ndarray,
        samples: Samples,
        order: np.ndarray,
        bounds: np.ndarray,
        numbers: dict[str, float],
        times: int = 1,
    ) -> dict[str, int]:
        """`learn` on one thread; `numbers` are the fields that are no addresses. The addresses of what it writes."""
        written = {
            "state": self.put(state),
            "gradients": self.room(2 * (state.shape[2] + 16)),
            "metrics": self.put(np.zeros(SUMS + 4)),
        }
        self.call(
            "learn",
            UPDATE,
            {
                **self.network(plan, activation, None),
                **self.samples(samples),
                **written,
                "floats": state.shape[2],
                "length": samples.length,
                "scratch": self.room(learn_scratch(plan, samples.length)),
                "scratch_floats": learn_scratch(plan, samples.length),
                "order": self.put(order),
                "importance": self.put(np.ones(len(order), np.float32)),
                "n_order": len(order),
                "bounds": self.put(bounds),
                "n_bounds": len(bounds),
                "n_metrics": SUMS + 4,
                **numbers,
            },
            times,
        )
        return written


def fuses(drill: CompiledDrill) -> bool:
    """Whether this Node's relaxed multiply-add rounds once: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 then, else 0."""
    plan = make_plan((1, 2))
    weights = np.array([1 + 2**-12, 0, -(1 + 2**-11), 0], np.float32)
    host = Host(drill, relaxed=True)
    at = host.forward(plan, 0, pack(plan, weights), np.full((2, 1, 16), 1 + 2**-12, np.float32))
    host.run()
    first = host.read(int(host.read(at, np.zeros(1, FORWARD))["result"][0]), np.zeros(1, np.float32))
    return bool(first[0] == 2**-24)
