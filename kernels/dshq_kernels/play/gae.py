"""Generalised advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using GAE", 2016, equation
16).

Terminated and truncated are never merged: after a terminated step nothing follows, after a truncated one the value of
the episode's last observation does; neither lets advantage flow in from the next episode. The same formula stands in
gae_cuda.py, js/compute/shaders/gae.wgsl and, by torch, dshq_widget/algorithms/ppo/learners/losses.py.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.simd.vector import compiled, load, select, splat, store


@compiled
def gae(rewards, values, last_values, final_values, terminated, truncated, gamma, gae_lambda):
    """Advantages and returns, f32 `[T, N]` each.

    `rewards`, `values`: f32 `[T, N]`; `last_values`: f32 `[N]`, of the observation after the last step;
    `final_values`: f32 `[T, N]`, of an episode's last observation, read where `truncated`; `terminated`, `truncated`:
    bool `[T, N]`.
    """
    length, count = rewards.shape
    advantages, returns = np.empty_like(rewards), np.empty_like(rewards)
    for n in range(count):
        carry, following = np.float32(0), last_values[n]
        for t in range(length - 1, -1, -1):
            if terminated[t, n]:
                carry, following = np.float32(0), np.float32(0)
            elif truncated[t, n]:
                carry, following = np.float32(0), final_values[t, n]
            delta = rewards[t, n] + np.float32(gamma) * following - values[t, n]
            carry = delta + np.float32(gamma) * np.float32(gae_lambda) * carry
            advantages[t, n] = carry
            returns[t, n] = carry + values[t, n]
            following = values[t, n]
    return advantages, returns


@compiled
def gae_lanes(
    length, rewards, over, final_values, step, values, advantages, returns, sample_step, last_values, gamma, gae_lambda
):
    """The same for 16 lanes, by address. `over`: f32 1 where an episode ended, else 0; `final_values`: what follows
    there (0 where it terminated). `step`, `sample_step`: bytes from one decision to the next in the first and the
    second group of arrays."""
    carry, following = splat(0.0), load(last_values)
    for t in range(length - 1, -1, -1):
        ended = load(over + t * step) > 0.0
        following = select(ended, load(final_values + t * step), following)
        carry = select(ended, 0.0, carry)
        value = load(values + t * sample_step)
        delta = load(rewards + t * step) + np.float32(gamma) * following - value
        carry = delta + np.float32(gamma) * np.float32(gae_lambda) * carry
        store(advantages + t * sample_step, carry)
        store(returns + t * sample_step, carry + value)
        following = value
