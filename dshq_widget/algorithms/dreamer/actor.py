"""The actor: plays games and writes what happens into the replay ring, frames drawn where they stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.sizes import STRIDE
from dshq_widget.learning.saved.generator import pack_generator, unpack_generator
from dshq_widget.pixels.commits import CommitManager
from dshq_widget.pixels.ring import ReplayRing

Choose = Callable[[Tensor, Tensor], Tensor]
"""Frames u8 `[n, 1, 72, 20]` and is_first bool `[n]` -> actions, whole numbers `[n]`."""
Memory = Callable[[], tuple[Tensor, Tensor]]
"""-> h f32 `[n, deter]` and z u8 `[n, stoch]`, after the frames (model/agent.py, `Player.memory`)."""

DRAWS = "train.dreamer.draws"


def check_fit(games: int, ring: ReplayRing) -> None:
    """Raises ValueError for a ring of another number of games."""
    if ring.num_envs != games:
        raise ValueError(f"expected a ring for {games} games, got one for {ring.num_envs}")


class Actor:
    """Each `step` is a row of the ring: frames, what arrived with them, the action chosen; the rows of a stride are
    committed together, by default every `STRIDE`.
    """

    def __init__(self, games: FrameGames, ring: ReplayRing, seed: int, commits: CommitManager | None = None) -> None:
        """Raises ValueError where games and ring do not belong together."""
        check_fit(games.n, ring)
        self.games, self.ring = games, ring
        self.commits = commits or CommitManager(STRIDE, STRIDE)
        self.rng = np.random.default_rng([seed, 0xAC70])

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around the rows that are played between two updates. On a processor there is nothing to do."""
        yield

    def random(self, frames: Tensor, is_first: Tensor) -> Tensor:
        """Any action, each as likely."""
        return torch.from_numpy(self.rng.integers(0, self.games.n_actions, self.games.n))

    def step(self, choose: Choose, memory: Memory | None = None) -> Any:
        """One row: draw, choose, write, commit, decide. Returns the games' stats, for `on_host`. `memory` tells what
        `choose` remembers afterwards, for a ring that keeps it.
        """
        slot, games = self.ring.obs_slot(), self.games
        games.draw(slot.numpy())
        reward, is_first, continues, episode = (torch.from_numpy(row) for row in astuple(games.arrival))
        action = choose(slot, is_first)
        self.ring.remember(memory() if memory and self.ring.remembered else None)
        t = self.ring.push_step(action.to(torch.int32), reward, is_first, continues, episode)
        self.commits.mark_written(t)
        return games.step(action.numpy())

    def on_host(self, stats: list[Any]) -> list[NDArray[Any]]:
        """What steps returned, as arrays."""
        return stats

    def sample(self, batch: int, length: int, generator: torch.Generator) -> dict[str, Tensor] | None:
        """Windows of committed steps; see `ReplayRing.sample_sequences`. None while there are too few.

        Another thread may run `step`: what it may have overwritten meanwhile is drawn again, as in a seqlock.
        """
        commits, ring = self.commits, self.ring
        while commits.committed_t >= 0:
            commits.wait_for_commit(commits.committed_t)
            before = ring.total
            found = ring.sample_sequences(batch, length, generator, commits.committed_t, commits.margin)
            whole = before >= ring.capacity and ring.total <= before + commits.margin
            if found is None or whole or ring.total < ring.capacity:
                return found
        return None

    def begin_anew(self) -> None:
        """Empty the ring, and begin new episodes."""
        self.games.begin_anew()
        self.ring.holds(0)
        self.commits.continue_after(0)

    def state(self) -> dict[str, NDArray[Any]]:
        """Games and generator, for an exact continuation; the ring: see replay_file.py."""
        return self.games.state() | {DRAWS: pack_generator(self.rng)}

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Take over what `state` returned, with a ring that has been refilled; False where it does not fit."""
        if not self.games.restore(state):
            return False
        if DRAWS in state:  # as in files of an actor on a processor
            self.rng = unpack_generator(state[DRAWS])
        self.commits.continue_after(self.ring.total)
        return True
