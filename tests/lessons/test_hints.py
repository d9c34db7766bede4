"""Slips that beginners make first get a hint that names them."""

import numpy as np
import pytest
import torch

from dshq_widget.lessons import check
from tests.lessons.attempts import gate as gates
from tests.lessons.attempts import ppo as ppos
from tests.lessons.attempts import world_models as models


def uncounted(values, counts, arm, reward):
    values[arm] += (reward - values[arm]) / (counts[arm] + 1)


def divided_first(values, counts, arm, reward):
    """The count is right, the division came too early."""
    with np.errstate(divide="ignore"):
        values[arm] += (reward - values[arm]) / counts[arm]
    counts[arm] += 1


def beyond_the_end(rewards, values, next_values, over, gamma, gae_lambda):
    advantages = np.zeros_like(rewards)
    for t in reversed(range(len(rewards))):
        surprise = rewards[t] + gamma * next_values[t] - values[t]
        advantages[t] = surprise + gamma * gae_lambda * advantages[t + 1] * ~over[t]
    return advantages


def quotient_of_logarithms(log_prob, old_log_prob, advantage, clip):
    ratio = log_prob / old_log_prob
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def one_signal(reward, capacity, threshold=0.6):
    return -1.0 if capacity == 0 else np.clip(reward - threshold, -1, 1)


def repeats_lost(scores, chunks, advantages, rate):
    p = np.exp(scores) / np.exp(scores).sum()
    slopes = np.zeros(len(scores))
    slopes[chunks] += advantages
    return scores + rate * (slopes - advantages.sum() * p) / len(chunks)


@pytest.mark.parametrize(
    ("lesson", "answer", "told"),
    [
        ("bandit", {"estimate": uncounted}, "After 1 play the machines"),
        ("bandit", {"estimate": divided_first}, "Count the play first"),
        ("ppo", {"gae": beyond_the_end}, "behind the last decision"),
        ("ppo", {"policy_loss": quotient_of_logarithms}, "Logarithms are divided"),
        ("ppo", ppos.ATTEMPTS["the whole loss"].wrong["a column"], "`[:, 0]`"),
        ("world-models", models.planned(models.standing, models.longest), "one of them alone is luck"),
        ("gate", gates.numbers(gates.expected, one_signal), "np.where(capacity > 0"),
        ("gate", gates.taught(gates.training_rewards, repeats_lost), "np.add.at"),
    ],
)
def test_a_hint_names_the_slip(lesson, answer, told):
    assert told in str(check(lesson, **answer))
