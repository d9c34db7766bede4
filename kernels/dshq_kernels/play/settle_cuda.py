"""After each decision: rewards, ends of episodes and scenes, as kernels with one GPU thread per game."""

from __future__ import annotations

from numba import cuda

from dshq_kernels.backends.threads import add, divide, f32, multiply, subtract
from dshq_kernels.play.loops import KEPT_WORDS


@cuda.jit(cache=True)
def settle(
    t,
    time_limit,
    repeat,
    slots,
    after,
    status,
    ticks,
    weights,
    potential,
    discounts,
    row_of,
    before,
    paid,
    running,
    counted,
    returns,
    late_count,
    reward,
    terminated,
    truncated,
    late_slot,
    over,
    place,
):
    """Decision `t` of a rollout of T decisions and R rows: what it paid each side that learns, and whose episode it
    ended.

    Read: the `time_limit` in ticks and how many a decision has, `repeat`; how many `slots` a row has for what it saw
    last; terms `after` the decision f32 `[sides, n_terms, n]`; `status` i32 `[2, n]` (terminated, winner); `ticks` i32
    `[n]`; of the terms their `weights` f32 and whether they are a `potential` u8, `[n_terms]`; `discounts` f32 (gamma,
    lambda); `row_of` i32 `[sides, n]`, -1 for a side that does not learn.
    Updated: the potentials in `before` f32 `[sides, n_terms, n]`; `paid` f32 `[sides, n_terms, n]`, sums; `running` f32
    `[R]`, returns so far; of finished episodes `counted` i32 `[5, n]` (number, wins of side 0 and 1, draws, decisions)
    and `returns` f64 `[4, R]` (number, sum, least, most); `late_count` i64 `[R]`, how often a row's time was up.
    Written: `reward` f32 and `terminated`, `truncated` u8 `[T, R]`; where truncated, `late_slot` i64 `[T, R]`; `over`
    u8 `[n]`; where over, `place` i32 `[sides, n]`: for what a truncated side saw last `slot * R + row`, else -1.
    """
    n = cuda.grid(1)
    if n < over.shape[0]:
        rows = running.shape[0]
        ended = status[0, n] != 0
        late = ticks[n] >= time_limit and not ended
        finished = ended or late
        over[n] = finished
        if finished:
            winner = status[1, n]
            counted[0, n] += 1
            counted[1 if winner > 0 else 2 if winner < 0 else 3, n] += 1
            counted[4, n] += (ticks[n] + repeat - 1) // repeat
        for side in range(row_of.shape[0]):
            row, there = row_of[side, n], -1
            if row >= 0:
                total = f32(0)
                for k in range(weights.shape[0]):
                    value = after[side, k, n]
                    if potential[k] != 0:
                        shaped = subtract(multiply(discounts[0], value), before[side, k, n])
                        before[side, k, n] = value
                        value = shaped
                    value = multiply(value, weights[k])
                    paid[side, k, n] = add(paid[side, k, n], value)
                    total = add(total, value)
                gain = add(running[row], total)
                reward[t, row] = total
                terminated[t, row], truncated[t, row] = ended, late
                running[row] = f32(0) if finished else gain
                if finished:
                    returns[0, row] += 1
                    returns[1, row] += gain
                    returns[2, row] = gain if gain < returns[2, row] else returns[2, row]
                    returns[3, row] = gain if gain > returns[3, row] else returns[3, row]
                if late:
                    slot = late_count[row] if late_count[row] < slots else slots - 1
                    late_slot[t, row] = slot
                    late_count[row] += 1
                    there = slot * rows + row
            if finished:
                place[side, n] = there


@cuda.jit(cache=True)
def put(state, chosen, drawn, share, scenes):
    """Where u8 `chosen` is not zero and uniform f32 `drawn` is below `share`, f32 `[1]`, a game's column of `state` u32
    `[words, n]` becomes one of `scenes` u32 `[words, k]`, all equally likely; its first `KEPT_WORDS` stay.
    """
    n = cuda.grid(1)
    if n < state.shape[1] and chosen[n] != 0 and drawn[n] < share[0]:
        k = scenes.shape[1]
        which = int(multiply(divide(drawn[n], share[0]), f32(k)))
        which = which if which < k else k - 1
        for word in range(KEPT_WORDS, state.shape[0]):
            state[word, n] = scenes[word, which]
