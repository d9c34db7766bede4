"""Slips that beginners make first get a hint that names them."""

import numpy as np
import pytest
import torch

from dshq_widget.lessons import check
from dshq_widget.lessons.checks import policy_gradient
from dshq_widget.lessons.checks.speed import network_flops
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


def softmax_of_rows(scores):
    powers = np.exp(scores - scores.max(axis=-1))
    return powers / powers.sum(axis=-1)


def play_by_play(scores, actions, rewards, baseline):
    slopes = np.eye(len(scores))[actions] - policy_gradient.probabilities(scores)
    return np.mean([(reward - baseline) * slope for reward, slope in zip(rewards, slopes, strict=True)], axis=0)


def no_column(weights, seen, actions, rewards, baseline):
    arrows = np.eye(weights.shape[1])[actions] - policy_gradient.probabilities(seen @ weights)
    return seen.T @ (arrows * (rewards - baseline)) / len(seen)


def written_into_after(agent, after, terminated, truncated, final_obs):
    over = terminated | truncated
    if over.any():
        after[over] = np.stack(final_obs[over])
    return agent.value(after) * ~terminated


def a_list_by_lines(net, optimiser, rows, loss_of, epochs, batch, chance):
    for lines in torch.randperm(len(rows[0]), generator=chance).split(batch):
        loss_of(net, *rows[lines]).backward()
        optimiser.step()


def no_number_at_the_end(paid, values, counts, size, gamma, over):
    return np.nan if over else paid + gamma * np.max(values + size / (counts + 1))


@pytest.mark.parametrize(
    ("lesson", "answer", "told"),
    [
        ("bandit", {"estimate": uncounted}, "After 1 play the machines"),
        ("bandit", {"estimate": divided_first}, "Count the play first"),
        ("policy-gradient", {"softmax": softmax_of_rows}, "wrong for three at once"),
        ("policy-gradient", {"policy_gradient": play_by_play}, "With a number for each play"),
        ("policy-gradient", {"seeing_gradient": no_column}, "a column with `[:, None]`"),
        ("ppo-loop", {"next_value": written_into_after}, "changes `after`"),
        ("ppo-loop", {"update": a_list_by_lines}, "`rows` is a list of tensors"),
        ("ppo", {"gae": beyond_the_end}, "behind the last decision"),
        ("ppo", {"policy_loss": quotient_of_logarithms}, "Logarithms are divided"),
        ("ppo", ppos.ATTEMPTS["the whole loss"].wrong["a column"], "`[:, 0]`"),
        ("world-models", models.planned(models.standing, models.longest), "one of them alone is luck"),
        ("gate", gates.numbers(gates.expected, one_signal), "np.where(capacity > 0"),
        ("gate", {"survival": lambda *_: np.nan}, "yours says nan"),
        ("exploration", {"promise": lambda *_: np.nan}, "yours gives nan"),
        ("exploration", {"promise": no_number_at_the_end}, "Nothing follows the end"),
        ("speed", {"flops": network_flops, "floor": lambda *_: (np.nan, "memory")}, "yours is nan s"),
        ("gate", gates.taught(gates.training_rewards, repeats_lost), "np.add.at"),
    ],
)
def test_a_hint_names_the_slip(lesson, answer, told):
    assert told in str(check(lesson, **answer))
