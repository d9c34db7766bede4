"""One decision of many games for somebody else's learner, in one compiled call: actions in, what they saw, were paid
and may do next out, row by row.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.backends.cpu import DECIDE, OBSERVE, RESET, STATUS, TERMS, TICK
from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.play.players import ACTION_AT, TICKS_AT
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import call, call2, compiled, copy_bytes, peek_f32, peek_i32, poke_i32

NOBODY = -1
"""Instead of the index of a verb: the sides that do not learn take action 0."""


def scratch_bytes(spec: PlayedSpec, tile_bytes: int) -> int:
    """Bytes of scratch memory for `step_games` and `observe_games`."""
    sides, terms = spec.sides, len(spec.terms)
    units = sides * (spec.n_obs + 2 * max(1, terms) + spec.n_actions + 1) + 2
    return units * LANES * 4 + tile_bytes


@compiled
def step_games(
    verbs,
    tiles,
    tile_bytes,
    shape,
    who,
    actions,
    finished,
    weights,
    potential,
    gamma,
    seen,
    rewards,
    paid,
    ends,
    winners,
    allowed,
    scratch,
):
    """Plays one decision. Returns the number of games that ended in it, or -1, and does nothing, where an action is
    none of the drill's.

    verbs, tiles (address), shape: as in loops.py. who: index of the verb that decides for the sides that do not learn,
    or `NOBODY`. actions: i64 `[games, learning sides]`. finished: bool `[games]`; where it is set, a new episode begins
    instead, the action counts for nothing and nothing is paid; then it says which games ended. weights f32 and
    potential bool per term, gamma f32 of the potentials. Written: seen f32 `[games, learning, n_obs]`, rewards f32
    `[games, learning]`, paid f32 `[terms, games, learning]`, ends bool `[2, games, learning]` (terminated, truncated),
    winners i32 `[games, learning]` (+1, 0 or -1 as side 0 sees it), allowed i8 `[games, learning, n_actions]`
    in a drill with a mask. scratch: address of `scratch_bytes`.
    """
    sides, _, time_limit, repeat, _ = shape
    games, learning = actions.shape
    n_terms, n_actions = weights.size, allowed.shape[2]
    for game in range(games):
        for side in range(learning):
            if actions[game, side] < 0 or actions[game, side] >= n_actions:
                return -1
    term_bytes = n_terms * 64
    before = scratch
    after = before + sides * term_bytes
    status = after + sides * term_bytes
    script = status + 128
    saved = script + sides * 64
    rest = saved + tile_bytes
    ended = 0
    for first in range(0, games, 16):
        tile, lanes = tiles + first // 16 * tile_bytes, min(16, games - first)
        if who >= 0:
            call2(verbs[who], tile, script)
        resting = False
        for lane in range(lanes):
            if finished[first + lane]:
                call2(verbs[RESET], tile, lane)
                resting = True
        if resting:
            copy_bytes(saved, tile, tile_bytes)
        for side in range(sides):
            for lane in range(16):
                action = 0
                if lane < lanes:
                    if side < learning:
                        action = actions[first + lane, side]
                    elif who >= 0:
                        action = peek_i32(script + side * 64 + lane * 4)
                poke_i32(tile + ACTION_AT + side * 64 + lane * 4, action)
        call2(verbs[TERMS], tile, before)
        call(verbs[DECIDE], tile)
        call2(verbs[TICK], tile, repeat)
        call2(verbs[TERMS], tile, after)
        call2(verbs[STATUS], tile, status)
        for lane in range(lanes):
            game = first + lane
            rests = finished[game]
            if rests:
                for word in range(lane * 4, tile_bytes, 64):
                    copy_bytes(tile + word, saved + word, 4)
            terminated = not rests and peek_i32(status + lane * 4) != 0
            truncated = not rests and not terminated and peek_i32(tile + TICKS_AT + lane * 4) >= time_limit
            finished[game] = terminated or truncated
            ended += finished[game]
            for side in range(learning):
                total = np.float32(0)
                for k in range(n_terms):
                    at = ((side * n_terms + k) * 16 + lane) * 4
                    value = peek_f32(after + at)
                    if potential[k]:
                        value = gamma * value - peek_f32(before + at)
                    value = np.float32(0) if rests else value * weights[k]
                    paid[k, game, side] = value
                    total += value
                rewards[game, side] = total
                winners[game, side] = 0 if rests else peek_i32(status + 64 + lane * 4)
                ends[0, game, side] = terminated
                ends[1, game, side] = truncated
    observe_games(verbs, tiles, tile_bytes, shape, seen, allowed, rest)
    return ended


@compiled
def observe_games(verbs, tiles, tile_bytes, shape, seen, allowed, scratch):
    """What the games show and allow now; the arguments are those of `step_games`."""
    sides, n_obs, _, _, mask = shape
    games, learning, _ = seen.shape
    n_actions = allowed.shape[2]
    masks = scratch + sides * n_obs * 64
    for first in range(0, games, 16):
        tile, lanes = tiles + first // 16 * tile_bytes, min(16, games - first)
        call2(verbs[OBSERVE], tile, scratch)
        if mask > 0:
            call2(verbs[mask], tile, masks)
        for lane in range(lanes):
            for side in range(learning):
                for k in range(n_obs):
                    seen[first + lane, side, k] = peek_f32(scratch + ((side * n_obs + k) * 16 + lane) * 4)
                if mask > 0:
                    for k in range(n_actions):
                        choice = peek_i32(masks + ((side * n_actions + k) * 16 + lane) * 4)
                        allowed[first + lane, side, k] = choice != 0
