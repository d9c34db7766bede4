"""PPO's formulas against naive loops over samples."""

import math

import numpy as np
import pytest
import torch

from dshq_kernels.play import gae
from dshq_widget.algorithms.ppo.learners import losses

N = 200
CLIP = 0.2


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    names = ("log_prob", "old_log_prob", "advantage", "value", "old_value", "target")
    values = dict(zip(names, rng.standard_normal((6, N)), strict=True))
    values["log_prob"] = values["old_log_prob"] + 0.3 * values["log_prob"]
    return {name: torch.from_numpy(value) for name, value in values.items()}


def test_policy_loss(batch):
    total = 0.0
    for new, old, advantage in zip(
        *(batch[k].tolist() for k in ("log_prob", "old_log_prob", "advantage")), strict=True
    ):
        ratio = math.exp(new - old)
        total -= min(ratio * advantage, max(1 - CLIP, min(1 + CLIP, ratio)) * advantage)
    found = losses.policy_loss(batch["log_prob"], batch["old_log_prob"], batch["advantage"], CLIP)
    assert float(found) == pytest.approx(total / N, abs=1e-9)


@pytest.mark.parametrize("clip", [None, CLIP])
def test_value_loss_takes_the_larger(batch, clip):
    total = 0.0
    for value, old, target in zip(*(batch[k].tolist() for k in ("value", "old_value", "target")), strict=True):
        error = (value - target) ** 2
        if clip is not None:
            error = max(error, (old + max(-clip, min(clip, value - old)) - target) ** 2)
        total += error
    found = losses.value_loss(batch["value"], batch["old_value"], batch["target"], clip)
    assert float(found) == pytest.approx(total / N, abs=1e-9)
    assert clip is None or found >= losses.value_loss(batch["value"], batch["old_value"], batch["target"], None)


def test_entropy_kl_and_fractions(batch):
    log_probs = torch.log_softmax(
        torch.randn(N, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), -1
    )
    naive = -sum(math.exp(v) * v for row in log_probs.tolist() for v in row) / N
    assert float(losses.entropy(log_probs)) == pytest.approx(naive, abs=1e-9)
    assert float(losses.entropy(torch.full((3, 8), -math.log(8.0)))) == pytest.approx(math.log(8), abs=1e-6)
    ratios = [math.exp(a - b) for a, b in zip(batch["log_prob"].tolist(), batch["old_log_prob"].tolist(), strict=True)]
    found = losses.approx_kl(batch["log_prob"], batch["old_log_prob"])
    assert float(found) == pytest.approx(sum(r - 1 - math.log(r) for r in ratios) / N, abs=1e-9)
    assert found > 0
    share = losses.clip_fraction(batch["log_prob"], batch["old_log_prob"], CLIP)
    assert float(share) == pytest.approx(sum(abs(r - 1) > CLIP for r in ratios) / N)
    value, target = batch["value"].numpy(), batch["target"].numpy()
    assert float(losses.explained_variance(batch["value"], batch["target"])) == pytest.approx(
        1 - np.var(target - value) / np.var(target)
    )
    assert float(losses.explained_variance(batch["target"], batch["target"])) == 1


def test_gae_equals_the_kernels():
    rng = np.random.default_rng(2)
    rewards, values, final_values = rng.standard_normal((3, 30, 12)).astype(np.float32)
    last_values = rng.standard_normal(12).astype(np.float32)
    terminated = rng.random((30, 12)) < 0.1
    truncated = (rng.random((30, 12)) < 0.1) & ~terminated
    arrays = (rewards, values, last_values, final_values, terminated, truncated)
    expected = gae.gae(*arrays, 0.99, 0.95)
    found = losses.gae(*map(torch.from_numpy, arrays), 0.99, 0.95)
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a.numpy(), b, atol=1e-5)
