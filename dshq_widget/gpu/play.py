"""Games played on one device by the network that learns there: rollouts as tensors whose addresses never change.

What every array means is what `dshq_kernels.play.loops.play` writes for the processor; here a *row* is one learning
side of one game. Nothing waits for the device: there is no branch on what the games do. Random numbers of
a whole rollout are drawn before it, so that the rest can be one CUDA graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from dshq_kernels.play.players import IDLE, POLICY, RANDOM, SELF
from dshq_kernels.play.rollout import STARTS, opponent_kind, share_tiles
from dshq_kernels.run.draws import Draws
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.places import found_at
from dshq_widget.gpu.device import DEVICES, captured
from dshq_widget.gpu.games import DeviceGames, Estimator
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.gpu.turns import Turns


class Policy(Protocol):
    """The learning policy, which also plays."""

    network: Any
    """The kernels that play; None: `forward` does."""

    def forward(self, obs: Tensor, mask: Tensor | None, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """Observations f32 `[N, n_obs]`, mask bool `[N, n_actions]` or None, and flat weights or None for the learner's
        own -> log-probabilities `[N, n_actions]` and values `[N]`.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Group:
    """Games from `begin` to `end` with the same opponent: up to `middle` side 0 learns, from there on side 1; of
    self-play both do everywhere.
    """

    kind: int
    begin: int
    middle: int
    end: int


def groups_of(n: int, sides: int, shares: Mapping[int, float]) -> list[Group]:
    """The games in the given shares of `dshq_kernels.play.players`' codes, each kind in one piece."""
    kinds = share_tiles(n // LANES, shares if sides == 2 else {SELF: 1.0})
    found, begin = [], 0
    for kind in sorted(set(kinds.tolist()), reverse=True):
        end = begin + LANES * int((kinds == kind).sum())
        found.append(Group(kind, begin, end if kind == SELF else begin + (end - begin) // 2, end))
        begin = end
    return found


def draw(log_probs: Tensor, chance: Tensor) -> Tensor:
    """i64 `[N]` actions from log-probabilities `[N, n_actions]` and uniform numbers `[N]`: the inverse of the
    cumulative distribution, which never gives what has probability 0.
    """
    reached = log_probs.exp().cumsum(-1)
    whole = reached[:, -1:]
    return ((reached <= chance[:, None] * whole) & (reached < whole)).sum(-1)


class Play:
    """Games that continue from rollout to rollout, played by `policy`; `shares` maps names of opponents, or codes for
    earlier policies, to shares of the games. With `graph` a rollout is one CUDA graph.
    """

    def __init__(
        self,
        games: DeviceGames,
        policy: Policy,
        estimator: Estimator,
        *,
        length: int,
        shares: Mapping[Any, float],
        seed: int = 0,
        graph: bool = False,
    ):
        spec, device = games.drill.spec, games.device
        if graph and device.type not in DEVICES:
            raise ValueError(f"graph=True needs a GPU; the games are on {device}")
        self.games, self.policy, self.estimator, self.length = games, policy, estimator, length
        self.spec, self.device = spec, device
        self.sides, self.n_actions, self.masked = spec.sides, spec.n_actions, spec.masked
        codes = {k if isinstance(k, int) else opponent_kind(k, spec): share for k, share in shares.items() if share}
        self.groups = groups_of(games.n, self.sides, codes)
        self.rows = _rows(self.groups, games.n, self.sides).to(device)  # [R], side * n + game
        self.others = {g.kind: _rows([g], games.n, 2, other=True).to(device) for g in self.groups if g.kind <= POLICY}
        self.rollout = Rollout.new(
            length, len(self.rows), spec.n_obs, spec.n_actions if spec.masked else 0, len(spec.terms), device
        )
        self.generator = torch.Generator(device).manual_seed(seed)
        self.turns: Turns = found_at(games.turns)(games, self.rollout, self.rows)
        self._allocate()
        self._pool: dict[int, Tensor] = {}
        self._graph, self._wants_graph = None, graph
        draws = Draws(seed & 0xFFFFFFFF, STARTS)
        decisions = max(1, spec.time_limit // spec.action_repeat)
        keys = draws.words(games.n)
        games.begin(keys, (draws.below(decisions, games.n) * spec.action_repeat).astype(np.int32))

    def _allocate(self) -> None:
        """What is seen, and what is done about it."""
        n, sides, device = self.games.n, self.sides, self.device

        def room(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._seen = room(sides, self.spec.n_obs, n)
        self._allowed = room(sides, self.n_actions if self.masked else 0, n, dtype=torch.uint8)
        self._scripted = {g.kind: room(sides, g.end - g.begin, dtype=torch.int32) for g in self.groups}
        self._barred = {
            g.kind: room(sides, self._allowed.shape[1], g.end - g.begin, dtype=torch.uint8) for g in self.groups
        }
        self.chance = room(self.length, sides, n)  # a number for each side of each game
        names = ("obs", "mask", "action", "log_prob", "value")
        self._kept = [{name: getattr(self.rollout, name)[t] for name in names} for t in range(self.length)]

    @property
    def running(self) -> Tensor:
        """The rows' returns so far: f32 `[R]`."""
        return self.turns.running

    def settings(self, gamma: float, gae_lambda: float, weights: np.ndarray | None = None) -> None:
        """Discount, trace and, where given, weights of the reward terms, from the next rollout on."""
        self.turns.discounts[0].fill_(gamma)
        self.turns.discounts[1].fill_(gae_lambda)
        if weights is not None:
            self.turns.weights.copy_(torch.from_numpy(weights))

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the games against earlier policies with these flat weights from now on, one per code."""
        for kind in self.others:
            blob = torch.from_numpy(np.ascontiguousarray(policies[POLICY - kind], np.float32))
            if kind in self._pool:
                self._pool[kind].copy_(blob)
            else:
                self._pool[kind] = blob.to(self.device)

    def practise(self, scenes: np.ndarray, share: float) -> None:
        """Start a share of the new episodes from one of `scenes`, u32 `[k, words]`, all equally likely, from now on."""
        if self.turns.practise(scenes, share):
            self._graph = None

    @torch.no_grad()
    def mend(self) -> int:
        """Restart every game with non-finite numbers, like `dshq_kernels.play.rollout.Rollouts.mend`; waits for the
        device. Returns how many there were.
        """
        rollout = self.rollout
        broken = ~rollout.obs[-1].isfinite().all(-1) | ~rollout.advantage.isfinite().all(0)
        chosen = torch.zeros(self.games.n, dtype=torch.uint8, device=self.device)
        game_of = self.rows % self.games.n
        chosen[game_of[broken]] = 1
        self.games.follow()
        self.games.reset(self.turns.over.copy_(chosen))
        self.running.masked_fill_(chosen[game_of] != 0, 0)
        return int(chosen.sum())

    @torch.no_grad()
    def next(self) -> Rollout:
        """The next rollout, in the same tensors as the last."""
        if set(self.others) - set(self._pool):
            raise ValueError("games against earlier policies have no weights yet: call `set_opponents` first")
        self.chance.uniform_(generator=self.generator)
        if self.turns.scenes is not None:
            self.turns.scene_chance.uniform_(generator=self.generator)
        if self._wants_graph and self._graph is None:
            held = [*self.games.state_tensors, self.running] if self.games.state_tensors else []
            self._graph = captured(self._play, held, self.device)
        if self._graph is not None:
            self._graph.replay()
        else:
            self._play()
        return self.rollout

    def _play(self) -> None:
        self.games.follow()
        self.turns.begin()
        for t in range(self.length):
            self._decision(t)
            self.turns.take(t)
        self._estimate()
        self.turns.count()

    def _of(self, rows: Tensor, given: Tensor) -> Tensor:
        """Of what every side of every game has, `[sides, k, n]`, that of these rows: `[N, k]`."""
        return given.transpose(1, 2).reshape(self.sides * self.games.n, -1)[rows]

    def _decision(self, t: int) -> None:
        self.games.observe(self._seen)
        if self.masked:
            self.games.mask(self._allowed)
        for group in self.groups:  # first: a baseline must not find in `action` what the learner is about to do
            self._oppose(group, t)
        self._choose(t, self.rows, None, self._kept[t])

    def _choose(self, t: int, rows: Tensor, weights: Tensor | None, kept: Mapping[str, Tensor] | None = None) -> None:
        """What the policy, or another one of these weights, does as these rows; `kept` is written, too."""
        allowed, action = self._allowed if self.masked else None, self.games.action
        if self.policy.network is not None:
            self.policy.network.act(self._seen, allowed, rows, self.chance[t], action, kept, weights)
            return
        obs, mask = self._of(rows, self._seen), None if allowed is None else self._of(rows, allowed) != 0
        log_probs, value = self.policy.forward(obs, mask, weights)
        drawn = draw(log_probs, self.chance[t].view(-1)[rows])
        action.view(-1).index_copy_(0, rows, drawn.int())
        if kept is not None:
            kept["obs"].copy_(obs)
            kept["action"].copy_(drawn)
            kept["log_prob"].copy_(log_probs.gather(1, drawn[:, None])[:, 0])
            kept["value"].copy_(value)
            if mask is not None:
                kept["mask"].copy_(mask)

    def _oppose(self, group: Group, t: int) -> None:
        """What the other side of a group's games does."""
        if group.kind == SELF:
            return
        if group.kind <= POLICY:
            self._choose(t, self.others[group.kind], self._pool[group.kind])
            return
        half, scripted = group.middle - group.begin, self._scripted[group.kind]
        if group.kind != IDLE:
            who = "random" if group.kind == RANDOM else self.spec.baselines[group.kind]
            barred = self._barred[group.kind]
            if self.masked:
                barred.copy_(self._allowed[:, :, group.begin : group.end])
            self.games.actions(who, group.begin, scripted, barred if self.masked else None)
        self.games.action[1, group.begin : group.middle] = scripted[1, :half]
        self.games.action[0, group.middle : group.end] = scripted[0, half:]

    def _estimate(self) -> None:
        """Values that follow, and the advantages."""
        rollout, late, discounts = self.rollout, self.turns.late, self.turns.discounts
        self.games.observe(self._seen)
        rollout.last_value.copy_(self.policy.forward(self._of(self.rows, self._seen), None, None)[1])
        values = self.policy.forward(late.view(-1, late.shape[2]), None, None)[1].view(len(late), -1)
        rollout.final_value.copy_(torch.where(rollout.truncated, values.gather(0, self.turns.late_slot), 0.0))
        self.games.estimate(rollout, discounts, self.estimator)


def _rows(groups: Sequence[Group], n: int, sides: int, other: bool = False) -> Tensor:
    """i64 side * n + game of the sides that learn, or of those `other` than they; side 0 first within a group."""
    parts = []
    for group in groups:
        whole = group.kind == SELF
        first = torch.arange(group.begin, group.middle if not whole else group.end)
        second = torch.arange(group.middle if not whole else group.begin, group.end) if sides == 2 else first[:0]
        parts += [first + n * other, second + n * (not other)]
    return torch.cat(parts)
