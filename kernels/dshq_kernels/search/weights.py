"""Weights of a search's particles: softmax at a temperature, resampling, and noise in the root's policy. Rows of
particles are f32 at addresses, 16 to a unit; what lies behind the last particle of a row weighs 0.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dshq_kernels.backends.lanes import hash32
from dshq_kernels.play.players import uniform
from dshq_kernels.simd.elementary import exp
from dshq_kernels.simd.vector import (
    compiled,
    copy_bytes,
    lane_numbers,
    lane_sum,
    load,
    peek_f32,
    peek_i32,
    poke_f32,
    poke_i32,
    select,
    splat,
    store,
)

HALVINGS = 16
"""Steps of the search for a temperature, over the six powers of ten around the spread of the gains."""


@compiled
def soften(gains, particles, top, temperature, weights):
    """weights = softmax(gains / temperature), `top` the largest gain. Returns their entropy in nats, and the sum of
    their squares.
    """
    inverse = np.float32(1.0 / temperature)
    total = splat(0.0)
    for at in range(0, particles, 16):
        weight = exp((load(gains + at * 4) - top) * inverse)
        weight = select(lane_numbers() + at < particles, weight, 0.0)
        store(weights + at * 4, weight)
        total = total + weight
    norm = lane_sum(total)
    share = np.float32(1.0) / norm
    squares, surprise = splat(0.0), splat(0.0)
    for at in range(0, particles, 16):
        weight = load(weights + at * 4) * share
        store(weights + at * 4, weight)
        squares = squares + weight * weight
        below = select(weight > 0.0, (load(gains + at * 4) - top) * inverse, 0.0)
        surprise = surprise + weight * below
    return math.log(norm) - lane_sum(surprise), lane_sum(squares)


@compiled
def weigh(gains, particles, temperature, epsilon, weights):
    """The particles' weights; with a `temperature` of 0 by the one for which they are `epsilon` nats from uniform,
    which minimises temperature (epsilon + log mean exp(gains / temperature)). Returns their entropy and their effective
    number.
    """
    top, low = peek_f32(gains), peek_f32(gains)
    for p in range(1, particles):
        top, low = max(top, peek_f32(gains + p * 4)), min(low, peek_f32(gains + p * 4))
    spread = np.float64(top - low)
    if temperature == 0.0:
        cold, hot = max(spread, 1e-30) * 1e-3, max(spread, 1e-30) * 1e3
        wanted = math.log(particles) - epsilon  # entropy, which rises with the temperature
        for _ in range(HALVINGS):
            middle = math.sqrt(cold * hot)
            entropy, _ = soften(gains, particles, top, middle, weights)
            if entropy < wanted:
                cold = middle
            else:
                hot = middle
        temperature = hot
    entropy, squares = soften(gains, particles, top, temperature, weights)
    return entropy, 1.0 / squares


@compiled
def draw_parents(weights, particles, seed, stream, count, parents, chance):
    """i32 `[K]` at `parents`: for each slot a particle drawn by weight (multinomial). `chance`: one unit of memory."""
    for slot in range(particles):
        if slot & 15 == 0:
            store(chance, uniform(seed, stream + (slot >> 4) * 4, count))
        left, parent = peek_f32(chance + (slot & 15) * 4), 0
        for p in range(particles):
            weight = peek_f32(weights + p * 4)
            if weight > 0:
                parent = p
                left -= weight
                if left < 0:
                    break
        poke_i32(parents + slot * 4, parent)


@compiled
def gather(blocks, block_bytes, rows, particles, parents, spare):
    """Give each slot its parent's numbers: `rows` rows of 16 lanes in every block of `block_bytes`, a block for 16
    particles. `spare`: memory for a copy.
    """
    copy_bytes(spare, blocks, (particles + 15) // 16 * block_bytes)
    for slot in range(particles):
        parent = peek_i32(parents + slot * 4)
        target = blocks + (slot >> 4) * block_bytes + (slot & 15) * 4
        source = spare + (parent >> 4) * block_bytes + (parent & 15) * 4
        for row in range(rows):
            poke_i32(target + row * 64, peek_i32(source + row * 64))


@njit(nogil=True, error_model="numpy")
def noise_key(seed, stream, step):
    """u32: the key of one root's noise, hashed from its random stream and the step that its decision begins with, in
    turn: in a sum of both, games that lie apart would have the same noise some decisions apart.
    """
    return hash32(hash32(np.uint32(seed), np.uint32(stream)), np.uint32(step))


@njit(nogil=True, error_model="numpy")
def _uniform(key, count):
    """f64 in (0, 1)."""
    return (np.float64(hash32(key, np.uint32(count)) >> np.uint32(8)) + 0.5) * 2.0**-24


@njit(nogil=True, error_model="numpy")
def gamma_draw(alpha, key, count):
    """The logarithm of a number of the gamma distribution, and the count behind its draws. Marsaglia and Tsang, "A
    Simple Method for Generating Gamma Variables", 2000; for alpha < 1 their boost by u^(1 / alpha), which for a small
    alpha is below every float.
    """
    shape = alpha if alpha >= 1.0 else alpha + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        radius = math.sqrt(-2.0 * math.log(_uniform(key, count)))  # Box and Muller, 1958
        x = radius * math.cos(2.0 * math.pi * _uniform(key, count + 1))
        u = _uniform(key, count + 2)
        count += 3
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    drawn = math.log(d * v)
    if alpha < 1.0:
        drawn += math.log(_uniform(key, count)) / alpha
        count += 1
    return drawn, count


@compiled
def mix_prior(logits, masks, n_actions, alpha, fraction, key):
    """Replace the logits of one lane repeated 16 times, f32 `[n_actions, 16]`, by the logarithms of (1 - fraction)
    policy + fraction Dirichlet(alpha) over the allowed actions. `masks`: i32 `[n_actions, 16]`, or 0.
    """
    top, total, loudest, noise, count = -np.inf, 0.0, -np.inf, 0.0, 0
    for j in range(n_actions):
        if masks == 0 or peek_i32(masks + j * 64) != 0:
            top = max(top, np.float64(peek_f32(logits + j * 64)))
    for j in range(n_actions):
        if masks == 0 or peek_i32(masks + j * 64) != 0:
            drawn, count = gamma_draw(alpha, key, count)
            total += math.exp(peek_f32(logits + j * 64) - top)
            loudest = max(loudest, drawn)
            poke_f32(logits + j * 64 + 4, np.float32(drawn))  # kept in the second lane until the sum is known
    for j in range(n_actions):
        if masks == 0 or peek_i32(masks + j * 64) != 0:
            noise += math.exp(peek_f32(logits + j * 64 + 4) - loudest)
    for j in range(n_actions):
        if masks == 0 or peek_i32(masks + j * 64) != 0:
            policy = math.exp(peek_f32(logits + j * 64) - top) / total
            mixed = (1.0 - fraction) * policy + fraction * math.exp(peek_f32(logits + j * 64 + 4) - loudest) / noise
            store(logits + j * 64, splat(np.float32(math.log(max(mixed, 1e-38)))))
