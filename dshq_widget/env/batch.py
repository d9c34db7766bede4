"""N copies of a drill on CPU tiles.

`Batch` holds the games: actions, steps, rewards, ends, snapshots. `DrillVectorEnv` and `DrillEnv` (gym_envs.py) wrap it
for Gymnasium. Games are numbered `g = tile * 16 + lane`; a row is one learning side of one game (with `opponent="self"`
row 2g is side 0 of game g, row 2g + 1 side 1).
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.cpu import CpuGame
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.finite import whole
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.drills import get

GAMMA = 0.995  # of the shaping terms; the learner's default discount (docs/LOG.md, measured)
PATIENCE = 2.0
"""Seconds of compiling before somebody who waits reads why."""


def compiled(drill: str | type[Drill] | CompiledDrill) -> CompiledDrill:
    """A drill by name, class or as compiled data. Raises ValueError naming the nearest drill for an unknown name."""
    if isinstance(drill, CompiledDrill):
        return drill
    drill = get(drill) if isinstance(drill, str) else drill
    return compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed


def _compiled_aloud(drill: CompiledDrill) -> CpuGame:
    """The drill's machine code; one line on stderr if compiling takes longer than `PATIENCE` seconds."""
    title = drill.spec.title
    text = f"dshq: compiling the rules of {title}; this is slow only the first time on a machine"
    timer = threading.Timer(PATIENCE, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        return drill.game()
    finally:
        timer.cancel()


def whole_actions(actions: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Actions as i64 of this shape, `[games, sides]`; a float must be a whole number. Raises ValueError for others."""
    given = np.asarray(actions)
    kind = given.dtype.kind
    if kind not in "biu" and not (kind == "f" and np.isfinite(given).all() and (given == np.rint(given)).all()):
        raise ValueError(f"expected whole numbers as actions, got {given.dtype} {given.ravel()[:3].tolist()!r:.60}")
    if given.size != (rows := shape[0] * shape[1]):
        raise ValueError(f"expected an action for each of {rows} rows, of shape {shape}, got shape {given.shape}")
    return np.ascontiguousarray(given.reshape(shape), np.int64)


class Batch:
    """`num_games` games in parallel on tiles of 16 lanes (spare lanes play along, but are not reported).

    `weights` replaces default weights of reward terms by name; `shaping=False` drops the potentials; `practice`
    chooses the training starts.
    """

    def __init__(
        self,
        drill: str | type[Drill] | CompiledDrill,
        num_games: int,
        seed: int = 0,
        *,
        practice: bool = True,
        weights: Mapping[str, float] | None = None,
        shaping: bool = True,
        gamma: float = GAMMA,
    ):
        num_games, seed = whole("num_games", num_games, 1), whole("seed", seed)
        self.drill = compiled(drill)
        self.spec = self.drill.spec
        self.game = _compiled_aloud(self.drill)
        self.num_games, self.sides = num_games, self.game.sides
        self.tiles = self.game.new(-(-num_games // LANES), seed, practice)
        self.kinds = np.array([t.kind == "potential" for t in self.spec.terms], bool)
        self.weights = self.drill.term_weights(weights)
        if not shaping:
            self.weights = np.where(self.kinds, np.float32(0), self.weights)
        self.gamma = np.float32(gamma)

    def pay(self, gamma: float, weights: NDArray[Any] | None = None) -> None:
        """Pay by another discount, and by these weights of all terms, from now on."""
        self.gamma = np.float32(gamma)
        self.weights = self.weights if weights is None else weights

    def seed(self, seeds: NDArray[Any], chosen: NDArray[Any] | None = None) -> None:
        """Key the games' generators, `seeds` (num_games,), and start new episodes: in all games, or in the chosen
        ones, bool (num_games,).
        """
        chosen = np.ones(self.num_games, bool) if chosen is None else np.asarray(chosen, bool)
        lanes = self._lanes(chosen)
        keys = self._lanes((np.asarray(seeds, np.int64) & 0xFFFFFFFF).astype(np.uint32))
        self.tiles["rng_key"] = np.where(lanes, keys, self.tiles["rng_key"])
        self.tiles["rng_count"] = np.where(lanes, 0, self.tiles["rng_count"])
        self.reset(chosen)

    def practise(self, practice: bool, chosen: NDArray[Any]) -> None:
        """From the next episode on, the chosen games, bool (num_games,), begin with training starts or as the rules
        say.
        """
        self.tiles["practice"] = np.where(self._lanes(np.asarray(chosen, bool)), int(practice), self.tiles["practice"])

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the machine code, so that a batch can be pickled and copied; the copy continues exactly."""
        return {key: value for key, value in vars(self).items() if key != "game"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.game = self.drill.game()

    def reset(self, chosen: NDArray[Any]) -> None:
        """New episodes in the chosen games, bool (num_games,)."""
        self.game.reset(self.tiles, self._lanes(np.asarray(chosen, np.uint8)))

    def observe(self) -> NDArray[Any]:
        """f32 (num_games, sides, n_obs)."""
        return self._games(self.game.observe(self.tiles))

    def mask(self) -> NDArray[Any]:
        """Allowed actions in Gymnasium's format: i8 (num_games, sides, n_actions), 1 or 0."""
        return self._games(self.game.mask(self.tiles).astype(np.int8))

    def scripted(self, who: str) -> NDArray[Any]:
        """Actions of a baseline, "random" or "idle" for every side: i32 (num_games, sides)."""
        return self._games(self.game.actions(self.tiles, who)[:, :, None, :])[:, :, 0]

    def step(self, actions: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """One decision: actions (num_games, sides) -> rewards f32 (num_games, sides), per-term payments f32
        (num_games, sides, n_terms), terminated and truncated bool (num_games,). Finished games stay finished until
        `reset`.
        """
        n = self.spec.n_actions
        if np.shape(actions) != (self.num_games, self.sides):
            wanted = f"actions of shape {(self.num_games, self.sides)}"
            raise ValueError(f"expected {wanted}, got shape {np.shape(actions)}")
        actions = whole_actions(actions, (self.num_games, self.sides))
        if actions.min() < 0 or actions.max() >= n:
            raise ValueError(f"expected actions 0..{n - 1}, got some in {actions.min()}..{actions.max()}")
        self.tiles["action"] = self._lanes(actions.astype(np.int32))
        before = self.game.terms(self.tiles)
        self.game.decide(self.tiles)
        self.game.tick(self.tiles, self.spec.action_repeat)
        after = self.game.terms(self.tiles)
        kinds = self.kinds[:, None]
        paid = np.where(kinds, self.gamma * after - before, after) * self.weights[:, None]
        paid = self._games(paid)
        return paid.sum(-1), paid, *self.over()

    def over(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Which games have ended: terminated and truncated, bool (num_games,)."""
        terminated = self.game.status(self.tiles)[0].reshape(-1)[: self.num_games]
        late = (self.tiles["ticks"] >= self.spec.time_limit).reshape(-1)[: self.num_games]
        return terminated, late & ~terminated

    def winners(self) -> NDArray[Any]:
        """The current winner, +1, 0 or -1: i32 (num_games,)."""
        return self.game.status(self.tiles)[1].reshape(-1)[: self.num_games].copy()

    def snapshot(self, games: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """The whole state of some games, u32 (n, words): a copy of their lanes."""
        tile, lane = self._where(games)
        return self.state_words()[tile, :, lane]

    def restore(self, games: Sequence[int] | NDArray[Any], states: NDArray[Any]) -> None:
        """Put snapshots back, bit for bit; any snapshot fits any game of the same drill."""
        tile, lane = self._where(games)
        words = self.state_words()
        if states.shape != (len(tile), words.shape[1]) or states.dtype != np.uint32:
            raise ValueError(
                f"expected u32 snapshots of shape {(len(tile), words.shape[1])}, got {states.dtype} {states.shape}"
            )
        words[tile, :, lane] = states

    def like(self, num_games: int) -> Batch:
        """New games with the same drill and rewards, to restore states into."""
        other = copy.copy(self)  # with the same machine code
        other.num_games, other.tiles = num_games, np.zeros(-(-num_games // LANES), self.tiles.dtype)
        return other

    def state_words(self) -> NDArray[Any]:
        """The states themselves, lane by lane: u32 (n_tiles, words, 16)."""
        return self.tiles.view(np.uint32).reshape(len(self.tiles), -1, LANES)

    def _where(self, games: Sequence[int] | NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        given = np.asarray(games)
        if given.size and given.dtype.kind not in "iu":
            raise IndexError(f"games are chosen by their numbers, got {given.dtype}: give np.flatnonzero of a choice")
        index = given.astype(np.int64)
        if index.size and (index.min() < 0 or index.max() >= self.num_games):
            raise IndexError(f"games are numbered 0..{self.num_games - 1}, got {index.min()}..{index.max()}")
        return index // LANES, index % LANES

    def _lanes(self, rows: NDArray[Any]) -> NDArray[Any]:
        """(num_games, ...) -> (n_tiles, ..., 16)."""
        full = np.zeros((len(self.tiles) * LANES, *rows.shape[1:]), rows.dtype)
        full[: self.num_games] = rows
        return np.ascontiguousarray(np.moveaxis(full.reshape(len(self.tiles), LANES, *rows.shape[1:]), 1, -1))

    def _games(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """(n_tiles, sides, k, 16) -> (num_games, sides, k)."""
        return np.ascontiguousarray(tiles.transpose(0, 3, 1, 2).reshape(-1, *tiles.shape[1:3])[: self.num_games])
