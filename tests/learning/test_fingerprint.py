"""What a replay was paid for: which changes make another one, and how it travels in a file."""

import dataclasses
import json

import numpy as np
import pytest

from dshq_widget.contract.metrics import OWN_REWARD
from dshq_widget.drill.own_reward import paying
from dshq_widget.env.batch import compiled
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.saved.fingerprint import MOST_BYTES, NAME, difference, packed, paid, unpacked


def of(drill, discount=0.99, **weights):
    return paid(drill.spec, drill.term_weights(weights), discount)


def test_weights_are_compared_by_what_is_paid():
    ball = compiled("ball")
    first, *_ = (term.name for term in ball.spec.terms if term.kind == "reward")
    assert difference(of(ball), of(ball)) == ""
    assert difference(of(ball), of(ball, **{first: 7.0})).endswith("other values of: reward weights")
    other = dataclasses.replace(ball, spec=dataclasses.replace(ball.spec, rules_hash="other"))
    assert difference(of(ball), of(other)).endswith("other values of: rules")


def test_the_discount_matters_where_potentials_are_paid():
    ball = compiled("ball")
    none = {term.name: 0.0 for term in ball.spec.terms if term.kind == "potential"}
    assert none, "the drill has potentials"
    assert difference(of(ball), of(ball, 0.9)).endswith("other values of: discount")
    assert difference(of(ball, **none), of(ball, 0.9, **none)) == ""


def test_a_reward_of_ones_own_is_known_by_its_line():
    ball = compiled("ball")
    one, same, other = (paying(ball, f"{factor} * s.ball_px[i]") for factor in (0.5, 0.5, 0.1))
    assert difference(of(one), of(same)) == ""
    assert difference(of(one), of(other)).endswith("other values of: reward of one's own")
    assert "reward weights" in difference(of(ball), of(one))
    unpaid = {OWN_REWARD: 0.0}
    assert difference(of(one, **unpaid), of(other, **unpaid)) == difference(of(ball), of(one, **unpaid)) == ""


def test_it_comes_back_from_a_file_and_an_older_file_has_none():
    now = of(compiled("ball")) | {"opponents": {"self": 0.75, "random": 0.25}}
    state = packed(now)
    assert difference(unpacked(state), now) == ""
    saved_state.check(state, {}, 4, {})
    assert unpacked({}) is None and "does not say what its rewards were paid for" in difference(None, now)


@pytest.mark.parametrize(
    "row",
    [
        np.zeros(3, np.float32),
        np.frombuffer(b"[1]", np.uint8),
        np.frombuffer(b"{", np.uint8),
        np.frombuffer(b"\xff", np.uint8),
        np.frombuffer(b'{"discount": NaN}', np.uint8),
        np.frombuffer(b"[" * MOST_BYTES, np.uint8),
        np.frombuffer(json.dumps({"rules": "x" * MOST_BYTES}).encode(), np.uint8),
    ],
)
def test_what_is_none_is_refused_with_the_file(row):
    with pytest.raises(ValueError, match=NAME):
        saved_state.check({NAME: row}, {}, 4, {})
