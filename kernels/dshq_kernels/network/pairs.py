"""The pairs of layers.py on vectors of 16 lanes: forward for playing and learning, and their slopes.

Everything lies at addresses. `sizes`: items, numbers seen of each, spaces, numbers seen of each, traits, width.
`weights`: those of the five layers, without padding. `obs`: f32 `[n_obs, 16]`. `memory`: `front_units` units (mlp.py),
the traits of items and of spaces, f32 `[traits, items, 16]` and `[traits, spaces, 16]`, then their parts, `[width,
items, 16]` and `[width, spaces, 16]`; a space's part has the context in it. A pair that a mask forbids in all lanes is
left out: in Bin Pack nine of ten are (measured).
"""

from __future__ import annotations

import functools
from typing import Any

from numba import njit

from dshq_kernels.backends.generated import load_module
from dshq_kernels.network.grid import add_to, weight
from dshq_kernels.simd.block import input_slope_block, play_block
from dshq_kernels.simd.vector import any_lane, compiled, fma, lane_sum, load, load_u32, select, splat, store

AS_IT_IS, RELU = 0, 2
"""Activations, as the multiplying block knows them."""
ENTRIES = {"mean_lanes": 4, "mean_slope": 5, "judge_lanes": 9, "judge_slope": 7}
"""The functions below that networks call, and their arguments after `sizes`."""


@functools.cache
def entries() -> tuple[Any, ...]:
    """`ENTRIES` as C functions of numba, every argument and every size an i64. Compiled here, and not with the
    networks: most drills have no pairs, and their first training would wait for it (a quarter longer, measured).
    """
    lines = ["from numba import cfunc, types", "from dshq_kernels.network import pairs"]
    for name, count in ENTRIES.items():
        sizes, rest = (", ".join(f"{letter}{k}" for k in range(n)) for letter, n in (("s", 6), ("a", count)))
        lines += [
            f"@cfunc(types.void(*[types.int64] * {6 + count}), nopython=True, error_model='numpy', cache=True)",
            f"def {name}({sizes}, {rest}):",
            f"    pairs.{name}(({sizes}), {rest})",
        ]
    module = load_module("\n".join(lines) + "\n")
    return tuple(getattr(module, name) for name in ENTRIES)


def addresses() -> tuple[int, ...]:
    """Where they lie in this process."""
    return tuple(entry.address for entry in entries())


@njit(nogil=True, error_model="numpy", inline="always")
def kind_of(side, sizes, weights, obs):
    """Of the items (side 0) or spaces (1): how many, numbers seen of each, where those begin, where the weights of
    their traits and of their parts do.
    """
    items, of_item, spaces, of_space, traits, width = sizes
    parts = weights + (of_item + of_space + 2) * traits * 4
    if side == 0:
        return items, of_item, obs, weights, parts
    return (
        spaces,
        of_space,
        obs + items * of_item * 64,
        weights + (of_item + 1) * traits * 4,
        parts + (traits + 1) * width * 4,
    )


@njit(nogil=True, error_model="numpy", inline="always")
def places(side, sizes, memory):
    """Where in `memory` the traits and the parts of items (side 0) or spaces (1) begin."""
    items, _, spaces, _, traits, width = sizes
    parts = memory + (items + spaces) * traits * 64
    if side == 0:
        return memory, parts
    return memory + items * traits * 64, parts + items * width * 64


@njit(nogil=True, error_model="numpy", inline="always")
def last_layer(sizes, weights):
    """Where the weights from a pair's sum to its logit begin."""
    _, of_item, _, of_space, traits, width = sizes
    return weights + ((of_item + of_space + 2) * traits + 2 * (traits + 1) * width) * 4


@njit(nogil=True, error_model="numpy", inline="always")
def allowed_anywhere(mask, packed, pair):
    """Whether any lane allows a pair: `mask` is the address of i32 `[pairs, 16]`, or `packed` u32 `[ceil(pairs / 32),
    16]` with bit k % 32 of word k // 32; 0 allows all.
    """
    if mask == 0:
        return True
    if packed:
        return any_lane(((load_u32(mask + (pair >> 5) * 64) >> (pair & 31)) & 1) != 0)
    return any_lane(load_u32(mask + pair * 64) != 0)


@compiled
def dense_of_each(count, inputs, outputs, weights, activation, seen, next_thing, next_number, target):
    """One dense layer for each of `count` things, f32 `[outputs, count, 16]` at `target`; at `seen` a thing's numbers
    are `next_number` bytes apart, things `next_thing`.
    """
    row = count * 64
    for k in range(0, count, 2):
        two = 1 if k + 1 < count else 0
        for j in range(0, outputs, 8):
            play_block(
                weights + j * 4,
                outputs * 4,
                seen + k * next_thing,
                next_number,
                two * next_thing,
                inputs,
                target + j * row + k * 64,
                row,
                two * 64,
                weights + (inputs * outputs + j) * 4,
                activation,
            )


@compiled
def add_dense_gradient(count, inputs, outputs, seen, next_thing, next_number, slopes, gradient):
    """Adds the gradient of that layer to the one at address `gradient`, from the slopes of its sums, f32 `[outputs,
    count, 16]`.
    """
    row = count * 64
    for j in range(outputs):
        total = splat(0.0)
        for k in range(count):
            total = total + load(slopes + j * row + k * 64)
        add_to(gradient, inputs * outputs + j, lane_sum(total))
    for f in range(inputs):
        for j in range(0, outputs, 4):
            a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
            for k in range(count):
                x, slope = load(seen + k * next_thing + f * next_number), slopes + j * row + k * 64
                a = fma(x, load(slope), a)
                b = fma(x, load(slope + row), b)
                c = fma(x, load(slope + 2 * row), c)
                d = fma(x, load(slope + 3 * row), d)
            at = f * outputs + j
            add_to(gradient, at, lane_sum(a))
            add_to(gradient, at + 1, lane_sum(b))
            add_to(gradient, at + 2, lane_sum(c))
            add_to(gradient, at + 3, lane_sum(d))


@compiled
def mean_lanes(sizes, weights, obs, features, memory):
    """The mean traits of items, then of spaces, f32 `[2 traits, 16]`; leaves the traits in `memory`."""
    traits = sizes[4]
    for side in range(2):
        count, of_each, seen, of_traits, _ = kind_of(side, sizes, weights, obs)
        target, _ = places(side, sizes, memory)
        dense_of_each(count, of_each, traits, of_traits, RELU, seen, of_each * 64, 64, target)
        for j in range(traits):
            total = splat(0.0)
            for k in range(count):
                total = total + load(target + (j * count + k) * 64)
            store(features + (side * traits + j) * 64, total / count)


@compiled
def mean_slope(sizes, weights, obs, slopes, memory, gradient):
    """Adds the gradient of one unit to that of the weights at address `gradient`, from the slopes of the mean traits,
    f32 `[2 traits, 16]`.
    """
    traits = sizes[4]
    for side in range(2):
        count, of_each, seen, of_traits, _ = kind_of(side, sizes, weights, obs)
        target, _ = places(side, sizes, memory)
        dense_of_each(count, of_each, traits, of_traits, RELU, seen, of_each * 64, 64, target)
        for j in range(traits):
            slope = load(slopes + (side * traits + j) * 64) / count
            for k in range(count):
                at = target + (j * count + k) * 64
                store(at, select(load(at) > 0.0, slope, 0.0))
        add_dense_gradient(count, of_each, traits, seen, of_each * 64, 64, target, gradient + (of_traits - weights))


@compiled
def judge_lanes(sizes, weights, obs, said, said_step, mask, packed, logits, step, memory):
    """The logits of one unit, f32 `[items * spaces, 16]`, and the value behind them, `step` bytes apart; leaves traits
    and parts in `memory`.

    `said`: what the dense layers say, f32 `[width + 1, 16]`, `said_step` bytes apart: the context, then the value.
    `mask`, `packed`: see `allowed_anywhere`; the logit of what is left out is 0.
    """
    items, _, spaces, _, traits, width = sizes
    for side in range(2):
        count, of_each, seen, of_traits, of_parts = kind_of(side, sizes, weights, obs)
        target, parts = places(side, sizes, memory)
        dense_of_each(count, of_each, traits, of_traits, RELU, seen, of_each * 64, 64, target)
        dense_of_each(count, traits, width, of_parts, AS_IT_IS, target, 64, count * 64, parts)
    _, of_items = places(0, sizes, memory)
    _, of_spaces = places(1, sizes, memory)
    for h in range(width):
        context = load(said + h * said_step)
        for k in range(spaces):
            at = of_spaces + (h * spaces + k) * 64
            store(at, load(at) + context)
    last = last_layer(sizes, weights)
    for pair in range(items * spaces):
        logit = splat(0.0)
        if allowed_anywhere(mask, packed, pair):
            item, space = of_items + pair // spaces * 64, of_spaces + pair % spaces * 64
            logit = splat(weight(last, width))
            for h in range(width):
                z = load(item + h * items * 64) + load(space + h * spaces * 64)
                logit = fma(select(z > 0.0, z, 0.0), weight(last, h), logit)
        store(logits + pair * step, logit)
    store(logits + items * spaces * step, load(said + width * said_step))


@compiled
def judge_slope(sizes, weights, obs, slopes, memory, memory_of_slopes, said_slopes, gradient):
    """Adds the gradient of one unit to that of the weights at address `gradient`, from the slopes of its logits and
    value, f32 `[items * spaces + 1, 16]`, and what `judge_lanes` left in `memory`; writes the slopes of the context and
    the value, f32 `[width + 1, 16]`. `memory_of_slopes` is as large as `memory`.
    """
    items, _, spaces, _, traits, width = sizes
    _, of_items = places(0, sizes, memory)
    _, of_spaces = places(1, sizes, memory)
    _, item_slopes = places(0, sizes, memory_of_slopes)
    _, space_slopes = places(1, sizes, memory_of_slopes)
    for k in range((items + spaces) * width):
        store(item_slopes + k * 64, 0.0)
    for pair in range(items * spaces):
        slope = load(slopes + pair * 64)
        if any_lane(slope != 0.0):
            for h in range(width):
                item, space = (h * items + pair // spaces) * 64, (h * spaces + pair % spaces) * 64
                living = load(of_items + item) + load(of_spaces + space) > 0.0
                pull = select(living, slope, 0.0)
                store(item_slopes + item, load(item_slopes + item) + pull)
                store(space_slopes + space, load(space_slopes + space) + pull)
    last = last_layer(sizes, weights)
    for h in range(width):
        weigh, of_weight, total = weight(last, h), splat(0.0), splat(0.0)
        for i in range(items):
            at = (h * items + i) * 64
            slope = load(item_slopes + at)
            of_weight = fma(slope, load(of_items + at), of_weight)
            store(item_slopes + at, slope * weigh)
        for k in range(spaces):
            at = (h * spaces + k) * 64
            slope = load(space_slopes + at)
            of_weight = fma(slope, load(of_spaces + at), of_weight)
            store(space_slopes + at, slope * weigh)
            total = total + slope * weigh
        add_to(gradient + (last - weights), h, lane_sum(of_weight))
        store(said_slopes + h * 64, total)
    store(said_slopes + width * 64, load(slopes + items * spaces * 64))
    for side in range(2):
        count, of_each, seen, of_traits, of_parts = kind_of(side, sizes, weights, obs)
        known, _ = places(side, sizes, memory)
        trait_slopes, part_slopes = places(side, sizes, memory_of_slopes)
        row = count * 64
        add_dense_gradient(count, traits, width, known, 64, row, part_slopes, gradient + (of_parts - weights))
        for k in range(0, count, 2):
            two = 1 if k + 1 < count else 0
            for j in range(0, traits, 8):
                input_slope_block(
                    of_parts + j * width * 4,
                    width * 4,
                    part_slopes + k * 64,
                    row,
                    two * 64,
                    width,
                    trait_slopes + j * row + k * 64,
                    row,
                    two * 64,
                    known + j * row + k * 64,
                    RELU,
                )
        add_dense_gradient(
            count, of_each, traits, seen, of_each * 64, 64, trait_slopes, gradient + (of_traits - weights)
        )
