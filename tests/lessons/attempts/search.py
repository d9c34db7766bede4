import numpy as np

from dshq_widget.lessons.checks.search import softmax
from tests.lessons.attempts import exercise

FUTURES = {
    "always from the first state": ("(ids)\n        ids = made.state_ids", "(made.state_ids)"),
    "some copies are left": ("    kept.release_batch(ids)\n    return total", "    return total"),
    "the state is released": ("return total", "kept.release_batch([state])\n    return total"),
    "used after it was released": ("made = kept", "kept.release_batch(ids)\n        made = kept"),
    "what the hint has shown": ("return total", "return [9.0, 9.0, 25.0, 13.0]"),
}
WEIGHTS = {
    "too large for a number": (" - gains.max()", ""),
    "too large for math": (
        "np.exp((gains - gains.max()) / temperature)",
        "np.array([math.exp(g / temperature) for g in gains])",
    ),
    "times the temperature": ("/ temperature", "* temperature"),
    "the sum of squares": ("1 / np.sum", "np.sum"),
    "a count for each": ("np.sum(shares**2)", "np.maximum(shares, 1e-9)"),
}
COPIES = "kept.branch(ids[parents], rng.integers(1 << 32, size=len(ids)))"
RESAMPLED = {
    "not copied": (f"{COPIES}\n    kept.release_batch(ids)", "ids[parents]"),
    "the new are released": ("return new", "kept.release_batch(new)\n    return new"),
    "first actions stay": ("first[parents]", "first"),
    "the same dice": ("rng.integers(1 << 32, size=len(ids))", "np.zeros(len(ids), int)"),
    "the best alone": ("p=weights(gains, temperature)", "p=np.eye(len(ids))[gains.argmax()]"),
}


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


def by_differences(gains, temperature):
    """Each share as 1 over a sum of powers of differences."""
    return [1 / np.sum(np.exp((np.asarray(gains) - gain) / temperature)) for gain in gains]


def by_logarithms(gains, temperature):
    scaled = np.asarray(gains) / temperature
    return np.exp(scaled - np.logaddexp.reduce(scaled))


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


def both(shares, count):
    return {"weights": shares, "effective": count}


RIGHT_WEIGHTS = {
    "sums of differences": both(by_differences, lambda shares: 1 / (shares @ shares)),
    "logarithms": both(by_logarithms, lambda shares: shares.sum() ** 2 / np.dot(shares, shares)),
}
RIGHT_RESAMPLED = {
    "systematic": by_quantiles,
    "one after the other": one_by_one,
    "a list": ("return new, first[parents]", "return [new, first[parents]]"),
}
RIGHT_FUTURES = {"plan by plan": by_plan, "tidied at the end": tidied_at_the_end}
ATTEMPTS = {
    "futures": exercise("search", 0, "futures", FUTURES, RIGHT_FUTURES),
    "weights": exercise("search", 1, "weights effective", WEIGHTS, RIGHT_WEIGHTS),
    "resampled": exercise("search", 2, "resampled", RESAMPLED, RIGHT_RESAMPLED),
}
