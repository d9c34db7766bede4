import math

import numpy as np

from dshq_widget.lessons.checks.policy_gradient import gradient, probabilities
from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def slope(give=lambda one, chances, scores: one - chances):
    """A slope of the logarithm with one slip."""
    return lambda scores, action: give(np.eye(len(scores))[action], probabilities(scores), scores)


def mean(weigh=lambda rewards, baseline: rewards - baseline, end=lambda rows: rows.mean(0), sign=1):
    """A policy gradient with one slip: how plays are weighed, and what is made of them."""

    def policy_gradient(scores, actions, rewards, baseline):
        arrows = np.eye(len(scores))[actions] - probabilities(scores)
        return sign * end(arrows * np.broadcast_to(weigh(rewards, baseline), rewards.shape)[:, None])

    return policy_gradient


def in_a_loop(scores, actions, rewards, baseline):
    total = [0.0] * len(scores)
    each = np.broadcast_to(baseline, np.shape(rewards))
    for action, reward, expected in zip(actions, rewards, each, strict=True):
        for other, chance in enumerate(probabilities(scores)):
            total[other] += (reward - expected) * ((action == other) - chance) / len(actions)
    return total


def by_counting(scores, actions, rewards, baseline):
    """What each action earned, less its share of what all earned."""
    earned = np.bincount(actions, rewards - baseline, len(scores))
    return (earned - probabilities(scores) * earned.sum()) / len(actions)


def seeing(
    played=lambda one: one,
    chances=lambda weights, seen: probabilities(seen @ weights),
    weigh=lambda rewards, baseline: rewards - baseline,
    end=lambda sum_, weights, seen: sum_ / len(seen),
):
    """A gradient that looks, with one slip."""

    def seeing_gradient(weights, seen, actions, rewards, baseline):
        arrows = played(np.eye(weights.shape[1])[actions]) - chances(weights, seen)
        weighed = arrows * np.broadcast_to(weigh(rewards, baseline), rewards.shape)[:, None]
        return end(seen.T @ weighed, weights, seen)

    return seeing_gradient


def too_large(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def changes(weights, seen, actions, rewards, baseline):
    weights += gradient(weights, seen, actions, rewards, baseline)
    return weights


def products(weights, seen, actions, rewards, baseline):
    arrows = np.eye(weights.shape[1])[actions] - probabilities(seen @ weights)
    return np.mean(seen[:, :, None] * arrows[:, None, :] * (rewards - baseline)[:, None, None], axis=0)


def one_by_one(weights, seen, actions, rewards, baseline):
    rows = zip(seen, actions, rewards, strict=True)
    return sum(gradient(weights, s[None], np.array([a]), np.array([r]), baseline) for s, a, r in rows) / len(seen)


ATTEMPTS = {
    "softmax": Attempts(
        called(
            "softmax",
            {
                "scores divided": lambda x: x / x.sum(-1, keepdims=True),
                "powers alone": np.exp,
                "too large for math": too_large,
                "too large": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
                "not divided": lambda x: np.exp(x - x.max(-1, keepdims=True)),
                "divided by the largest": lambda x: np.exp(x) / np.exp(x).max(-1, keepdims=True),
                "signs turned": lambda x: probabilities(-x),
                "logarithms": lambda x: np.log(probabilities(x)),
                "powers of 2": lambda x: probabilities(x * np.log(2)),
                "sizes": lambda x: np.abs(x) / np.abs(x).sum(-1, keepdims=True),
                "one row only": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
                "the most likely one": lambda x: int(x.argmax()),
                "all alike": lambda x: np.full(x.shape, 1 / x.shape[-1]),
                "nothing is returned": lambda x: None,
            },
        ),
        called(
            "softmax",
            {
                "differences of scores": lambda x: (
                    1 / np.exp(np.minimum(x[..., None, :] - x[..., :, None], 700.0)).sum(-1)
                ),
                "a logarithm in between": lambda x: np.exp(
                    x - np.logaddexp.reduce(np.asarray(x, float), axis=-1, keepdims=True)
                ),
            },
        ),
    ),
    "slope": Attempts(
        called(
            "log_slope",
            {
                "as it is found": slope(lambda one, chances, scores: one),
                "only probabilities": slope(lambda one, chances, scores: chances),
                "the played one forgotten": slope(lambda one, chances, scores: -chances),
                "signs turned": slope(lambda one, chances, scores: chances - one),
                "of the probability": slope(lambda one, chances, scores: (one @ chances) * (one - chances)),
                "scores": slope(lambda one, chances, scores: one - scores),
                "only the played one": slope(lambda one, chances, scores: one * (1 - chances)),
                "all as if played": slope(lambda one, chances, scores: 1 - chances),
                "one number": slope(lambda one, chances, scores: one @ (1 - chances)),
                "for action 0": lambda scores, action: np.eye(len(scores))[0] - probabilities(scores),
                "logarithms": slope(lambda one, chances, scores: one - np.log(chances)),
                "nothing is returned": slope(lambda one, chances, scores: None),
            },
        ),
        called(
            "log_slope",
            {
                "a list": lambda scores, action: [float(k == action) - p for k, p in enumerate(probabilities(scores))],
                "measured": lambda scores, action: [
                    np.log(probabilities(scores + h) / probabilities(scores - h))[action] / 2e-5
                    for h in 1e-5 * np.eye(len(scores))
                ],
            },
        ),
    ),
    "gradient": Attempts(
        called(
            "policy_gradient",
            {
                "all alike": mean(lambda rewards, baseline: 1.0),
                "no baseline": mean(lambda rewards, baseline: rewards),
                "added": mean(lambda rewards, baseline: rewards + baseline),
                "turned": mean(sign=-1),
                "the sum": mean(end=lambda rows: rows.sum(0)),
                "mean times mean": lambda scores, actions, rewards, baseline: (
                    mean(lambda *given: 1.0)(scores, actions, rewards, 0) * (rewards - baseline).mean()
                ),
                "the last play": mean(end=lambda rows: rows[-1]),
                "weights add up to 1": lambda scores, actions, rewards, baseline: (
                    mean(end=lambda rows: rows.sum(0))(scores, actions, rewards, baseline) / np.sum(rewards - baseline)
                ),
                "a baseline of its own": mean(lambda rewards, baseline: rewards - rewards.mean()),
                "only gains": mean(lambda rewards, baseline: np.maximum(rewards - baseline, 0)),
                "a row for each play": mean(end=lambda rows: rows),
                "one number": mean(end=np.mean),
                "its mean baseline": mean(lambda rewards, baseline: rewards - np.mean(baseline)),
                "nothing is returned": lambda *given: None,
            },
        ),
        called("policy_gradient", {"in a loop": in_a_loop, "by counting": by_counting}),
    ),
    "with eyes": Attempts(
        called(
            "seeing_gradient",
            {
                "as it is found": lambda weights, *rest: np.zeros(weights.shape),
                "the sum": seeing(end=lambda total, weights, seen: total),
                "no baseline": seeing(weigh=lambda rewards, baseline: rewards),
                "no rewards": seeing(weigh=lambda rewards, baseline: 1.0),
                "no probabilities": seeing(chances=lambda weights, seen: 0.0),
                "nothing played": seeing(played=lambda one: 0.0),
                "does not look": seeing(chances=lambda weights, seen: 1 / 3),
                "scores": seeing(chances=lambda weights, seen: seen @ weights),
                "turned": seeing(end=lambda total, weights, seen: -total / len(seen)),
                "divided twice": seeing(end=lambda total, weights, seen: total / seen.size),
                "times the weights": seeing(end=lambda total, weights, seen: weights * total / len(seen)),
                "the new weights": seeing(end=lambda total, weights, seen: weights + total / len(seen)),
                "transposed": seeing(end=lambda total, weights, seen: total.T / len(seen)),
                "changes its weights": changes,
                "nothing is returned": seeing(end=lambda total, weights, seen: None),
            },
        ),
        called("seeing_gradient", {"all products": products, "one by one": one_by_one}),
    ),
}
