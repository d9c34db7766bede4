"""Games played on one device by the network that learns there: rollouts as tensors whose addresses never change.

What every array means is what `dshq_kernels.loops.play` writes for the processor; here a *row* is one learning side of
one game. Nothing waits for the device: there is no branch on what the games do. Random numbers of a whole rollout are
drawn before it, so that the rest can be one CUDA graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dshq_kernels import gae_cuda
from dshq_kernels.cpu import LANES
from dshq_kernels.loops import STATS
from dshq_kernels.players import IDLE, POLICY, RANDOM, SELF
from dshq_kernels.rollout import Samples, opponent_kind, share_tiles
from dshq_widget.gpu.games import CudaGames, DeviceGames
from dshq_widget.gpu.graphs import captured

Forward = Callable[[Tensor, Tensor | None, Tensor | None], tuple[Tensor, Tensor]]
"""Observations f32 `[N, n_obs]`, mask bool `[N, n_actions]` or None, and flat weights or None for the learner's own ->
log-probabilities `[N, n_actions]` and values `[N]`."""
Estimator = Callable[..., tuple[Tensor, Tensor]]
"""Advantages and returns, as `losses.gae`: what there is where no kernel can run."""


@dataclasses.dataclass(frozen=True)
class Rollout:
    """What is learned from: T decisions of R rows, all on one device."""

    obs: Tensor  # f32 [T, R, n_obs]
    action: Tensor  # i64 [T, R]
    log_prob: Tensor  # f32 [T, R]
    value: Tensor  # f32 [T, R]
    advantage: Tensor  # f32 [T, R]
    returns: Tensor  # f32 [T, R]
    mask: Tensor  # bool [T, R, n_actions]; no actions without a mask
    reward: Tensor  # f32 [T, R]
    terminated: Tensor  # bool [T, R]
    truncated: Tensor  # bool [T, R]: the time was up, and it was not terminated
    final_value: Tensor  # f32 [T, R]: of an episode's last observation where truncated, else 0
    last_value: Tensor  # f32 [R]: of the observation after the last decision
    stats: Tensor  # f64 [len(STATS) + n_terms], as of `dshq_kernels.loops`

    @classmethod
    def new(cls, length: int, rows: int, spec: Mapping[str, Any], device: torch.device) -> Rollout:
        """Zeros for a compiled drill."""
        sizes = {"obs": int(spec["n_obs"]), "mask": int(spec["n_actions"]) if spec.get("masked") else 0}
        dtypes = {"action": torch.int64, "mask": torch.bool, "terminated": torch.bool, "truncated": torch.bool}
        made: dict[str, Tensor] = {}
        for field in dataclasses.fields(cls):
            shape = (length, rows, sizes[field.name]) if field.name in sizes else (length, rows)
            made[field.name] = torch.zeros(shape, dtype=dtypes.get(field.name, torch.float32), device=device)
        made["last_value"] = torch.zeros(rows, device=device)
        made["stats"] = torch.zeros(len(STATS) + len(spec["terms"]), dtype=torch.float64, device=device)
        return cls(**made)

    @property
    def samples(self) -> int:
        """T times R."""
        return self.action.numel()

    def mean_return(self, units: np.ndarray) -> float:
        """Mean of all `returns`, whatever the `units`; waits for the device."""
        return float(self.returns.mean())

    def to_samples(self) -> Samples:
        """The same on the host, 16 neighbouring rows to a unit; waits for the device."""
        n_obs, words = self.obs.shape[-1], -(-self.mask.shape[-1] // 32)
        samples = Samples.new(self.samples // LANES, n_obs, words)
        samples.obs[:] = self.obs.reshape(-1, LANES, n_obs).transpose(1, 2).cpu().numpy()
        for name in ("action", "log_prob", "value", "advantage", "returns"):
            getattr(samples, name)[:] = getattr(self, name).reshape(-1, LANES).cpu().numpy()
        if words:
            bits = np.zeros((self.samples, words * 32), np.uint32)
            bits[:, : self.mask.shape[-1]] = self.mask.reshape(self.samples, -1).cpu().numpy()
            packed = (bits.reshape(self.samples, words, 32) << np.arange(32, dtype=np.uint32)).sum(-1, dtype=np.uint32)
            samples.mask[:] = packed.reshape(-1, LANES, words).transpose(0, 2, 1)
        return samples


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
    """The games in the given shares of `dshq_kernels.players`' codes, each kind in one piece."""
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
    """Games that go on from rollout to rollout. `forward` is the learner's; `shares` maps names of opponents, or codes
    for earlier policies, to shares of the games. With `graph` a rollout is one CUDA graph.
    """

    def __init__(
        self,
        games: DeviceGames,
        forward: Forward,
        estimator: Estimator,
        *,
        length: int,
        shares: Mapping[Any, float],
        seed: int = 0,
        graph: bool = False,
    ):
        spec, device = games.drill.spec, games.device
        if graph and device.type != "cuda":
            raise ValueError(f"a CUDA graph needs a CUDA device; the games are on {device}: leave graph out")
        self.games, self.forward, self.estimator, self.length = games, forward, estimator, length
        self.spec, self.device = spec, device
        self.sides, self.n_actions, self.n_terms = int(spec["sides"]), int(spec["n_actions"]), len(spec["terms"])
        self.masked, self.time_limit = bool(spec.get("masked")), int(spec["time_limit"])
        codes = {k if isinstance(k, int) else opponent_kind(k, spec): share for k, share in shares.items() if share}
        self.groups = groups_of(games.n, self.sides, codes)
        self.rows = _rows(self.groups, games.n, self.sides).to(device)  # [R], side * n + game
        self.others = {g.kind: _rows([g], games.n, 2, other=True).to(device) for g in self.groups if g.kind <= POLICY}
        self.rollout = Rollout.new(length, len(self.rows), spec, device)
        self.generator = torch.Generator(device).manual_seed(seed)
        self._game_of = self.rows % games.n
        self._weights = torch.tensor([float(term["weight"]) for term in spec["terms"]], device=device)
        self._potential = torch.tensor([term["kind"] == "potential" for term in spec["terms"]], device=device)
        self._shaped = bool(self._potential.any())
        self._discounts = torch.zeros(2, device=device)  # gamma, lambda
        self._allocate()
        self._pool: dict[int, Tensor] = {}
        self._scenes: Tensor | None = None
        self._scene_share = torch.zeros((), device=device)
        self._graph, self._wants_graph = None, graph
        rng = np.random.default_rng([seed & 0xFFFFFFFF, 0x51DE])
        decisions = max(1, self.time_limit // int(spec["action_repeat"]))
        keys = rng.integers(0, 1 << 32, games.n, np.uint32)
        games.begin(keys, (rng.integers(0, decisions, games.n) * spec["action_repeat"]).astype(np.int32))

    def _allocate(self) -> None:
        """Everything between the games and the rollout."""
        n, rows, device, sides = self.games.n, len(self.rows), self.device, self.sides

        def room(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._seen = room(sides, int(self.spec["n_obs"]), n)
        self._allowed = room(sides, self.n_actions if self.masked else 0, n, dtype=torch.uint8)
        self._actions = room(sides, n, dtype=torch.int32)
        self._scripted = {g.kind: room(sides, g.end - g.begin, dtype=torch.int32) for g in self.groups}
        self._barred = {
            g.kind: room(sides, self._allowed.shape[1], g.end - g.begin, dtype=torch.uint8) for g in self.groups
        }
        self._before, self._after, self._paid = (room(sides, self.n_terms, n) for _ in range(3))
        self._status, self._over = room(3, n, dtype=torch.int32), room(n, dtype=torch.uint8)
        self._ends = room(self.length, 3, n, dtype=torch.int32)  # over, winner, ticks at each decision
        self.running, self._gains = room(rows), room(self.length, rows)
        longest = -(-self.time_limit // int(self.spec["action_repeat"]))
        self._late = room(1 + (self.length - 1) // longest, rows, int(self.spec["n_obs"]))  # last observations
        self._late_count, self._late_slot = room(rows, dtype=torch.int64), room(self.length, rows, dtype=torch.int64)
        self._row_numbers = torch.arange(rows, device=device)
        self._last = room(rows, int(self.spec["n_obs"]))
        self.chance = room(self.length, sides, n)  # a number for each side of each game
        self.scene_chance = room(self.length, n)

    def settings(self, gamma: float, gae_lambda: float, weights: np.ndarray | None = None) -> None:
        """Discount, trace and, where given, weights of the reward terms, from the next rollout on."""
        self._discounts[0].fill_(gamma)
        self._discounts[1].fill_(gae_lambda)
        if weights is not None:
            self._weights.copy_(torch.from_numpy(weights))

    def meet(self, policies: Sequence[np.ndarray]) -> None:
        """From now on the games against earlier policies are played by these flat weights, one for each code."""
        for kind in self.others:
            blob = torch.from_numpy(np.ascontiguousarray(policies[POLICY - kind], np.float32))
            if kind in self._pool:
                self._pool[kind].copy_(blob)
            else:
                self._pool[kind] = blob.to(self.device)

    def practise(self, scenes: np.ndarray, share: float) -> None:
        """From now on so large a share of the new episodes begins as one of `scenes`, u32 `[k, words]`, all alike."""
        self._scene_share.fill_(share)
        known = None if self._scenes is None else self._scenes.cpu().numpy().T.view(np.uint32)
        if (known is None and not len(scenes)) or (known is not None and np.array_equal(known, scenes)):
            return
        given = torch.from_numpy(np.ascontiguousarray(scenes.T).view(np.int32)).to(self.device)
        self._scenes = given if len(scenes) else None  # i32 [words, k]
        self._graph = None

    @torch.no_grad()
    def mend(self) -> int:
        """Begins every game anew that has left finite numbers, as `dshq_kernels.rollout.Rollouts.mend`; waits for the
        device. -> how many there were.
        """
        rollout = self.rollout
        broken = ~rollout.obs[-1].isfinite().all(-1) | ~rollout.advantage.isfinite().all(0)
        chosen = torch.zeros(self.games.n, dtype=torch.uint8, device=self.device)
        chosen[self._game_of[broken]] = 1
        self.games.follow()
        self.games.reset(self._over.copy_(chosen))
        self.running.masked_fill_(chosen[self._game_of] != 0, 0)
        return int(chosen.sum())

    @torch.no_grad()
    def next(self) -> Rollout:
        """The next rollout, in the same tensors as the last."""
        if set(self.others) - set(self._pool):
            raise ValueError("games against earlier policies have nobody to play them yet: call `meet` first")
        self.chance.uniform_(generator=self.generator)
        if self._scenes is not None:
            self.scene_chance.uniform_(generator=self.generator)
        if self._wants_graph and self._graph is None:
            held = [self.games.state, self.running] if isinstance(self.games, CudaGames) else []
            self._graph = captured(self._play, held)
        if self._graph is not None:
            self._graph.replay()
        else:
            self._play()
        return self.rollout

    def _play(self) -> None:
        self.games.follow()
        self._late_count.zero_()
        self._paid.zero_()
        if self._shaped:
            self.games.terms(self._before)
        for t in range(self.length):
            self._decision(t)
        self._estimate()
        self._count()

    def _look(self, out: Tensor) -> Tensor:
        """What the rows see, f32 `[R, n_obs]` -> what every side of every game sees, `[sides n, n_obs]`."""
        self.games.observe(self._seen)
        seen = self._seen.transpose(1, 2).reshape(self.sides * self.games.n, -1)
        torch.index_select(seen, 0, self.rows, out=out)
        return seen

    def _decision(self, t: int) -> None:
        rollout = self.rollout
        seen = self._look(rollout.obs[t])
        allowed = None
        if self.masked:
            self.games.mask(self._allowed)
            allowed = (self._allowed != 0).transpose(1, 2).reshape(self.sides * self.games.n, -1)
            torch.index_select(allowed, 0, self.rows, out=rollout.mask[t])
        log_probs, value = self.forward(rollout.obs[t], rollout.mask[t] if self.masked else None, None)
        action = draw(log_probs, self.chance[t].view(-1)[self.rows])
        rollout.action[t] = action
        rollout.log_prob[t] = log_probs.gather(1, action[:, None])[:, 0]
        rollout.value[t] = value
        self._actions.view(-1).index_copy_(0, self.rows, action.int())
        for group in self.groups:
            self._oppose(group, t, seen, allowed)
        self.games.decide(self._actions)
        self._pay(t)
        self._end(t)

    def _oppose(self, group: Group, t: int, seen: Tensor, allowed: Tensor | None) -> None:
        """What the other side of a group's games does."""
        if group.kind == SELF:
            return
        if group.kind <= POLICY:
            rows = self.others[group.kind]
            mask = None if allowed is None else allowed[rows]
            log_probs, _ = self.forward(seen[rows], mask, self._pool[group.kind])
            action = draw(log_probs, self.chance[t].view(-1)[rows])
            self._actions.view(-1).index_copy_(0, rows, action.int())
            return
        half, scripted = group.middle - group.begin, self._scripted[group.kind]
        if group.kind != IDLE:
            who = "random" if group.kind == RANDOM else self.spec["baselines"][group.kind]
            barred = self._barred[group.kind]
            if self.masked:
                barred.copy_(self._allowed[:, :, group.begin : group.end])
            self.games.actions(who, group.begin, scripted, barred if self.masked else None)
        self._actions[1, group.begin : group.middle] = scripted[1, :half]
        self._actions[0, group.middle : group.end] = scripted[0, half:]

    def _pay(self, t: int) -> None:
        """The rows' weighted rewards; a potential's term is gamma phi(s') - phi(s), as in `loops._rewards`."""
        self.games.terms(self._after)
        paid = self._after
        if self._shaped:
            shaping = self._discounts[0] * self._after - self._before
            paid = torch.where(self._potential[:, None], shaping, self._after)
        paid = paid * self._weights[:, None]
        self._paid += paid
        self.rollout.reward[t] = paid.sum(1).view(-1)[self.rows]

    def _end(self, t: int) -> None:
        """Which episodes have ended and how; new ones begin."""
        rollout, games = self.rollout, self.games
        games.status(self._status)
        terminated = self._status[0] != 0
        over = terminated | (self._status[2] >= self.time_limit)
        self._over.copy_(over)
        self._ends[t, 0].copy_(over)
        self._ends[t, 1:] = self._status[1:]
        rollout.terminated[t] = terminated[self._game_of]
        rollout.truncated[t] = (over & ~terminated)[self._game_of]
        self._keep_last(t)
        self.running += rollout.reward[t]
        self._gains[t] = self.running
        self.running.masked_fill_(over[self._game_of], 0)
        games.reset(self._over)
        if self._scenes is not None:
            drawn = self.scene_chance[t]
            which = (drawn / self._scene_share * self._scenes.shape[1]).long().clamp(0, self._scenes.shape[1] - 1)
            games.put(over & (drawn < self._scene_share), self._scenes[:, which])
        if self._shaped:
            games.terms(self._before)

    def _keep_last(self, t: int) -> None:
        """The last observations of the episodes whose time was up. Each row has a slot for each time that this can
        happen in a rollout, so that one pass of the network at its end is enough.
        """
        truncated, late = self.rollout.truncated[t], self._late
        self._look(self._last)
        slot = self._late_count.clamp(max=len(late) - 1)
        self._late_slot[t] = slot
        place, flat = slot * len(self.rows) + self._row_numbers, late.view(-1, late.shape[2])
        flat.index_copy_(0, place, torch.where(truncated[:, None], self._last, flat[place]))
        self._late_count += truncated

    def _estimate(self) -> None:
        """Values that follow, and the advantages."""
        rollout, late = self.rollout, self._late
        self._look(self._last)
        rollout.last_value.copy_(self.forward(self._last, None, None)[1])
        values = self.forward(late.view(-1, late.shape[2]), None, None)[1].view(len(late), -1)
        rollout.final_value.copy_(torch.where(rollout.truncated, values.gather(0, self._late_slot), 0.0))
        inputs = (rollout.reward, rollout.value, rollout.last_value, rollout.final_value)
        if isinstance(self.games, CudaGames):
            ends = (rollout.terminated.view(torch.uint8), rollout.truncated.view(torch.uint8))
            arrays = (*inputs, *ends, self._discounts, rollout.advantage, rollout.returns)
            gae_cuda.launch_gae(tuple(map(self.games.array, arrays)), self.games.game.stream)
            return
        found = self.estimator(*inputs, rollout.terminated, rollout.truncated, *self._discounts.unbind())
        rollout.advantage.copy_(found[0])
        rollout.returns.copy_(found[1])

    def _count(self) -> None:
        """The statistics of the episodes that have ended, in the order of `STATS`."""
        over, winner, ticks = self._ends.unbind(1)
        ended = (self.rollout.terminated | self.rollout.truncated).double()
        gains = self._gains.double()
        repeat = int(self.spec["action_repeat"])
        sums = [
            over.sum(),
            (over * (winner > 0)).sum(),
            (over * (winner < 0)).sum(),
            (over * (winner == 0)).sum(),
            (over * ((ticks + repeat - 1) // repeat)).sum(),
            ended.sum(),
            (gains * ended).sum(),
            torch.where(ended > 0, gains, torch.inf).min(),
            torch.where(ended > 0, gains, -torch.inf).max(),
            torch.full((), float(self.rollout.samples), device=self.device),
        ]
        self.rollout.stats[: len(STATS)] = torch.stack([value.double() for value in sums])
        by_side = self._paid.transpose(1, 2).reshape(-1, self.n_terms)
        self.rollout.stats[len(STATS) :] = by_side[self.rows].double().sum(0)


def _rows(groups: Sequence[Group], n: int, sides: int, other: bool = False) -> Tensor:
    """i64 side * n + game of the sides that learn, or of those `other` than they; side 0 first within a group."""
    parts = []
    for group in groups:
        whole = group.kind == SELF
        first = torch.arange(group.begin, group.middle if not whole else group.end)
        second = torch.arange(group.middle if not whole else group.begin, group.end) if sides == 2 else first[:0]
        parts += [first + n * other, second + n * (not other)]
    return torch.cat(parts)
