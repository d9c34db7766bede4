"""Drills as Gymnasium's users expect them: matches by the rules, ids, bounds, pictures, copies, options of reset."""

import copy
import pickle
import time
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env import batch
from dshq_widget.env.making import make, make_parallel, make_vec
from dshq_widget.env.registration import environment_id, register_environments
from tests.harness.games.toy_drills import Walk

register_environments()


def plays(env, steps=60, seed=4):
    """What an environment answers to fixed random actions, episodes after one another."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(steps):
        observed, reward, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        rows.append((observed.tobytes(), reward, terminated, truncated))
        if terminated or truncated:
            rows.append(env.reset()[0].tobytes())
    return rows


@pytest.mark.parametrize("name", drills)
def test_an_id_finds_every_drill_and_passes_the_checker(name):
    env = gym.make(environment_id(name), render_mode="rgb_array")
    assert env.spec.reward_threshold == drills[name].target
    spec = env.unwrapped._vector.batch.spec
    assert env.metadata["render_fps"] == spec.tick_rate / spec.action_repeat
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # of what other tests have left to the garbage collector
        check_env(env.unwrapped)
        check_env(make(name, "random"), skip_render_check=True)
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape[1:] == (480, 3)
    many = gym.make_vec(environment_id(name), num_envs=3, vectorization_mode="vector_entry_point")
    assert many.reset(seed=0)[0].shape == (3, spec.n_obs)


def test_ids_are_there_once_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(gym.envs.registration, "registry", {})
    with pytest.raises(gym.error.Error):
        gym.make("dshq/Bandit-v0")
    register_environments()
    before = dict(gym.envs.registration.registry)
    register_environments()
    assert gym.envs.registration.registry == before and len(before) == len(drills)
    assert gym.make("dshq/Bandit-v0").reset(seed=0)[0].shape == (1,)


def test_the_default_is_the_match_by_the_rules():
    shaped = [k for k, term in enumerate(make("ball")._vector.batch.spec.terms) if term.kind == "potential"]
    for env in (make("ball")._vector.batch, make_vec("ball", 3).batch, make_parallel("ball").batch):
        assert (env.tiles["practice"] == 0).all() and (env.weights[shaped] == 0).all()
    asked = make_vec("ball", 3, practice=True, shaping=True).batch
    assert (asked.tiles["practice"] == 1).all() and (asked.weights[shaped] > 0).all()


def test_options_of_reset():
    env = make_vec("ball", 4)
    kick_off, _ = env.reset(seed=0)
    practised, _ = env.reset(seed=0, options={"practice": True})
    again, _ = env.reset(seed=0, options={"practice": False})
    assert np.array_equal(kick_off, again) and not np.array_equal(kick_off, practised)
    env.step(np.zeros(4, int))
    before = env.batch.state_words().copy()
    chosen = np.array([False, True, False, True])
    env.reset(options={"reset_mask": chosen})
    changed = (env.batch.state_words() != before).any(axis=1)[0, :4]
    assert np.array_equal(changed, chosen)
    both = make_vec("ball", 2, opponent="self")
    for wrong, words in [
        (lambda: env.reset(options={"practise": True}), "unknown option 'practise'"),
        (lambda: env.reset(options={"reset_mask": [1, 0]}), "reset_mask: expected bool of shape"),
        (lambda: both.reset(options={"reset_mask": np.array([True, False, False, False])}), "choose both or neither"),
        (lambda: make("ball").reset(options={"start": 1}), "unknown option 'start'"),
        (lambda: make("ball", autoreset="same_step"), "unknown option 'autoreset'"),
        (lambda: make("ball", render_mode="human"), "expected 'rgb_array' or None"),
        (lambda: make_vec("ball", render_width=5), "64 to 1920"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


@pytest.mark.parametrize("name", drills)
def test_observations_stay_inside_their_space(name):
    for who in ("random", *drills[name].baselines[:1]):
        for practice in (False, True):
            env = make_vec(name, 16, opponent="self" if drills[name].sides == 2 else None, practice=practice)
            low, high = env.single_observation_space.low.min(), env.single_observation_space.high.max()
            assert np.isfinite([low, high]).all()
            observed, _ = env.reset(seed=7)
            for _ in range(200):
                assert observed.min() >= low and observed.max() <= high
                observed, *_ = env.step(env.batch.scripted(who).ravel())


def test_a_drill_that_declares_nothing_is_unbounded(reference_rules):
    box = make(Walk).observation_space
    assert np.isneginf(box.low).all() and np.isposinf(box.high).all()


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("name", ["ball", "snake"])
def test_a_copy_continues_exactly(name, how):
    env = make(name, render_mode="rgb_array")
    env.reset(seed=5)
    plays(env, 20)
    env.render()
    other = how(env)
    assert plays(env) == plays(other)
    assert np.array_equal(env.render(), other.render())
    many = make_vec(name, 20, autoreset="same_step")
    many.reset(seed=2)
    twin = how(many)
    for k in range(40):
        actions = np.random.default_rng(k).integers(0, many.single_action_space.n, 20)
        assert np.array_equal(many.step(actions)[0], twin.step(actions)[0])


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_drills_of_ones_own_are_copied_too(how, reference_rules):
    assert how(make(Walk)).reset(seed=1)[0].shape == (1,)


def test_slow_compiling_says_so_in_one_line(monkeypatch, capsys, reference_rules):
    drill = compile_drill(Walk)
    game = type(drill).game
    monkeypatch.setattr(batch, "PATIENCE", 0.05)
    monkeypatch.setattr(type(drill), "game", lambda self, processes=1: (time.sleep(0.3), game(self))[1])
    make_vec(drill, 2)
    said = capsys.readouterr()
    assert said.out == "" and said.err.splitlines() == [
        "dshq: compiling the rules of Walk; this is slow only the first time on a machine"
    ]


def test_masks_as_sb3_contrib_asks_for_them():
    env = gym.make("dshq/Maze-v0")
    _, infos = env.reset(seed=3)
    masks = env.get_wrapper_attr("action_masks")()
    assert masks.dtype == bool and np.array_equal(masks, infos["action_mask"] != 0) and not masks.all()
    assert make_vec("snake", 5).action_masks().shape == (5, 5)
    assert make("ball").action_masks().all()


def test_pictures_move_and_rows_of_one_game_share_them():
    env = make_vec("ball", 2, opponent="self", render_mode="rgb_array", render_width=160)
    env.reset(seed=0)
    first = env.render()
    assert len(first) == 4 and np.array_equal(first[0], first[1])
    for _ in range(20):
        env.step(env.batch.scripted("chaser").ravel())
    assert not np.array_equal(first[0], env.render()[0])
    assert make("ball").render() is None
    alone = make_parallel("ball", render_mode="rgb_array")
    alone.reset(seed=0)
    assert alone.render().shape[2] == 3
