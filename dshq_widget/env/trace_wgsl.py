"""How far the WGSL rules are from the processor's after one decision from equal states.

WebGPU may fuse and divide inexactly, so there is no hash to compare: 16 games are played on the processor as in
`trace.py`, and every state in which a decision was taken becomes a game of its own on the GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.cpu import CpuGame
from dshq_kernels.backends.lanes import to_lanes
from dshq_kernels.backends.wgsl import mask_words
from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env import webgpu
from dshq_widget.env.webgpu import Job, Pass

MOST_WORDS = 1 << 20
"""Words of states that are compared: of a longer trace as many states as fit, evenly spaced."""


def trace_wgsl(drill: CompiledDrill, ticks: int, seed: int) -> dict[str, Any]:
    """`{episodes, games, adapter, max_abs_error, views_max_abs_error, unequal}`. `max_abs_error` is over all floats of
    the states after the decision, `views_max_abs_error` over observations and reward terms before it; `unequal` counts
    games with another whole number anywhere: in those states, in a mask, an action drawn or scripted, an end, or in the
    state of a new episode. Raises RuntimeError where there is no WebGPU.
    """
    game = drill.game()
    states, episodes = _states(game, ticks, seed)
    if not len(states):
        raise ValueError(f"ticks: expected at least one decision, {drill.spec.action_repeat}, got {ticks}")
    wanted = _on_processor(game, states)
    adapter, found = _on_webgpu(drill, states)
    whole = [name for name, values in wanted.items() if values.dtype == np.int32]
    unequal = np.logical_or.reduce([(wanted[name] != found[name]).reshape(-1, len(states)).any(0) for name in whole])
    return {
        "episodes": episodes,
        "games": len(states),
        "adapter": adapter,
        "max_abs_error": _largest(wanted["after"], found["after"]),
        "views_max_abs_error": max(_largest(wanted[name], found[name]) for name in ("observe", "terms", "fresh")),
        "unequal": int(unequal.sum()),
    }


def _largest(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The largest difference between two arrays of floats; infinite where only one of two is a number."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a.astype(np.float64) - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return float(np.max(np.where(same, 0.0, np.nan_to_num(apart, nan=np.inf)), initial=0.0))


def _states(game: CpuGame, ticks: int, seed: int) -> tuple[NDArray[Any], int]:
    """u32 `[n, words]`: every state of 16 games in which a decision is to be carried out, its action in it; and how
    many episodes ended.
    """
    spec, tiles = game.spec, game.new(1, seed, practice=True)
    states, episodes = [np.zeros((0, tiles.nbytes // 4 // LANES), np.uint32)], 0
    for _ in range(ticks // spec.action_repeat):
        tiles["action"] = game.actions(tiles, "random")
        states.append(game.words(tiles))
        game.decide(tiles)
        game.tick(tiles, spec.action_repeat)
        done = game.status(tiles)[0] | (tiles["ticks"] >= spec.time_limit)
        episodes += int(done.sum())
        game.reset(tiles, done)
    found = np.concatenate(states)
    most = max(1, MOST_WORDS // found.shape[1] // LANES) * LANES
    rows = np.linspace(0, len(found) - 1, most).astype(np.int64) if len(found) > most else slice(None)
    return found[rows], episodes


def _split(spec: Any, words: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The floats and the whole numbers of states u32 `[words, n]`."""
    kinds = [field.type for field in spec.fields for _ in range(field.words)]
    real = np.array([kind == "f32" for kind in kinds])
    return words[real].view(np.float32), words[~real].view(np.int32)


def _on_processor(game: CpuGame, states: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What every verb makes of the states, the game as the last axis: f32 and i32 arrays by name."""
    lanes = np.empty((len(states) // LANES, states.shape[1], LANES), np.uint32)
    to_lanes(states, np.arange(len(states)), lanes)
    tiles = lanes.reshape(-1).view(game.dtype)

    def last(values: NDArray[Any]) -> NDArray[Any]:
        return np.moveaxis(values, 0, -2).reshape(*values.shape[1:-1], len(states))

    found = {"observe": last(game.observe(tiles)), "terms": last(game.terms(tiles))}
    for name in game.baselines:
        found[f"baseline_{name}"] = last(game.actions(tiles, name))
    if game.masked:
        found["mask"] = last(game.mask(tiles)).astype(np.int32)
    found["random"] = last(game.actions(tiles.copy(), "random"))
    fresh = tiles.copy()
    game.reset(fresh, np.ones((len(tiles), LANES), np.uint8))
    found["fresh"], found["fresh_whole"] = _split(game.spec, game.words(fresh).T)
    game.decide(tiles)
    game.tick(tiles, game.spec.action_repeat)
    found["after"], found["after_whole"] = _split(game.spec, game.words(tiles).T)
    terminated, winner = game.status(tiles)
    found["ends"] = np.stack([terminated.reshape(-1), winner.reshape(-1)]).astype(np.int32)
    return found


def _on_webgpu(drill: CompiledDrill, states: NDArray[Any]) -> tuple[str, dict[str, NDArray[Any]]]:
    """The adapter, and the same arrays from there."""
    spec, n = drill.spec, len(states)
    sides, n_terms, n_actions = spec.sides, len(spec.terms), spec.n_actions
    words = np.ascontiguousarray(states.T)
    rows = {
        "observe": sides * spec.n_obs,
        "terms": sides * max(1, n_terms),
        "random": sides,
        "ends": 2,
        "spare": sides,
    }
    passes = [Pass("observe", "state", "observe", "spare"), Pass("terms", "state", "terms", "spare")]
    if spec.masked:
        rows["mask"] = sides * mask_words(n_actions)
        passes.append(Pass("mask", "state", "spare", "mask"))
    for name in (f"baseline_{baseline}" for baseline in spec.baselines):
        rows[name] = sides
        passes.append(Pass(name, "state", "spare", name))
    later = [("random", "drawn", "spare", "random"), ("reset", "fresh", "spare", "all")]
    later.append(("turn", "after", "spare_terms", "ends"))
    passes += [Pass(*step) for step in later]
    buffers: dict[str, NDArray[Any]] = {name: np.zeros((count, n), np.uint32) for name, count in rows.items()}
    buffers |= dict.fromkeys(("state", "drawn", "fresh", "after"), words)
    buffers |= {"spare_terms": buffers["terms"], "all": np.ones(n, np.uint32)}
    results = [name for name in (*rows, "fresh", "after") if name != "spare"]
    adapter, raw = webgpu.run(Job(drill.wgsl, n, spec.action_repeat, buffers, passes, results))
    found = {name: raw[name].reshape(-1, n) for name in results}
    fresh, fresh_whole = _split(spec, found.pop("fresh"))
    after, after_whole = _split(spec, found.pop("after"))
    shaped: dict[str, NDArray[Any]] = {name: values.view(np.int32) for name, values in found.items()}
    shaped["observe"] = found["observe"].view(np.float32).reshape(sides, -1, n)
    shaped["terms"] = found["terms"].view(np.float32).reshape(sides, -1, n)[:, :n_terms]
    if spec.masked:
        bits = found["mask"].reshape(sides, -1, 1, n) >> np.arange(32, dtype=np.uint32)[:, None] & 1
        shaped["mask"] = bits.reshape(sides, -1, n)[:, :n_actions].astype(np.int32)
    states_after = {"fresh": fresh, "fresh_whole": fresh_whole, "after": after, "after_whole": after_whole}
    return adapter, shaped | states_after
