"""Dict and Tuple observations with pictures and numbers: read part by part, learned from, saved and played."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.cli import main
from dshq_widget.gyms.environment import EnvironmentSpec
from dshq_widget.gyms.evaluate import evaluate_environment
from dshq_widget.gyms.making import described, make
from dshq_widget.gyms.parts import InOneRow, Part
from dshq_widget.gyms.reading import left_out, readable
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.layout import Layout
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from tests.harness.games.gym_play import QUICK, WORLDS, played, policy_of
from tests.harness.games.policy_files import environment_file

MARKS = WORLDS + "Marks-v0"
FEATURES = convolutions.features((1, 6, 7))


class Showing(gym.Env):
    """Shows what it is given, one after the other."""

    action_space = spaces.Discrete(2)

    def __init__(self, space, shown):
        self.observation_space, self.shown = space, iter(shown)

    def reset(self, *, seed=None, options=None):
        return next(self.shown), {}

    def step(self, action):
        return next(self.shown), 0.0, False, False, {}


def test_a_picture_and_a_number_are_one_row():
    spec = described(MARKS).spec
    assert spec.pictures_read == ((1, 6, 7),) and spec.n_obs == FEATURES + 1
    assert spec.environment.left_out == ("mission",) and spec.environment.pixels == ()
    assert spec.training["normalize_observations"] and spec.training["hidden_sizes"] == (128,)
    assert EnvironmentSpec.from_json(spec.to_json()).environment == spec.environment
    env = make(spec.environment.id)
    obs, _ = env.reset(seed=0)
    assert obs.dtype == np.float32 and obs.shape == (43,) and env.observation_space.contains(obs)
    assert obs[-1] in (50, 52) and set(obs[:-1]) <= {0, 255}


def test_a_tuple_has_pictures_of_its_own():
    spec = described(WORLDS + "Together-v0").spec
    assert spec.pictures_read == ((1, 6, 7), (2, 40, 36))
    assert spec.n_obs == FEATURES + convolutions.features((2, 40, 36)) + 1 + 3
    assert spec.environment.left_out == ("0/mission",) and spec.training["hidden_sizes"] == (512,)
    obs, _ = make(spec.environment.id).reset(seed=0)
    assert obs[-4] in (50, 52) and obs[-3:].tolist() == [0, 1, 0], "numbers stand behind all pictures"


PICTURE, TEXT = spaces.Box(0, 255, (6, 7), np.uint8), spaces.Text(9)


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (spaces.Dict({"seen": PICTURE, "mission": TEXT}), ("mission",)),
        (spaces.Tuple((PICTURE,)), ()),
        (spaces.Tuple((TEXT, PICTURE)), ("0",)),
        (spaces.Dict({"a": spaces.Dict({"seen": PICTURE, "mission": TEXT}), "b": TEXT}), ("b", "a/mission")),
    ],
    ids=str,
)
def test_one_picture_with_texts_alone_is_a_picture(space, names):
    env = readable(Showing(space, [space.sample()]))
    assert env.observation_space.shape == (1, 6, 7) and set(left_out(env)) == set(names)
    assert env.observation_space.contains(env.reset()[0])


def test_what_cannot_be_read_is_said():
    many = spaces.Dict({f"p{k}": spaces.Box(0, 255, (6, 7), np.uint8) for k in range(17)})
    gym.register("Many-v0", lambda: Showing(many, []))
    try:
        with pytest.raises(
            GymError, match="cannot train on gym:Many-v0: .* 16 pictures at most, got 17: leave some out"
        ):
            described("gym:Many-v0")
    finally:
        del gym.registry["Many-v0"]


NUMBERS = st.sampled_from(
    [
        spaces.Box(-1, 1, (3,), np.float32),
        spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
        spaces.Discrete(4, start=-1),
        spaces.MultiBinary(3),
        spaces.MultiDiscrete([2, 3]),
    ]
)
PICTURES = st.builds(
    lambda shape, kind: spaces.Box(0, 255 if kind == np.uint8 else 1, shape, kind),
    st.sampled_from([(5, 6), (7, 5, 2), (12, 9, 1)]),
    st.sampled_from([np.uint8, np.bool_]),
)
SPACES = st.recursive(
    NUMBERS | PICTURES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple)
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(spaces.Dict)
    ),
    max_leaves=6,
)


def told(space, value, pictures, numbers):
    """The parts of a value, by hand."""
    if isinstance(space, spaces.Dict):
        for key in space.spaces:
            told(space[key], value[key], pictures, numbers)
    elif isinstance(space, spaces.Tuple):
        for part, one in zip(space.spaces, value, strict=True):
            told(part, one, pictures, numbers)
    elif space.dtype in (np.uint8, np.bool_) and len(space.shape) > 1:
        shades = value.astype(np.uint8) * (1 if space.dtype == np.uint8 else 255)
        pictures.append(np.moveaxis(shades.reshape(*shades.shape[:2], -1), 2, 0))
    else:
        numbers.append(spaces.flatten(space, value))


@given(st.lists(SPACES, min_size=2, max_size=3).map(lambda parts: spaces.Tuple((*parts,))), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_every_part_has_its_place_in_the_row(space, seed):
    space.seed(seed)
    shown = [space.sample() for _ in range(2)]
    env = readable(Showing(space, shown))
    wanted: list[tuple[list, list]] = []
    for value in shown:
        pictures, numbers = [], []
        told(space, value, pictures, numbers)
        wanted.append((pictures, numbers))
    rows = np.stack([env.reset()[0], env.step(0)[0]])
    shapes = tuple(picture.shape for picture in wanted[0][0])
    if not isinstance(env, InOneRow):
        assert not shapes or (len(shapes) == 1 and not wanted[0][1])
        return
    assert env.pictures == shapes and rows.dtype == np.float32 and env.observation_space.shape == rows.shape[1:]
    layout = Layout(shapes, rows.shape[1] - sum(map(np.size, wanted[0][0])))
    found, beside = layout.parts(rows)
    for k, (pictures, numbers) in enumerate(wanted):
        assert all(np.array_equal(a[k], b) for a, b in zip(found, pictures, strict=True))
        assert np.array_equal(beside[0][k] if beside else [], np.concatenate([[], *numbers]).astype(np.float32))


class Resized(gym.ObservationWrapper):
    """The largest shade everywhere: opencv's resizing is not part of these tests."""

    def __init__(self, env, shape):
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, (*shape, *env.observation_space.shape[2:]), np.uint8)

    def observation(self, observation):
        return np.full(self.observation_space.shape, observation.max(), np.uint8)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("shape", [(48, 64), (48, 64, 1), (48, 64, 3)])
def test_a_large_picture_is_grey_with_one_channel_or_without(shape, beside, monkeypatch):
    monkeypatch.setattr(gym.wrappers, "ResizeObservation", Resized)
    picture, shown = spaces.Box(0, 255, shape, np.uint8), np.full(shape, 20, np.uint8)
    space = spaces.Tuple((picture, spaces.Box(-9, 9, (1,)))) if beside else picture
    env = readable(Showing(space, [(shown, np.float32([3])) if beside else shown]))
    seen = env.reset()[0]
    assert env.pictures == ((4, 84, 84),) if beside else env.observation_space.shape == (4, 84, 84)
    assert np.asarray(seen).reshape(-1)[:-1].tolist() == [20] * (4 * 84 * 84 - (not beside))


def test_large_pictures_are_stacked_from_an_episodes_first_one_on(monkeypatch):
    """As they are alone."""
    monkeypatch.setattr(gym.wrappers, "ResizeObservation", Resized)
    space = spaces.Dict({"seen": spaces.Box(0, 255, (48, 64, 3), np.uint8), "speed": spaces.Box(-9, 9, (1,))})
    shown = [{"seen": np.full((48, 64, 3), k, np.uint8), "speed": np.float32([k])} for k in (10, 20, 30, 40)]
    env = readable(Showing(space, shown))
    assert env.pictures == ((4, 84, 84),) and isinstance(env._seen[0][2].unwrapped, Part)

    def stack(row):
        return [int(shade) for shade in row[:-1].reshape(4, -1).max(1)]

    assert stack(env.reset()[0]) == [10, 10, 10, 10] and stack(env.step(0)[0]) == [10, 10, 10, 20]
    assert stack(env.reset()[0]) == [30, 30, 30, 30], "nothing of the episode before"
    row = env.step(0)[0]
    assert stack(row) == [30, 30, 30, 40] and row[-1] == 40


def learned(name: str, rounds: int = 60, enough: float = 9.5) -> tuple[GymGames, GymPPO]:
    games, learner, config = played(name, gamma=0.0)
    hyper = Hyper(learning_rate=3e-3, epochs=4, minibatch_size=64, entropy_coef=0.01)
    for version in range(rounds):
        experience = games.next(learner, config, version)
        learner.update(experience.samples, experience.units, hyper)
        if len(games.episodes.returns) == 100 and np.mean(list(games.episodes.returns)[-32:]) > enough:
            break
    games.close()
    return games, learner


def test_both_parts_are_learned_from():
    games, learner = learned(MARKS)
    policy = policy_of(games, learner)
    assert evaluate_environment(policy, MARKS, 20, greedy=True)["return_mean"] > 9


@pytest.mark.parametrize("memory", [0, 8])
def test_what_is_learned_with_is_what_is_played_with(memory):
    """The learner's numbers are those of the rollout and of numpy, also where it learned on normalised ones."""
    games, learner, config = played(MARKS, memory=memory)
    for version in range(2):  # the first rollout is for the moments alone
        experience = games.next(learner, config, version)
        learner.update(experience.samples, experience.units, Hyper(learning_rate=1e-3, minibatch_size=64))
    experience = games.next(learner, config, 2)
    assert experience.samples.obs.shape[1:] == (16, 43)
    hyper = Hyper(learning_rate=0.0, epochs=1, minibatch_size=10_000)
    assert learner.update(experience.samples, experience.units, hyper)["approx_kl"] == pytest.approx(0, abs=1e-5)
    rows = games.obs
    wanted = learner.recall(rows, np.zeros((16, 2 * memory), np.float32))[:2] if memory else learner.look(rows)
    games.close()
    for one, other in zip(policy_of(games, learner).forward(rows), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_picture_alone_has_nothing_to_normalise():
    games, learner, config = played(WORLDS + "Tiny-v0", normalize_observations=True, normalize_rewards=False)
    experience = games.next(learner, config, 0)
    games.close()
    assert np.isfinite(learner.update(experience.samples, experience.units, Hyper(minibatch_size=64))["loss_value"])


def test_it_is_trained_saved_resumed_and_evaluated(tmp_path, learners_in_threads, capsys):
    file = tmp_path / "bot.dshq"
    with Trainer(MARKS, **QUICK) as trainer:
        heard: list[str] = []
        trainer.on_warning(heard.append)
        assert trainer.train_for(updates=3, progress=False), trainer.error
        trainer.save(file)
        version, weights = trainer.version, trainer.latest_policy().weights
    assert any("does not read 'mission'" in text for text in heard)
    saved = checkpoint.load(file)
    assert saved.environment["pixels"] == [] and saved.environment["pictures"] == [[1, 6, 7]]
    assert saved.state["normalizer.observations"].shape == (3,), "mean, variance and count of the number alone"
    policy = load_policy(file)
    assert np.array_equal(policy.weights, weights) and policy.spec.pictures == ((1, 6, 7),)
    few = evaluate_environment(policy, MARKS, 4)
    assert main.main(["evaluate", str(file), "--drill", MARKS, "--matches", "4", "--json"]) == 0
    assert f'"return_mean": {few["return_mean"]}' in capsys.readouterr().out
    with Trainer(MARKS, resume=file, **QUICK) as again:
        assert again.version == version
        assert again.train_for(updates=version + 1, progress=False) and again.version > version
    with pytest.raises(CheckpointError, match="needs"):
        Trainer(WORLDS + "Together-v0", resume=file)


def test_a_file_of_other_pictures_with_as_many_features_is_refused(tmp_path):
    """Their convolutions have other weights."""
    layers = (FEATURES + 1, 8, 3)
    pictures = ((2, 6, 7),)
    made = described(MARKS).spec.environment_json | {"pictures": [list(pictures[0])]}
    weights = PolicySpec(layers, pictures=pictures).untrained(0)
    file = checkpoint.Checkpoint(MARKS, "0" * 16, layers, "tanh", weights, environment=made)
    with pytest.raises(CheckpointError, match=r"pictures of shape \[\(2, 6, 7\)\], but .* shows \[\(1, 6, 7\)\]"):
        Trainer(MARKS, resume=checkpoint.save(tmp_path / "bot.dshq", file))


def test_a_file_that_read_everything_as_numbers_still_plays(tmp_path):
    """As releases before wrote it: the picture is 42 of its 43 numbers."""
    old = environment_file(MARKS, (43, 8, 3))
    old.environment["actions"]["start"] = 0
    file = checkpoint.save(tmp_path / "old.dshq", old)
    policy = load_policy(file)
    assert policy.environment["made"]["flat"] and policy.environment["made"]["action_repeat"] == 1
    obs, _ = make(MARKS.removeprefix("gym:"), flat=True).reset(seed=3)
    raw, _ = gym.make(MARKS.removeprefix("gym:")).reset(seed=3)
    assert np.array_equal(obs, [*raw["seen"].ravel(), *raw["which"]]), "in Gymnasium's order"
    assert evaluate_environment(policy, MARKS, 3)["episodes"] == 3
    with pytest.raises(CheckpointError, match="needs"):
        Trainer(MARKS, resume=file)
    name = f"{MARKS}+FilterObservation(filter_keys=['seen', 'which'])+FlattenObservation"
    with Trainer(name, resume=file) as trainer:
        assert trainer.drill.spec.n_obs == 43, "so it is trained on"


def test_the_page_is_shown_what_the_policy_does(tmp_path):
    """The show's process makes its environment and its policy from what the trainer says of them."""
    from types import SimpleNamespace

    from dshq_widget.gyms.show import Show

    with Trainer(MARKS, **QUICK) as trainer:
        newest, spec = trainer.latest_policy(), trainer.drill.spec
    job = {"environment": spec.environment_json, "made": {}, "fps": 20, "seed": 1, "distribution": "gaussian"}
    job |= {"layers": newest.layers, "activation": newest.activation}
    show = Show(SimpleNamespace(), job, SimpleNamespace(read=lambda count: (1, 7, newest.weights)))
    for _ in range(12):
        show.step()
    assert show.tick == 12 and show.version == 7 and show.obs.shape == (43,)
    show.env.close()
