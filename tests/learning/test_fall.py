"""The test for a fall keeps its false-alarm rate, finds real falls, and the champion moves on; no games are played."""

import itertools
import json
import math

import numpy as np
import pytest

from benchmarks.guard import NAMES, Chance, measure
from dshq_widget.learning.league.fall_test import (
    FALL,
    FALSE_ALARMS,
    MIDDLE,
    PAIRS,
    SUSPICION,
    WORTH,
    FallTest,
    Score,
    fallen,
    log_ratio,
)
from dshq_widget.learning.league.league import PINNED_MATCHES
from dshq_widget.learning.league.succession import Champion, Succession

ZERO, HALF, ALL = 0.0, 0.5, 1.0


def test_evidence_does_not_grow_by_itself():
    """An E-variable: a pair's factor is at most 1 on average where the policy is no weaker than the reference."""
    grid, worst = (0.02, 0.1, 0.3, 0.5, 0.8, 0.99, 0.9995), 0.0
    for guess, reference, better, draws in itertools.product(grid, grid, (0.0, 0.3, 1.0), (0.0, 0.4, 1.0)):
        middle = MIDDLE * guess

        def expected(strength: float, one: float, *, draws: float = draws, middle: float = middle) -> float:
            drawn = draws * 2 * min(strength, 1 - strength)
            chances = {ALL: strength - drawn / 2, HALF: drawn, ZERO: 1 - strength - drawn / 2}
            return sum(chance * math.exp(log_ratio(x, 1, one, middle)) for x, chance in chances.items())

        policy = reference + better * (1 - reference)
        worst = max(worst, expected(policy, FALL * guess) * expected(reference, guess))
    assert worst <= 1 + 1e-12


def test_all_tests_together_spend_the_false_alarms():
    test, spent = FallTest(1), 0.0
    for test.tests in range(100_000):
        spent += test.level
    assert 0.999 * FALSE_ALARMS < spent < FALSE_ALARMS <= 0.01
    assert FallTest(1).level > 1e-5, "early tests need not find the impossible"


def test_a_run_that_is_as_strong_as_ever_is_left_alone():
    """The former guard undid 27 % of such runs within 60 rounds at .42, and 92 % within 300."""
    found = [measure(strength, 200, 30, 1) for strength in (0.3, 0.42, 0.62, 0.82, 0.995)]
    assert [row["reverts_mean"] for row in found] == [0] * len(found)
    assert all(row["matches_mean"] < 3 * 2 * PINNED_MATCHES for row in found), "a healthy run pays little for it"


@pytest.mark.parametrize("strength", [0.3, 0.62, 0.995])
def test_a_fall_to_three_quarters_is_found_within_three_rounds(strength):
    found = measure(strength, 0, 60, 2, fall=0.75, after=30)
    assert found["found_within_rounds"]["share_in_3"] >= 0.95
    assert found["reverts_to_a_sound_version"] >= 0.95 and found["false_revert_share"] == 0


class Reign:
    """A succession whose newest policy has the strengths that a test sets."""

    def __init__(self, seed: int = 0) -> None:
        self.play = Chance(np.random.default_rng(seed))
        self.succession, self.rounds = Succession(NAMES, self.play), 0

    def round(self, *strengths: float, even: bool = True, watch: bool = True) -> str:
        weights = np.array(strengths)
        points = [self.play(weights, k, PINNED_MATCHES, k) for k in range(2)]
        self.rounds += 1
        newcomer = Champion(weights, self.rounds, self.rounds)
        return self.succession.after_round(newcomer, points, PINNED_MATCHES, even, watch)


def test_where_the_scripts_are_always_beaten_the_champion_moves_on():
    """The former champion was an early version with a perfect record, which nobody could exceed."""
    reign = Reign()
    assert [reign.round(1.0, 1.0) for _ in range(3)] == [""] * 3 and reign.succession.champion.version == 3
    assert [reign.round(0.995, 0.995) for _ in range(100)] == [""] * 100
    assert reign.succession.champion.version > 95
    assert measure(0.995, 200, 10, 3)["behind_mean"] < 2


def test_the_champion_is_not_worse_head_to_head():
    reign = Reign()
    reign.round(0.9, 0.6)
    for _ in range(5):
        reign.round(0.95, 0.7, even=False)
    assert reign.succession.champion.version == 1
    reign.round(0.95, 0.7)
    assert reign.succession.champion.version == 7


def test_a_slow_decline_is_measured_against_the_best():
    """Each version beats the one before it and wins a little less against the script, so the champion falls with it."""
    reign = Reign()
    for _ in range(20):
        assert reign.round(0.98, 0.8) == ""
    said, strength = "", 0.8
    while not said and strength > 0.4:
        strength -= 0.01
        said = reign.round(0.98, strength)
    assert "against script fell from" in said and strength > 0.8 * 0.6


def test_a_small_loss_is_not_a_fall_however_certain_it_is():
    reign = Reign()
    reign.round(1.0, 0.999)
    assert [reign.round(1.0, 0.93) for _ in range(50)] == [""] * 50
    assert reign.succession.test.tests > 10
    assert reign.play.matches < 50 * 16 * PINNED_MATCHES, "nor does it cost much"


def test_a_fall_says_against_whom_how_far_and_how_sure():
    reign = Reign()
    reign.round(0.9, 0.5)
    said = reign.round(0.2, 0.5)
    assert said.startswith("the score against random fell from ") and said.endswith(f" in {PAIRS} matches each")
    assert reign.succession.champion.version == 1, "who has fallen is not crowned"


def test_without_a_guard_nothing_is_tested_and_who_fell_is_not_champion():
    reign = Reign()
    reign.round(0.9, 0.5)
    assert [reign.round(0.2, 0.5, watch=False) for _ in range(9)] == [""] * 9
    assert reign.succession.test.tests == 0 and reign.succession.champion.version == 1
    assert max(reign.succession.test.suspicion) == SUSPICION, "no grudge for longer than the fall"


def test_without_a_guard_the_champion_moves_on():
    """A lucky measurement of the reference leaves a suspicion that no test takes away; it must not last for ever."""
    for seed in range(3):
        reign, coin, champions = Reign(seed), np.random.default_rng([1, seed]), set()
        for _ in range(1000):
            reign.round(0.98, 0.5, even=bool(coin.integers(2)), watch=False)
            champions.add(reign.succession.champion.version)
        assert len(champions) >= 200, "of about 500 rounds that were even"


def test_a_reference_is_measured_once_more():
    """The matches that chose it flatter it: without others its record drifts to the luckiest of all."""
    reign = Reign()
    for _ in range(300):
        reign.round(0.98, 0.5, watch=False)
    assert reign.succession.score.matches == [2 * PINNED_MATCHES] * 2
    assert reign.succession.score.strength(1) < 0.58


def test_who_is_paid_for_something_else_may_win_less():
    reign = Reign()
    reign.round(0.98, 0.9)
    reign.succession.rewards_changed()
    assert [reign.round(0.6, 0.5) for _ in range(30)] == [""] * 30
    assert "fell from" in reign.round(0.6, 0.2)


def test_a_weak_reference_is_nothing_to_be_held_to():
    assert fallen(0, 1000, 0.9 * WORTH) == 0 and fallen(0, 1000, 1.1 * WORTH) > 10


def test_it_goes_on_from_its_notes_and_from_those_of_before():
    reign, again, former = Reign(5), Reign(5), Reign(5)
    for _ in range(30):
        reign.round(0.98, 0.42)
    notes, succession = json.loads(json.dumps(reign.succession.notes())), reign.succession
    again.succession.restore(notes, succession.champion.weights, succession.reference.weights)
    assert again.succession.notes() == notes and notes["tests"] > 0
    again.rounds, again.play.rng.bit_generator.state = 30, reign.play.rng.bit_generator.state
    assert [again.round(0.98, 0.42) for _ in range(20)] == [reign.round(0.98, 0.42) for _ in range(20)]
    assert again.succession.notes() == reign.succession.notes()
    old = {"champion": {"version": 7, "step": 9, "points": 200.0, "matches": 512}}
    former.succession.restore(old, np.array([0.98, 0.42]), None)
    assert former.succession.champion.version == 7 and former.succession.reference is None
    assert former.round(0.98, 0.1) != "", "the former champion is measured, and the newest has fallen below it"
    for broken in ({**notes, "suspicion": [0.0]}, {**notes, "reference": {**notes["reference"], "matches": [0, 0]}}):
        with pytest.raises(ValueError, match="did not meet the 2 pinned opponents"):
            Reign().succession.restore(broken, succession.champion.weights, succession.reference.weights)


def test_a_score_is_never_certain():
    assert 0 < Score([0.0], [128]).strength(0) < 0.01 < 0.99 < Score([128.0], [128]).strength(0) < 1
    assert Score([64.0, 128.0], [128, 128]).share == 0.75
