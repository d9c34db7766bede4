"""The compiled loop that plays games for learning; every drill is reached through C addresses. matches.py has the one
for matches.

A *group* is two units of 16 samples that go through the network together: both sides of one tile (self-play), or one
learning side of each of two tiles. Samples are written where the learner reads them, so nothing is ever transposed or
copied.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.backends.cpu import DECIDE, OBSERVE, RESET, STATUS, TERMS, TICK, mask_verb
from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.network.mlp import N_ACTIONS, UNITS, forward_lanes, play_scratch
from dshq_kernels.play.gae import gae_lanes
from dshq_kernels.play.players import ACTION_AT, POLICY, TICKS_AT, choose, keep_mask, play_side, uniform
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import (
    any_lane,
    call,
    call2,
    compiled,
    copy_bytes,
    lane_sum,
    load,
    load_u32,
    peek_f32,
    peek_i32,
    poke_f32,
    select,
    splat,
    store,
    to_f32,
)

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
"""Sums over a rollout's finished episodes. `decisions`: their lengths; `returns`: finished episodes times learning
sides, whose undiscounted weighted rewards are `return_sum`, `_min`, `_max`; `agent_steps`: samples for learning. Then
one sum per reward term."""
(EPISODES, WINS_0, WINS_1, DRAWS, DECISIONS, RETURNS, RETURN_SUM, RETURN_MIN, RETURN_MAX, AGENT_STEPS) = range(
    len(STATS)
)


KEPT_WORDS = 3
"""`rng_key`, `rng_count`, `practice`: what a reset keeps."""
SCENES_SEED = 0x5CE9E5
"""Apart from the actions' generator, whose seed this is combined with."""


def shape_of(spec: PlayedSpec) -> tuple[int, int, int, int, int]:
    """Sides, observations, ticks of an episode and of a decision, and the index of the mask's verb (0: no mask)."""
    return spec.sides, spec.n_obs, spec.time_limit, spec.action_repeat, mask_verb(spec)


def scratch_floats(plan: np.ndarray, spec: PlayedSpec, length: int) -> int:
    """Floats of scratch memory for `play` and `match_tiles`."""
    sides, n_obs, *_, masked = shape_of(spec)
    masks = 2 * sides * spec.n_actions if masked else 0
    n_actions, terms = int(plan[0, N_ACTIONS]), (4 * sides + 1) * len(spec.terms)
    units = masks + 2 * sides * n_obs + terms + 6 * length + 8 + 2 * n_actions + 6
    return units * LANES + play_scratch(plan) + 64


@compiled
def reset_tiles(verbs, tiles, tile_bytes, count):
    """A new episode in every lane of `count` tiles at address `tiles`."""
    for tile in range(count):
        for lane in range(16):
            call2(verbs[RESET], tiles + tile * tile_bytes, lane)


@compiled
def reset_lanes(verbs, tiles, tile_bytes, pairs):
    """A new episode in each (tile, lane) of `pairs`, int64 `[n, 2]`."""
    for k in range(pairs.shape[0]):
        call2(verbs[RESET], tiles + pairs[k, 0] * tile_bytes, pairs[k, 1])


@compiled
def put_scene(tile, lane, scene, words):
    """Makes one lane's game the scene at address `scene`, `words` u32; the lane keeps its generator and what it is for.

    A scene's first `KEPT_WORDS` words (`rng_key`, `rng_count`, `practice`) mean nothing.
    """
    for word in range(KEPT_WORDS, words):
        copy_bytes(tile + (word * 16 + lane) * 4, scene + word * 4, 4)


@compiled
def forget(memories, rows, lane):
    """Empties the memories of one lane's game: `rows` rows of f32 `[16]` from the address `memories` on."""
    for row in range(rows):
        poke_f32(memories + (row * 16 + lane) * 4, 0.0)


@compiled
def weighted_reward(before, after, weights, potential, gamma, reward, term_sums):
    """Weighted reward of one side's 16 lanes into f32[16] at `reward`; `before`, `after`: f32 `[n_terms, 16]`, all by
    address.

    A potential's term is gamma phi(s') - phi(s) (Ng, Harada and Russell, 1999); that of a terminated state stays, too.
    """
    total = splat(0.0)
    for k in range(weights.size):
        value = load(after + k * 64)
        if potential[k]:
            value = gamma * value - load(before + k * 64)
        value = value * weights[k]
        store(term_sums + k * 64, load(term_sums + k * 64) + value)
        total = total + value
    store(reward, total)


@compiled
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
    seed,
    first_count,
    scenes,
    scene_share,
    running,
    memories,
    samples,
    first_unit,
    stats,
    scratch,
):
    """Plays `length` decisions in every group and writes the samples, advantages included. Nothing is allocated per
    decision.

    verbs: int64 addresses. tiles: address of the records. shape: what `shape_of` returns. groups: int64 `[n, 4]`: tile,
    side, tile, side; a second tile of -1: none. opponents: int64 per tile. params: address of the padded parameters;
    policies: address of further blocks, `policy_bytes` apart. weights f32 and potential bool per term. seed,
    first_count: of the actions' generator. running: f32 `[tiles, sides, 16]`, returns so far. scenes: u32 `[n, words]`,
    and the f32 share of new episodes that begin as one of them. memories: address of the states of the players'
    memories, f32 `[tiles, sides, 2 units, 16]`, or 0. samples: addresses of obs, action, log_prob, value, advantage,
    return, mask, begins, states; group g's decision t is units `first_unit + (g length + t) 2` and the next. stats: f64
    `[len(STATS) + n_terms]`, added to. scratch: address of `scratch_floats`.
    """
    sides, n_obs, time_limit, repeat, mask = shape
    obs, action, log_prob, value, advantage, returns, bits, begins, starts = samples
    n_actions = plan[0, N_ACTIONS]
    memory_bytes = 128 * plan[0, UNITS]
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
    masks = cumulated + 64 * n_actions  # [2 tiles, sides, n_actions, 16] where there is a mask
    mask_bytes = 64 * n_actions if mask > 0 else 0
    rest = masks + 2 * sides * mask_bytes

    for g in range(groups.shape[0]):
        index = (groups[g, 0], groups[g, 2])
        both = index[0] == index[1]
        alone = index[1] < 0
        tile = (tiles + index[0] * tile_bytes, tiles + (index[0] if alone else index[1]) * tile_bytes)
        side = (groups[g, 1], groups[g, 1] if alone else groups[g, 3])
        distinct = 1 if both or alone else 2
        halves = 1 if alone else 2
        whole = both or sides == 1  # observations go straight to the samples
        seen = (wide + side[0] * obs_bytes, wide + ((distinct - 1) * sides + side[1]) * obs_bytes)
        for k in range(n_terms):
            store(term_sums + k * 64, 0.0)
        for d in range(distinct):
            call2(verbs[TERMS], tile[d], before + d * sides * term_bytes)
        mine = memories + (index[0] * sides + side[0]) * memory_bytes
        other = mine if alone else memories + (index[1] * sides + side[1]) * memory_bytes
        if memory_bytes > 0:
            sequence = first_unit // length + 2 * g
            copy_bytes(starts + sequence * memory_bytes, mine, memory_bytes)
            copy_bytes(starts + (sequence + 1) * memory_bytes, other, memory_bytes)
            for h in range(halves):
                store(begins + (first_unit + g * length * 2 + h) * 64, 0.0)

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
            if mask > 0:
                for d in range(distinct):
                    call2(verbs[mask], tile[d], masks + d * sides * mask_bytes)
            # First the others: a script must not find in `action` what the learner is about to do.
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
                        masks + d * sides * mask_bytes if mask > 0 else 0,
                        masks + e * sides * mask_bytes if mask > 0 else 0,
                        (
                            memories + (index[d] * sides + 1 - side[d]) * memory_bytes,
                            memories + (index[e] * sides + 1 - side[e]) * memory_bytes,
                            1,
                        ),
                        rest,
                    )
            second = halves - 1
            first_mask = masks + side[0] * mask_bytes if mask > 0 else 0
            second_mask = masks + ((0 if both else second) * sides + side[second]) * mask_bytes if mask > 0 else 0
            out = forward_lanes(
                plan,
                activation,
                params,
                here,
                here + second * obs_bytes,
                first_mask,
                second_mask,
                (mine, other, 1),
                rest,
            )
            for h in range(halves):
                at = (unit + h) * 64
                store(chance, uniform(seed, index[h] * 2 + side[h], first_count + t))
                allowed = second_mask if h == second else first_mask
                choose(out + h * 64, 128, n_actions, chance, False, action + at, log_prob + at, cumulated, allowed)
                if mask > 0:
                    keep_mask(allowed, n_actions, bits + (unit + h) * ((n_actions + 31) // 32) * 64)
                store(value + at, load(out + n_actions * 128 + h * 64))
                copy_bytes(tile[h] + ACTION_AT + side[h] * 64, action + at, 64)

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
                weighted_reward(
                    before + term_at,
                    after + term_at,
                    weights,
                    potential,
                    gamma,
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
                out = forward_lanes(plan, activation, params, seen[0], seen[1], 0, 0, (mine, other, 0), rest)
                for h in range(halves):
                    terminated = load_u32(status + (0 if both else h) * 128) != 0
                    store(final + (t * 2 + h) * 64, select(terminated, 0.0, load(out + n_actions * 128 + h * 64)))

            for d in range(distinct):
                ended = False
                if scenes.shape[0] > 0:
                    store(chance, uniform(seed ^ SCENES_SEED, index[d], first_count + t))
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
                    forget(memories + index[d] * sides * memory_bytes, sides * memory_bytes // 64, lane)
                    if scenes.shape[0] > 0:
                        drawn = peek_f32(chance + lane * 4)
                        if drawn < scene_share:
                            which = min(int(drawn / scene_share * scenes.shape[0]), scenes.shape[0] - 1)
                            put_scene(tile[d], lane, scenes[which].ctypes.data, scenes.shape[1])
                if ended:
                    call2(verbs[TERMS], tile[d], before + d * sides * term_bytes)
                else:
                    copy_bytes(before + d * sides * term_bytes, after + d * sides * term_bytes, sides * term_bytes)
            if memory_bytes > 0 and t + 1 < length:
                for h in range(halves):
                    copy_bytes(begins + (unit + 2 + h) * 64, over + (t * 2 + h) * 64, 64)

        out = forward_lanes(plan, activation, params, seen[0], seen[1], 0, 0, (mine, other, 0), rest)
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


@compiled
def _count_episode(winner, ticks, repeat, stats):
    stats[EPISODES] += 1
    stats[WINS_0] += winner > 0
    stats[WINS_1] += winner < 0
    stats[DRAWS] += winner == 0
    stats[DECISIONS] += -(-ticks // repeat)
