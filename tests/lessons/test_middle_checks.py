"""The checks of the lessons on PPO, self-play and speed say what is wrong with answers that are nearly right."""

import numpy as np
import pytest

from dshq_widget.lessons.checks import ppo, self_play, speed
from tests.lessons.attempts import changed

CARRY, GIVEN = "gamma * gae_lambda * carry", "return advantages"


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ((), None),
        ((CARRY, "0 * carry"), "only the surprises"),
        ((CARRY, "gamma * carry"), "`gae_lambda` is missing"),
        ((CARRY, "gae_lambda * carry"), "by `gamma` as well"),
        ((" * ~over[t]", ""), "the next episode's leaks"),
        ((GIVEN, f"{GIVEN} + values"), "These are returns"),
        ((GIVEN, f"{GIVEN}[::-1]"), "wrong order"),
        ((GIVEN, f"{GIVEN}[1:]"), "ten advantages"),
        ((GIVEN, f"{GIVEN} * 2"), "Begin there and go backwards"),
        ((CARRY, "0.45 * carry"), "written into it as a number"),
        ((GIVEN, f"values *= 0\n    {GIVEN}"), "changes the arrays"),
    ],
)
def test_advantages(edits: tuple[str, ...], told: str | None):
    found = ppo.missing(**changed("ppo", 0, "gae", *edits))
    assert found == [] if told is None else told in found[0], found


def test_one_wrong_advantage_is_named():
    wanted = ppo.reference(ppo.REWARDS, ppo.VALUES, ppo.NEXT_VALUES, ppo.OVER, ppo.GAMMA, ppo.GAE_LAMBDA)
    wanted[3] += 1
    assert ppo.missing(lambda *_: wanted)[0].startswith("Advantage 3 should be 0.2490")


def test_elo():
    expected = self_play.reference

    def update(rating, other, points, k=32):
        return rating + k * (points - expected(rating, other))

    assert self_play.missing(expected, update) == []
    for mine, told in (
        (lambda rating, other: 0.5, "should be 0.9091"),
        (lambda rating, other: expected(other, rating), "the other player's"),
        (lambda rating, other: 1 / (1 + np.exp((other - rating) / 400)), "uses e"),
    ):
        assert told in self_play.missing(mine, update)[0]
    for moved, told in (
        (lambda rating, other, points, k=32: rating, "points won minus points expected"),
        (lambda rating, other, points, k=16: update(rating, other, points, k), "should be 32"),
    ):
        assert told in self_play.missing(expected, moved)[0]


def test_floors():
    flops, floor = speed.network_flops, speed.reference
    assert flops((28, 64, 64, 31)) == 2 * (28 * 64 + 64 * 64 + 64 * 31)
    assert speed.missing(flops, floor) == []
    for count, told in (
        (lambda layers: flops(layers) // 2, "multiplied AND added"),
        (lambda layers: 2 * int(np.prod(layers)), "their products are added"),
        (lambda layers: 0, "should be 15,744"),
    ):
        assert told in speed.missing(count, floor)[0]
    for least, told in (
        (lambda work, moved, peak, bandwidth: work / peak, "two things"),
        (lambda work, moved, peak, bandwidth: (work / peak, "arithmetic"), "should be 4e-08 s"),
        (lambda work, moved, peak, bandwidth: (work / peak + moved / bandwidth, "memory"), "adds the two times"),
        (lambda *work: (floor(*work)[0], "memory"), "not 'memory'"),
    ):
        assert told in speed.missing(flops, least)[0]
