"""How judgements change the policy: three losses, as derivatives by the network's outputs.

`policy_gradient`: L = -mean[w (R - b) (log pi(chunk) + log pi(type))] - c H, with R the training reward, b its running
mean, w = min(2, pi_now / pi_behaviour) taken as a constant, and H the entropy of both heads (assumed; the source's
design leaves the loss open). `target_shaping` (Nexus of Mind, 2026-01-21): for R > 0 the target is the chosen chunk
and type; for R <= 0 it is the present distribution with half |R| less on the chunk, made to add up to 1 again, and the
other type; both times cross-entropy plus half the type's, times |R|.

`expected_signal`: L = -mean[sum of pi(chunk) pi(type) S(chunk, type)] - c H, over all candidates, with S their signals.
Its gradient is what the policy gradient's is on average over the proposals that a state may bring, without the chance
of which one it brought (Ciosek and Whiteson, "Expected policy gradients", 2018), and asks nothing of the policy that
decided. What a signal does not say, which is what a sent proposal brought, is learned beside it by the policy gradient,
with R the difference of the two: the signals are its control variate (Dudik, Langford and Li, "Doubly robust policy
evaluation and learning", 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Slopes = tuple[float, float, np.ndarray, np.ndarray]
"""Loss, mean entropy, and the loss's derivatives by the chunk logits `[n, 400]` and by the type logit `[n]`."""
LARGEST_RATIO = 2.0
TYPE_SHARE = 0.5


@dataclass(frozen=True)
class Heads:
    """The distributions of `n` decisions and their logarithms: of chunks `[n, 400]`, and of combat and energy `[n]`."""

    chunk: np.ndarray
    log_chunk: np.ndarray
    combat: np.ndarray
    log_combat: np.ndarray
    log_energy: np.ndarray

    @classmethod
    def of(cls, chunk_logits: np.ndarray, type_logits: np.ndarray) -> Heads:
        """From the network's outputs."""
        shifted = chunk_logits - chunk_logits.max(axis=1, keepdims=True)
        power = np.exp(shifted)
        total = power.sum(axis=1, keepdims=True)
        zero = np.zeros_like(type_logits)
        log_combat, log_energy = -np.logaddexp(zero, -type_logits), -np.logaddexp(zero, type_logits)
        return cls(power / total, shifted - np.log(total), np.exp(log_combat), log_combat, log_energy)

    def of_type(self, kinds: np.ndarray) -> np.ndarray:
        """Logarithm of the probability of these types (1: combat)."""
        return np.where(kinds == 1, self.log_combat, self.log_energy)

    def entropies(self) -> tuple[np.ndarray, np.ndarray]:
        """Entropy in nats of the chunk's and of the type's distribution, `[n]` each."""
        h_type = -(self.combat * self.log_combat + (1 - self.combat) * self.log_energy)
        return -(self.chunk * self.log_chunk).sum(axis=1), h_type


def ratios(heads: Heads, chosen: np.ndarray, kinds: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """w `[n]`: how much likelier the chosen chunks and types (1: combat) are now than under the policy that chose them,
    at most LARGEST_RATIO.
    """
    now = np.exp(heads.log_chunk[np.arange(len(chosen)), chosen] + heads.of_type(kinds))
    return np.minimum(LARGEST_RATIO, now / np.maximum(confidence, 1e-30))


def policy_gradient(
    heads: Heads, chosen: np.ndarray, kinds: np.ndarray, advantage: np.ndarray, entropy_coef: float
) -> Slopes:
    """(loss, mean entropy, derivative by the chunk logits `[n, 400]`, by the type logit `[n]`): the distributions now,
    chosen chunks and types (1: combat), w (R - b).
    """
    n, rows = len(chosen), np.arange(len(chosen))
    log_now = heads.log_chunk[rows, chosen] + heads.of_type(kinds)
    weight = advantage / n
    h_chunk, h_type = heads.entropies()
    entropy = float((h_chunk + h_type).mean())
    share = entropy_coef / n
    d_chunk = heads.chunk * (weight[:, None] + share * (heads.log_chunk + h_chunk[:, None]))
    d_chunk[rows, chosen] -= weight
    d_kind = weight * (heads.combat - kinds)
    d_kind += share * heads.combat * (1 - heads.combat) * (heads.log_combat - heads.log_energy)
    loss = float(-(weight * log_now).sum() - entropy_coef * entropy)
    return loss, entropy, d_chunk.astype(np.float32), d_kind.astype(np.float32)


def expected_signal(heads: Heads, signals: np.ndarray, entropy_coef: float) -> Slopes:
    """The same for the signals of every candidate, `[n, 2, 400]` (energy and combat)."""
    n, share = len(signals), entropy_coef / len(signals)
    energy, combat = signals[:, 0], signals[:, 1]
    of_chunk = energy + heads.combat[:, None] * (combat - energy)
    of_state = (heads.chunk * of_chunk).sum(axis=1)
    h_chunk, h_type = heads.entropies()
    d_chunk = heads.chunk * ((of_state[:, None] - of_chunk) / n + share * (heads.log_chunk + h_chunk[:, None]))
    gain = (heads.chunk * (combat - energy)).sum(axis=1)
    d_kind = heads.combat * (1 - heads.combat) * (share * (heads.log_combat - heads.log_energy) - gain / n)
    entropy = float((h_chunk + h_type).mean())
    loss = float(-of_state.mean() - entropy_coef * entropy)
    return loss, entropy, d_chunk.astype(np.float32), d_kind.astype(np.float32)


def target_shaping(heads: Heads, chosen: np.ndarray, kinds: np.ndarray, reward: np.ndarray) -> Slopes:
    """The same for the other loss; `reward` is the training reward."""
    n, rows = len(chosen), np.arange(len(chosen))
    good = reward > 0
    target = np.where(good[:, None], 0, heads.chunk)
    target[rows, chosen] = np.where(good, 1, np.maximum(heads.chunk[rows, chosen] - 0.5 * np.abs(reward), 0))
    target /= target.sum(axis=1, keepdims=True)
    target_type = np.where(good, kinds, 1 - kinds)
    weight = np.abs(reward) / n
    cross = -(target * heads.log_chunk).sum(axis=1)
    loss = float((weight * (cross - TYPE_SHARE * heads.of_type(target_type))).sum())
    d_chunk = weight[:, None] * (heads.chunk - target)
    d_kind = weight * TYPE_SHARE * (heads.combat - target_type)
    h_chunk, h_type = heads.entropies()
    return loss, float((h_chunk + h_type).mean()), d_chunk.astype(np.float32), d_kind.astype(np.float32)
