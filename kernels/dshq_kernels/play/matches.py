"""The compiled loop that plays matches, each once from its beginning to its end; see loops.py."""

from __future__ import annotations

from dshq_kernels.backends.cpu import DECIDE, OBSERVE, STATUS, TERMS, TICK
from dshq_kernels.network.mlp import UNITS
from dshq_kernels.play.players import ACTION_AT, play_side
from dshq_kernels.simd.vector import call, call2, compiled, copy_bytes, load_u32, peek_f32, peek_i32, store_u32


@compiled
def _exchange(one, other):
    """Exchanges the units at two addresses."""
    kept = load_u32(one)
    copy_bytes(one, other, 64)
    store_u32(other, kept)


@compiled
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
    n_actions,
    greedy,
    seed,
    weights,
    results,
    lengths,
    returns,
    actions,
    memories,
    scratch,
):
    """Plays every lane of the tiles once, from reset to its end, for the first player's side `side_of[tile]`.

    kinds, plans, activations, params: pairs, of the first and the second player. results i32, lengths i32 (decisions)
    and returns f32 (weighted rewards of the first player; `weights` 0 for potentials) are `[tiles, 16]`. actions: the
    address of i32 `[tiles, decisions, sides, 16]` to keep them in, or 0. memories: a pair of addresses of the states of
    the players' memories, f32 `[tiles, 2 units, 16]` of 0, or 0.
    """
    sides, n_obs, time_limit, repeat, mask = shape
    n_terms = weights.size
    obs_bytes = sides * n_obs * 64
    obs, terms = scratch, scratch + 2 * obs_bytes
    status, masks = terms + sides * n_terms * 64, terms + sides * n_terms * 64 + 128
    mask_bytes = sides * n_actions * 64 if mask > 0 else 0
    rest = masks + 2 * mask_bytes
    hidden = status  # [2 tiles, 16], until the statuses are known
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
            if mask > 0:
                call2(verbs[mask], first, masks)
                if e != b:
                    call2(verbs[mask], other, masks + mask_bytes)
            hides = sides == 2 and kinds[1] >= 0  # a script must not find in `action` what the first player does now
            mine, others = first + ACTION_AT + side_of[b] * 64, other + ACTION_AT + side_of[e] * 64
            if hides:
                copy_bytes(hidden, mine, 64)
                copy_bytes(hidden + 64, others, 64)
            for player in range(sides):
                side, other_side = side_of[b] ^ player, side_of[e] ^ player
                memory_bytes = 128 * plans[player][0, UNITS]
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
                    masks if mask > 0 else 0,
                    masks + (e - b) * mask_bytes if mask > 0 else 0,
                    (memories[player] + b * memory_bytes, memories[player] + e * memory_bytes, 1),
                    rest,
                )
                if hides:
                    _exchange(mine, hidden)
                    if e != b:
                        _exchange(others, hidden + 64)
            for i in range(b, e + 1):
                tile = tiles + i * tile_bytes
                if actions > 0:
                    copy_bytes(actions + (i * most + t) * sides * 64, tile + ACTION_AT, sides * 64)
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
