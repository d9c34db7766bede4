"""Search by particles, compiled: copies of a state play a few decisions ahead, and those that do better than expected
decide what to do (docs/explain/search.md; the E-step of SPO, Macfarlane et al., 2024, after Stoix's `ff_spo.py`).

K particles are the lanes of one tile, or of several; every particle has its own random stream. Nothing is allocated per
decision, nothing of a search outlives it, and of the games themselves only the actions are written.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.backends.cpu import DECIDE, OBSERVE, STATUS, TERMS, TICK
from dshq_kernels.backends.lanes import hash32
from dshq_kernels.network.mlp import N_ACTIONS, NO_MEMORY, forward_lanes
from dshq_kernels.play.loops import weighted_reward
from dshq_kernels.play.players import ACTION_AT, POLICY, TICKS_AT, choose, play_side, uniform
from dshq_kernels.search.weights import draw_parents, gather, mix_prior, noise_key, weigh
from dshq_kernels.simd.vector import (
    any_lane,
    call,
    call2,
    compiled,
    copy_bytes,
    lane_numbers,
    lane_sum,
    load,
    load_u32,
    peek_f32,
    peek_i32,
    poke_f32,
    poke_i32,
    select,
    splat,
    splat_u32,
    store,
    store_u32,
    to_f32,
)

NEXT, PARENTS, OTHER, READ = range(4)
"""What a tile of particles draws: its next actions, its parents, the other side's actions, the action to play."""
ESS, ALIVE, ENTROPY, RESAMPLED = range(4)
"""Columns of a trace, one row per depth, summed over searches: ESS / K, the share of living particles, the entropy of
the weights in nats, how many searches resampled. The row behind the last depth: searches, and decisions of living
particles."""
KEYS = 0x5EA2C400
"""Apart from what the games themselves hash (language/rng.py)."""


@compiled
def search_tiles(
    game, network, rewards, how, tiles, first, last, sides_of, opponents, active, seed, count, result, trace, work
):
    """Search in every active game of the tiles `first` to `last` (records at address `tiles`), and write the action to
    play into its record.

    `sides_of`, `opponents`: int64 per tile, the side that searches and who plays the other one (players.py). `active`:
    u8 `[tiles, 16]`. `count` is the number of the decision, for the random streams. `trace`: f64 `[depth + 1, 4]`,
    added to.
    """
    across = (how.particles + 15) // 16
    at_once = 2 if across == 1 else 1
    n_actions = network.plan[0, N_ACTIONS]
    for tile in range(first, last):
        root = tiles + tile * game.tile_bytes
        side = sides_of[tile]
        _look_at_roots(game, network, side, root, work)
        copy_bytes(result.value + tile * 64, work.prior + n_actions * 64, 64)
        lane = 0
        while lane < 16:
            lanes = (-1, -1)
            while lane < 16 and lanes[at_once - 1] < 0:
                if active[tile, lane]:
                    lanes = (lane, -1) if lanes[0] < 0 else (lanes[0], lane)
                lane += 1
            if lanes[0] < 0:
                break
            _search_roots(
                game,
                network,
                rewards,
                how,
                root,
                tile,
                lanes,
                side,
                opponents[tile],
                seed,
                count,
                result,
                trace,
                work,
            )


@compiled
def move_others(game, network, tiles, first, last, sides_of, opponents, seed, count, work):
    """Write the action of the side that does not search into the records of the tiles `first` to `last`."""
    for tile in range(first, last):
        root = tiles + tile * game.tile_bytes
        copy_bytes(work.tiles, root, game.tile_bytes)
        _observe(game, network, work, 0)
        _move_other(game, network, sides_of[tile], opponents[tile], work, 0, 0, tile * 4, tile * 4, seed, count)
        copy_bytes(root, work.tiles, game.tile_bytes)  # a drill's script may draw from the game's generator


@compiled
def _look_at_roots(game, network, side, root, work):
    """Observations, masks, logits and values of the 16 roots of a tile; logits and values to `work.prior`."""
    n_obs, mask, n_actions = game.shape[1], game.shape[4], network.plan[0, N_ACTIONS]
    call2(game.verbs[OBSERVE], root, work.root_obs)
    allowed = 0
    if mask > 0:
        call2(game.verbs[mask], root, work.root_mask)
        allowed = work.root_mask + side * n_actions * 64
    seen = work.root_obs + side * n_obs * 64
    out = forward_lanes(
        network.plan, network.activation, network.params, seen, seen, allowed, allowed, NO_MEMORY, work.rest
    )
    for j in range(n_actions + 1):
        store(work.prior + j * 64, load(out + j * 128))


@compiled
def _search_roots(game, network, rewards, how, root, tile, lanes, side, opponent, seed, count, result, trace, work):
    """Search for the games in one or two `lanes` of the tile at `root` (the second is -1 where there is one)."""
    particles = how.particles
    across = (particles + 15) // 16
    roots = 2 if lanes[1] >= 0 else 1
    held = roots * across
    sides, mask = game.shape[0], game.shape[4]
    n_actions, n_terms = network.plan[0, N_ACTIONS], rewards.weights.size
    term_bytes = sides * n_terms * 64
    step = count * (how.depth + 1)
    for r in range(roots):
        _begin(game, network, how, root, tile, lanes[r], r, side, seed, step, work)
        trace[how.depth, 0] += 1
    for q in range(held):
        call2(game.verbs[TERMS], work.tiles + q * game.tile_bytes, work.before + q * term_bytes)
    if sides == 2 and opponent <= POLICY:
        for q in range(held):
            _observe(game, network, work, q)

    discount = np.float32(1.0)
    for d in range(how.depth):
        for q in range(0, held, 2):
            e = min(q + 1, held - 1)
            stream = _stream(tile, lanes, q // across, across)
            other = _stream(tile, lanes, e // across, across)
            if sides == 2:
                _move_other(
                    game,
                    network,
                    side,
                    opponent,
                    work,
                    q,
                    e,
                    stream + q % across * 4,
                    other + e % across * 4,
                    seed,
                    step + d,
                )
            for k in range(q, e + 1):
                _step(game, rewards, side, work, k)
                _observe(game, network, work, k)
            _ask(game, network, side, work, q, e)
            for k in range(q, e + 1):
                trace[how.depth, 1] += lane_sum(load(work.alive + k * 64))
                _gain(game, how, work, k, n_actions, discount)
        discount *= how.gamma * how.gae_lambda
        living = False
        for r in range(roots):
            base = r * across * 64
            entropy, effective = weigh(work.gain + base, particles, how.temperature, how.epsilon, work.weight + base)
            due = (d + 1) % how.period == 0 if how.period > 0 else effective < how.least_ess * particles
            due = due and d + 1 < how.depth
            alive = splat(0.0)
            for q in range(across):
                alive = alive + load(work.alive + base + q * 64)
            living = living or any_lane(alive > 0.0)
            trace[d, ESS] += effective / particles
            trace[d, ALIVE] += lane_sum(alive) / particles
            trace[d, ENTROPY] += entropy
            trace[d, RESAMPLED] += due
            if due:
                _resample(game, how, root, tile, lanes, r, seed, step + d, d, n_actions, work)
                for k in range(r * across, (r + 1) * across):
                    call2(game.verbs[TERMS], work.tiles + k * game.tile_bytes, work.before + k * term_bytes)
                    _observe(game, network, work, k)
        if not living:
            for row in range(d + 1, how.depth):  # what stays as it is
                for r in range(roots):
                    entropy, effective = weigh(
                        work.gain + r * across * 64,
                        particles,
                        how.temperature,
                        how.epsilon,
                        work.weight + r * across * 64,
                    )
                    trace[row, ESS] += effective / particles
                    trace[row, ENTROPY] += entropy
            break
        if d + 1 < how.depth:
            for k in range(held):
                r = k // across
                stream = _stream(tile, lanes, r, across) + k % across * 4
                _draw_actions(
                    work.out + k * (n_actions + 1) * 64,
                    work.masks + (k * sides + side) * n_actions * 64 if mask > 0 else 0,
                    n_actions,
                    work.chosen + k * 64,
                    work,
                    seed,
                    stream + NEXT,
                    step + d + 1,
                )
    for r in range(roots):
        stream = _stream(tile, lanes, r, across)
        action = _read_out(how, tile, lanes[r], r, n_actions, seed, stream, step, result, work)
        poke_i32(root + ACTION_AT + side * 64 + lanes[r] * 4, action)


@compiled
def _stream(tile, lanes, r, across):
    """The first random stream of root `r`; four for each of its tiles follow."""
    return (tile * 16 + lanes[r]) * across * 4


@compiled
def _begin(game, network, how, root, tile, lane, r, side, seed, step, work):
    """Copy one root into its particles, with a random stream each, and draw their root actions."""
    n_actions, mask = network.plan[0, N_ACTIONS], game.shape[4]
    across = (how.particles + 15) // 16
    tiles = work.tiles + r * across * game.tile_bytes
    for word in range(game.tile_bytes // 64):
        value = splat_u32(np.uint32(peek_i32(root + word * 64 + lane * 4)))
        for q in range(across):
            store_u32(tiles + q * game.tile_bytes + word * 64, value)
    _give_keys(np.uint32(peek_i32(root + lane * 4)), tiles, game.tile_bytes, how.particles, 0)
    # The logits of this root in every lane, in the memory that the particles' outputs take later.
    prior = work.out + r * across * (n_actions + 1) * 64
    for j in range(n_actions):
        store(prior + j * 64, splat(peek_f32(work.prior + j * 64 + lane * 4)))
        if mask > 0:
            allowed = peek_i32(work.root_mask + (side * n_actions + j) * 64 + lane * 4)
            store_u32(work.prior_mask + j * 64, splat_u32(np.uint32(allowed)))
    allowed_at = work.prior_mask if mask > 0 else 0
    stream = (tile * 16 + lane) * across * 4
    if how.fraction > 0:
        mix_prior(prior, allowed_at, n_actions, how.alpha, how.fraction, noise_key(seed, stream, step))
    value = peek_f32(work.prior + n_actions * 64 + lane * 4)
    for q in range(across):
        k = r * across + q
        chosen = work.chosen + k * 64
        _draw_actions(prior, allowed_at, n_actions, chosen, work, seed, stream + q * 4 + NEXT, step)
        copy_bytes(work.first + k * 64, chosen, 64)
        store(work.value + k * 64, value)
        store(work.gain + k * 64, 0.0)
        store(work.total + k * 64, 0.0)
        store(work.alive + k * 64, select(lane_numbers() + q * 16 < how.particles, 1.0, 0.0))


@compiled
def _give_keys(key, tiles, tile_bytes, particles, stage):
    """A random stream for each particle: a key hashed from the root's, how often it was resampled, and the particle."""
    here = hash32(key, np.uint32(KEYS + stage))
    for p in range(particles):
        poke_i32(tiles + (p >> 4) * tile_bytes + (p & 15) * 4, np.int32(hash32(here, np.uint32(p))))


@compiled
def _draw_actions(logits, allowed, n_actions, action, work, seed, stream, count):
    """Draw an action per lane into i32[16] at `action`; logits are f32 `[n_actions, 16]`."""
    store(work.chance, uniform(seed, stream, count))
    choose(logits, 64, n_actions, work.chance, False, action, work.log_prob, work.row, allowed)


@compiled
def _observe(game, network, work, k):
    """Observations and masks of particle tile `k`."""
    sides, n_obs, _, _, mask = game.shape
    tile = work.tiles + k * game.tile_bytes
    call2(game.verbs[OBSERVE], tile, work.obs + k * sides * n_obs * 64)
    if mask > 0:
        call2(game.verbs[mask], tile, work.masks + k * sides * network.plan[0, N_ACTIONS] * 64)


@compiled
def _ask(game, network, side, work, q, e):
    """Logits and values of the particle tiles `q` and `e` to `work.out`."""
    sides, n_obs, _, _, mask = game.shape
    n_actions = network.plan[0, N_ACTIONS]
    allowed, other_allowed = 0, 0
    if mask > 0:
        allowed = work.masks + (q * sides + side) * n_actions * 64
        other_allowed = work.masks + (e * sides + side) * n_actions * 64
    out = forward_lanes(
        network.plan,
        network.activation,
        network.params,
        work.obs + (q * sides + side) * n_obs * 64,
        work.obs + (e * sides + side) * n_obs * 64,
        allowed,
        other_allowed,
        NO_MEMORY,
        work.rest,
    )
    for j in range(n_actions + 1):
        for k in range(q, e + 1):
            store(work.out + (k * (n_actions + 1) + j) * 64, load(out + j * 128 + (k - q) * 64))


@compiled
def _move_other(game, network, side, kind, work, q, e, stream, other_stream, seed, count):
    """Write the other side's actions into the particle tiles `q` and `e`."""
    sides, n_obs, _, _, mask = game.shape
    mask_bytes = sides * network.plan[0, N_ACTIONS] * 64
    play_side(
        kind,
        game.verbs,
        work.tiles + q * game.tile_bytes,
        1 - side,
        work.tiles + e * game.tile_bytes,
        1 - side,
        n_obs,
        work.obs + q * sides * n_obs * 64,
        work.obs + e * sides * n_obs * 64,
        network.other_plan,
        network.other_activation,
        network.policies + max(0, POLICY - kind) * network.policy_bytes,
        False,
        seed,
        stream + OTHER,
        other_stream + OTHER,
        count,
        work.masks + q * mask_bytes if mask > 0 else 0,
        work.masks + e * mask_bytes if mask > 0 else 0,
        NO_MEMORY,
        work.rest,
    )


@compiled
def _step(game, rewards, side, work, k):
    """Play one decision in particle tile `k`; its reward goes to `work.reward`. Only now, behind the other side's
    decision, does its record get the action of the side that searches: a script must not find it there.
    """
    sides, repeat = game.shape[0], game.shape[3]
    n_terms = rewards.weights.size
    term_bytes, own = sides * n_terms * 64, side * n_terms * 64
    tile, status = work.tiles + k * game.tile_bytes, work.status + k * 128
    before, after = work.before + k * term_bytes, work.after + k * term_bytes
    copy_bytes(tile + ACTION_AT + side * 64, work.chosen + k * 64, 64)
    call(game.verbs[DECIDE], tile)
    call2(game.verbs[TICK], tile, repeat)
    call2(game.verbs[STATUS], tile, status)
    call2(game.verbs[TERMS], tile, after)
    weighted_reward(
        before + own,
        after + own,
        rewards.weights,
        rewards.potential,
        rewards.gamma,
        work.reward + k * 64,
        work.sums,
    )
    copy_bytes(before, after, term_bytes)


@compiled
def _gain(game, how, work, k, n_actions, discount):
    """Add what the last decision of particle tile `k` brought beyond what was expected to W and G. Particles whose game
    is over are dead from then on.
    """
    row = k * 64
    following = load(work.out + (k * (n_actions + 1) + n_actions) * 64)
    terminated = load_u32(work.status + k * 128) != 0
    timed_out = to_f32(load_u32(work.tiles + k * game.tile_bytes + TICKS_AT)) >= np.float32(game.shape[2])
    alive = load(work.alive + row)
    delta = load(work.reward + row) + select(terminated, 0.0, following * how.gamma) - load(work.value + row)
    delta = select(alive > 0.0, delta, 0.0)
    store(work.gain + row, load(work.gain + row) + delta)
    store(work.total + row, load(work.total + row) + delta * discount)
    store(work.value + row, following)
    store(work.alive + row, select(terminated | timed_out, 0.0, alive))


@compiled
def _resample(game, how, root, tile, lanes, r, seed, count, depth, n_actions, work):
    """Replace the particles of root `r` by ones drawn by weight: states, root actions, values, and what the
    network said; W begins again at 0, G stays in its slot.
    """
    across = (how.particles + 15) // 16
    base, k = r * across * 64, r * across
    parents = work.parents + base
    tiles, out_bytes = work.tiles + k * game.tile_bytes, (n_actions + 1) * 64
    stream = _stream(tile, lanes, r, across)
    draw_parents(work.weight + base, how.particles, seed, stream + PARENTS, count, parents, work.chance)
    gather(tiles, game.tile_bytes, game.tile_bytes // 64, how.particles, parents, work.spare)
    gather(work.out + k * out_bytes, out_bytes, n_actions + 1, how.particles, parents, work.spare)
    gather(work.value + base, 64, 1, how.particles, parents, work.spare)
    gather(work.alive + base, 64, 1, how.particles, parents, work.spare)
    gather(work.first + base, 64, 1, how.particles, parents, work.spare)
    _give_keys(np.uint32(peek_i32(root + lanes[r] * 4)), tiles, game.tile_bytes, how.particles, depth + 1)
    for q in range(across):
        store(work.gain + base + q * 64, 0.0)


@compiled
def _read_out(how, tile, lane, r, n_actions, seed, stream, count, result, work):
    """Write the root actions, weights and G of root `r`; returns the action to play: the root action of a particle
    drawn by weight, or the one with the most weight.
    """
    particles = how.particles
    base = r * ((particles + 15) // 16) * 64
    firsts, weights, totals = work.first + base, work.weight + base, work.total + base
    for p in range(particles):
        at = ((tile * particles + p) * 16 + lane) * 4
        poke_i32(result.action + at, peek_i32(firsts + p * 4))
        poke_f32(result.weight + at, peek_f32(weights + p * 4))
        poke_f32(result.total + at, peek_f32(totals + p * 4))
    best = peek_i32(firsts)
    if how.greedy:
        for j in range(n_actions):
            poke_f32(work.row + j * 4, np.float32(0.0))
        most = np.float32(-1.0)
        for p in range(particles):
            share = work.row + peek_i32(firsts + p * 4) * 4
            poke_f32(share, peek_f32(share) + peek_f32(weights + p * 4))
        for p in range(particles):
            share = peek_f32(work.row + peek_i32(firsts + p * 4) * 4)
            if share > most:
                best, most = peek_i32(firsts + p * 4), share
        return best
    store(work.chance, uniform(seed, stream + READ, count))
    left = peek_f32(work.chance)
    for p in range(particles):
        if peek_f32(weights + p * 4) > 0:
            best = peek_i32(firsts + p * 4)
            left -= peek_f32(weights + p * 4)
            if left < 0:
                break
    return best
