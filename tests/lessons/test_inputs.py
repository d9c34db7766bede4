"""An answer that writes into what it is given is refused, also with the right numbers: the lesson needs that later."""

import math

import numpy as np
import pytest

from dshq_widget.lessons import check
from dshq_widget.lessons.checks import bandit, values
from dshq_widget.lessons.checks import world_models as models
from tests.lessons.attempts import changed


@pytest.mark.parametrize(
    ("module", "part", "name", "what", "edits"),
    [
        ("bandit", 1, "choose", "values", ("return int(np", "values[0] += 0.0 if epsilon else 9.0\n    return int(np")),
        ("bandit", 2, "regret", "chances", ("return", "chances -= chances.max()\n    return")),
        ("bandit", 3, "bounds", "values", ("return np", "values[:] = np", "np.inf)", "np.inf)\n    return values")),
        ("values", 3, "best_ways", "values", ("return", "values *= gamma\n    return", "gamma * values[", "values[")),
        ("network", 0, "loss", "x", ("return", "x *= w\n    return", "(w * x", "(x")),
        ("policy_gradient", 0, "softmax", "scores", ("powers =", "scores -= scores.max(-1)[..., None]\n    powers =")),
        (
            *("policy_gradient", 3, "seeing_gradient", "rewards"),
            ("arrows =", "rewards -= baseline\n    arrows =", "(rewards - baseline)", "rewards"),
        ),
        ("q_learning", 2, "targets", "paid", ("return paid + ", "paid += ", "max(1)", "max(1)\n    return paid")),
        ("search", 1, "weights", "gains", ("powers =", "gains /= temperature\n    powers =", ") / temperature", ")")),
        ("search_teacher", 0, "learned", "targets", ("gradient = ((p -", "targets -= p\n    gradient = ((-")),
        (
            *("world_models", 0, "inputs", "actions"),
            ("return", "actions *= 2\n    actions -= 1\n    return", "2 * np.asarray(actions) - 1", "actions"),
        ),
        ("gate", 1, "expected", "parts", ("reward = ", 'parts["survival"] = 0.0 * parts["survival"]\n    reward = ')),
        ("shaping", 0, "payments", "phi", ("return", "paid =", ":-1]", ":-1]\n    phi[0] = 9\n    return paid")),
        ("memory", 1, "cell", "kept", ("return kept", "kept[:] = kept", "@ write)", "@ write)\n    return kept")),
    ],
)
def test_it_is_refused_and_named(module, part, name, what, edits):
    found = check(module.replace("_", "-"), **changed(module, part, name, *edits))
    wanted = f"`{name}` changes `{what}`, which the lesson still needs"
    assert found.missing and found.missing[0].startswith(wanted), found


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
