"""`FrameGames` on a device: the same frames, rewards and ends to the bit, in tensors. What is played never waits for
the device and copies nothing to it or from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play.loops import STATS
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.dreamer.games import PaidGames
from dshq_widget.contract.places import found_at
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.games import make_games
from dshq_widget.learning import seeds
from dshq_widget.learning.saved.saved_state import running_of, taken


@dataclass
class DeviceArrival:
    """What arrives with the frames, each `[n]`, in the order of the ring's fields (pixels/ring.py). The tensors stay;
    a step fills them again.
    """

    reward: Tensor
    is_first: Tensor
    continues: Tensor
    episode_id: Tensor


class DeviceFrameGames(PaidGames):
    """See `FrameGames`. On "cpu" the device is a stand-in, `gpu.games.CpuGames`.

    Raises ConfigError for an opponent that the drill does not have, ValueError for a number of games that does not
    divide by 16, and RuntimeError where the rules cannot run on the device.
    """

    def __init__(
        self,
        drill: CompiledDrill,
        n: int,
        device: torch.device,
        seed: int,
        *,
        repeat: int = 1,
        reward_scale: float = 1.0,
        opponent: str = "random",
        weights: Mapping[str, float] | None = None,
        gamma: float = 1.0,
    ) -> None:
        super().__init__(drill.spec, n, repeat, reward_scale, opponent)
        self.device, self.weights = device, drill.term_weights(weights)
        self.pay_at(gamma)
        self.games = make_games(drill, n, device)
        self.games.begin(seeds.of_games(seed, n), np.zeros(n, np.int32))
        self._painter = found_at(self.games.painter)(self.games)
        kinds = [term.kind == "potential" for term in drill.spec.terms]
        self._shaped = any(kinds)
        self._potential = torch.tensor(kinds, device=device)[:, None]
        self._factors = torch.from_numpy(self.weights.copy()).to(device)[:, None]
        sides = drill.spec.sides
        self._before, self._after = (self._room(sides, self.n_terms, n) for _ in range(2))
        self._status, self._given = self._room(3, n, dtype=torch.int32), self._room(sides, n, dtype=torch.int32)
        self._returns, self._decisions = self._room(n, dtype=torch.float64), self._room(n, dtype=torch.float64)
        self._terms = self._room(self.n_terms, n, dtype=torch.float64)
        self.over, self._anew = self._room(n, dtype=torch.bool), self._room(n, dtype=torch.uint8)
        first, goes_on = torch.ones_like(self.over), torch.ones(n, device=device)
        self.arrival = DeviceArrival(self._room(n), first, goes_on, self._room(n, dtype=torch.int32))

    def _room(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def begin_anew(self) -> None:
        """New episodes in all games; what the last step brought is forgotten."""
        self.games.follow()
        self.games.reset(torch.ones(self.n, dtype=torch.uint8, device=self.device))
        for row in (self.over, self._returns, self._decisions, self._terms, self.arrival.reward):
            row.zero_()
        self.arrival.is_first.fill_(True)
        self.arrival.continues.fill_(1)
        self.arrival.episode_id.add_(1)

    def draw(self, out: Tensor) -> None:
        """What side 0 of every game sees into `out`, u8 `[n, 1, 72, 20]`."""
        self._painter.draw(out)

    def step(self, actions: Tensor) -> Tensor:
        """`repeat` decisions in every game, `actions` whole numbers `[n]`. Games that were over start over instead.
        Returns stats f64 (learning/telemetry/report.py), still on the device.
        """
        games, anew, ended = self.games, self.over.clone(), self.over.clone()
        reward, terminal, decided = self._room(self.n), torch.zeros_like(ended), self._room(dtype=torch.int64)
        games.follow()
        kept = games.state.clone() if self.repeat > 1 else games.state
        for k in range(self.repeat):
            playing, before = ~ended, games.state.clone() if k else games.state
            paid = self._decide(actions)
            reward += torch.where(playing, reduce(torch.add, paid.unbind(0)), 0)
            self._terms += paid * playing
            self._decisions += playing
            decided += playing.sum()
            terminated = self._status[0] != 0
            over = (terminated | (self._status[2] >= self.spec.time_limit)) & playing
            terminal |= over & terminated
            ended |= over
            if k:  # where all are over the processor's games stop, and draw no random numbers
                games.state.copy_(torch.where(playing.any(), games.state, before))
            if self.repeat > 1:
                kept = torch.where(games.of_games(over), games.state, kept)
        if self.repeat > 1:
            games.state.copy_(torch.where(games.of_games(ended & ~anew), kept, games.state))
        torch.logical_and(ended, ~anew, out=self.over)
        self._returns += reward
        stats = self._closed(decided)
        games.reset(self._anew.copy_(anew))
        arrival = self.arrival
        torch.mul(reward, self.reward_scale, out=arrival.reward)
        arrival.is_first.copy_(anew)
        arrival.continues.copy_(~terminal)
        arrival.episode_id += anew
        return stats

    def _decide(self, actions: Tensor) -> Tensor:
        """One decision of every game: what it pays side 0, f32 `[n_terms, n]`; `_status` is that after it."""
        games = self.games
        if self._shaped:
            games.terms(self._before)
        games.action[0].copy_(actions)
        if self.spec.sides == 2:
            if self.opponent != "idle":
                games.actions(self.opponent, 0, self._given, None)
            games.action[1].copy_(self._given[1])
        games.decide()
        games.terms(self._after)
        games.status(self._status)
        before, after = self._before[0], self._after[0]
        return torch.where(self._potential, self.gamma * after - before, after) * self._factors

    def stats(self) -> Tensor:
        """Sums over no episodes at all."""
        return self._sums(torch.zeros_like(self.over), self._room(dtype=torch.int64))

    def _closed(self, decided: Tensor) -> Tensor:
        """The stats of a step that made `decisions`; the sums of episodes that are over begin again."""
        stats = self._sums(self.over, decided)
        for row in (self._returns, self._decisions, self._terms):
            row.masked_fill_(self.over, 0)
        return stats

    def _sums(self, over: Tensor, decided: Tensor) -> Tensor:
        count, infinity = over.sum(), float("inf")
        sums = {
            "episodes": count,
            "decisions": (self._decisions * over).sum(),
            "returns": count,
            "return_sum": torch.where(over, self._returns, 0).sum(),
            "return_min": torch.where(over, self._returns, infinity).min(),
            "return_max": torch.where(over, self._returns, -infinity).max(),
            "agent_steps": decided,
        }
        none = self._room(dtype=torch.float64)
        totals = torch.stack([sums.get(name, none).double() for name in STATS])
        return torch.cat([totals, (self._terms * over).sum(1)])

    def state(self) -> dict[str, NDArray[Any]]:
        """The games and what arrives next, as `FrameGames.state`, so that a file continues on any device. Waits."""
        words = self.games.words()
        words = words.reshape(-1, LANES, words.shape[1])
        arrival = self.arrival
        running = torch.cat([self._returns[None], self._decisions[None], self._terms])
        rows = [self.over, arrival.reward, arrival.is_first, arrival.continues, arrival.episode_id]
        return {
            "train.tiles": np.ascontiguousarray(words.transpose(0, 2, 1)).view(np.uint8).ravel(),
            "train.running": np.ascontiguousarray(running.cpu().numpy().T),
            "train.arrival": torch.stack([row.double() for row in rows]).cpu().numpy(),
        }

    def restore(self, state: Mapping[str, Any]) -> bool:
        """See `FrameGames.restore`."""
        words = self.games.words()
        tiles = np.ascontiguousarray(state["train.tiles"])
        if tiles.shape != (words.nbytes,) or state["train.arrival"].shape != (5, self.n):
            return False
        running, arrived = running_of(state, self.n), state["train.arrival"]
        lanes = tiles.view(np.uint32).reshape(-1, words.shape[1], LANES)
        self.games.restore(lanes.transpose(0, 2, 1).reshape(words.shape))
        terms = taken(running[:, 2:], np.zeros((self.n, self.n_terms)))
        arrival = self.arrival
        sums = (self._returns, self._decisions, self._terms)
        rows = (self.over, arrival.reward, arrival.is_first, arrival.continues, arrival.episode_id)
        for target, row in zip((*sums, *rows), (running[:, 0], running[:, 1], terms.T, *arrived), strict=True):
            target.copy_(torch.from_numpy(np.array(row)))
        return True
