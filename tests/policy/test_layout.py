"""What a policy reads of pictures and numbers: one row, taken apart the same way by numpy and by torch."""

import dataclasses
from math import prod

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dshq_kernels.network.layers import MOST_WORK
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy import checkpoint, convolutions, loading, saving
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.gym_policy import gym_policy
from dshq_widget.policy.layout import MOST_PICTURES, Layout
from dshq_widget.policy.network import PolicySpec

SMALL = st.tuples(st.integers(1, 3), st.integers(5, 9), st.integers(5, 9))
LARGE = st.tuples(st.integers(1, 2), st.integers(36, 41), st.integers(36, 41))
LAYOUTS = st.builds(Layout, st.lists(SMALL | LARGE, min_size=1, max_size=3).map(tuple), st.integers(0, 4))


def row_of(layout: Layout, rng: np.random.Generator, count: int = 3):
    """The parts of so many observations, and the observations."""
    pictures = [rng.integers(0, 256, (count, *pixels), np.uint8) for pixels in layout.pictures]
    numbers = rng.standard_normal((count, layout.numbers), np.float32)
    if layout.alone:
        return pictures, numbers, pictures[0]
    flat = [picture.reshape(count, -1).astype(np.float32) for picture in pictures]
    return pictures, numbers, np.concatenate([*flat, numbers], 1)


def described(layout: Layout, options: int = 2) -> dict:
    """As a file has it."""
    shapes = [list(pixels) for pixels in layout.pictures]
    pictures = {"pixels": shapes[0], "pictures": []} if layout.alone else {"pixels": [], "pictures": shapes}
    return {"id": "Mine-v0", "actions": Actions("choice", (options,)).to_json(), **pictures}


def saved(layout: Layout, **changed) -> Checkpoint:
    spec = PolicySpec((layout.features + layout.numbers, 8, 3), "relu", pictures=layout.pictures)
    environment = described(layout) | changed
    return Checkpoint("gym:Mine-v0", "0" * 16, spec.layers, "relu", spec.untrained(0), environment=environment)


@given(LAYOUTS, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_row_comes_apart_as_it_was_put_together(layout, seed):
    pictures, numbers, obs = row_of(layout, np.random.default_rng(seed))
    assert obs.shape[1:] == layout.shape and Layout.of(layout.features + layout.numbers, layout.pictures) == layout
    assert sum(layout.sizes) == sum(map(prod, layout.pictures)) + layout.numbers
    for rows in (obs, torch.from_numpy(obs)):
        found, beside = layout.parts(rows)
        assert all(np.array_equal(a, b) for a, b in zip(found, pictures, strict=True))
        assert len(beside) == (layout.numbers > 0) and all(np.array_equal(part, numbers) for part in beside)
    flat = np.arange(sum(map(convolutions.floats, layout.pictures)))
    assert np.array_equal(np.concatenate(layout.trunks(flat)), flat), "every weight is one picture's, in order"


@given(LAYOUTS, st.sampled_from(["tanh", "relu"]), st.sampled_from([0, 5]), st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_torch_and_numpy_say_the_same(layout, activation, memory, seed):
    rng = np.random.default_rng(seed)
    layers = (layout.features + layout.numbers, 8, *([-memory] if memory else []), 3)
    spec = PolicySpec(layers, activation, pictures=layout.pictures)
    policy = gym_policy(layers, activation, spec.untrained(seed), described(layout), "gaussian")
    assert policy.spec.layout == layout
    *_, obs = row_of(layout, rng)
    module = policy.to_torch()
    logits, values = policy.forward(obs)
    with torch.no_grad():
        found = module(torch.from_numpy(obs))
    np.testing.assert_allclose(found[0].numpy(), logits, atol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), values, atol=1e-5)
    back = policy.with_torch(module.state_dict())
    assert np.array_equal(back.weights, policy.weights) and back.spec == spec
    if not memory:
        single, taken = policy.act(obs[0], greedy=True), policy.act(obs, greedy=True)
        assert np.shape(single) == () and taken.shape == (3,)


def test_each_picture_and_the_numbers_matter():
    layout = Layout(((1, 6, 6), (2, 40, 36)), 2)
    policy = gym_policy((layout.features + 2, 8, 3), "relu", saved(layout).weights, described(layout), "gaussian")
    *_, obs = row_of(layout, np.random.default_rng(0), 1)
    said = policy.forward(obs)[0]
    for at in (14, 36 + 40 * 20 + 9, layout.shape[0] - 1):
        other = obs.copy()
        other[0, at] += 90
        assert np.abs(policy.forward(other)[0] - said).max() > 1e-6
    with pytest.raises(ValueError, match=r"rows of pictures and numbers of shape \(2918,\); got \(1, 7\)"):
        policy.forward(np.zeros((1, 7), np.float32))


def test_only_the_numbers_are_normalised():
    layout = Layout(((1, 6, 6),), 2)
    spec = PolicySpec((layout.features + 2, 8, 3), pictures=layout.pictures)
    normalizer, blob = Normalizer(spec, observations=True), spec.untrained(1)
    normalizer.observations.numbers[:] = (50, -3, 4, 0.25, 1e9)
    environment = described(layout)
    *_, obs = row_of(layout, np.random.default_rng(0))
    obs[:, -2:] = obs[:, -2:] * [2, 0.5] + [50, -3]
    normal = obs.copy()
    normal[:, -2:] = (obs[:, -2:] - [50, -3]) / [2, 0.5]
    learned = gym_policy(spec.layers, "tanh", blob, environment, "gaussian").forward(normal)
    played = gym_policy(spec.layers, "tanh", normalizer.fold(blob), environment, "gaussian").forward(obs)
    np.testing.assert_allclose(played[0], learned[0], atol=1e-5)
    np.testing.assert_allclose(normalizer.unfold(normalizer.fold(blob)), blob, atol=1e-6)
    alone = PolicySpec((convolutions.features((1, 6, 6)), 8, 3), pictures=((1, 6, 6),))
    assert Normalizer(alone, observations=True).observations is None, "a picture has no numbers"


@given(LAYOUTS)
@settings(max_examples=8, deadline=None)
def test_a_file_holds_the_layout(layout):
    file = saved(layout)
    found = loading.as_policy(checkpoint.decode(checkpoint.encode(file)))
    assert found.spec.layout == layout and np.array_equal(found.weights, file.weights)
    assert "flat" not in found.environment["made"]


def test_a_policy_is_saved_again(tmp_path):
    policy = loading.as_policy(saved(Layout(((1, 6, 6),), 2)))
    again = loading.load_policy(saving.save_policy(policy, tmp_path / "bot.dshq"))
    assert again.spec == policy.spec and again.environment == policy.environment


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"pictures": []}, "its weights are not"),
        ({"pictures": [[1, 6, 7]]}, "first layer reads|fit"),
        ({"pictures": [[1, 6, 6], [1, 6, 6]]}, "its weights are not"),
        ({"pictures": [[1, 4, 6]]}, "at least 5 pixels"),
        ({"pictures": [[1, 6]]}, "no usable shape"),
        ({"pictures": [[1, 6, True]]}, "no usable shape"),
        ({"pictures": [[1, 6, 1 << 20]]}, "no usable shape"),
        ({"pictures": [[1, 6, 6]] * (MOST_PICTURES + 1)}, "no usable shape"),
        ({"pixels": [1, 6, 6]}, "no usable shape"),
        ({"pixels": [1, 6, 6], "pictures": []}, "do not fit"),
        ({"pixels": None}, "no usable shape"),
    ],
)
def test_hostile_layouts_are_refused(changed, says):
    with pytest.raises(CheckpointError, match=says):
        checkpoint.encode(saved(Layout(((1, 6, 6),), 2), **changed))


def test_pictures_that_cost_too_much_are_refused():
    """Few weights, and each of them used in a million places."""
    costly = (1, 1200, 1200)
    assert convolutions.floats(costly) < 80_000 and convolutions.work(costly) > MOST_WORK
    for numbers in (0, 2):
        with pytest.raises(ValueError, match="operations a decision"):
            Layout((costly,), numbers)
    with pytest.raises(ValueError, match="16 pictures at most, got 17"):
        Layout(((1, 6, 6),) * (MOST_PICTURES + 1), 0)
    wide = (2, 276, 276)  # features that a layer may have
    layers = (convolutions.features(wide) + 2, 1, 3)
    assert layers[0] <= checkpoint.MAX_WIDTH and convolutions.work(wide) > MOST_WORK
    floats = layers[0] + 1 + 6 + convolutions.floats(wide)
    file = dataclasses.replace(
        saved(Layout(((1, 6, 6),), 2), pictures=[list(wide)]), layers=layers, weights=np.zeros(floats, np.float32)
    )
    with pytest.raises(CheckpointError, match="operations a decision"):
        checkpoint.encode(file)
    assert Layout(((64, 5, 2052),), 0).alone, "the costliest whose features a layer may have"
