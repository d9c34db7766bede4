"""Scenes arranged by hand: what is taken for one, practice that begins there, and how often side 0 wins from there."""

import numpy as np
import pytest

from dshq_kernels.network.mlp import pack
from dshq_kernels.play.loops import KEPT_WORDS
from dshq_kernels.play.rollout import Player, Rollouts, Samples, opponent_kind, play_matches
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.scenes.arranged import MOST_SCENES, STATE_KEY, Scenes, parse, places
from dshq_widget.learning.scenes.evaluation import SceneEvaluation
from dshq_widget.learning.worker import make_rollouts, unpack
from dshq_widget.policy import checkpoint, network
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from tests.harness.browser.recorded_widget import bundle, make, until
from tests.harness.games.ball_scenes import BALL, OPEN_GOAL, OWN_GOAL, SPEC, state

pytestmark = pytest.mark.usefixtures("learners_in_threads")

__all__ = ["bundle", "make"]

SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "pace": 40_000.0}


def small_rollouts(seed: int = 0) -> tuple[Rollouts, Samples, np.ndarray]:
    config = TrainConfig.from_values({"num_envs": 64, "rollout_length": 64, "hidden_sizes": (16,)})
    rollouts = make_rollouts(BALL, config, 64, seed, 1)
    layers = PolicySpec.for_config(SPEC, config).layers
    params = pack(rollouts.plan, network.PolicySpec(tuple(layers)).untrained(0))
    return rollouts, Samples.new(rollouts.units, SPEC.n_obs), params


def played(rollouts: Rollouts, samples: Samples, params: np.ndarray, times: int = 1) -> np.ndarray:
    stats = rollouts.new_stats()
    for _ in range(times):
        rollouts.play(params, samples, stats, gamma=0.99, gae_lambda=0.95)
        rollouts.advance()
    return stats


def test_a_scene_is_a_state_without_generator_and_clock():
    scene = parse(SPEC, state(rng_key=7, rng_count=5, practice=1, ticks=90, ball_px=1.5))
    assert scene.dtype == np.uint32 and scene.shape == (SPEC.words,)
    assert not scene[:4].any()
    assert places(SPEC, scene)[0][0] == 1.5
    assert np.array_equal(scene, parse(SPEC, state(rng_key=8, ball_px=1.5)))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"", "bytes, got 0"),
        (state() + b"\0\0\0\0", "bytes, got"),
        (state(ball_px=np.nan), "finite"),
        (state(p_vx_1=np.inf), "finite"),
        (state(ball_px=40.0), "outside the world"),
        (state(p_py_0=-3.5), "outside the world"),
    ],
)
def test_what_is_no_scene_is_refused(bad, why):
    scenes = Scenes(SPEC)
    with pytest.raises(ValueError, match=why):
        scenes.add(bad)
    assert scenes.rows() == []


def test_any_other_bytes_are_a_scene_or_an_error_and_never_harm():
    rng = np.random.default_rng(0)
    good = np.frombuffer(state(), "<u4")
    for _ in range(300):
        words = good.copy()
        words[rng.integers(0, len(words), 3)] = rng.integers(0, 1 << 32, 3)
        try:
            scene = parse(SPEC, words.tobytes())
        except ValueError:
            continue
        tile = BALL.game().new(1)
        tile.view(np.uint32).reshape(-1, 16)[KEPT_WORDS:] = scene[KEPT_WORDS:, None]
        play_matches(BALL.game(), SPEC, Player(0), Player(-2), 1, seed=0, scene=scene)


def test_the_list_is_short_and_keeps_the_first_measurement():
    scenes = Scenes(SPEC)
    keys = [scenes.add(state(ball_px=0.1 * k)) for k in range(MOST_SCENES)]
    assert scenes.add(state(ball_px=0.0)) == keys[0] and len(set(keys)) == MOST_SCENES
    with pytest.raises(ValueError, match="remove one first"):
        scenes.add(state(ball_px=2.0))
    scenes.measured([{"key": keys[1], "share": 0.1, "version": 4}, {"key": "gone", "share": 1, "version": 4}])
    scenes.measured([{"key": keys[1], "share": 0.6, "version": 9}])
    row = scenes.rows()[1]
    assert row["before"] == {"share": 0.1, "version": 4} and row["now"] == {"share": 0.6, "version": 9}
    assert scenes.rows()[0]["before"] is None
    scenes.remove(keys[1])
    with pytest.raises(ValueError, match="no scene"):
        scenes.remove(keys[1])
    assert keys[1] not in [row["key"] for row in scenes.rows()]
    assert np.array_equal(unpack(scenes.packed(), SPEC.words)[1], parse(SPEC, state(ball_px=0.1 * 2)))
    scenes.clear()
    assert scenes.rows() == [] and scenes.put_into({STATE_KEY: np.zeros(1)}) == {}


def test_without_scenes_practice_is_what_it_was():
    (plain, samples, params), (other, others, _) = small_rollouts(), small_rollouts()
    other.scene_share = 0.9
    assert np.array_equal(played(plain, samples, params, 4), played(other, others, params, 4))
    assert np.array_equal(plain.tiles, other.tiles) and np.array_equal(samples.obs, others.obs)


def test_a_share_of_the_games_begins_as_a_scene():
    rollouts, samples, params = small_rollouts()
    before = played(rollouts, samples, params, 8)
    rollouts.practise(np.stack([parse(SPEC, OPEN_GOAL)]))
    rollouts.scene_share = 0.9
    keys = rollouts.tiles["rng_key"].copy()
    after = played(rollouts, samples, params, 8)
    assert after[1] > 5 * max(before[1], 20)  # wins of side 0: the scene is a goal within a few decisions
    assert after[2] < after[1] / 5
    assert np.array_equal(rollouts.tiles["rng_key"], keys) and (rollouts.tiles["practice"] == 1).all()
    share = after[1] / after[0]
    assert 0.85 < share <= 1.0
    again, more, _ = small_rollouts()
    played(again, more, params, 8)
    again.practise(np.stack([parse(SPEC, OPEN_GOAL)]))
    again.scene_share = 0.9
    assert np.array_equal(played(again, more, params, 8), after)  # drawn from the seed, not from chance


def test_every_scene_is_as_likely_as_the_others():
    rollouts, samples, params = small_rollouts()
    rollouts.practise(np.stack([parse(SPEC, OPEN_GOAL), parse(SPEC, OWN_GOAL)]))
    rollouts.scene_share = 0.9
    stats = played(rollouts, samples, params, 12)
    assert abs(stats[1] / (stats[1] + stats[2]) - 0.5) < 0.1


def test_scenes_of_another_drill_are_refused():
    rollouts, *_ = small_rollouts()
    with pytest.raises(ValueError, match="words each"):
        rollouts.practise(np.zeros((1, 3), np.uint32))


def test_matches_from_a_scene_keep_their_sides():
    chaser = Player(opponent_kind("chaser", SPEC))
    idle = Player(opponent_kind("idle", SPEC))
    won = play_matches(BALL.game(), SPEC, idle, chaser, 40, seed=1, scene=parse(SPEC, OPEN_GOAL))
    lost = play_matches(BALL.game(), SPEC, idle, chaser, 40, seed=1, scene=parse(SPEC, OWN_GOAL))
    assert (won.result == 1).all() and (lost.result == -1).all() and len(won.result) == 40
    assert won.length.max() < 40


def test_a_rehearsal_measures_each_scene():
    spec = PolicySpec.for_config(SPEC, TrainConfig.from_values({"hidden_sizes": (16,)}))
    rehearsal = SceneEvaluation(BALL, spec, 0)
    assert not rehearsal.due
    rehearsal.take(np.stack([parse(SPEC, OPEN_GOAL), parse(SPEC, OWN_GOAL)]))
    assert rehearsal.due
    rows = rehearsal.play(network.PolicySpec(tuple(spec.layers)).untrained(0), 5)
    assert [row["share"] for row in rows] == [1.0, 0.0] and {row["version"] for row in rows} == {5}
    assert not rehearsal.due


@pytest.mark.parametrize("workers", [0, 1])
def test_a_trainer_practises_scenes_and_a_file_carries_them(tmp_path, workers):
    with Trainer("ball", workers=workers, scene_share=0.9, **SMALL) as trainer:
        first = trainer.add_scene(OPEN_GOAL)
        assert trainer.scenes[0]["before"] is None
        trainer.start()
        assert trainer.wait(updates=3, progress=False)
        assert trainer.scenes[0]["before"] == {"share": 1.0, "version": trainer.scenes[0]["before"]["version"]}
        assert trainer.scenes[0]["before"]["version"] <= 1  # before anything was learned from it
        second = trainer.add_scene(OWN_GOAL)
        with trainer._run.changed:
            assert trainer._run.changed.wait_for(lambda: trainer.scenes[1]["now"] is not None, 60)
        assert trainer.scenes[1]["now"]["share"] == 0.0
        saved = checkpoint.load(trainer.save(tmp_path / "coached.dshq"))
        assert saved.state[STATE_KEY].shape == (2, SPEC.words)
        trainer.remove_scene(first)
        assert [row["key"] for row in trainer.scenes] == [second]
    with Trainer(tmp_path / "coached.dshq") as again:
        assert [row["key"] for row in again.scenes] == [first, second]
        again.clear_scenes()
        assert STATE_KEY not in checkpoint.load(again.save(tmp_path / "plain.dshq")).state


def test_a_file_whose_scenes_are_broken_is_refused(tmp_path):
    with Trainer("ball", **SMALL) as trainer:
        trainer.add_scene(OPEN_GOAL)
        good = checkpoint.load(trainer.save(tmp_path / "good.dshq"))
    for wrong in (np.zeros((1, 3), np.uint32), np.zeros(SPEC.words, np.uint32), np.zeros((1, 40), np.float32)):
        bad = checkpoint.Checkpoint(
            good.drill, good.rules_hash, good.layers, good.activation, good.weights, config=good.config,
            state={STATE_KEY: wrong},
        )  # fmt: skip
        with pytest.raises(checkpoint.CheckpointError, match="scenes"):
            Trainer(checkpoint.save(tmp_path / "bad.dshq", bad))


def test_a_page_adds_and_removes_scenes_and_harms_nothing(make):
    w = make(**SMALL)
    say = lambda **message: w.comm.say(message)  # noqa: E731
    say(type="DRILL_SCENE", state=OPEN_GOAL.hex(), rules_hash=BALL.rules_hash)
    [row] = until(lambda: w.scenes)
    assert row["places"][0] == [pytest.approx(3.3), 0.0]
    for bad in (None, "", "zz", "00" * 3, OPEN_GOAL.hex() + "00", OPEN_GOAL, ["00"], "0" * 5_000_000, "\0" * 280):
        say(type="DRILL_SCENE", state=bad, rules_hash=BALL.rules_hash)
    say(type="DRILL_SCENE", state=OWN_GOAL.hex(), rules_hash="of other rules")
    say(type="DRILL_SCENE")
    for key in (None, "", row["key"][:-1], {"a": 1}, 7):
        say(type="DROP_SCENE", key=key)
    say(type="DRILL_SCENE", state=OWN_GOAL.hex(), rules_hash=BALL.rules_hash)
    until(lambda: len(w.scenes) == 2)
    assert w.scenes[0] == row
    say(type="DROP_SCENE", key=row["key"])
    until(lambda: len(w.scenes) == 1)
    w.clear_scenes()
    assert w.scenes == []


def test_a_scene_of_the_match_that_is_shown(make):
    w = make(**SMALL)
    with pytest.raises(ValueError, match="show the widget first"):
        w.add_scene()
    w.comm.say({"state": {"snapshot": {"tick": 5, "state": OPEN_GOAL}}}, "update")
    until(lambda: w.snapshot)
    assert w.add_scene() == w.scenes[0]["key"] == w.add_scene(OPEN_GOAL)
