"""A page's snapshot of its match, as it is checked before other pages continue from it; bounds.ts checks it, too."""

import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.bandit import Bandit
from dshq_widget.widget import page_protocol

SPEC = compile_drill(Bandit).spec
KNOWN = {SPEC.rules_hash: page_protocol.of_rules(SPEC)}
GOOD = {
    "tick": 90,
    "score": [1, 0.5],
    "version": 3,
    "state": bytes(4 * SPEC.words),
    "rules_hash": SPEC.rules_hash,
    "seed": 7,
    "rng": 2**32 - 1,
    "phase": 1,
    "rest": 2,
    "match": 2,
}


def test_a_snapshot_of_a_match_is_kept():
    assert page_protocol.snapshot(GOOD, KNOWN) == GOOD
    assert page_protocol.snapshot({**GOOD, "memory": memoryview(bytes(8))}, KNOWN) == {**GOOD, "memory": bytes(8)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"state": bytes(4)}, "needs a state of"),
        ({"tick": "9"}, "tick is a whole number"),
        ({"tick": 1e300}, "tick is a whole number"),
        ({"version": -1}, "version is a whole number"),
        ({"match": True}, "match is a whole number"),
        ({"seed": 2**32}, "seed is a whole number"),
        ({"rng": 0.5}, "rng is a whole number"),
        ({"phase": 10**15}, "phase is a whole number"),
        ({"rest": 10**15}, "rest is a whole number"),
        ({"score": 3}, "score is two numbers"),
        ({"score": [1, 2, 3]}, "score is two numbers"),
        ({"score": [1, True]}, "score is two numbers"),
        ({"note": {}}, "only numbers and short texts"),
    ],
)
def test_numbers_that_no_match_has_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        page_protocol.snapshot({**GOOD, **wrong}, KNOWN)
