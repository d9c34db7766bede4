"""The checks of the lessons on environments and experiments say what is wrong with nearly right answers."""

import numpy as np
import pytest

from dshq_widget.lessons import LESSONS
from dshq_widget.lessons.checks import experiment
from dshq_widget.policy.evaluate import wilson
from tests.harness.lesson_attempts import verdict


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        ("0.0", "cold is bad"),
        ("self.inside - 20.0", "too warm is bad"),
        ("-abs(self.inside - 20.0)", "Wood is free"),
        ("-abs(self.inside - 20.0) - 10.0 * logs", "Wood is too dear"),
        ("float('nan')", "no number"),
        ("1.0 - abs(self.inside - 20.0) - 0.2 * logs", None),
    ],
)
def test_a_house_in_winter(tmp_path, reward: str, told: str | None):
    found = verdict(LESSONS["gymnasium"], (reward,), tmp_path).missing
    assert not found if told is None else any(told in text for text in found), found


def test_the_claims_are_what_the_results_support():
    results = experiment.RESULTS
    low, _ = experiment._reference(results["A"], results["B"])
    assert (low > 0) is experiment._HOLDS["a"]
    low, high = experiment._reference(results["A"], results["C"])
    assert (high < 0) is experiment._HOLDS["b"]
    assert low < 0 < high
    won = round(results["D"][0] * experiment.GAMES)
    assert (wilson(won, experiment.GAMES - won)[0] > 0.9) is experiment._HOLDS["c"]
    assert (len(results["D"]) > 1) is experiment._HOLDS["d"]
    assert len(experiment.missing(holds={})) == len(experiment.CLAIMS)


def test_a_band_that_is_none():
    def band(a, b, ends=(0.025, 0.975), way=1):
        rng = np.random.default_rng(1)
        ahead = rng.choice(b, (9000, len(b))).mean(1) - rng.choice(a, (9000, len(a))).mean(1)
        return np.quantile(way * ahead, ends)

    assert experiment.missing(band) == []
    for wrong, told in (
        (lambda a, b: band(a, b, (0, 1)), "too wide"),
        (lambda a, b: band(a, b, (0.25, 0.75)), "too narrow"),
        (lambda a, b: band(a, b, (0.975, 0.025)), "comes first"),
        (lambda a, b: band(a, b, way=-1), "how far `a` is above `b`"),
        (lambda a, b: 2 * (np.mean(b) - np.mean(a)) - band(a, b)[::-1], "basic bootstrap"),
        (lambda a, b: [0.0], "two numbers"),
    ):
        assert told in experiment.missing(wrong)[0]
