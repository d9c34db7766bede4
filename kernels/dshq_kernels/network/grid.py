"""The grid layer of layers.py on vectors of 16 lanes: forward for playing and learning, and its slopes."""

from __future__ import annotations

import numpy as np
from numba import njit

from dshq_kernels.network.layers import OUTSIDE
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import (
    absolute,
    compiled,
    fma,
    lane_sum,
    load,
    maximum,
    peek_f32,
    poke_f32,
    select,
    splat,
    store,
)


@njit(nogil=True, error_model="numpy", inline="always")
def next_to(cell, way, rows, columns):
    """The neighbour of a cell, -1 outside."""
    row, column = cell // columns, cell % columns
    if way == 0:
        return cell - columns if row > 0 else -1
    if way == 1:
        return cell + 1 if column < columns - 1 else -1
    if way == 2:
        return cell + columns if row < rows - 1 else -1
    return cell - 1 if column > 0 else -1


@njit(nogil=True, error_model="numpy", inline="always")
def weight(weights, k):
    return peek_f32(weights + k * 4)


@njit(nogil=True, error_model="numpy", inline="always")
def add_to(gradient, k, amount):
    poke_f32(gradient + k * 4, peek_f32(gradient + k * 4) + amount)


@compiled
def spread_lanes(rows, columns, planes, maps, sweeps, weights, obs, features, cost, value, chosen):
    """The features of one unit, f32 `[4 maps, 16]`, by address like all others.

    `weights`: f32 `[planes, 2 maps]`, then the biases. `obs`: f32 `[n_obs, 16]`. `cost`, `value`: f32 `[cells, 16]` of
    scratch memory, of each map where `chosen`, f32 `[maps, sweeps, cells, 16]`, keeps where each value came from (0: it
    stayed, 1 + way), else 0.
    """
    cells, wide = rows * columns, 2 * maps
    here = obs + planes * cells * 64
    for m in range(maps):
        for cell in range(cells):
            z = splat(weight(weights, planes * wide + m))
            source = splat(weight(weights, planes * wide + maps + m))
            for p in range(planes):
                x = load(obs + (p * cells + cell) * 64)
                z = fma(x, weight(weights, p * wide + m), z)
                source = fma(x, weight(weights, p * wide + maps + m), source)
            store(cost + cell * 64, maximum(z, 0.0) + log(1.0 + exp(0.0 - absolute(z))))
            store(value + cell * 64, source)
        for k in range(sweeps):
            for at in range(cells):
                cell = at if k % 2 == 0 else cells - 1 - at
                price = load(cost + cell * 64)
                best = load(value + cell * 64)
                way_taken = splat(0.0)
                for way in range(4):
                    other = next_to(cell, way, rows, columns)
                    if other >= 0:
                        reached = load(value + other * 64) - price
                        higher = reached > best
                        best = select(higher, reached, best)
                        way_taken = select(higher, np.float32(way + 1), way_taken)
                store(value + cell * 64, best)
                if chosen > 0:
                    store(chosen + ((m * sweeps + k) * cells + cell) * 64, way_taken)
        for way in range(4):
            total = splat(0.0)
            for cell in range(cells):
                other = next_to(cell, way, rows, columns)
                gap = splat(OUTSIDE)
                if other >= 0:
                    gap = load(value + other * 64) - load(value + cell * 64)
                total = fma(load(here + cell * 64), gap, total)
            store(features + (m * 4 + way) * 64, total)


@compiled
def spread_slope(rows, columns, planes, maps, sweeps, weights, obs, slopes, chosen, cost, value, gradient):
    """Adds the gradient of one unit to that of the weights at address `gradient`, from the slopes of its features, f32
    `[4 maps, 16]`, and what `spread_lanes` kept in `chosen`; `cost` and `value` are scratch memory.
    """
    cells, wide = rows * columns, 2 * maps
    here = obs + planes * cells * 64
    for m in range(maps):
        for cell in range(cells):
            store(cost + cell * 64, 0.0)
            store(value + cell * 64, 0.0)
        for way in range(4):
            slope = load(slopes + (m * 4 + way) * 64)
            for cell in range(cells):
                other = next_to(cell, way, rows, columns)
                if other >= 0:
                    part = slope * load(here + cell * 64)
                    store(value + other * 64, load(value + other * 64) + part)
                    store(value + cell * 64, load(value + cell * 64) - part)
        for k in range(sweeps - 1, -1, -1):
            for at in range(cells - 1, -1, -1):
                cell = at if k % 2 == 0 else cells - 1 - at
                way_taken = load(chosen + ((m * sweeps + k) * cells + cell) * 64)
                slope = load(value + cell * 64)
                for way in range(4):
                    other = next_to(cell, way, rows, columns)
                    if other >= 0:
                        came = way_taken == np.float32(way + 1)
                        store(value + other * 64, load(value + other * 64) + select(came, slope, 0.0))
                stayed = way_taken == 0.0
                store(value + cell * 64, select(stayed, slope, 0.0))
                store(cost + cell * 64, load(cost + cell * 64) - select(stayed, 0.0, slope))
        bias_cost, bias_source = splat(0.0), splat(0.0)
        for cell in range(cells):
            z = splat(weight(weights, planes * wide + m))
            for p in range(planes):
                z = fma(load(obs + (p * cells + cell) * 64), weight(weights, p * wide + m), z)
            slope = load(cost + cell * 64) / (1.0 + exp(0.0 - z))
            store(cost + cell * 64, slope)
            bias_cost = bias_cost + slope
            bias_source = bias_source + load(value + cell * 64)
        add_to(gradient, planes * wide + m, lane_sum(bias_cost))
        add_to(gradient, planes * wide + maps + m, lane_sum(bias_source))
        for p in range(planes):
            of_cost, of_source = splat(0.0), splat(0.0)
            for cell in range(cells):
                x = load(obs + (p * cells + cell) * 64)
                of_cost = fma(x, load(cost + cell * 64), of_cost)
                of_source = fma(x, load(value + cell * 64), of_source)
            add_to(gradient, p * wide + m, lane_sum(of_cost))
            add_to(gradient, p * wide + maps + m, lane_sum(of_source))
