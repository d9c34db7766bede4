import math

import numpy as np

from dshq_widget.algorithms.gate import components
from tests.lessons.attempts import exercise

LIFE = "0.0 if d < 2 else 1 - np.exp(-(d - 2) / 2)"
SURVIVAL = {
    "the dead hunt, too": ("protector < 0 or ", ""),
    "nobody lives in chunk 0": ("protector < 0 or ", "protector <= 0 or "),
    "the nearest alone": (f"lives *= {LIFE}", f"lives = min(lives, {LIFE})"),
    "caught at 2, too": ("d < 2 ", "d < 2.5 "),
    "from number to number": ("distance(chunk, protector)", "abs(chunk - protector)"),
    "one for each": ("lives = 1.0", "return np.ones(len(protectors))"),
}
WEIGHTS = "survival_weight, disruption_weight, location_weight = 0.4, 0.5, 0.1"
SIGNAL = {
    "no bonus": (' + parts["exploration"]', ""),
    "weights written into it": ("reward = survival_weight", f"{WEIGHTS}\n    reward = survival_weight"),
    "not kept within 1": ("np.clip(reward - threshold, -1, 1)", "reward - threshold"),
    "nothing if it cannot pay": ("1), -1.0)", "1), 0.0)"),
    "the mean signal": ("return np.where(", "return np.mean(np.where(", "-1.0)", "-1.0))"),
}
STEP = "scores + rate * slope / len(chunks)"
LEARNING = {
    "blocked is 0, nan aside": (", signals)", ", signals * sent)"),
    "nan": (" & ~np.isnan(actual)", ""),
    "too large for math": ("p = np.exp(scores -", "math.exp(max(scores))\n    p = np.exp(scores -"),
    "weights written into it": ("gate_weight * signals + actual_weight * actual", "0.3 * signals + 0.7 * actual"),
    "in place": (f"return {STEP}", f"scores += {STEP} - scores\n    return scores"),
}


def apart(a, b):
    return math.hypot(a % 20 - b % 20, a // 20 - b // 20)


def with_arrays(chunk, protectors):
    living = protectors[protectors >= 0]
    d = np.hypot(chunk % 20 - living % 20, chunk // 20 - living // 20)
    threat = np.where(d < 2, 1.0, np.where(d < 8, np.exp(1 - d / 2), 0.0))
    return np.prod(1 - threat)


def by_sum(parts, survival_weight=0.4, disruption_weight=0.5, location_weight=0.1):
    weights = {"survival": survival_weight, "disruption": disruption_weight, "location": location_weight}
    return sum(weights.get(name, 1.0) * parts[name] for name in components.NAMES if name != "capacity")


def by_loop(reward, capacity, threshold=0.6):
    return [max(-1.0, min(1.0, r - threshold)) if c else -1.0 for r, c in zip(reward, capacity, strict=True)]


def filled(signals, actual, sent, gate_weight=0.3, actual_weight=0.7):
    paid = np.array(signals, float)
    for k, brought in enumerate(actual):
        if sent[k] and brought == brought:
            paid[k] = gate_weight * signals[k] + actual_weight * brought
    return paid


def by_parts(scores, chunks, advantages, rate):
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    pull = np.bincount(chunks, advantages, len(scores)) - np.sum(advantages) * p
    return scores + rate * pull / len(chunks)


def by_bounds(reward, capacity, threshold=0.6):
    return np.minimum(np.maximum((reward - threshold) * capacity, -1), 1) - (capacity == 0)


RIGHT_SIGNAL = {
    "a sum over names and a loop": {"expected": by_sum, "signal": by_loop},
    "numpy's minimum and maximum": {"signal": by_bounds},
}
RIGHT_LEARNING = {"filled one by one": {"training_rewards": filled, "stepped": by_parts}, "every slope": ()}
ATTEMPTS = {
    "survival": exercise("gate", 0, "survival", SURVIVAL, {"a product": (), "arrays": with_arrays}, distance=apart),
    "signal": exercise("gate", 1, "expected signal", SIGNAL, RIGHT_SIGNAL),
    "learning": exercise("gate", 2, "training_rewards stepped", LEARNING, RIGHT_LEARNING),
}
