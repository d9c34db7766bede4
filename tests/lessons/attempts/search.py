import math

import numpy as np

from dshq_widget.lessons.checks.search import softmax
from tests.lessons.attempts import Attempts


def futures(kept, state, plans, keys, *, going=True, measure=np.sum, released=True, last=None, scale=1.0):
    ids, paid = kept.branch(np.full(len(plans), state), keys), []
    for actions in plans.T[:last]:
        made = kept.simulate_batch(ids, actions[:, None])
        if released:
            kept.release_batch(ids if going else made.state_ids)
        ids = made.state_ids if going else ids
        paid.append(made.rewards[:, 0])
    if released:
        kept.release_batch(ids)
    return scale * measure(paid, axis=0)


def by_plan(kept, state, plans, keys):
    """One future after the other."""
    total = []
    for plan, key in zip(plans, keys, strict=True):
        ids, paid = kept.branch([state], [key]), 0.0
        for action in plan:
            made = kept.simulate_batch(ids, [[action]])
            kept.release_batch(ids)
            ids = made.state_ids
            paid += float(made.rewards[0, 0])
        kept.release_batch(ids)
        total.append(paid)
    return total


def tidied_at_the_end(kept, state, plans, keys):
    ids, held = kept.branch(np.full(len(plans), state), keys), []
    total = np.zeros(len(plans))
    for decision in range(plans.shape[1]):
        held.append(ids)
        made = kept.simulate_batch(ids, plans[:, decision, None])
        ids, total = made.state_ids, total + made.rewards[:, 0]
    kept.release_batch(np.concatenate([*held, ids]))
    return total


def releases_all(kept, state, plans, keys):
    total = futures(kept, state, plans, keys)
    kept.release_batch([state])
    return total


def released_too_soon(kept, state, plans, keys):
    ids = kept.branch(np.full(len(plans), state), keys)
    kept.release_batch(ids)
    return kept.simulate_batch(ids, plans[:, :1]).rewards[:, 0]


def rest_left(kept, state, plans, keys):
    total = futures(kept, state, plans, keys)
    kept.branch(np.full(len(plans), state), keys)
    return total


def effective(shares):
    return 1 / np.sum(np.square(shares))


def by_differences(gains, temperature):
    """Each share as 1 over a sum of powers of differences."""
    return [1 / np.sum(np.exp((np.asarray(gains) - gain) / temperature)) for gain in gains]


def by_logarithms(gains, temperature):
    scaled = np.asarray(gains) / temperature
    return np.exp(scaled - np.logaddexp.reduce(scaled))


def unsafe(gains, temperature):
    powers = np.exp(gains / temperature)
    return powers / powers.sum()


def by_math(gains, temperature):
    powers = [math.exp(gain / temperature) for gain in gains]
    return [power / sum(powers) for power in powers]


def resampled(kept, ids, first, gains, temperature, rng, *, shares=softmax, keyed=True, released=True, along=True):
    n = len(ids)
    parents = rng.choice(n, n, p=shares(gains, temperature))
    new = kept.branch(ids[parents], rng.integers(1 << 32, size=n) if keyed else np.zeros(n, int))
    if released:
        kept.release_batch(ids)
    return new, first[parents] if along else first


def by_quantiles(kept, ids, first, gains, temperature, rng):
    """Systematic resampling: one draw, then even steps through the cumulated shares."""
    n = len(ids)
    parents = np.searchsorted(np.cumsum(softmax(gains, temperature)), (np.arange(n) + rng.random()) / n)
    new = kept.branch(ids[parents], rng.integers(1 << 32, size=n))
    kept.release_batch(ids)
    return new, first[parents]


def one_by_one(kept, ids, first, gains, temperature, rng):
    shares, new, actions = softmax(gains, temperature), [], []
    for _ in ids:
        parent = int(np.argmax(rng.multinomial(1, shares)))
        new += kept.branch([ids[parent]], [rng.integers(1 << 32)]).tolist()
        actions.append(first[parent])
    kept.release_batch(ids)
    return np.array(new), np.array(actions)


def not_copied(kept, ids, first, gains, temperature, rng):
    parents = rng.choice(len(ids), len(ids), p=softmax(gains, temperature))
    return ids[parents], first[parents]


def released_the_new(kept, ids, first, gains, temperature, rng):
    new, actions = resampled(kept, ids, first, gains, temperature, rng)
    kept.release_batch(new)
    return new, actions


def shared(kept, ids, first, gains, temperature, rng):
    new, actions = resampled(kept, ids, first, gains, temperature, rng)
    return np.full(len(new), new[0]), np.full(len(new), actions[0])


def gone_wrong(change):
    """A function with its answer changed."""
    return lambda function: lambda *given, **named: change(function(*given, **named))


def by_name(name, answers):
    return {what: {name: answer} for what, answer in answers.items()}


def both(shares, count):
    return {"weights": shares, "effective": count}


ATTEMPTS = {
    "futures": Attempts(
        by_name(
            "futures",
            {
                "always from the first state": lambda *given: futures(*given, going=False),
                "the last payment": lambda *given: futures(*given, measure=lambda paid, axis: paid[-1]),
                "from the first state, the last payment": lambda *given: np.ones(len(given[2])),
                "the mean": lambda *given: futures(*given, measure=np.mean),
                "nothing is released": lambda *given: futures(*given, released=False),
                "some copies are left": rest_left,
                "the state is released": releases_all,
                "used after it was released": released_too_soon,
                "the last decision is left out": lambda *given: futures(*given, last=-1),
                "what the hint has shown": lambda *given: [9.0, 9.0, 25.0, 13.0],
                "one number": lambda *given: float(np.sum(futures(*given))),
                "nothing is returned": lambda *given: None,
                "a cost": lambda *given: futures(*given, scale=-1.0),
                "zeros": lambda kept, state, plans, keys: np.zeros(len(plans)),
                "no function": 3,
            },
        ),
        by_name("futures", {"plan by plan": by_plan, "tidied at the end": tidied_at_the_end}),
    ),
    "weights": Attempts(
        {
            "all equal": both(lambda gains, temperature: np.full(len(gains), 1 / len(gains)), effective),
            "not shares": both(lambda gains, temperature: np.exp((gains - gains.max()) / temperature), effective),
            "too large for a number": both(unsafe, effective),
            "too large for math": both(by_math, effective),
            "times the temperature": both(lambda gains, temperature: softmax(gains, 1 / temperature), effective),
            "no temperature": both(lambda gains, temperature: softmax(gains, 1.0), effective),
            "the worst weighs most": both(lambda gains, temperature: softmax(-gains, temperature), effective),
            "the best takes all": both(lambda gains, temperature: np.eye(len(gains))[gains.argmax()], effective),
            "no powers": both(lambda gains, temperature: gains / gains.sum(), effective),
            "powers of 2": both(lambda gains, temperature: softmax(gains * np.log(2), temperature), effective),
            "nothing is returned": both(lambda gains, temperature: None, effective),
            "one number": both(lambda gains, temperature: 1.0, effective),
            "the sum of squares": both(softmax, lambda shares: np.sum(shares**2)),
            "the number of futures": both(softmax, lambda shares: float(len(shares))),
            "those above an equal share": both(softmax, lambda shares: float(np.sum(shares >= 1 / len(shares)))),
            "entropy": both(softmax, lambda shares: float(np.exp(-np.sum(shares * np.log(shares + 1e-300))))),
            "no count is returned": both(softmax, lambda shares: None),
            "a count for each": both(softmax, lambda shares: 1 / np.maximum(shares, 1e-9)),
        },
        {
            "sums of differences": both(by_differences, lambda shares: 1 / (shares @ shares)),
            "logarithms": both(by_logarithms, lambda shares: shares.sum() ** 2 / np.dot(shares, shares)),
        },
    ),
    "resampled": Attempts(
        by_name(
            "resampled",
            {
                "as they were": lambda kept, ids, first, gains, temperature, rng: (ids, first),
                "nothing is returned": lambda *given: None,
                "only ids": lambda *given: resampled(*given)[0],
                "not copied": not_copied,
                "the old are kept": lambda *given: resampled(*given, released=False),
                "the new are released": released_the_new,
                "one for all": shared,
                "first actions stay": lambda *given: resampled(*given, along=False),
                "the same dice": lambda *given: resampled(*given, keyed=False),
                "all alike": lambda *given: resampled(
                    *given, shares=lambda gains, t: np.full(len(gains), 1 / len(gains))
                ),
                "the best alone": lambda *given: resampled(
                    *given, shares=lambda gains, t: np.eye(len(gains))[gains.argmax()]
                ),
                "the worst": lambda *given: resampled(*given, shares=lambda gains, t: softmax(-gains, t)),
                "no temperature": lambda *given: resampled(*given, shares=lambda gains, t: softmax(gains, 0.3)),
                "fewer": gone_wrong(lambda found: (found[0][:3], found[1][:3]))(resampled),
            },
        ),
        by_name(
            "resampled",
            {"systematic": by_quantiles, "one after the other": one_by_one, "a list": gone_wrong(list)(resampled)},
        ),
    ),
}
