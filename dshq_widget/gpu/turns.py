"""Everything between two decisions: ticks, rewards, ends of episodes, and new episodes. By torch, which may wait for
the games.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

from dshq_kernels.play.loops import STATS
from dshq_widget.gpu.games import DeviceGames
from dshq_widget.gpu.rollout import Rollout


class Turns:
    """Everything between the games and a rollout of T decisions and R rows, in tensors that keep their addresses.

    `rows`: i64 `[R]`, side * n + game.
    """

    def __init__(self, games: DeviceGames, rollout: Rollout, rows: Tensor):
        spec, (length, count) = games.drill.spec, rollout.action.shape
        self.games, self.rollout, self.rows, self.device = games, rollout, rows, games.device
        self.time_limit, self.repeat = spec.time_limit, spec.action_repeat
        self._game_of = rows % games.n
        terms, sides, n_obs = spec.terms, spec.sides, spec.n_obs
        self.weights = torch.tensor([float(term.weight) for term in terms], device=self.device)
        self._potential = torch.tensor([term.kind == "potential" for term in terms], device=self.device)
        self._shaped = bool(self._potential.any())
        self.discounts = self._room(2)  # gamma, lambda
        self._before, self._after, self._paid = (self._room(sides, len(terms), games.n) for _ in range(3))
        self._status, self.over = self._room(3, games.n, dtype=torch.int32), self._room(games.n, dtype=torch.uint8)
        self.running = self._room(count)
        self.finished = self._room(5, games.n, dtype=torch.int32)
        """The games' finished episodes: their number, wins of either side, draws, decisions."""
        self.returns = self._room(4, count, dtype=torch.float64)
        """The rows' finished episodes: their number, and of their returns the sum, the least and the most."""
        self._none = torch.tensor([[0], [0], [torch.inf], [-torch.inf]], dtype=torch.float64, device=self.device)
        longest = -(-self.time_limit // self.repeat)
        self.late = self._room(1 + (length - 1) // longest, count, n_obs)
        """Last observations of episodes whose time was up. Each row has a slot for each time that this can happen in a
        rollout, so that one pass of the network at its end is enough.
        """
        self._late_count = self._room(count, dtype=torch.int64)
        self.late_slot = self._room(length, count, dtype=torch.int64)
        self.scenes: Tensor | None = None  # i32 [words, k]
        self.scene_chance, self._scene_share = self._room(length, games.n), self._room(1)
        self._drawn = self.scene_chance.unbind()

    def _room(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def practise(self, scenes: np.ndarray, share: float) -> bool:
        """See `Play.practise` -> whether the scenes are other ones than before."""
        self._scene_share.fill_(share)
        known = None if self.scenes is None else self.scenes.cpu().numpy().T.view(np.uint32)
        if (known is None and not len(scenes)) or (known is not None and np.array_equal(known, scenes)):
            return False
        given = torch.from_numpy(np.ascontiguousarray(scenes.T).view(np.int32)).to(self.device)
        self.scenes = given if len(scenes) else None
        return True

    def begin(self) -> None:
        """Before the first decision of a rollout."""
        self._late_count.zero_()
        self._paid.zero_()
        self.finished.zero_()
        self.returns.copy_(self._none)
        if self._shaped:
            self.games.terms(self._before)

    def take(self, t: int) -> None:
        """Decision `t`, which stands in the games' `action`: played, paid, and new episodes for those that it ended."""
        games = self.games
        games.decide()
        games.terms(self._after)
        games.status(self._status)
        self._pay(t)
        self._end(t)
        self._keep_last(t)
        games.reset(self.over)
        if self.scenes is not None:
            games.put(self.over, self._drawn[t], self._scene_share, self.scenes)
        if self._shaped:
            games.terms(self._before)

    def _pay(self, t: int) -> None:
        """The rows' weighted rewards, terms added in their order; a potential's is gamma phi(s') - phi(s), as in
        `loops.weighted_reward`.
        """
        shaping = self.discounts[0] * self._after - self._before
        paid = torch.where(self._potential[:, None], shaping, self._after) * self.weights[:, None]
        self._paid += paid
        self.rollout.reward[t] = functools.reduce(torch.add, paid.unbind(1)).view(-1)[self.rows]

    def _end(self, t: int) -> None:
        """Which episodes have ended and how."""
        terminated, (_, winner, ticks) = self._status[0] != 0, self._status
        over = terminated | (ticks >= self.time_limit)
        self.over.copy_(over)
        decisions = (ticks + self.repeat - 1) // self.repeat
        ones = torch.ones_like(winner)
        self.finished += over * torch.stack([ones, winner > 0, winner < 0, winner == 0, decisions]).int()
        self.rollout.terminated[t] = terminated[self._game_of]
        self.rollout.truncated[t] = (over & ~terminated)[self._game_of]
        self.running += self.rollout.reward[t]
        ended, (_, _, least, most) = over[self._game_of], self.returns
        gains = self.running.double()
        self.returns[:2] += torch.where(ended, torch.stack([torch.ones_like(gains), gains]), 0)
        least.copy_(torch.where(ended, torch.minimum(least, gains), least))
        most.copy_(torch.where(ended, torch.maximum(most, gains), most))
        self.running.masked_fill_(ended, 0)

    def _keep_last(self, t: int) -> None:
        """The last observations of the episodes whose time was up."""
        late = self.rollout.truncated[t].nonzero()[:, 0]
        if not len(late):
            return
        seen = self._room(len(self._after), self.late.shape[2], self.games.n)
        self.games.observe(seen)
        slot = self._late_count[late].clamp(max=len(self.late) - 1)
        self.late_slot[t, late] = slot
        self.late[slot, late] = seen.transpose(1, 2).flatten(0, 1)[self.rows[late]]
        self._late_count[late] += 1

    def count(self) -> None:
        """The statistics of the episodes that have ended, in the order of `STATS`."""
        number, total, least, most = self.returns
        stats = self.rollout.stats
        stats[:5] = self.finished.sum(1)
        stats[5 : len(STATS)] = torch.stack(
            [number.sum(), total.sum(), least.min(), most.max(), torch.full_like(least[0], self.rollout.samples)]
        )
        by_side = self._paid.transpose(1, 2).flatten(0, 1)
        stats[len(STATS) :] = by_side[self.rows].double().sum(0)
