"""How a training reward changes the policy: two losses, as derivatives by the network's outputs.

`policy_gradient`: L = -mean[w (R - b) (log pi(chunk) + log pi(type))] - c H, with R the training reward, b its running
mean, w = min(2, pi_now / pi_behaviour) taken as a constant, and H the entropy of both heads (assumed; the source's
design leaves the loss open). `target_shaping` (Nexus of Mind, 2026-01-21): for R > 0 the target is the chosen chunk
and type; for R <= 0 it is the present distribution with half |R| less on the chunk, made to add up to 1 again, and the
other type; both times cross-entropy plus half the type's, times |R|.
"""

from __future__ import annotations

import numpy as np

LARGEST_RATIO = 2.0
TYPE_SHARE = 0.5


def probabilities(chunk_logits: np.ndarray, type_logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each chunk `[n, 400]`, and of combat `[n]`."""
    shifted = np.exp(chunk_logits - chunk_logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True), 1 / (1 + np.exp(-np.clip(type_logits, -60, 60)))


def entropies(chunk: np.ndarray, combat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entropy in nats of each row's chunk and type distribution, `[n]` each."""
    tiny = np.float32(1e-30)
    h_chunk = -(chunk * np.log(chunk + tiny)).sum(axis=1)
    h_type = -(combat * np.log(combat + tiny) + (1 - combat) * np.log(1 - combat + tiny))
    return h_chunk, h_type


def policy_gradient(
    chunk: np.ndarray,
    combat: np.ndarray,
    chosen: np.ndarray,
    kinds: np.ndarray,
    confidence: np.ndarray,
    advantage: np.ndarray,
    entropy_coef: float,
) -> tuple[float, np.ndarray, np.ndarray]:
    """(loss, its derivative by the chunk logits `[n, 400]`, by the type logit `[n]`) of `n` decisions: probabilities of
    chunks and of combat now, chosen chunks and types (1: combat), probability under the behaviour, R - b.
    """
    n, rows = len(chosen), np.arange(len(chosen))
    tiny = np.float32(1e-30)
    of_type = np.where(kinds == 1, combat, 1 - combat)
    now = chunk[rows, chosen] * of_type
    weight = np.minimum(LARGEST_RATIO, now / np.maximum(confidence, tiny)) * advantage / n
    h_chunk, h_type = entropies(chunk, combat)
    loss = -(weight * np.log(now + tiny)).sum() - entropy_coef * (h_chunk + h_type).mean()
    d_chunk = weight[:, None] * chunk
    d_chunk[rows, chosen] -= weight
    d_kind = weight * (combat - kinds)
    d_chunk += entropy_coef / n * chunk * (np.log(chunk + tiny) + h_chunk[:, None])
    d_kind += entropy_coef / n * combat * (1 - combat) * np.log((combat + tiny) / (1 - combat + tiny))
    return float(loss), d_chunk.astype(np.float32), d_kind.astype(np.float32)


def target_shaping(
    chunk: np.ndarray, combat: np.ndarray, chosen: np.ndarray, kinds: np.ndarray, reward: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The same for the other loss; `reward` is the training reward."""
    n, rows = len(chosen), np.arange(len(chosen))
    tiny = np.float32(1e-30)
    good = reward > 0
    target = np.where(good[:, None], 0, chunk)
    target[rows, chosen] = np.where(good, 1, np.maximum(chunk[rows, chosen] - 0.5 * np.abs(reward), 0))
    target /= target.sum(axis=1, keepdims=True)
    target_type = np.where(good, kinds, 1 - kinds)
    weight = np.abs(reward) / n
    cross = -(target * np.log(chunk + tiny)).sum(axis=1)
    binary = -(target_type * np.log(combat + tiny) + (1 - target_type) * np.log(1 - combat + tiny))
    loss = (weight * (cross + TYPE_SHARE * binary)).sum()
    d_chunk = weight[:, None] * (chunk - target)
    d_kind = weight * TYPE_SHARE * (combat - target_type)
    return float(loss), d_chunk.astype(np.float32), d_kind.astype(np.float32)
