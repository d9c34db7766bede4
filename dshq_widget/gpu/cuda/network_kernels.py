"""Playing and learning with a network of two hidden layers as Triton kernels: one launch each, and nothing between the
layers goes through memory. Importing this needs Triton.

Every size is a compile-time constant, padded to a power of two that matrix units take; what is padded is zero. Weights
are the flat ones of `policy.PolicySpec`. `precision` is Triton's name for matrix products ("tf32x3" is float32 but for
its last bits) or "bf16". With TRITON_INTERPRET=1, set before the first import, Triton's interpreter runs the kernels on
a processor.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dshq_kernels.network.mlp import FORBIDDEN

NEVER = tl.constexpr(FORBIDDEN)
"""The logit of an action that is not allowed."""


@triton.jit
def product(a, b, precision: tl.constexpr):
    """a @ b in float32 sums."""
    if precision == "bf16":
        sums = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
    else:
        sums = tl.dot(a, b, input_precision=precision)
    return sums


@triton.jit
def activate(x, relu: tl.constexpr):
    """relu, or tanh as 2 / (1 + exp(-2 x)) - 1, which is within 1.2e-7 of it."""
    if relu:
        activated = tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        activated = 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0
    return activated


@triton.jit
def slope_of(activated, relu: tl.constexpr):
    """The activation's slope where it gave `activated`."""
    if relu:
        slope = tl.where(activated > 0.0, 1.0, 0.0)
    else:
        slope = 1.0 - activated * activated
    return slope


@triton.jit
def matrix(weights, n_in: tl.constexpr, n_out: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr):
    """A layer's weights `[n_in, n_out]`, padded to `[rows, columns]`."""
    row, column = tl.arange(0, rows)[:, None], tl.arange(0, columns)[None, :]
    return tl.load(weights + row * n_out + column, mask=(row < n_in) & (column < n_out), other=0.0)


@triton.jit
def vector(values, count: tl.constexpr, padded: tl.constexpr):
    """f32 `[count]`, padded."""
    place = tl.arange(0, padded)
    return tl.load(values + place, mask=place < count, other=0.0)


@triton.jit
def dense(
    x,
    weights,
    n_in: tl.constexpr,
    n_out: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    precision: tl.constexpr,
):
    """x `[N, rows]` through the layer that begins at `weights`: `[N, columns]`."""
    sums = product(x, matrix(weights, n_in, n_out, rows, columns), precision)
    return sums + vector(weights + n_in * n_out, n_out, columns)[None, :]


@triton.jit
def add_matrix(out, sums, n_in: tl.constexpr, n_out: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr):
    """The counterpart of `matrix`: writes what is not padding."""
    row, column = tl.arange(0, rows)[:, None], tl.arange(0, columns)[None, :]
    tl.store(out + row * n_out + column, sums, mask=(row < n_in) & (column < n_out))


@triton.jit
def add_vector(out, sums, count: tl.constexpr, padded: tl.constexpr):
    place = tl.arange(0, padded)
    tl.store(out + place, sums, mask=place < count)


@triton.jit
def act(
    seen,  # f32 [sides, n_obs, games]
    allowed,  # u8 [sides, n_actions, games]; not read unless masked
    rows,  # i64 [count]: side * games + game
    chance,  # f32 [sides, games], uniform
    weights,
    obs,  # -> f32 [count, n_obs]
    mask,  # -> u8 [count, n_actions], if masked
    action,  # -> i64 [count]
    log_prob,  # -> f32 [count]
    value,  # -> f32 [count]
    chosen,  # -> i32 [sides, games], at `rows`
    games,
    count,
    n_obs: tl.constexpr,
    hidden_1: tl.constexpr,
    hidden_2: tl.constexpr,
    n_actions: tl.constexpr,
    wide_obs: tl.constexpr,
    wide_1: tl.constexpr,
    wide_2: tl.constexpr,
    wide_out: tl.constexpr,
    relu: tl.constexpr,
    masked: tl.constexpr,
    kept: tl.constexpr,  # whether anything but `chosen` is written
    precision: tl.constexpr,
    block: tl.constexpr,
):
    """What `count` sides see, what the network makes of it, and an action drawn for each."""
    n_out: tl.constexpr = n_actions + 1
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < count
    place = tl.load(rows + row, mask=inside, other=0)
    side, game = place // games, place % games
    feature, output = tl.arange(0, wide_obs), tl.arange(0, wide_out)
    here = inside[:, None] & (feature < n_obs)[None, :]
    x = tl.load(seen + (side[:, None] * n_obs + feature[None, :]) * games + game[:, None], mask=here, other=0.0)
    h = activate(dense(x, weights, n_obs, hidden_1, wide_obs, wide_1, precision), relu)
    second = weights + (n_obs + 1) * hidden_1
    h = activate(dense(h, second, hidden_1, hidden_2, wide_1, wide_2, precision), relu)
    third = second + (hidden_1 + 1) * hidden_2
    out = dense(h, third, hidden_2, n_out, wide_2, wide_out, precision)
    of_actions = (output < n_actions)[None, :]
    logits = out
    if masked:
        open_here = inside[:, None] & of_actions
        may = tl.load(
            allowed + (side[:, None] * n_actions + output[None, :]) * games + game[:, None], mask=open_here, other=0
        )
        logits = tl.where(may != 0, out, NEVER)
        if kept:
            tl.store(mask + row[:, None] * n_actions + output[None, :], (may != 0).to(tl.uint8), mask=open_here)
    logits = tl.where(of_actions, logits, float("-inf"))
    logits -= tl.max(logits, 1)[:, None]
    share = tl.exp(logits)
    reached = tl.cumsum(share, 1)
    whole = tl.max(reached, 1)
    target = tl.load(chance + place, mask=inside, other=0.0) * whole
    possible = share > 0.0
    first = tl.min(tl.where(possible & (reached > target[:, None]), output[None, :], wide_out), 1)
    last = tl.max(tl.where(possible, output[None, :], 0), 1)
    drawn = tl.where(first < wide_out, first, last)  # rounding may leave none above the target
    tl.store(chosen + place, drawn, mask=inside)
    if kept:
        tl.store(obs + row[:, None] * n_obs + feature[None, :], x, mask=here)
        tl.store(action + row, drawn.to(tl.int64), mask=inside)
        of_drawn = tl.sum(tl.where(output[None, :] == drawn[:, None], logits, 0.0), 1)
        tl.store(log_prob + row, of_drawn - tl.log(tl.sum(share, 1)), mask=inside)
        tl.store(value + row, tl.sum(tl.where((output == n_actions)[None, :], out, 0.0), 1), mask=inside)


@triton.jit
def slopes(
    obs,  # f32 [samples, n_obs]; what follows is of the same samples
    mask,  # u8 [samples, n_actions]; not read unless masked
    action,  # i64
    log_prob,
    value,
    advantage,
    returns,
    index,  # i64 [size]: the samples of this minibatch
    factor,  # f32 [size], of their advantages
    size,
    shift,  # f32 [n_obs], taken from observations
    gain,  # f32 [n_obs], which then scales them
    clip_epsilon,  # f32 [] each, from here on
    value_coef,
    entropy_coef,
    mean,  # of advantages
    scale,  # of advantages
    reward_scale,
    weights,
    partial,  # -> f32 [programs, floats + 5]: sums of slopes, then those of the loss's parts
    n_obs: tl.constexpr,
    hidden_1: tl.constexpr,
    hidden_2: tl.constexpr,
    n_actions: tl.constexpr,
    wide_obs: tl.constexpr,
    wide_1: tl.constexpr,
    wide_2: tl.constexpr,
    wide_out: tl.constexpr,
    relu: tl.constexpr,
    masked: tl.constexpr,
    clip_value: tl.constexpr,
    precision: tl.constexpr,
    block: tl.constexpr,
):
    """The slope of PPO's loss (`losses.py`) over a minibatch, each program's share of it, and the loss's parts."""
    n_out: tl.constexpr = n_actions + 1
    second_at: tl.constexpr = (n_obs + 1) * hidden_1
    third_at: tl.constexpr = second_at + (hidden_1 + 1) * hidden_2
    floats: tl.constexpr = third_at + (hidden_2 + 1) * n_out
    feature, output = tl.arange(0, wide_obs), tl.arange(0, wide_out)
    of_actions, of_value = (output < n_actions)[None, :], (output == n_actions)[None, :]
    move = tl.load(shift + feature, mask=feature < n_obs, other=0.0)
    stretch = tl.load(gain + feature, mask=feature < n_obs, other=0.0)
    clip, of_rewards = tl.load(clip_epsilon), tl.load(reward_scale)
    of_values, of_entropy = tl.load(value_coef), tl.load(entropy_coef)
    middle, spread = tl.load(mean), tl.load(scale)
    d_1, d_2 = tl.zeros((wide_obs, wide_1), tl.float32), tl.zeros((wide_1, wide_2), tl.float32)
    d_3 = tl.zeros((wide_2, wide_out), tl.float32)
    b_1, b_2, b_3 = tl.zeros((wide_1,), tl.float32), tl.zeros((wide_2,), tl.float32), tl.zeros((wide_out,), tl.float32)
    lost, missed, unsure, moved, clipped = 0.0, 0.0, 0.0, 0.0, 0.0
    for first in range(tl.program_id(0) * block, size, tl.num_programs(0) * block):
        row = first + tl.arange(0, block)
        inside = row < size
        sample = tl.load(index + row, mask=inside, other=0)
        here = inside[:, None] & (feature < n_obs)[None, :]
        x = tl.load(obs + sample[:, None] * n_obs + feature[None, :], mask=here, other=0.0)
        x = tl.where(here, (x - move[None, :]) * stretch[None, :], 0.0)
        second, third = weights + second_at, weights + third_at
        h_1 = activate(dense(x, weights, n_obs, hidden_1, wide_obs, wide_1, precision), relu)
        h_2 = activate(dense(h_1, second, hidden_1, hidden_2, wide_1, wide_2, precision), relu)
        out = dense(h_2, third, hidden_2, n_out, wide_2, wide_out, precision)

        logits = out
        if masked:
            may = tl.load(
                mask + sample[:, None] * n_actions + output[None, :], mask=inside[:, None] & of_actions, other=0
            )
            logits = tl.where(may != 0, out, NEVER)
        logits = tl.where(of_actions, logits, float("-inf"))
        logits -= tl.max(logits, 1)[:, None]
        share = tl.exp(logits)
        whole = tl.sum(share, 1)
        share /= whole[:, None]
        log_probs = tl.where(of_actions, logits - tl.log(whole)[:, None], 0.0)
        entropy = -tl.sum(share * log_probs, 1)
        taken = output[None, :] == tl.load(action + sample, mask=inside, other=0)[:, None]
        log_ratio = tl.sum(tl.where(taken, log_probs, 0.0), 1) - tl.load(log_prob + sample, mask=inside, other=0.0)
        ratio = tl.exp(log_ratio)
        gain_of = (tl.load(advantage + sample, mask=inside, other=0.0) - middle) * spread
        gain_of *= tl.load(factor + row, mask=inside, other=0.0)
        free, held = ratio * gain_of, tl.minimum(tl.maximum(ratio, 1.0 - clip), 1.0 + clip) * gain_of
        d_policy = tl.where(free > held, 0.0, -free)
        guess = tl.sum(tl.where(of_value, out, 0.0), 1)
        target = tl.load(returns + sample, mask=inside, other=0.0) * of_rewards
        miss = guess - target
        d_value, squared = 2.0 * miss, miss * miss
        if clip_value:
            before = tl.load(value + sample, mask=inside, other=0.0) * of_rewards
            away = guess - before
            near = before + tl.minimum(tl.maximum(away, -clip), clip) - target
            larger = near * near > squared
            d_value = tl.where(larger, tl.where(tl.abs(away) <= clip, 2.0 * near, 0.0), d_value)
            squared = tl.where(larger, near * near, squared)
        d_logits = d_policy[:, None] * (tl.where(taken, 1.0, 0.0) - share)
        d_logits += of_entropy * share * (log_probs + entropy[:, None])
        d_out = tl.where(of_actions, d_logits, tl.where(of_value, of_values * d_value[:, None], 0.0))
        d_out = tl.where(inside[:, None], d_out / size, 0.0)

        d_3 += product(tl.trans(h_2), d_out, precision)
        b_3 += tl.sum(d_out, 0)
        d_h = product(d_out, tl.trans(matrix(third, hidden_2, n_out, wide_2, wide_out)), precision) * slope_of(
            h_2, relu
        )
        d_2 += product(tl.trans(h_1), d_h, precision)
        b_2 += tl.sum(d_h, 0)
        d_h = product(d_h, tl.trans(matrix(second, hidden_1, hidden_2, wide_1, wide_2)), precision) * slope_of(
            h_1, relu
        )
        d_1 += product(tl.trans(x), d_h, precision)
        b_1 += tl.sum(d_h, 0)

        lost -= tl.sum(tl.where(inside, tl.minimum(free, held), 0.0))
        missed += tl.sum(tl.where(inside, squared, 0.0))
        unsure += tl.sum(tl.where(inside, entropy, 0.0))
        moved += tl.sum(tl.where(inside, ratio - 1.0 - log_ratio, 0.0))
        clipped += tl.sum(tl.where(inside & (tl.abs(ratio - 1.0) > clip), 1.0, 0.0))

    mine = partial + tl.program_id(0) * (floats + 5)
    add_matrix(mine, d_1, n_obs, hidden_1, wide_obs, wide_1)
    add_vector(mine + n_obs * hidden_1, b_1, hidden_1, wide_1)
    add_matrix(mine + second_at, d_2, hidden_1, hidden_2, wide_1, wide_2)
    add_vector(mine + second_at + hidden_1 * hidden_2, b_2, hidden_2, wide_2)
    add_matrix(mine + third_at, d_3, hidden_2, n_out, wide_2, wide_out)
    add_vector(mine + third_at + hidden_2 * n_out, b_3, n_out, wide_out)
    tl.store(mine + floats, lost)
    tl.store(mine + floats + 1, missed / (of_rewards * of_rewards))
    tl.store(mine + floats + 2, unsure)
    tl.store(mine + floats + 3, moved)
    tl.store(mine + floats + 4, clipped)


@triton.jit
def gather(
    partial,  # f32 [programs, floats + 5]
    mask,  # f32 [floats]: 0 where there is no weight
    slope,  # -> f32 [floats]
    parts,  # -> f64 [5]: means
    programs,
    size,
    floats: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
):
    """What the programs of `slopes` found, together."""
    column = tl.program_id(0) * columns + tl.arange(0, columns)
    sums = tl.zeros((columns,), tl.float32)
    for first in range(0, programs, rows):
        row = first + tl.arange(0, rows)
        inside = (row < programs)[:, None] & (column < floats + 5)[None, :]
        sums += tl.sum(tl.load(partial + row[:, None] * (floats + 5) + column[None, :], mask=inside, other=0.0), 0)
    of_slope = column < floats
    tl.store(slope + column, sums * tl.load(mask + column, mask=of_slope, other=0.0), mask=of_slope)
    of_parts = (column >= floats) & (column < floats + 5)
    tl.store(parts + column - floats, sums.to(tl.float64) / size, mask=of_parts)


@triton.jit
def step(
    slope,  # f32 [floats]
    parts,  # f64 [5], the fourth of them the divergence
    count,  # f64 []: samples
    weights,  # f32 [floats], changed; so is what follows
    first,  # Adam's moments
    second,
    steps,  # f32 []: those taken
    stopped,  # u8 []: the divergence has reached its limit
    report,  # f64 [10]; see `resident.py`
    rate,  # f32 [] each, from here on
    max_norm,
    target_kl,
    margin: tl.constexpr,  # times the target: the divergence's limit
    floats: tl.constexpr,
    beta_1: tl.constexpr,
    beta_2: tl.constexpr,
    epsilon: tl.constexpr,
    block: tl.constexpr,
):
    """Adam (Kingma and Ba 2015) with a limited slope, by one program, unless the minibatch is to be left out."""
    total = 0.0
    for begin in range(0, floats, block):
        place = begin + tl.arange(0, block)
        d = tl.load(slope + place, mask=place < floats, other=0.0)
        total += tl.sum(d * d)
    norm = tl.sqrt(total)
    broken = (norm != norm) | (norm == float("inf"))
    over = (tl.load(stopped) != 0) | (tl.load(parts + 3) > margin * tl.load(target_kl))
    now = tl.load(steps) + 1.0
    tl.debug_barrier()  # all threads have read what one of them is about to overwrite
    tl.store(stopped, over.to(tl.uint8))
    if not (broken | over):
        shrink = tl.minimum(tl.load(max_norm) / (norm + 1e-6), 1.0)
        tl.store(steps, now)
        left_1 = 1.0 - tl.exp(now.to(tl.float64) * tl.log(tl.full((), beta_1, tl.float64)))
        left_2 = 1.0 - tl.exp(now.to(tl.float64) * tl.log(tl.full((), beta_2, tl.float64)))
        pace = (tl.load(rate) / left_1).to(tl.float32)
        root = tl.sqrt(left_2).to(tl.float32)
        for begin in range(0, floats, block):
            place = begin + tl.arange(0, block)
            inside = place < floats
            d = tl.load(slope + place, mask=inside, other=0.0) * shrink
            m = tl.load(first + place, mask=inside, other=0.0)
            v = tl.load(second + place, mask=inside, other=0.0)
            m += (d - m) * (1.0 - beta_1)
            v = v * beta_2 + d * d * (1.0 - beta_2)
            tl.store(first + place, m, mask=inside)
            tl.store(second + place, v, mask=inside)
            w = tl.load(weights + place, mask=inside, other=0.0)
            tl.store(weights + place, w - pace * m / (tl.sqrt(v) / root + epsilon), mask=inside)
        samples = tl.load(count)
        part = tl.arange(0, 8)
        known = tl.load(parts + part, mask=part < 5, other=0.0) * samples
        known = tl.where(part == 5, norm.to(tl.float64), tl.where(part == 6, samples, known))
        known = tl.where(part == 7, 1.0, known)
        tl.store(report + part, tl.load(report + part) + known)
    elif not over:
        tl.store(report + 8, tl.load(report + 8) + 1.0)
