"""CPU back end: games whose rules are C functions over record tiles of 16 lanes, made of the LLVM code of
`llvm_source.py`, compiled once and cached on disk (docs/architecture.md, "CPU form").

A tile is one record whose every field is 16 lanes wide, so each field's offset is a compile-time constant and LLVM
turns the lane loop into straight vector code: 10 and more times faster than one array per field (docs/LOG.md).
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends import lanes
from dshq_kernels.backends.machine_code import addresses
from dshq_kernels.backends.spec import Described, PlayedSpec, RulesSpec
from dshq_kernels.language.ir import BOOL, F32, I32, U32
from dshq_kernels.simd.lanes import LANES

RESET, DECIDE, TICK, OBSERVE, TERMS, STATUS, RANDOM, FIRST_BASELINE = range(8)
VERB_NAMES = ("reset", "decide", "tick", "observe", "terms", "status", "random")
DTYPES = {F32: "<f4", I32: "<i4", U32: "<u4", BOOL: "<i4"}
SCENE = CFUNCTYPE(c_int64, c_int64, c_int64, c_int64)


def verb_names(spec: PlayedSpec) -> tuple[str, ...]:
    """A drill's C functions in the order of `CpuGame.verbs`."""
    baselines = tuple(f"baseline_{name}" for name in spec.baselines)
    return (*VERB_NAMES, *baselines, *(("mask",) if spec.masked else ()))


def tile_dtype(spec: RulesSpec) -> np.dtype:
    """A tile as a record: each field 16 lanes wide."""
    return np.dtype(
        [(name, DTYPES[kind], (length, LANES) if length else (LANES,)) for name, kind, length in spec.fields]
    )


def mask_verb(spec: PlayedSpec) -> int:
    """Index in `CpuGame.verbs` of a drill's mask; 0 if every action is always allowed."""
    return FIRST_BASELINE + len(spec.baselines) if spec.masked else 0


class CpuGame(Described):
    """A compiled game: its tile record, its verbs' addresses, and calls over whole arrays of tiles.

    Arrays of tiles are `np.ndarray` of `dtype` with shape `(n_tiles,)`; every result array has the tile first.
    """

    def __init__(self, source: str, spec: RulesSpec):
        """Load it, or compile it, from the LLVM code of `llvm_source`."""
        self.describe(spec)
        names = verb_names(spec)
        places = addresses(source, (*names, "scene"))
        self.verbs = np.array([places[name] for name in names], np.int64)
        self.draw: Callable[[int, int, int], int] = SCENE(places["scene"])
        """The C function `scene`: addresses of a tile and of f32 (scene_max, 12), the lane between them -> shapes."""

    def describe(self, spec: RulesSpec) -> None:
        """Note what the drill is, and the record of its tiles."""
        super().describe(spec)
        self.dtype = tile_dtype(spec)

    def raise_kept(self) -> None:
        """Raise what went wrong in verbs that machine code has called: nothing does here, but in rules that Python runs
        (reference_game.py).
        """

    def new(self, n_tiles: int, seed: int = 0, practice: bool = False) -> NDArray[Any]:
        """`n_tiles` tiles of games seeded `seed, seed + 1, ...` (mod 2^32), each at the start of an episode."""
        tiles = np.zeros(n_tiles, self.dtype)
        keys = (np.arange(n_tiles * LANES, dtype=np.uint64) + np.uint64(seed % (1 << 32))).astype(np.uint32)
        tiles["rng_key"] = keys.reshape(n_tiles, LANES)
        tiles["practice"] = int(practice)
        self.reset(tiles, np.ones((n_tiles, LANES), np.uint8))
        return tiles

    def check(self, tiles: NDArray[Any]) -> None:
        """Raise ValueError unless these are tiles of this drill."""
        if tiles.dtype != self.dtype or not tiles.flags.c_contiguous:
            raise ValueError(f"expected a contiguous array of tiles of {self.spec.name!r}, got dtype {tiles.dtype}")

    def _each(self, verb: int, tiles: NDArray[Any], result: NDArray[Any] | None = None, argument: int = 0) -> None:
        self.check(tiles)
        address, stride = (
            (result.ctypes.data, result[0].nbytes if len(result) else 0) if result is not None else (argument, 0)
        )
        lanes.each_tile(self.verbs[verb], tiles.ctypes.data, self.dtype.itemsize, len(tiles), address, stride)

    def reset(self, tiles: NDArray[Any], chosen: NDArray[Any]) -> None:
        """Start new episodes where `chosen` (n_tiles, 16) is not zero."""
        if chosen.shape != (len(tiles), LANES):
            raise ValueError(f"expected a choice of shape {(len(tiles), LANES)}, got {chosen.shape}")
        self._each_lane(RESET, tiles, np.ascontiguousarray(chosen, np.uint8))

    def _each_lane(self, verb: int, tiles: NDArray[Any], chosen: NDArray[Any]) -> None:
        lanes.each_lane(self.verbs[verb], tiles.ctypes.data, self.dtype.itemsize, chosen)

    def decide(self, tiles: NDArray[Any]) -> None:
        """Apply the actions in `tiles["action"]` (n_tiles, sides, 16)."""
        self._each(DECIDE, tiles)

    def tick(self, tiles: NDArray[Any], n: int = 1) -> None:
        self._each(TICK, tiles, argument=n)

    def observe(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """f32 (n_tiles, sides, n_obs, 16)."""
        result = np.empty((len(tiles), self.sides, self.n_obs, LANES), np.float32)
        self._each(OBSERVE, tiles, result)
        return result

    def terms(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """Reward values and potentials in the order of `spec.terms`: f32 (n_tiles, sides, n_terms, 16)."""
        result = np.zeros((len(tiles), self.sides, max(1, self.n_terms), LANES), np.float32)
        self._each(TERMS, tiles, result)
        return result[:, :, : self.n_terms]

    def status(self, tiles: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """terminated (bool) and winner (i32: +1, 0, -1), each (n_tiles, 16)."""
        result = np.empty((len(tiles), 2, LANES), np.int32)
        self._each(STATUS, tiles, result)
        return result[:, 0] != 0, result[:, 1]

    def mask(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """Allowed actions of each side: bool (n_tiles, sides, n_actions, 16)."""
        result = np.ones((len(tiles), self.sides, self.n_actions, LANES), np.int32)
        if self.masked:
            self._each(mask_verb(self.spec), tiles, result)
        return result != 0

    def actions(self, tiles: NDArray[Any], who: str) -> NDArray[Any]:
        """Actions of a baseline, of "random" (draws from the games' generators) or of "idle": i32 (n_tiles, sides,
        16).
        """
        result = np.zeros((len(tiles), self.sides, LANES), np.int32)
        if who != "idle":
            self._each(self.verb_of(who), tiles, result)
        return result

    def verb_of(self, who: str) -> int:
        """Index in `verbs` of a baseline or of "random"."""
        if who == "random":
            return RANDOM
        if who not in self.baselines:
            known = ", ".join(("idle", "random", *self.baselines))
            raise ValueError(f"drill {self.spec.name!r} has no baseline {who!r}: choose one of {known}")
        return FIRST_BASELINE + self.baselines.index(who)

    def scene(self, tiles: NDArray[Any], tile: int = 0, lane: int = 0) -> NDArray[Any]:
        """The shapes of one game: f32 (n_shapes, 12)."""
        out = np.zeros((self.spec.scene_max, 12), np.float32)
        n = self.draw(tiles.ctypes.data + tile * self.dtype.itemsize, lane, out.ctypes.data)
        return out[:n]

    def words(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """Each game's state in declaration order as u32 (n_tiles * 16, words): the words that are hashed, and the
        JavaScript buffer.
        """
        flat = tiles.view(np.uint32).reshape(len(tiles), -1, LANES)
        return np.ascontiguousarray(flat.transpose(0, 2, 1)).reshape(len(tiles) * LANES, -1)
