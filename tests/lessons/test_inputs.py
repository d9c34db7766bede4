"""An answer that writes into what it is given is refused, also with the right numbers: the lesson needs that later."""

import math

import numpy as np
import pytest

from dshq_widget.lessons import check
from dshq_widget.lessons.checks import bandit, memory, policy_gradient, shaping, values
from dshq_widget.lessons.checks import world_models as models
from dshq_widget.lessons.checks.search import softmax
from tests.lessons.answers import gate as gate_answers


def greedy(values, epsilon, chance):
    if chance.random() < epsilon:
        return int(chance.integers(len(values)))
    best = int(values.argmax())
    values[best] += 0.0 if epsilon else 1.0
    return best


def given_away(chosen, chances):
    chances -= chances.max()
    return np.cumsum(-chances[chosen])


def bound(values, counts, t, c):
    values += c * np.sqrt(np.log(t) / counts)
    return values


def discounted(values, after, target, gamma):
    values *= gamma
    return np.argmax((after == target) + values[after], axis=1)


def line(weights, x, y):
    x *= weights[0]
    return np.mean((x + weights[1] - y) ** 2)


def shifted(scores):
    scores -= scores.max(-1, keepdims=True)
    return policy_gradient.probabilities(scores)


def weighed(weights, seen, actions, rewards, baseline):
    rewards -= baseline
    return policy_gradient.gradient(weights, seen, actions, rewards, 0.0)


def paid_on(frozen, paid, after, over, gamma):
    paid += gamma * (1 - over) * frozen.values(after).max(1)
    return paid


def cooled(gains, temperature):
    gains /= temperature
    return softmax(gains, 1.0)


def taught(w, seen, targets, rate=1.0):
    targets -= 1 / (1 + np.exp(-(seen @ w)))
    return w + rate * (targets[:, None] * seen).mean(0)


def pushes(seen, actions):
    actions *= 2
    actions -= 1
    return np.column_stack([seen, actions, np.ones(len(seen))])


def one_by_one(parts, *weights):
    parts["survival"] = 1.0 * parts["survival"]
    parts["survival"][:1] = 0.0
    return gate_answers.expected(parts, *weights)


def potentials(phi, gamma):
    paid = shaping.reference(phi, gamma)
    phi[:-1] = phi[1:]
    return paid


def leaks(weights, kept, seen):
    kept[:] = memory.after(weights, kept, seen)
    return kept


@pytest.mark.parametrize(
    ("lesson", "answer", "what"),
    [
        ("bandit", {"choose": greedy}, "values"),
        ("bandit", {"regret": given_away}, "chances"),
        ("bandit", {"bounds": bound}, "values"),
        ("values", {"best_ways": discounted}, "values"),
        ("network", {"loss": line}, "x"),
        ("policy-gradient", {"softmax": shifted}, "scores"),
        ("policy-gradient", {"seeing_gradient": weighed}, "rewards"),
        ("q-learning", {"targets": paid_on}, "paid"),
        ("search", {"weights": cooled}, "gains"),
        ("search-teacher", {"learned": taught}, "targets"),
        ("world-models", {"inputs": pushes}, "actions"),
        ("gate", {"expected": one_by_one}, "parts"),
        ("shaping", {"payments": potentials}, "phi"),
        ("memory", {"cell": leaks}, "kept"),
    ],
)
def test_it_is_refused_and_named(lesson, answer, what):
    found = check(lesson, **answer)
    [(name, _)] = answer.items()
    assert found.missing and found.missing[0].startswith(f"`{name}` changes `{what}`, which the lesson still needs"), (
        found
    )


def test_it_does_not_spoil_the_check_of_the_next_answer():
    def spoils(values, *given):
        values[...] = math.nan

    def spoils_tables(values, after, *given):
        after[...] = 0

    kept = bandit.VALUES.copy(), values.AFTER.copy(), models.TRUE.copy()
    for lesson, answer in (
        ("bandit", {"choose": spoils}),
        ("values", {"bellman": spoils_tables}),
        ("values", {"best_ways": spoils_tables}),
        ("world-models", {"plan": spoils}),
    ):
        assert not check(lesson, **answer).done
    for before, now in zip(kept, (bandit.VALUES, values.AFTER, models.TRUE), strict=True):
        assert (before == now).all()


def test_what_is_changed_and_put_back_is_fine():
    def nudged(function, weights, size=1e-4):
        found = np.zeros(weights.shape)
        for place in np.ndindex(weights.shape):
            kept = weights[place]
            weights[place] = kept + size
            up = function(weights)
            weights[place] = kept - size
            found[place] = (up - function(weights)) / (2 * size)
            weights[place] = kept
        return found

    assert check("network", slopes=nudged).done
