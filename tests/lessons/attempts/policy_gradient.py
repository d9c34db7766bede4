import numpy as np

from dshq_widget.lessons.checks.policy_gradient import gradient, probabilities
from tests.lessons.attempts import exercise

SOFTMAX = {
    "scores divided": ("np.exp(scores - scores.max(-1, keepdims=True))", "scores"),
    "too large for math": ("np.exp(scores - scores.max(-1, keepdims=True))", "np.array([math.exp(s) for s in scores])"),
    "too large": (" - scores.max(-1, keepdims=True)", ""),
    "one row only": ("(-1, keepdims=True)", "()"),
    "the most likely one": ("return powers", "return int(scores.argmax())\n    return powers"),
}
SLOPE = {
    "signs turned": ("return slope", "return -slope"),
    "of the probability": ("return slope", "return softmax(scores)[action] * slope"),
    "only the played one": ("return slope", "return slope * (np.arange(len(slope)) == action)"),
    "one number": ("return slope", "return slope[action]"),
    "for action 0": ("slope[action]", "slope[0]"),
}
MEAN = "np.mean((rewards - baseline)[:, None] * slopes, axis=0)"
GRADIENT = {
    "turned": ("np.mean", "-np.mean"),
    "mean times mean": (MEAN, "np.mean(rewards - baseline) * slopes.mean(0)"),
    "a baseline of its own": ("rewards - baseline", "rewards - rewards.mean()"),
    "a row for each play": (MEAN, "(rewards - baseline)[:, None] * slopes"),
    "its mean baseline": ("rewards - baseline", "rewards - np.mean(baseline)"),
}
SEEING = {
    "no baseline": ("(rewards - baseline)", "rewards"),
    "does not look": ("softmax(seen @ weights)", "1 / 3"),
    "scores": ("softmax(seen @ weights)", "seen @ weights"),
    "the new weights": ("return seen", "return weights + seen"),
    "transposed": ("return seen.T @ arrows / len(seen)", "return arrows.T @ seen / len(seen)"),
}


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


def products(weights, seen, actions, rewards, baseline):
    arrows = np.eye(weights.shape[1])[actions] - probabilities(seen @ weights)
    return np.mean(seen[:, :, None] * arrows[:, None, :] * (rewards - baseline)[:, None, None], axis=0)


def one_by_one(weights, seen, actions, rewards, baseline):
    rows = zip(seen, actions, rewards, strict=True)
    return sum(gradient(weights, s[None], np.array([a]), np.array([r]), baseline) for s, a, r in rows) / len(seen)


def differences(x):
    return 1 / np.exp(np.minimum(x[..., None, :] - x[..., :, None], 700.0)).sum(-1)


def by_logarithm(x):
    return np.exp(x - np.logaddexp.reduce(np.asarray(x, float), axis=-1, keepdims=True))


def measured(scores, action):
    nudges = 1e-5 * np.eye(len(scores))
    return [np.log(probabilities(scores + h) / probabilities(scores - h))[action] / 2e-5 for h in nudges]


RIGHT_SOFTMAX = {"differences of scores": differences, "a logarithm in between": by_logarithm}
RIGHT_SLOPE = {"a list": ("return slope", "return list(slope)"), "measured": measured}
RIGHT_GRADIENT = {"in a loop": in_a_loop, "by counting": by_counting}
RIGHT_SEEING = {"all products": products, "one by one": one_by_one}
ATTEMPTS = {
    "softmax": exercise("policy_gradient", 0, "softmax", SOFTMAX, RIGHT_SOFTMAX),
    "slope": exercise("policy_gradient", 1, "log_slope", SLOPE, RIGHT_SLOPE),
    "gradient": exercise("policy_gradient", 2, "policy_gradient", GRADIENT, RIGHT_GRADIENT),
    "with eyes": exercise("policy_gradient", 3, "seeing_gradient", SEEING, RIGHT_SEEING),
}
