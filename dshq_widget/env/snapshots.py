"""States of games kept by id, for search: save them from running games, play copies, release the rest.

A state is a row of 4-byte words, one lane of a tile, so that each can be released alone. To play copies, rows are
combined into tiles, which then step as fast as any other games.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dshq_kernels.backends.lanes import to_lanes, to_rows
from dshq_kernels.simd.lanes import LANES
from dshq_widget.env.batch import Batch
from dshq_widget.env.gym_envs import DrillVectorEnv

NOTHING = -1  # instead of an id, where a row holds no state
RNG_KEY = 0  # the word of a state that keys its random generator (docs/architecture.md)


class Simulated(NamedTuple):
    """Results of one decision from n states, in the order requested."""

    observations: NDArray[Any]  # f32 (n, sides, n_obs)
    rewards: NDArray[Any]  # f32 (n, sides)
    terminated: NDArray[Any]  # bool (n,)
    truncated: NDArray[Any]  # bool (n,)
    action_mask: NDArray[Any]  # i8 (n, sides, n_actions), for the next action
    state_ids: NDArray[Any]  # i64 (n,)


class Snapshots:
    """States of `games`, at most `capacity` at a time, with the same reward weights and shaping. An id is never reused.
    The random generator is part of a state: a copy draws the same numbers as the game itself. Thread-safe; a game must
    not step while its snapshot is taken. Raises ValueError for a capacity below 1.
    """

    def __init__(self, games: Batch | DrillVectorEnv, capacity: int = 65_536):
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.batch = games.batch if isinstance(games, DrillVectorEnv) else games
        self.capacity = capacity
        words = self.batch.state_words().shape[1]
        self._states = np.zeros((capacity, words), np.uint32)  # memory that no state has used is never touched
        self._ids = np.full(capacity, NOTHING, np.int64)  # of the state in each row
        self._free = np.arange(capacity)[::-1].copy()  # rows; the last of the first `capacity - live` is taken next
        self._live = self._serial = 0
        self._turn = threading.Lock()

    @property
    def live(self) -> int:
        """Number of states kept."""
        return self._live

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of the states that are kept, ascending: i64 (live,)."""
        return np.sort(self._ids[self._ids != NOTHING])

    def snapshot(self, env_ids: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """Save the current states of some games; returns an id for each, i64 (n,), in that order. Raises IndexError for
        an unknown game, and MemoryError if there is no room.
        """
        states = self.batch.snapshot(env_ids)
        with self._turn:
            ids, rows = self._take(len(states))
            self._states[rows] = states
        return ids

    def states(self, ids: ArrayLike) -> NDArray[Any]:
        """Copies of saved states, u32 (n, words), for `Batch.restore`. Raises LookupError."""
        with self._turn:
            return self._states[self._rows(ids)]

    def branch(self, ids: ArrayLike, keys: ArrayLike) -> NDArray[Any]:
        """Copy saved states under new ids, i64 (n,), each with a random stream of its own from there on, from `keys`
        (n,) taken mod 2^32. Raises LookupError for an unknown id, MemoryError if there is no room.
        """
        with self._turn:
            states = self._states[self._rows(ids)]
            made, rows = self._take(len(states))
            states[:, RNG_KEY] = np.asarray(keys, np.int64) & 0xFFFFFFFF
            self._states[rows] = states
        return made

    def simulate_batch(self, ids: ArrayLike, actions: ArrayLike) -> Simulated:
        """Play one decision, `actions` (n, sides), from copies of the states `ids` (n,), and save the results under new
        ids. The original states do not change, and an id may occur several times. A copy of a finished state does not
        move and pays nothing. Raises LookupError for an unknown id, ValueError for wrong actions or no ids, MemoryError
        if there is no room; then nothing changes.
        """
        with self._turn:
            rows = self._rows(ids)
            n = len(rows)
            if n < 1:
                raise ValueError("ids must name at least one state")
            self._check_room(n)
            copies = self.batch.like(n)
            lanes = copies.state_words()
            to_lanes(self._states, np.pad(rows, (0, -n % LANES), "edge"), lanes)
            over = np.logical_or(*copies.over())
            rewards, _, terminated, truncated = copies.step(np.asarray(actions))
            if over.any():
                resting = np.flatnonzero(over)
                copies.restore(resting, self._states[rows[resting]])
                rewards[resting] = 0
                terminated, truncated = copies.over()
            made, rows = self._take(n)
            to_rows(lanes, self._states, rows)
        return Simulated(copies.observe(), rewards, terminated, truncated, copies.mask(), made)

    def release_batch(self, ids: ArrayLike) -> int:
        """Release states; returns how many. Unknown and repeated ids are ignored."""
        with self._turn:
            asked = np.unique(np.asarray(ids, np.int64))
            asked = asked[asked >= 0]
            rows = asked % self.capacity
            rows = rows[self._ids[rows] == asked]
            self._ids[rows] = NOTHING
            self._live -= len(rows)
            end = self.capacity - self._live
            self._free[end - len(rows) : end] = rows
        return len(rows)

    def _take(self, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """New ids, and the rows that hold their states: the remainders of the ids by the capacity."""
        self._check_room(n)
        end = self.capacity - self._live
        rows = self._free[end - n : end][::-1].copy()
        ids = (self._serial + np.arange(n)) * self.capacity + rows
        self._ids[rows] = ids
        self._serial += n
        self._live += n
        return ids, rows

    def _check_room(self, n: int) -> None:
        if n > self.capacity - self._live:
            raise MemoryError(
                f"no room for {n} states: {self.capacity - self._live} of {self.capacity} are free. Release states "
                f"that are no longer needed, or use Snapshots(games, capacity={2 * self.capacity})"
            )

    def _rows(self, ids: ArrayLike) -> NDArray[Any]:
        asked = np.asarray(ids, np.int64)
        if asked.ndim != 1:
            raise ValueError(f"ids must be a list, got an array of shape {asked.shape}")
        rows = asked % self.capacity
        unknown = asked[(asked < 0) | (self._ids[rows] != asked)]
        if len(unknown):
            raise LookupError(
                f"no state has the id {unknown[0]}: it was released or never existed; {self._live} states are kept"
            )
        return rows
