import math

import numpy as np

from dshq_widget.lessons.checks.exploration import nats
from tests.lessons.attempts import Attempts


def best(values, rng):
    return int(rng.choice(np.flatnonzero(values == values.max())))


def choose(values, epsilon, rng):
    return int(rng.integers(len(values))) if rng.random() < epsilon else best(values, rng)


def by_probabilities(values, epsilon, rng):
    top = values >= values.max()
    return rng.choice(len(values), p=epsilon / len(values) + (1 - epsilon) * top / top.sum())


def by_shuffling(values, epsilon, rng):
    order = rng.permutation(len(values))
    return order[0] if rng.random() < epsilon else order[np.argmax(values[order])]


def never_the_best(values, epsilon, rng):
    others = np.delete(np.arange(len(values)), values.argmax())
    return int(rng.choice(others)) if rng.random() < epsilon else best(values, rng)


def softly(values, epsilon, rng):
    p = np.exp(values / max(epsilon, 1e-3))
    return int(rng.choice(len(values), p=p / p.sum()))


def chosen(answers):
    return {name: {"choose": answer} for name, answer in answers.items()}


def bonus(counts, size):
    return size / (counts + 1)


def promise(paid, values, counts, size, gamma, over):
    return paid + (1 - over) * gamma * np.max(values + bonus(counts, size))


def spoils(counts, size):
    counts += 1
    return size / counts


def by_hand(paid, values, counts, size, gamma, over):
    following = [value + size / (count + 1) for value, count in zip(values, counts, strict=True)]
    return paid + (0 if over else gamma * sorted(following)[-1])


def both(extra, worth):
    return {"bonus": extra, "promise": worth}


def stepped(scores, action, paid, coefficient, rate=1.0):
    p = np.exp(scores - scores.max())
    p = p / p.sum()
    slope = -p * (np.log(np.maximum(p, 1e-300)) + nats(p))
    return scores + rate * (paid * (np.eye(len(p))[action] - p) + coefficient * slope)


def by_loop(scores, action, paid, coefficient, rate=1.0):
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    p = [power / sum(powers) for power in powers]
    undecided = -sum(q * math.log(q) for q in p if q > 0)
    moved = []
    for k, q in enumerate(p):
        bend = -q * (math.log(q) + undecided) if q > 0 else 0.0
        moved.append(scores[k] + rate * (paid * ((k == action) - q) + coefficient * bend))
    return moved


def unsafe(scores, action, paid, coefficient, rate=1.0):
    p = np.exp(scores) / np.exp(scores).sum()
    slope = -p * (np.log(p) + nats(p))
    return scores + rate * (paid * (np.eye(len(p))[action] - p) + coefficient * slope)


def in_place(scores, *given):
    scores += stepped(scores, *given) - scores
    return scores


def only_the_played(scores, action, paid, coefficient, rate=1.0):
    p = np.exp(scores) / np.exp(scores).sum()
    moved = scores.copy()
    moved[action] += rate * paid * (1 - p[action])
    return moved


def undecided(measure, change=stepped):
    return {"entropy": measure, "stepped": change}


def pulled(scores, action, paid, coefficient, rate=1.0):
    return stepped(scores, action, paid, 0.0, rate) + 0.1 * coefficient * (scores.mean() - scores)


ATTEMPTS = {
    "choose": Attempts(
        chosen(
            {
                "the first best": lambda values, epsilon, rng: int(np.argmax(values)),
                "any": lambda values, epsilon, rng: int(rng.integers(len(values))),
                "the other way round": lambda values, epsilon, rng: choose(values, 1 - epsilon, rng),
                "ties to the first": lambda values, epsilon, rng: (
                    int(rng.integers(len(values))) if rng.random() < epsilon else int(np.argmax(values))
                ),
                "never the best when exploring": never_the_best,
                "softmax": softly,
                "never explores": lambda values, epsilon, rng: best(values, rng),
                "the worst": lambda values, epsilon, rng: choose(-values, epsilon, rng),
                "explores at any epsilon": lambda values, epsilon, rng: choose(values, 0.3, rng),
                "the value": lambda values, epsilon, rng: float(values.max()),
                "probabilities": lambda values, epsilon, rng: np.full(len(values), 1 / len(values)),
                "nothing": lambda values, epsilon, rng: None,
                "two actions only": lambda values, epsilon, rng: choose(values[:2], epsilon, rng),
            }
        ),
        chosen({"one draw": by_probabilities, "in a shuffled order": by_shuffling}),
    ),
    "bonus": Attempts(
        {
            "none": both(lambda counts, size: 0.0 * counts, promise),
            "divides by the count": both(lambda counts, size: size / np.maximum(counts, 0), promise),
            "the root": both(lambda counts, size: size / np.sqrt(counts + 1), promise),
            "no size": both(lambda counts, size: 1 / (counts + 1), promise),
            "a size written into it": both(lambda counts, size: 2.0 / (counts + 1), promise),
            "grows": both(lambda counts, size: size * counts, promise),
            "counts itself": both(spoils, promise),
            "one for all": both(lambda counts, size: size / (counts.sum() + 1), promise),
            "nothing": both(lambda counts, size: None, promise),
            "the untried alone": both(lambda counts, size: size * (counts == 0), promise),
            "the pay": both(bonus, lambda paid, *rest: paid),
            "no bonus": both(
                bonus, lambda paid, values, counts, size, gamma, over: paid + (1 - over) * gamma * values.max()
            ),
            "the bonus of the best": both(
                bonus,
                lambda paid, values, counts, size, gamma, over: (
                    paid + (1 - over) * gamma * (values + bonus(counts, size))[values.argmax()]
                ),
            ),
            "two best": both(
                bonus,
                lambda paid, values, counts, size, gamma, over: (
                    paid + (1 - over) * gamma * (values.max() + bonus(counts, size).max())
                ),
            ),
            "no discount": both(
                bonus, lambda paid, values, counts, size, gamma, over: promise(paid, values, counts, size, 1, over)
            ),
            "all is discounted": both(
                bonus,
                lambda paid, values, counts, size, gamma, over: gamma * promise(paid, values, counts, size, 1, over),
            ),
            "after the end": both(
                bonus, lambda paid, values, counts, size, gamma, over: promise(paid, values, counts, size, gamma, False)
            ),
            "nothing after the end": both(bonus, lambda *given: None if given[-1] else promise(*given)),
            "gamma written into it": both(
                bonus, lambda paid, values, counts, size, gamma, over: promise(paid, values, counts, size, 0.9, over)
            ),
            "nothing is promised": both(bonus, lambda *given: None),
            "one for each action": both(
                bonus, lambda paid, values, counts, size, gamma, over: paid + gamma * (values + bonus(counts, size))
            ),
        },
        {
            "by hand": both(lambda counts, size: [size / (count + 1) for count in counts], by_hand),
            "single precision": both(bonus, lambda *given: np.float32(promise(*given))),
            "powers": both(lambda counts, size: size * (1 + counts) ** -1.0, promise),
        },
    ),
    "entropy": Attempts(
        {
            "0": undecided(lambda p: 0.0),
            "log 0 of math": undecided(lambda p: -sum(q * math.log(q) for q in p)),
            "negative": undecided(lambda p: -nats(p)),
            "bits": undecided(lambda p: nats(p) / np.log(2)),
            "log 0": undecided(lambda p: -np.sum(p * np.log(p))),
            "Gini": undecided(lambda p: 1 - np.sum(p**2)),
            "for each": undecided(lambda p: -p * np.log(np.maximum(p, 1e-300))),
            "no entropy": undecided(lambda p: None),
            "stays": undecided(nats, lambda scores, *rest: scores.copy()),
            "wrong way": undecided(nats, lambda scores, *given: 2 * scores - stepped(scores, *given)),
            "the played alone": undecided(nats, only_the_played),
            "no bonus": undecided(
                nats, lambda scores, action, paid, coefficient, rate=1.0: stepped(scores, action, paid, 0.0, rate)
            ),
            "less entropy": undecided(
                nats,
                lambda scores, action, paid, coefficient, rate=1.0: stepped(scores, action, paid, -coefficient, rate),
            ),
            "no rate": undecided(
                nats, lambda scores, action, paid, coefficient, rate=1.0: stepped(scores, action, paid, coefficient)
            ),
            "another rate": undecided(
                nats,
                lambda scores, action, paid, coefficient, rate=0.1: stepped(scores, action, paid, coefficient, rate),
            ),
            "the pay is left out": undecided(
                nats,
                lambda scores, action, paid, coefficient, rate=1.0: stepped(scores, action, 1.0, coefficient, rate),
            ),
            "too large for math": undecided(
                nats, lambda scores, *given: stepped(scores, *given) + 0 * math.exp(max(scores))
            ),
            "towards the mean": undecided(nats, pulled),
            "too large": undecided(nats, unsafe),
            "in place": undecided(nats, in_place),
            "nothing": undecided(nats, lambda *given: None),
            "the slope alone": undecided(nats, lambda scores, *given: stepped(scores, *given) - scores),
        },
        {
            "a tiny number added": undecided(lambda p: -np.sum(p * np.log(p + 1e-6)), stepped),
            "a loop": undecided(lambda p: sum(-q * math.log(q) for q in p if q > 0), by_loop),
            "what counts is picked": undecided(lambda p: float(np.log(1 / p[p > 0]) @ p[p > 0]), stepped),
        },
    ),
}
