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
from dshq_kernels.play.arguments import Chances, Games, Group, Players, Rewards, Room
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


def step(function):
    """Compiled by itself, and then put into its caller by LLVM: calls with that many arguments took 6 % of a rollout of
    small games and networks (measured).
    """
    made = compiled(function)
    made.targetoptions["forceinline"] = True
    return made


@compiled
def play(games, players, rewards, chances, groups, length, samples, first_unit, stats, scratch):
    """Plays `length` decisions in every group and writes the samples, advantages included. Nothing is allocated per
    decision.

    games, players, rewards, chances: those of arguments.py, as plain tuples, whose types numba finds a hundred times
    sooner. groups: int64 `[n, 4]`: tile, side, tile, side; a second tile of -1:
    none. samples: addresses of obs, action, log_prob, value, advantage, return, mask, begins, states; group g's
    decision t is units `first_unit + (g length + t) 2` and the next. stats: f64 `[len(STATS) + n_terms]`, added to.
    scratch: address of `scratch_floats`.
    """
    games, players, rewards, chances = Games(*games), Players(*players), Rewards(*rewards), Chances(*chances)
    room = _room(games.shape, players.plan, rewards.weights.size, length, scratch)
    for g in range(groups.shape[0]):
        group = _group(games, room, groups, g, first_unit + g * length * 2)
        _begin(games, rewards, room, group, samples, length)
        for t in range(length):
            here = samples[0] + (group.unit + 2 * t) * room.obs_bytes
            _observe(games, room, group, here)
            _let_others_choose(games, players, chances, room, group, t)
            _choose(games, players, chances, room, group, samples, here, t)
            _tick(games, room, group)
            if _pay(games, rewards, room, group, t):
                _value_what_was_cut_off(games, players, room, group, t)
            _end_episodes(games, chances, room, group, t, stats)
            if room.memory_bytes > 0 and t + 1 < length:
                begins = samples[7] + (group.unit + 2 * t + 2) * 64
                for h in range(group.halves):
                    copy_bytes(begins + h * 64, room.over + (t * 2 + h) * 64, 64)
        _add_advantages(games, players, rewards, room, group, samples, length)
        for k in range(rewards.weights.size):
            stats[len(STATS) + k] += lane_sum(load(room.term_sums + k * 64))
        stats[AGENT_STEPS] += length * group.halves * 16


@step
def _room(shape, plan, n_terms, length, scratch):
    """Where what is in the memory at `scratch`."""
    sides, n_obs, _, _, mask = shape
    n_actions = plan[0, N_ACTIONS]
    obs_bytes, term_bytes, mask_bytes = n_obs * 64, n_terms * 64, 64 * n_actions if mask > 0 else 0
    before = scratch + 2 * sides * obs_bytes
    after = before + 2 * sides * term_bytes
    term_sums = after + 2 * sides * term_bytes
    status = term_sums + term_bytes
    reward = status + 4 * 64
    over = reward + length * 128
    final = over + length * 128
    chance = final + length * 128
    cumulated = chance + 64
    masks = cumulated + 64 * n_actions
    rest = masks + 2 * sides * mask_bytes
    return Room(
        scratch,
        before,
        after,
        term_sums,
        status,
        reward,
        over,
        final,
        chance,
        cumulated,
        masks,
        rest,
        obs_bytes,
        term_bytes,
        mask_bytes,
        128 * plan[0, UNITS],
    )


@step
def _group(games, room, groups, g, unit):
    """The group of row `g`, whose samples begin with `unit`."""
    sides, first, side, second, second_side = games.shape[0], groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
    both, alone = first == second, second < 0
    if alone:
        other_tile, other_side = first, side
    else:
        other_tile, other_side = second, second_side
    distinct = 1 if both or alone else 2
    return Group(
        (first, second),
        (games.tiles + first * games.tile_bytes, games.tiles + other_tile * games.tile_bytes),
        (side, other_side),
        (room.wide + side * room.obs_bytes, room.wide + ((distinct - 1) * sides + other_side) * room.obs_bytes),
        games.memories + (first * sides + side) * room.memory_bytes,
        games.memories + (other_tile * sides + other_side) * room.memory_bytes,
        both,
        both or sides == 1,
        1 if alone else 2,
        distinct,
        unit,
    )


@step
def _begin(games, rewards, room, group, samples, length):
    """A rollout begins: no term has been paid, and the memories' states are stored."""
    begins, starts = samples[7], samples[8]
    for k in range(rewards.weights.size):
        store(room.term_sums + k * 64, 0.0)
    for d in range(group.distinct):
        call2(games.verbs[TERMS], group.tile[d], room.before + d * games.shape[0] * room.term_bytes)
    if room.memory_bytes > 0:
        sequence = group.unit // length
        copy_bytes(starts + sequence * room.memory_bytes, group.mine, room.memory_bytes)
        copy_bytes(starts + (sequence + 1) * room.memory_bytes, group.other, room.memory_bytes)
        for h in range(group.halves):
            store(begins + (group.unit + h) * 64, 0.0)


@step
def _observe(games, room, group, here):
    """What the units see goes to `here`, what all see to `wide`; and what the rules allow."""
    sides, mask = games.shape[0], games.shape[4]
    for d in range(group.distinct):
        if group.whole:
            call2(games.verbs[OBSERVE], group.tile[d], here + d * room.obs_bytes)
        else:
            call2(games.verbs[OBSERVE], group.tile[d], room.wide + d * sides * room.obs_bytes)
            seen = room.wide + (d * sides + group.side[d]) * room.obs_bytes
            copy_bytes(here + d * room.obs_bytes, seen, room.obs_bytes)
    if mask > 0:
        for d in range(group.distinct):
            call2(games.verbs[mask], group.tile[d], room.masks + d * sides * room.mask_bytes)


@step
def _let_others_choose(games, players, chances, room, group, t):
    """The other sides' actions. They come first: a script must not find in `action` what the learner is about to do."""
    sides, n_obs, mask = games.shape[0], games.shape[1], games.shape[4]
    if sides != 2 or group.both:
        return
    same = group.distinct == 2 and games.opponents[group.tiles[0]] == games.opponents[group.tiles[1]]
    for d in range(1 if same else group.distinct):
        e = 1 if same else d
        kind = games.opponents[group.tiles[d]]
        place, other_place = group.tiles[d] * 2 + 1 - group.side[d], group.tiles[e] * 2 + 1 - group.side[e]
        play_side(
            kind,
            games.verbs,
            group.tile[d],
            1 - group.side[d],
            group.tile[e],
            1 - group.side[e],
            n_obs,
            room.wide + d * sides * room.obs_bytes,
            room.wide + e * sides * room.obs_bytes,
            players.plan,
            players.activation,
            players.policies + max(0, POLICY - kind) * players.policy_bytes,
            False,
            chances.seed,
            place,
            other_place,
            chances.first_count + t,
            room.masks + d * sides * room.mask_bytes if mask > 0 else 0,
            room.masks + e * sides * room.mask_bytes if mask > 0 else 0,
            (games.memories + place * room.memory_bytes, games.memories + other_place * room.memory_bytes, 1),
            room.rest,
        )


@step
def _choose(games, players, chances, room, group, samples, here, t):
    """The learner's actions, their chances and the values: into the samples and the tiles."""
    sides, mask = games.shape[0], games.shape[4]
    action, log_prob, value, bits = samples[1], samples[2], samples[3], samples[6]
    n_actions = players.plan[0, N_ACTIONS]
    second = group.halves - 1
    first_mask = room.masks + group.side[0] * room.mask_bytes if mask > 0 else 0
    at = (0 if group.both else second) * sides + group.side[second]
    second_mask = room.masks + at * room.mask_bytes if mask > 0 else 0
    out = forward_lanes(
        players.plan,
        players.activation,
        players.params,
        here,
        here + second * room.obs_bytes,
        first_mask,
        second_mask,
        (group.mine, group.other, 1),
        room.rest,
    )
    for h in range(group.halves):
        unit = group.unit + 2 * t + h
        at = unit * 64
        store(room.chance, uniform(chances.seed, group.tiles[h] * 2 + group.side[h], chances.first_count + t))
        allowed = second_mask if h == second else first_mask
        choose(
            out + h * 64,
            128,
            n_actions,
            room.chance,
            False,
            action + at,
            log_prob + at,
            room.cumulated,
            allowed,
        )
        if mask > 0:
            keep_mask(allowed, n_actions, bits + unit * ((n_actions + 31) // 32) * 64)
        store(value + at, load(out + n_actions * 128 + h * 64))
        copy_bytes(group.tile[h] + ACTION_AT + group.side[h] * 64, action + at, 64)


@step
def _tick(games, room, group):
    """Decide, tick, and look what came of it."""
    for d in range(group.distinct):
        call(games.verbs[DECIDE], group.tile[d])
        call2(games.verbs[TICK], group.tile[d], games.shape[3])
        call2(games.verbs[STATUS], group.tile[d], room.status + d * 128)
        call2(games.verbs[TERMS], group.tile[d], room.after + d * games.shape[0] * room.term_bytes)


@step
def _pay(games, rewards, room, group, t):
    """Rewards of a decision, and which episodes are over; whether the time limit cut one off."""
    late = False
    for h in range(group.halves):
        d = 0 if group.both else h
        row = (t * 2 + h) * 64
        term_at = (d * games.shape[0] + group.side[h]) * room.term_bytes
        weighted_reward(
            room.before + term_at,
            room.after + term_at,
            rewards.weights,
            rewards.potential,
            rewards.gamma,
            room.reward + row,
            room.term_sums,
        )
        total = games.running[group.tiles[h], group.side[h]].ctypes.data
        store(total, load(total) + load(room.reward + row))
        terminated = load_u32(room.status + d * 128) != 0
        timed_out = to_f32(load_u32(group.tile[h] + TICKS_AT)) >= np.float32(games.shape[2])
        store(room.over + row, select(terminated | timed_out, 1.0, 0.0))
        store(room.final + row, 0.0)
        late = late or any_lane(timed_out & (load_u32(room.status + d * 128) == 0))
    return late


@step
def _values_of_now(games, players, room, group):
    """The network's outputs in the present states; their address. The memories stay."""
    for d in range(group.distinct):
        call2(games.verbs[OBSERVE], group.tile[d], room.wide + d * games.shape[0] * room.obs_bytes)
    states = (group.mine, group.other, 0)
    return forward_lanes(
        players.plan, players.activation, players.params, group.seen[0], group.seen[1], 0, 0, states, room.rest
    )


@step
def _value_what_was_cut_off(games, players, room, group, t):
    """The values of the last states of truncated episodes."""
    out = _values_of_now(games, players, room, group)
    for h in range(group.halves):
        terminated = load_u32(room.status + (0 if group.both else h) * 128) != 0
        value = load(out + players.plan[0, N_ACTIONS] * 128 + h * 64)
        store(room.final + (t * 2 + h) * 64, select(terminated, 0.0, value))


@step
def _end_episodes(games, chances, room, group, t, stats):
    """Episodes that are over are counted, and new ones begin in their lanes; the terms are those before a decision."""
    sides, repeat, scenes = games.shape[0], games.shape[3], chances.scenes
    for d in range(group.distinct):
        ended = False
        before, after = room.before + d * sides * room.term_bytes, room.after + d * sides * room.term_bytes
        if scenes.shape[0] > 0:
            store(room.chance, uniform(chances.seed ^ SCENES_SEED, group.tiles[d], chances.first_count + t))
        for lane in range(16):
            if peek_f32(room.over + (t * 2 + d) * 64 + lane * 4) == 0:
                continue
            ended = True
            _count_episode(
                peek_i32(room.status + d * 128 + 64 + lane * 4),
                peek_i32(group.tile[d] + TICKS_AT + lane * 4),
                repeat,
                stats,
            )
            for h in range(group.halves):
                if group.both or h == d:
                    gain = games.running[group.tiles[h], group.side[h], lane]
                    games.running[group.tiles[h], group.side[h], lane] = 0
                    stats[RETURNS] += 1
                    stats[RETURN_SUM] += gain
                    stats[RETURN_MIN] = min(stats[RETURN_MIN], gain)
                    stats[RETURN_MAX] = max(stats[RETURN_MAX], gain)
            call2(games.verbs[RESET], group.tile[d], lane)
            kept = games.memories + group.tiles[d] * sides * room.memory_bytes
            forget(kept, sides * room.memory_bytes // 64, lane)
            if scenes.shape[0] > 0:
                drawn = peek_f32(room.chance + lane * 4)
                if drawn < chances.scene_share:
                    which = min(int(drawn / chances.scene_share * scenes.shape[0]), scenes.shape[0] - 1)
                    put_scene(group.tile[d], lane, scenes[which].ctypes.data, scenes.shape[1])
        if ended:
            call2(games.verbs[TERMS], group.tile[d], before)
        else:
            copy_bytes(before, after, sides * room.term_bytes)


@step
def _add_advantages(games, players, rewards, room, group, samples, length):
    """Advantages and returns, into the samples."""
    value, advantage, returns = samples[3], samples[4], samples[5]
    out = _values_of_now(games, players, room, group)
    for h in range(group.halves):
        at = (group.unit + h) * 64
        gae_lanes(
            length,
            room.reward + h * 64,
            room.over + h * 64,
            room.final + h * 64,
            128,
            value + at,
            advantage + at,
            returns + at,
            128,
            out + players.plan[0, N_ACTIONS] * 128 + h * 64,
            rewards.gamma,
            rewards.gae_lambda,
        )


@compiled
def _count_episode(winner, ticks, repeat, stats):
    stats[EPISODES] += 1
    stats[WINS_0] += winner > 0
    stats[WINS_1] += winner < 0
    stats[DRAWS] += winner == 0
    stats[DECISIONS] += -(-ticks // repeat)
