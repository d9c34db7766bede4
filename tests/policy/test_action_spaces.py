"""Actions in an environment are always such as its space has."""

import json

import numpy as np
import pytest
from gymnasium import spaces

from dshq_widget.policy.action_spaces import Actions, GymError

WIDE = float(np.finfo(np.float32).max)
EDGES = {
    "float32": spaces.Box(np.float32([-0.1, -0.3, 0.1]), np.float32([0.2, 0.7, 0.1])),
    "float64": spaces.Box(np.array([-0.1, 0.1, -1e-9]), np.array([0.2, 0.1, 0.3]), dtype=np.float64),
    "float16": spaces.Box(np.float16([-0.1, 0.3, -2]), np.float16([0.2, 0.7, np.inf]), dtype=np.float16),
    "one bound and none": spaces.Box(np.float32([-np.inf, 0, -0.1]), np.float32([np.inf, np.inf, 0.2])),
    "the widest": spaces.Box(np.float32([-WIDE, -WIDE, 0]), np.float32([WIDE, 0, WIDE])),
    "the widest of float64": spaces.Box(-np.finfo(np.float64).max, np.finfo(np.float64).max, (3,), np.float64),
}


@pytest.mark.parametrize("kind", EDGES)
def test_every_action_is_one_of_the_space(kind):
    space = EDGES[kind]
    actions = Actions.of(space)
    known = Actions.from_json(json.loads(json.dumps(actions.to_json())))
    drawn = np.repeat(np.float32([-3e38, -70000, -1, -0.99999994, 0, 0.3, 0.99999994, 1, 7, 3e38]), 3).reshape(-1, 3)
    shares = np.repeat(np.linspace(1e-6, 1 - 1e-6, 999, dtype=np.float32), 3).reshape(-1, 3)
    given = [(drawn, "gaussian")] + ([(shares, "beta")] if actions.bounded.all() else [])
    for numbers, distribution in given:
        told = known.to_environment(numbers, distribution)
        assert all(map(space.contains, told)), [row for row in told if not space.contains(row)]


def test_bounds_too_far_apart_count_as_none():
    actions = Actions.of(EDGES["the widest"])
    assert not actions.bounded.any()
    assert actions.to_environment(np.float32([[2, -3, 4]]), "gaussian").tolist() == [[2, -3, 4]]
    with pytest.raises(GymError, match="use gaussian"):
        actions.check("beta")


def test_bounds_of_float64_do_not_round_outwards():
    """As a model of ONNX and a policy of an older file tell them, in float32."""
    low, high = Actions("box", shape=(3,), low=(-0.1, 0.1, 0.3), high=(0.2, 0.7, 1e300)).bounds(np.float32)
    assert low.dtype == high.dtype == np.float32
    assert (low >= np.array([-0.1, 0.1, 0.3])).all() and (high <= np.array([0.2, 0.7, 1e300])).all()
    assert np.isfinite(high).all()


def test_the_ends_of_a_box_are_worked_out_once_and_nobody_writes_into_them():
    first, again = (Actions.of(spaces.Box(-2.0, 3.0, (2,))).bounds("float32") for _ in range(2))
    assert all(one is other and not one.flags.writeable for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(1 << 60),
        spaces.MultiDiscrete([4096] * 17),
        spaces.MultiBinary(1 << 15),
        spaces.Box(-1, 1, (1 << 15, 2)),
    ],
    ids=lambda space: type(space).__name__,
)
def test_more_outputs_than_a_policy_has_are_refused(space):
    with pytest.raises(GymError, match="these actions want a policy of [0-9,]+ outputs, and one has 65,535 at most"):
        Actions.of(space)


def test_a_file_says_no_more_of_them_either():
    said = Actions.of(spaces.MultiDiscrete([4096] * 15)).to_json()
    assert Actions.from_json(said).outputs == 61_440
    with pytest.raises(GymError, match="a policy has 65535 outputs at most"):
        Actions.from_json({**said, "sizes": [4096] * 17, "shape": [17]})
