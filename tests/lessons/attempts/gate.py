import math

import numpy as np

from dshq_widget.algorithms.gate import components
from dshq_widget.lessons.checks.gate import after
from tests.lessons.attempts import Attempts, one


def apart(a, b):
    return math.hypot(a % 20 - b % 20, a // 20 - b // 20)


def survival(chunk, protectors, *, far=apart, fade=0.5, deadly=2.0, seen=8.0, dead=True, join=math.prod, caught=False):
    lives = []
    for protector in protectors:
        if dead and protector < 0:
            continue
        d = far(chunk, protector)
        threat = 1.0 if d < deadly else math.exp(-fade * (d - 2)) if d < seen else 0.0
        lives.append(threat if caught else 1 - threat)
    return join(lives) if lives else 1.0


def with_arrays(chunk, protectors):
    living = protectors[protectors >= 0]
    d = np.hypot(chunk % 20 - living % 20, chunk // 20 - living // 20)
    threat = np.where(d < 2, 1.0, np.where(d < 8, np.exp(1 - d / 2), 0.0))
    return np.prod(1 - threat)


def expected(parts, survival_weight=0.4, disruption_weight=0.5, location_weight=0.1, *, bonus=1.0, place=1.0):
    return (
        survival_weight * parts["survival"]
        + disruption_weight * parts["disruption"]
        + place * location_weight * parts["location"]
        + bonus * parts["exploration"]
    )


def by_sum(parts, survival_weight=0.4, disruption_weight=0.5, location_weight=0.1):
    weights = {"survival": survival_weight, "disruption": disruption_weight, "location": location_weight}
    return sum(weights.get(name, 1.0) * parts[name] for name in components.NAMES if name != "capacity")


def signal(reward, capacity, threshold=0.6):
    return np.where(capacity > 0, np.clip(reward - threshold, -1, 1), -1.0)


def by_loop(reward, capacity, threshold=0.6):
    return [max(-1.0, min(1.0, r - threshold)) if c else -1.0 for r, c in zip(reward, capacity, strict=True)]


def numbers(reward, value):
    return {"expected": reward, "signal": value}


def training_rewards(signals, actual, sent, gate_weight=0.3, actual_weight=0.7):
    return np.where(sent & ~np.isnan(actual), gate_weight * signals + actual_weight * actual, signals)


def filled(signals, actual, sent, gate_weight=0.3, actual_weight=0.7):
    paid = np.array(signals, float)
    for k, brought in enumerate(actual):
        if sent[k] and brought == brought:
            paid[k] = gate_weight * signals[k] + actual_weight * brought
    return paid


def stepped(scores, chunks, advantages, rate):
    return after(scores, chunks, advantages, rate)


def by_parts(scores, chunks, advantages, rate):
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    pull = np.bincount(chunks, advantages, len(scores)) - np.sum(advantages) * p
    return scores + rate * pull / len(chunks)


def repeats_forgotten(scores, chunks, advantages, rate):
    moved = scores.copy()
    moved[chunks] += rate * advantages / len(chunks)
    return moved


def only_proposed(scores, chunks, advantages, rate):
    moved = scores.copy()
    np.add.at(moved, chunks, rate * advantages / len(chunks))
    return moved


def unsafe(scores, chunks, advantages, rate):
    p = np.exp(scores) / np.exp(scores).sum()
    return scores + rate * (advantages[:, None] * (np.eye(len(scores))[chunks] - p)).mean(0)


def in_place(scores, *given):
    scores += after(scores, *given) - scores
    return scores


def taught(rewards, change=stepped):
    return {"training_rewards": rewards, "stepped": change}


ATTEMPTS = {
    "survival": Attempts(
        one(
            {
                "always lives": lambda chunk, protectors: 1.0,
                "caught": lambda *given: survival(*given, caught=True),
                "the dead hunt, too": lambda *given: survival(*given, dead=False),
                "the nearest alone": lambda *given: survival(*given, join=min),
                "the mean": lambda *given: survival(*given, join=lambda lives: sum(lives) / len(lives)),
                "sees for ever": lambda *given: survival(*given, seen=math.inf),
                "caught at 2, too": lambda *given: survival(*given, deadly=2.5),
                "fades too fast": lambda *given: survival(*given, fade=1.0),
                "caught within 8": lambda *given: survival(*given, deadly=8.0),
                "from number to number": lambda *given: survival(*given, far=lambda a, b: abs(a - b)),
                "in squares": lambda *given: survival(
                    *given, far=lambda a, b: max(abs(a % 20 - b % 20), abs(a // 20 - b // 20))
                ),
                "nothing": lambda chunk, protectors: None,
                "one for each": lambda chunk, protectors: np.ones(len(protectors)),
                "no function": 0.5,
            }
        ),
        one({"logarithms aside, a product": survival, "arrays": with_arrays}),
    ),
    "signal": Attempts(
        {
            "zeros": numbers(lambda parts, *rest: 0.0 * parts["survival"], signal),
            "no bonus": numbers(lambda *given: expected(*given, bonus=0.0), signal),
            "a penalty taken away": numbers(lambda *given: expected(*given, place=-1.0), signal),
            "minus the threshold": numbers(lambda *given: expected(*given) - 0.6, signal),
            "the sum": numbers(lambda parts, *rest: expected(parts, 1.0, 1.0, 1.0), signal),
            "weights written into it": numbers(lambda parts, *rest: expected(parts), signal),
            "nothing is expected": numbers(lambda parts, *rest: None, signal),
            "one number": numbers(lambda *given: float(expected(*given).mean()), signal),
            "a verdict": numbers(
                expected, lambda reward, capacity, t=0.6: np.where((reward > t) & (capacity > 0), 1.0, -1.0)
            ),
            "the queen pays anyhow": numbers(expected, lambda reward, capacity, t=0.6: np.clip(reward - t, -1, 1)),
            "not kept within 1": numbers(
                expected, lambda reward, capacity, t=0.6: np.where(capacity > 0, reward - t, -1.0)
            ),
            "no threshold": numbers(expected, lambda reward, capacity, t=0.6: signal(reward, capacity, 0.0)),
            "a threshold of its own": numbers(expected, lambda reward, capacity, t=0.6: signal(reward, capacity)),
            "nothing if it cannot pay": numbers(expected, lambda *given: signal(*given) * given[1]),
            "no signal": numbers(expected, lambda *given: None),
            "the mean signal": numbers(expected, lambda *given: float(signal(*given).mean())),
            "upside down": numbers(expected, lambda *given: -signal(*given)),
        },
        {
            "a sum over names and a loop": numbers(by_sum, by_loop),
            "numpy's minimum and maximum": numbers(
                expected,
                lambda reward, capacity, threshold=0.6: (
                    np.minimum(np.maximum((reward - threshold) * capacity, -1), 1) - (capacity == 0)
                ),
            ),
        },
    ),
    "learning": Attempts(
        {
            "blocked is 0": taught(lambda signals, actual, sent, *rest: np.where(sent, actual, 0.0)),
            "blocked is 0, nan aside": taught(lambda *given: np.where(given[2], training_rewards(*given), 0.0)),
            "nan": taught(
                lambda signals, actual, sent, g=0.3, a=0.7: np.where(sent, g * signals + a * actual, signals)
            ),
            "nan is 0": taught(
                lambda signals, actual, sent, g=0.3, a=0.7: np.where(
                    sent, g * signals + a * np.nan_to_num(actual), signals
                )
            ),
            "too large for math": taught(
                training_rewards, lambda scores, *given: stepped(scores, *given) + 0 * math.exp(max(scores))
            ),
            "signals alone": taught(lambda signals, actual, sent, *rest: signals),
            "the other weights": taught(
                lambda signals, actual, sent, g=0.3, a=0.7: training_rewards(signals, actual, sent, a, g)
            ),
            "weights written into it": taught(
                lambda signals, actual, sent, *rest: training_rewards(signals, actual, sent)
            ),
            "blocked weighs 0.3": taught(
                lambda signals, actual, sent, g=0.3, a=0.7: np.where(
                    np.isnan(actual), g * signals, g * signals + a * np.nan_to_num(actual)
                )
            ),
            "nothing is paid": taught(lambda *given: None),
            "the mean": taught(lambda *given: float(training_rewards(*given).mean())),
            "stays": taught(training_rewards, lambda scores, *rest: scores.copy()),
            "the wrong way": taught(training_rewards, lambda scores, *rest: 2 * scores - after(scores, *rest)),
            "the sum of all": taught(
                training_rewards, lambda scores, chunks, advantages, rate: after(scores, chunks, advantages, 3 * rate)
            ),
            "no rate": taught(
                training_rewards, lambda scores, chunks, advantages, rate: after(scores, chunks, advantages, 1)
            ),
            "no advantages": taught(
                training_rewards,
                lambda scores, chunks, advantages, rate: after(scores, chunks, np.ones(len(chunks)), rate),
            ),
            "repeats are forgotten": taught(training_rewards, repeats_forgotten),
            "only what was proposed": taught(training_rewards, only_proposed),
            "too large": taught(training_rewards, unsafe),
            "in place": taught(training_rewards, in_place),
            "no scores": taught(training_rewards, lambda *given: None),
        },
        {"filled one by one": taught(filled, by_parts), "every slope": taught(training_rewards, stepped)},
    ),
}
