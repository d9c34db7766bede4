"""Playing games for the learner and for evaluation: one compiled loop for every drill, reached through C addresses.

A *group* is two units of 16 samples that go through the network together: both sides of one tile (self-play), or one learning
side of each of two tiles. Samples are written where the learner reads them, so nothing is ever transposed or copied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import njit

from dshq_kernels.cpu import DECIDE, FIRST_BASELINE, OBSERVE, RESET, STATUS, TERMS, TICK
from dshq_kernels.cpu import RANDOM as RANDOM_ACTIONS
from dshq_kernels.mlp import exp, forward_lanes, log, make_plan, pack, play_scratch
from dshq_kernels.returns import gae_lanes
from dshq_kernels.vector import (
    LANES,
    aligned,
    any_lane,
    call,
    call2,
    copy_bytes,
    lane_numbers,
    lane_sum,
    load,
    load_u32,
    maximum,
    peek_f32,
    peek_i32,
    select,
    splat,
    splat_u32,
    store,
    store_u32,
    to_f32,
)

TICKS_AT, ACTION_AT = 192, 256
"""Byte offsets of two fields of a tile's record."""
SELF, RANDOM, IDLE, POLICY = -1, -2, -3, -16
"""Who plays a side: the learner, uniform actions, action 0; k >= 0 is the drill's k-th baseline, POLICY - k the k-th given policy."""
UNIT = 64
"""Bytes of one value for each of 16 lanes."""

STATS = (
    "episodes",
    "wins_0",
    "wins_1",
    "draws",
    "decisions",
    "returns",
    "return_sum",
    "return_min",
    "return_max",
    "agent_steps",
)
"""Sums over a rollout's finished episodes. `decisions`: their lengths; `returns`: finished episodes times learning sides, whose
undiscounted weighted rewards are `return_sum`, `_min`, `_max`; `agent_steps`: samples for learning. Then one sum per reward term."""
(EPISODES, WINS_0, WINS_1, DRAWS, DECISIONS, RETURNS, RETURN_SUM, RETURN_MIN, RETURN_MAX, AGENT_STEPS) = range(
    len(STATS)
)


@njit(inline="always")
def mix(x):
    """A bijective hash of u32x16: `lowbias32` of C. Wellons' hash-prospector (2018, public domain)."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@njit(inline="always")
def uniform(seed, stream, count):
    """f32x16 in [0, 1) with 24 bits: a pure function of (seed, stream, lane, count), the same on every machine."""
    key = mix(mix(lane_numbers() + splat_u32(stream * 16 + 0x5EED)) ^ splat_u32(seed))
    word = mix(mix(key + splat_u32(count * 0x9E3779B9)) ^ key)
    return to_f32(word >> 8) * np.float32(2.0**-24)


@njit(nogil=True, error_model="numpy", cache=True)
def choose(logits, step, n_actions, u, greedy, action, log_prob, scratch):
    """Draws an action per lane from the softmax of logits `step` bytes apart, or takes the largest; writes i32[16] and f32[16].

    `u` f32[16] in [0, 1) by address; `scratch` holds `n_actions` units. The inverse of the cumulative distribution.
    """
    top = load(logits)
    best = splat_u32(0)
    for j in range(1, n_actions):
        value = load(logits + j * step)
        best = select(value > top, splat_u32(j), best)
        top = maximum(top, value)
    total = splat(0.0)
    for j in range(n_actions):
        total = total + exp(load(logits + j * step) - top)
        store(scratch + j * 64, total)
    chosen_log = splat(0.0)
    if greedy:
        store_u32(action, best)
    else:
        threshold = load(u) * total
        chosen = splat_u32(0)
        chosen_log = load(logits) - top
        for j in range(1, n_actions):
            beyond = load(scratch + (j - 1) * 64) <= threshold
            chosen = select(beyond, splat_u32(j), chosen)
            chosen_log = select(beyond, load(logits + j * step) - top, chosen_log)
        store_u32(action, chosen)
    store(log_prob, chosen_log - log(total))


@njit(nogil=True, error_model="numpy", cache=True)
def reset_tiles(verbs, tiles, tile_bytes, count):
    """A new episode in every lane of `count` tiles at address `tiles`."""
    for tile in range(count):
        for lane in range(16):
            call2(verbs[RESET], tiles + tile * tile_bytes, lane)


@njit(nogil=True, error_model="numpy", cache=True)
def play_side(
    kind,
    verbs,
    tile,
    side,
    other_tile,
    other_side,
    n_obs,
    obs,
    other_obs,
    plan,
    activation,
    params,
    greedy,
    seed,
    stream,
    other_stream,
    count,
    scratch,
):
    """Writes the actions of one side of two tiles into their records; `obs`: addresses of f32 `[sides, n_obs, 16]`."""
    if kind <= POLICY:
        n_actions = plan[-1, 2] - 1
        chance, log_prob, weights, network = scratch, scratch + 64, scratch + 128, scratch + 128 + 64 * n_actions
        network = (network + 63) // 64 * 64
        out = forward_lanes(
            plan, activation, params, obs + side * n_obs * 64, other_obs + other_side * n_obs * 64, network
        )
        store(chance, uniform(seed, stream, count))
        choose(out, 128, n_actions, chance, greedy, tile + ACTION_AT + side * 64, log_prob, weights)
        if other_tile != tile:
            store(chance, uniform(seed, other_stream, count))
            choose(
                out + 64, 128, n_actions, chance, greedy, other_tile + ACTION_AT + other_side * 64, log_prob, weights
            )
        return
    for half in range(2):
        if half == 1:
            if other_tile == tile:
                return
            tile, side = other_tile, other_side
        if kind == IDLE:
            store_u32(tile + ACTION_AT + side * 64, splat_u32(0))
        else:
            call2(verbs[RANDOM_ACTIONS] if kind == RANDOM else verbs[FIRST_BASELINE + kind], tile, scratch)
            copy_bytes(tile + ACTION_AT + side * 64, scratch + side * 64, 64)


@njit(nogil=True, error_model="numpy", cache=True)
def _rewards(before, after, terminated, weights, potential, gamma, keep_terminal, reward, term_sums):
    """Weighted reward of one side's 16 lanes into f32[16] at `reward`; `before`, `after`: f32 `[n_terms, 16]`, all by address.

    A potential's term is gamma phi(s') - phi(s) (Ng, Harada and Russell, 1999); phi of a terminated state counts as 0 unless
    `keep_terminal`.
    """
    total = splat(0.0)
    ended = load_u32(terminated) != 0
    for k in range(weights.size):
        value = load(after + k * 64)
        if potential[k]:
            if not keep_terminal:
                value = select(ended, 0.0, value)
            value = gamma * value - load(before + k * 64)
        value = value * weights[k]
        store(term_sums + k * 64, load(term_sums + k * 64) + value)
        total = total + value
    store(reward, total)


@njit(nogil=True, error_model="numpy", cache=True)
def play(
    verbs,
    tiles,
    tile_bytes,
    shape,
    groups,
    opponents,
    length,
    plan,
    activation,
    params,
    policies,
    policy_bytes,
    weights,
    potential,
    gamma,
    gae_lambda,
    keep_terminal,
    seed,
    first_count,
    running,
    samples,
    first_unit,
    stats,
    scratch,
):
    """Plays `length` decisions in every group and writes the samples, advantages included. Nothing is allocated per decision.

    verbs: int64 addresses. tiles: address of the records. shape: (sides, n_obs, time limit in ticks, ticks per decision).
    groups: int64 `[n, 4]`: tile, side, tile, side; a second tile of -1: none. opponents: int64 per tile. params: address of the
    padded parameters; policies: address of further blocks, `policy_bytes` apart. weights f32 and potential bool per term.
    seed, first_count: of the actions' generator. running: f32 `[tiles, sides, 16]`, returns so far. samples: addresses of obs,
    action, log_prob, value, advantage, return; group g's decision t is units `first_unit + (g length + t) 2` and the next.
    stats: f64 `[len(STATS) + n_terms]`, added to. scratch: address of `play_scratch_floats`.
    """
    sides, n_obs, time_limit, repeat = shape
    obs, action, log_prob, value, advantage, returns = samples
    n_actions = plan[-1, 2] - 1
    n_terms = weights.size
    obs_bytes, term_bytes = n_obs * 64, n_terms * 64
    wide = scratch  # [2 tiles, sides, n_obs, 16]
    before = wide + 2 * sides * obs_bytes  # [2 tiles, sides, n_terms, 16]
    after = before + 2 * sides * term_bytes  # the same
    term_sums = after + 2 * sides * term_bytes  # [n_terms, 16]
    status = term_sums + term_bytes  # [2 tiles, 2, 16]
    reward = status + 4 * 64  # [length, 2, 16]
    over = reward + length * 128  # the same
    final = over + length * 128  # the same
    chance = final + length * 128  # [16]
    cumulated = chance + 64  # [n_actions, 16]
    rest = cumulated + 64 * n_actions

    for g in range(groups.shape[0]):
        index = (groups[g, 0], groups[g, 2])
        both = index[0] == index[1]
        alone = index[1] < 0
        tile = (tiles + index[0] * tile_bytes, tiles + (index[0] if alone else index[1]) * tile_bytes)
        side = (groups[g, 1], groups[g, 1] if alone else groups[g, 3])
        distinct = 1 if both or alone else 2
        halves = 1 if alone else 2
        whole = both or sides == 1  # observations go straight to the samples
        for k in range(n_terms):
            store(term_sums + k * 64, 0.0)
        for d in range(distinct):
            call2(verbs[TERMS], tile[d], before + d * sides * term_bytes)

        for t in range(length + 1):
            unit = first_unit + (g * length + t) * 2
            last = t == length
            here = wide if last else obs + unit * obs_bytes
            for d in range(distinct):
                if whole and not last:
                    call2(verbs[OBSERVE], tile[d], here + d * obs_bytes)
                else:
                    call2(verbs[OBSERVE], tile[d], wide + d * sides * obs_bytes)
                    if not last:
                        copy_bytes(here + d * obs_bytes, wide + (d * sides + side[d]) * obs_bytes, obs_bytes)
            if last:
                break
            out = forward_lanes(plan, activation, params, here, here + (halves - 1) * obs_bytes, rest)
            for h in range(halves):
                at = (unit + h) * 64
                store(chance, uniform(seed, index[h] * 2 + side[h], first_count + t))
                choose(out + h * 64, 128, n_actions, chance, False, action + at, log_prob + at, cumulated)
                store(value + at, load(out + n_actions * 128 + h * 64))
                copy_bytes(tile[h] + ACTION_AT + side[h] * 64, action + at, 64)
            if sides == 2 and not both:
                same = distinct == 2 and opponents[index[0]] == opponents[index[1]]
                for d in range(1 if same else distinct):
                    e = 1 if same else d
                    kind = opponents[index[d]]
                    play_side(
                        kind,
                        verbs,
                        tile[d],
                        1 - side[d],
                        tile[e],
                        1 - side[e],
                        n_obs,
                        wide + d * sides * obs_bytes,
                        wide + e * sides * obs_bytes,
                        plan,
                        activation,
                        policies + max(0, POLICY - kind) * policy_bytes,
                        False,
                        seed,
                        index[d] * 2 + 1 - side[d],
                        index[e] * 2 + 1 - side[e],
                        first_count + t,
                        rest,
                    )

            late = False
            for d in range(distinct):
                call(verbs[DECIDE], tile[d])
                call2(verbs[TICK], tile[d], repeat)
                call2(verbs[STATUS], tile[d], status + d * 128)
                call2(verbs[TERMS], tile[d], after + d * sides * term_bytes)
            for h in range(halves):
                d = 0 if both else h
                row = (t * 2 + h) * 64
                term_at = (d * sides + side[h]) * term_bytes
                _rewards(
                    before + term_at,
                    after + term_at,
                    status + d * 128,
                    weights,
                    potential,
                    gamma,
                    keep_terminal,
                    reward + row,
                    term_sums,
                )
                total = running[index[h], side[h]].ctypes.data
                store(total, load(total) + load(reward + row))
                terminated = load_u32(status + d * 128) != 0
                timed_out = to_f32(load_u32(tile[h] + TICKS_AT)) >= np.float32(time_limit)
                store(over + row, select(terminated | timed_out, 1.0, 0.0))
                store(final + row, 0.0)
                late = late or any_lane(timed_out & (load_u32(status + d * 128) == 0))
            if late:
                for d in range(distinct):
                    call2(verbs[OBSERVE], tile[d], wide + d * sides * obs_bytes)
                second = 0 if alone else 1
                place = wide + ((0 if both else second) * sides + side[second]) * obs_bytes
                out = forward_lanes(plan, activation, params, wide + side[0] * obs_bytes, place, rest)
                for h in range(halves):
                    terminated = load_u32(status + (0 if both else h) * 128) != 0
                    store(final + (t * 2 + h) * 64, select(terminated, 0.0, load(out + n_actions * 128 + h * 64)))

            for d in range(distinct):
                ended = False
                for lane in range(16):
                    if peek_f32(over + (t * 2 + d) * 64 + lane * 4) == 0:
                        continue
                    ended = True
                    _count_episode(
                        peek_i32(status + d * 128 + 64 + lane * 4),
                        peek_i32(tile[d] + TICKS_AT + lane * 4),
                        repeat,
                        stats,
                    )
                    for h in range(halves):
                        if both or h == d:
                            gain = running[index[h], side[h], lane]
                            running[index[h], side[h], lane] = 0
                            stats[RETURNS] += 1
                            stats[RETURN_SUM] += gain
                            stats[RETURN_MIN] = min(stats[RETURN_MIN], gain)
                            stats[RETURN_MAX] = max(stats[RETURN_MAX], gain)
                    call2(verbs[RESET], tile[d], lane)
                if ended:
                    call2(verbs[TERMS], tile[d], before + d * sides * term_bytes)
                else:
                    copy_bytes(before + d * sides * term_bytes, after + d * sides * term_bytes, sides * term_bytes)

        second = 0 if alone else 1
        place = wide + ((0 if both else second) * sides + side[second]) * obs_bytes
        out = forward_lanes(plan, activation, params, wide + side[0] * obs_bytes, place, rest)
        for h in range(halves):
            at = (first_unit + g * length * 2 + h) * 64
            gae_lanes(
                length,
                reward + h * 64,
                over + h * 64,
                final + h * 64,
                128,
                value + at,
                advantage + at,
                returns + at,
                128,
                out + n_actions * 128 + h * 64,
                gamma,
                gae_lambda,
            )
        for k in range(n_terms):
            stats[len(STATS) + k] += lane_sum(load(term_sums + k * 64))
        stats[AGENT_STEPS] += length * halves * 16


@njit(nogil=True, error_model="numpy", cache=True)
def _count_episode(winner, ticks, repeat, stats):
    stats[EPISODES] += 1
    stats[WINS_0] += winner > 0
    stats[WINS_1] += winner < 0
    stats[DRAWS] += winner == 0
    stats[DECISIONS] += -(-ticks // repeat)


@njit(nogil=True, error_model="numpy", cache=True)
def match_tiles(
    verbs,
    tiles,
    tile_bytes,
    shape,
    side_of,
    kinds,
    plans,
    activations,
    params,
    greedy,
    seed,
    weights,
    results,
    lengths,
    returns,
    scratch,
):
    """Plays every lane of the tiles once, from reset to its end, for the first player's side `side_of[tile]`.

    kinds, plans, activations, params: pairs, of the first and the second player. results i32, lengths i32 (decisions) and
    returns f32 (weighted rewards of the first player; `weights` 0 for potentials) are `[tiles, 16]`.
    """
    sides, n_obs, time_limit, repeat = shape
    n_terms = weights.size
    obs_bytes = sides * n_obs * 64
    obs, terms = scratch, scratch + 2 * obs_bytes
    status, rest = terms + sides * n_terms * 64, terms + sides * n_terms * 64 + 128
    count = side_of.size
    most = -(-time_limit // repeat)
    for b in range(0, count, 2):
        e = min(b + 1, count - 1)
        open_lanes = 0
        for i in range(b, e + 1):
            open_lanes += 16
            results[i] = 0
            lengths[i] = 0
            returns[i] = 0
        first, other = tiles + b * tile_bytes, tiles + e * tile_bytes
        other_obs = obs + (e - b) * obs_bytes
        for t in range(most):
            call2(verbs[OBSERVE], first, obs)
            if e != b:
                call2(verbs[OBSERVE], other, other_obs)
            for player in range(sides):
                side, other_side = side_of[b] ^ player, side_of[e] ^ player
                play_side(
                    kinds[player],
                    verbs,
                    first,
                    side,
                    other,
                    other_side,
                    n_obs,
                    obs,
                    other_obs,
                    plans[player],
                    activations[player],
                    params[player],
                    greedy,
                    seed,
                    b * 2 + side,
                    e * 2 + other_side,
                    t,
                    rest,
                )
            for i in range(b, e + 1):
                tile = tiles + i * tile_bytes
                call(verbs[DECIDE], tile)
                call2(verbs[TICK], tile, repeat)
                call2(verbs[STATUS], tile, status)
                call2(verbs[TERMS], tile, terms)
                sign = 1 - 2 * side_of[i]
                for lane in range(16):
                    if lengths[i, lane] > 0:
                        continue
                    for k in range(n_terms):
                        returns[i, lane] += weights[k] * peek_f32(terms + ((side_of[i] * n_terms + k) * 16 + lane) * 4)
                    if peek_i32(status + lane * 4) != 0 or t == most - 1:
                        lengths[i, lane] = t + 1
                        results[i, lane] = sign * peek_i32(status + 64 + lane * 4)
                        open_lanes -= 1
            if open_lanes == 0:
                break


# Faces for Python ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Samples:
    """What a rollout writes and a learner reads: `[units, ..., 16]` arrays, C-contiguous."""

    obs: np.ndarray  # f32 [units, n_obs, 16]
    action: np.ndarray  # i32 [units, 16]
    log_prob: np.ndarray  # f32 [units, 16]
    value: np.ndarray  # f32 [units, 16]
    advantage: np.ndarray  # f32 [units, 16]
    returns: np.ndarray  # f32 [units, 16]

    @staticmethod
    def floats(units: int, n_obs: int) -> int:
        """4-byte words that `units` units take."""
        return units * LANES * (n_obs + 5)

    @classmethod
    def over(cls, memory: np.ndarray, units: int, n_obs: int) -> Samples:
        """Views of the first `floats(units, n_obs)` words of a float32 array."""
        memory = memory[: cls.floats(units, n_obs)]
        split = units * n_obs * LANES
        rows = memory[split:].reshape(5, units, LANES)
        return cls(memory[:split].reshape(units, n_obs, LANES), rows[0].view(np.int32), *rows[1:])

    @classmethod
    def new(cls, units: int, n_obs: int) -> Samples:
        """Samples in memory of their own."""
        return cls.over(aligned(cls.floats(units, n_obs)), units, n_obs)

    def addresses(self) -> tuple[int, ...]:
        """Where each array begins, in the order of the fields."""
        return tuple(getattr(self, field.name).ctypes.data for field in dataclasses.fields(self))


def opponent_kind(name: str, spec: Mapping[str, Any]) -> int:
    """The code of "self", "random", "idle" or one of the drill's baselines; raises ValueError."""
    known = {"self": SELF, "random": RANDOM, "idle": IDLE, **{b: k for k, b in enumerate(spec["baselines"])}}
    if name not in known:
        raise ValueError(f"unknown opponent {name!r} for {spec['name']}: choose from {', '.join(known)}")
    return known[name]


def share_tiles(n_tiles: int, shares: Mapping[int, float]) -> np.ndarray:
    """int64 `[n_tiles]` opponent kinds in the given shares (largest remainders), spread evenly over the tiles."""
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise ValueError(f"opponents' shares must not be negative and must add to more than 0; got {dict(shares)}")
    exact = {kind: n_tiles * share / total for kind, share in shares.items()}
    counts = {kind: int(x) for kind, x in exact.items()}
    for kind in sorted(exact, key=lambda k: counts[k] - exact[k])[: n_tiles - sum(counts.values())]:
        counts[kind] += 1
    places = sorted((((j + 0.5) / n, kind) for kind, n in counts.items() for j in range(n)))
    return np.array([kind for _, kind in places], np.int64)


def make_groups(kinds: np.ndarray, sides: int) -> np.ndarray:
    """int64 `[n, 4]` groups of tiles: both sides of a self-play tile, or two tiles' learning sides, which alternate between 0 and 1."""
    groups = [(b, 0, b, 1) for b, kind in enumerate(kinds) if sides == 2 and kind == SELF]
    turns: dict[int, int] = {}
    singles: list[tuple[int, int, int]] = []
    for b, kind in enumerate(kinds.tolist()):
        if sides == 1 or kind != SELF:
            turns[kind] = turns.get(kind, -1) + 1
            singles.append((kind, b, 0 if sides == 1 else turns[kind] & 1))
    singles.sort()
    for first, second in zip(singles[::2], singles[1::2], strict=False):
        groups.append((*first[1:], *second[1:]))
    if len(singles) % 2:
        groups.append((*singles[-1][1:], -1, 0))
    return np.array(groups, np.int64).reshape(-1, 4)


class Rollouts:
    """Games of one drill that go on from rollout to rollout, and the samples they yield.

    `parts` threads may each call `play(part=...)` at once: they share no memory that both write. `spec` is a compiled
    drill's; `shares` maps opponents (names, or codes for policies given to `play`) to shares of the games.
    """

    def __init__(
        self,
        game: Any,
        spec: Mapping[str, Any],
        layers: Sequence[int],
        activation: int,
        *,
        games: int,
        length: int,
        shares: Mapping[Any, float],
        seed: int,
        parts: int = 1,
        stagger: bool = True,
    ):
        if games % LANES or games < LANES:
            raise ValueError(f"games come in tiles of {LANES}: wanted a positive multiple of it, got {games}")
        self.spec, self.verbs, self.length, self.activation = spec, game.verbs, length, activation
        self.plan = make_plan(layers)
        self.n_tiles, self.sides = games // LANES, int(spec["sides"])
        self.seed, self.count = seed & 0xFFFFFFFF, 0
        codes = {
            who if isinstance(who, int) else opponent_kind(who, spec): share for who, share in shares.items() if share
        }
        self.opponents = share_tiles(self.n_tiles, codes if self.sides == 2 else {SELF: 1.0})
        rng = np.random.default_rng([self.seed, 0x51DE])
        self.groups = rng.permutation(make_groups(self.opponents, self.sides), axis=0)
        self.bounds = np.arange(parts + 1) * len(self.groups) // parts
        self.weights = np.array([term["weight"] for term in spec["terms"]], np.float32)
        self.potential = np.array([term["kind"] == "potential" for term in spec["terms"]], np.bool_)
        self.running = aligned((self.n_tiles, self.sides, LANES))
        floats = _scratch_floats(self.plan, spec, length)
        self.scratch = aligned((parts, floats))
        self.tiles = game.new(self.n_tiles)
        self.tiles["rng_key"] = rng.integers(0, 1 << 32, (self.n_tiles, LANES), np.uint32)
        self.tiles["practice"] = 1
        reset_tiles(self.verbs, self.tiles.ctypes.data, self.tiles.strides[0], self.n_tiles)
        if stagger:
            decisions = max(1, spec["time_limit"] // spec["action_repeat"])
            self.tiles["ticks"] = rng.integers(0, decisions, (self.n_tiles, LANES)) * spec["action_repeat"]

    @property
    def units(self) -> int:
        """Units of 16 samples that one rollout fills."""
        return len(self.groups) * self.length * 2

    @property
    def trainable(self) -> np.ndarray:
        """int64 indices of the units to learn from: all, or all but the second halves of a group of one tile."""
        keep = np.ones((len(self.groups), self.length, 2), bool)
        keep[self.groups[:, 2] < 0, :, 1] = False
        return np.flatnonzero(keep.ravel())

    def new_stats(self) -> np.ndarray:
        """f64 zeros for `play` to add to: `STATS`, then one sum per reward term."""
        stats = np.zeros(len(STATS) + len(self.weights))
        stats[RETURN_MIN], stats[RETURN_MAX] = np.inf, -np.inf
        return stats

    def play(
        self,
        params: np.ndarray,
        samples: Samples,
        stats: np.ndarray,
        *,
        gamma: float,
        gae_lambda: float,
        keep_terminal: bool = True,
        policies: np.ndarray | None = None,
        part: int = 0,
    ) -> None:
        """Plays one part's games on for `length` decisions. `params`: padded parameters; `policies`: f32 `[k, n]` of the same kind.

        After all parts have played, call `advance`.
        """
        low, high = self.bounds[part], self.bounds[part + 1]
        play(
            self.verbs,
            self.tiles.ctypes.data,
            self.tiles.strides[0],
            _shape(self.spec),
            self.groups[low:high],
            self.opponents,
            self.length,
            self.plan,
            self.activation,
            params.ctypes.data,
            0 if policies is None else policies.ctypes.data,
            0 if policies is None else policies.strides[0],
            self.weights,
            self.potential,
            np.float32(gamma),
            np.float32(gae_lambda),
            keep_terminal,
            self.seed,
            self.count,
            self.running,
            samples.addresses(),
            int(low) * self.length * 2,
            stats,
            self.scratch[part].ctypes.data,
        )

    def advance(self) -> None:
        """Moves the actions' generator past the rollout just played."""
        self.count = (self.count + self.length) & 0xFFFFFFFF


def _shape(spec: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return int(spec["sides"]), int(spec["n_obs"]), int(spec["time_limit"]), int(spec["action_repeat"])


def _scratch_floats(plan: np.ndarray, spec: Mapping[str, Any], length: int) -> int:
    """Floats of scratch memory for `play` and `match_tiles`."""
    sides, n_obs, *_ = _shape(spec)
    units = 2 * sides * n_obs + (4 * sides + 1) * len(spec["terms"]) + 6 * length + 8 + 2 * int(plan[-1, 2]) + 4
    return units * LANES + play_scratch(plan) + 64


@dataclasses.dataclass(frozen=True)
class Player:
    """One side of a match: a code (`RANDOM`, `IDLE`, a baseline's index), or with `POLICY` a network and its flat blob."""

    kind: int
    layers: tuple[int, ...] = (1, 1)
    activation: int = 1
    blob: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Matches:
    """Results of finished matches from the first player's view."""

    result: np.ndarray  # i32 [games] +1 won, -1 lost, 0 drawn
    length: np.ndarray  # i32 [games] decisions
    returns: np.ndarray  # f32 [games] undiscounted rewards, potentials left out


def play_matches(
    game: Any, spec: Mapping[str, Any], first: Player, second: Player, games: int, *, seed: int, greedy: bool = False
) -> Matches:
    """Plays `games` matches from proper starts, each once; the first player has side 0 in the first half and side 1 in the second."""
    if games < 1:
        raise ValueError(f"wanted at least one match, got {games}")
    sides = int(spec["sides"])
    halves = ((games + 1) // 2, games // 2) if sides == 2 else (games, 0)
    tiles_of = [-(-half // LANES) for half in halves]
    side_of = np.repeat(np.arange(2), tiles_of)
    count = len(side_of)
    tiles = game.new(count)
    tiles["rng_key"] = np.random.default_rng([seed & 0xFFFFFFFF, 0x3A7C4]).integers(
        0, 1 << 32, (count, LANES), np.uint32
    )
    reset_tiles(game.verbs, tiles.ctypes.data, tiles.strides[0], count)
    players = (first, second)
    plans = tuple(make_plan(player.layers) for player in players)
    blocks = [aligned(16) if p.blob is None else pack(plan, p.blob) for p, plan in zip(players, plans, strict=True)]
    for player in players:
        if player.kind <= POLICY and (
            player.blob is None or player.layers[0] != spec["n_obs"] or player.layers[-1] != spec["n_actions"] + 1
        ):
            raise ValueError(
                f"{spec['name']} needs a policy of {spec['n_obs']} inputs and {spec['n_actions'] + 1} outputs; "
                f"got layers {list(player.layers)}"
            )
    weights = np.array([0.0 if t["kind"] == "potential" else t["weight"] for t in spec["terms"]], np.float32)
    results, lengths = np.zeros((count, LANES), np.int32), np.zeros((count, LANES), np.int32)
    returns = np.zeros((count, LANES), np.float32)
    scratch = aligned(max(_scratch_floats(plan, spec, 1) for plan in plans))
    match_tiles(
        game.verbs,
        tiles.ctypes.data,
        tiles.strides[0],
        _shape(spec),
        side_of,
        tuple(p.kind for p in players),
        plans,
        tuple(p.activation for p in players),
        tuple(block.ctypes.data for block in blocks),
        greedy,
        seed & 0xFFFFFFFF,
        weights,
        results,
        lengths,
        returns,
        scratch.ctypes.data,
    )
    split = tiles_of[0] * LANES
    pick = np.concatenate([np.arange(halves[0]), split + np.arange(halves[1])])
    return Matches(results.ravel()[pick], lengths.ravel()[pick], returns.ravel()[pick])
