"""A step of many games in one compiled call, beside the same written with arrays over `Batch`."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.env.gym_envs import DrillVectorEnv
from dshq_widget.env.making import make

STEPS, GAMES = 40, 19  # a tile, and a part of one


class Reference:
    """What `DrillVectorEnv.step` says, step by step and array by array."""

    def __init__(self, env, same_step):
        self.batch, self.opponent, self.learning, self.same_step = env.batch, env.opponent, env.learning, same_step
        self.batch = Batch(env.batch.drill, GAMES, 5, practice=True)
        self.batch.weights, self.batch.gamma = env.batch.weights, env.batch.gamma
        self.finished = np.zeros(GAMES, bool)

    def rows(self, values):
        return np.ascontiguousarray(values[:, : self.learning]).reshape(GAMES * self.learning, *values.shape[2:])

    def step(self, actions):
        batch, rows = self.batch, actions.reshape(GAMES, self.learning)
        if self.learning < batch.sides:
            rows = np.concatenate([rows, batch.scripted(self.opponent)[:, 1:]], 1)
        resting = self.finished.copy()
        batch.reset(resting)
        kept = batch.snapshot(np.flatnonzero(resting))
        rewards, paid, terminated, truncated = batch.step(rows)
        batch.restore(np.flatnonzero(resting), kept)
        for array in (rewards, paid, terminated, truncated):
            array[resting] = 0
        done = terminated | truncated
        found = {"terms": paid, "winner": batch.winners(), "done": done}
        if self.same_step:
            found["last"] = self.rows(batch.observe())
            batch.reset(done)
        self.finished = np.zeros_like(done) if self.same_step else done
        found |= {"mask": self.rows(batch.mask()), "seen": self.rows(batch.observe()), "rewards": self.rows(rewards)}
        return found | {"terminated": terminated, "truncated": truncated}


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("name", drills)
def test_a_step_says_what_arrays_say(name, autoreset):
    """With the first script, with both sides, with random play; episodes begin late, so that some end by time."""
    for opponent in (None, "self", "random", "idle") if drills[name].sides == 2 else (None,):
        env = DrillVectorEnv(name, GAMES, opponent=opponent, autoreset=autoreset, practice=True, shaping=True, seed=5)
        assert env.metadata["autoreset_mode"] is AutoresetMode[autoreset.upper()]
        reference = Reference(env, autoreset == "same_step")
        for batch in (env.batch, reference.batch):
            batch.tiles["ticks"] = batch.spec.time_limit - batch.spec.action_repeat * np.arange(1, 17)
        rng, repeat = np.random.default_rng(3), env.learning
        ended = 0
        for _ in range(STEPS):
            allowed = env.action_masks()
            actions = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
            seen, rewards, terminated, truncated, infos = env.step(actions)
            found = reference.step(actions)
            ended += int(found["done"].sum())
            assert np.array_equal(seen, found["seen"]) and np.array_equal(rewards, found["rewards"])
            assert np.array_equal(terminated, np.repeat(found["terminated"], repeat))
            assert np.array_equal(truncated, np.repeat(found["truncated"], repeat))
            for k, term in enumerate(env.batch.spec.terms):
                assert np.array_equal(infos[f"reward_{term.name}"], reference.rows(found["terms"])[:, k])
            if env.batch.game.masked:
                assert infos["action_mask"].dtype == np.int8 and np.array_equal(infos["action_mask"], found["mask"])
            assert ("winner" in infos) == found["done"].any()
            if found["done"].any():
                assert np.array_equal(infos["winner"], np.repeat(found["winner"], repeat))
            if autoreset == "same_step" and found["done"].any():
                assert np.array_equal(infos["_final_obs"], np.repeat(found["done"], repeat))
                for row in np.flatnonzero(np.repeat(found["done"], repeat)):
                    assert np.array_equal(infos["final_obs"][row], found["last"][row])
            assert env.batch.tiles.tobytes() == reference.batch.tiles.tobytes()
        assert ended > 10


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ([0.7, 0, 1], r"whole numbers as actions, got float64 \[0\.7"),
        ([np.nan, 0, 1], "whole numbers as actions"),
        ([np.inf, 0, 1], "whole numbers as actions"),
        (["1", "0", "1"], "whole numbers as actions"),
        ([None, 0, 1], "whole numbers as actions"),
        ([2**70, 0, 1], "whole numbers as actions"),
        ([0, 1], "an action for each of 3 rows, of shape"),
        ([0, 2, 1], r"expected actions 0\.\.1, got some in 0\.\.2"),
    ],
)
def test_what_is_no_action_is_refused(actions, said):
    env = DrillVectorEnv("cartpole", 3)
    env.reset(seed=0)
    before = env.batch.tiles.tobytes()
    with pytest.raises(ValueError, match=said):
        env.step(actions)
    with pytest.raises(ValueError, match="whole numbers as actions"):
        make("cartpole").step(0.5)
    assert env.batch.tiles.tobytes() == before
    env.step(np.float32([0, 1, 1]))


def test_actions_of_sides_and_games_are_not_mixed_up():
    batch = Batch("ball", 3)
    for wrong in (np.zeros((2, 3), int), np.zeros(6, int)):
        with pytest.raises(ValueError, match=r"actions of shape \(3, 2\), got shape"):
            batch.step(wrong)
    batch.step([[0, 1]] * 3)


def test_a_game_without_a_seed_goes_on_with_its_own():
    env, same = DrillVectorEnv("cartpole", 3, seed=5), DrillVectorEnv("cartpole", 3, seed=5)
    env.reset(seed=[1, None, 3])
    same.reset()
    assert np.array_equal(env.batch.snapshot([1]), same.batch.snapshot([1]))
    same.reset(seed=[1, 2, 3])
    assert np.array_equal(env.batch.snapshot([0, 2]), same.batch.snapshot([0, 2]))
    assert make("cartpole").reset(seed=np.int64(3))[0].tolist() == make("cartpole").reset(seed=3)[0].tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": [1, 2]}, "seed must be a whole number or 3 of them"),
        ({"seed": [1, 2.5, 3]}, "seed must be a whole number, got 2.5"),
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"seed": True}, "seed must be a whole number"),
        ({"seed": "1"}, "seed must be a whole number or 3 of them"),
        ({"options": {"colour": "red"}}, "unknown option 'colour'"),
    ],
)
def test_a_refused_reset_changes_nothing(given, said):
    env = DrillVectorEnv("cartpole", 3)
    env.reset(seed=0)
    before = env.batch.tiles.tobytes()
    with pytest.raises(ValueError, match=said):
        env.reset(**{**given, "options": {"practice": True, **given.get("options", {})}})
    assert env.batch.tiles.tobytes() == before


def test_a_reset_without_a_seed_asks_no_game_for_one():
    """With thousands of games that took longer than the reset itself."""

    class Env(DrillVectorEnv):
        def _seeds(self, seed):
            raise AssertionError(seed)

    Env("cartpole", 3).reset(options={"reset_mask": np.array([True, False, False])})


def test_a_refused_option_leaves_the_generator_of_one_game():
    env, same = make("cartpole"), make("cartpole")
    for one in (env, same):
        one.reset(seed=0)
    with pytest.raises(ValueError, match="unknown option"):
        env.reset(seed=1, options={"colour": "red"})
    assert np.array_equal(env.np_random.random(3), same.np_random.random(3))


def test_numbers_of_games_are_whole():
    for wrong in (0, 2.5, "2", True, None):
        with pytest.raises(ValueError, match="num_envs must be a whole number of at least 1"):
            DrillVectorEnv("cartpole", wrong)
    assert DrillVectorEnv("cartpole", np.int64(2), seed=np.uint32(1)).num_envs == 2
