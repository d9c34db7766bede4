"""Gymnasium's environments from end to end: read, acted in, learned, saved, evaluated, and broken."""

import dataclasses
import json
import logging
import sys
import time

import numpy as np
import psutil
import pytest
from gymnasium import spaces

from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO, GymSamples
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.cli import main
from dshq_widget.contract import protocol
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment, EnvironmentSpec
from dshq_widget.gyms.evaluate import evaluate_environment
from dshq_widget.gyms.making import described, make
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy.action_spaces import Actions, GymError
from dshq_widget.policy.checkpoint import CheckpointError, load
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.goals import EnvironmentFailed
from dshq_widget.training.trainer import Trainer
from tests.harness.games.gym_play import PLAIN, QUICK, WORLDS, played
from tests.harness.games.policy_files import environment_file
from tests.harness.processes.faults import until

pytestmark = pytest.mark.usefixtures("learners_in_threads")

PATIENCE = 400.0


def finish(trainer: Trainer, enough) -> None:
    """Train until `enough()`, or until training ends by itself."""
    deadline = time.monotonic() + PATIENCE
    while trainer.status in ("starting", "training") and not enough():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s: {trainer.status_text}, {trainer.metrics}"
        time.sleep(0.05)
    trainer.stop()
    assert trainer.join(PATIENCE)


def test_an_environment_says_what_a_drill_would():
    spec = described("gym:CartPole-v1").spec
    assert (spec.n_obs, spec.n_actions, spec.sides, spec.target, spec.time_limit) == (4, 2, 1, 475, 500)
    assert spec.tick_rate == 50, "its own frame rate"
    said = json.loads(json.dumps(spec.to_json()))
    assert EnvironmentSpec.from_json(said) == spec, "it travels to the page and to processes"


def test_observations_are_flattened_by_gymnasium():
    easy, several = described(WORLDS + "Easy-v0"), described(WORLDS + "Several-v0")
    assert easy.spec.n_obs == 2 + 2 + 1, "one-hot, numbers, a bit"
    assert several.spec.n_obs == 4


@pytest.mark.parametrize(
    "name, says",
    [
        ("gym:CartPol-v1", "Did you mean: `CartPole`"),
        ("gym:Cartpole", "doesn't exist|cannot create"),
        ("gym:no_such_module:Mine-v0", "No module named 'no_such_module'"),
        ("gym:CartPole-v1+RecordVideo(video_folder='films')", "wanted a wrapper of observations, actions or rewards"),
        ("gym:Pendulum-v1+DiscretizeAction(bins=2000000000)", "wanted whole numbers up to 4,096"),
        ("gym:CartPole-v1" + 9 * "+DelayObservation(delay=4)", "wanted 8 wrappers at most, got 9"),
        ("gym:CartPole-v1+os.remove", "write a wrapper as its name, with plain values by keyword"),
        ("gym:CartPole-v1+FlattenObservation(1)", "write a wrapper as its name"),
        (WORLDS + "Words-v0", "its observations are texts alone .mission.: a policy reads numbers and pictures"),
        (WORLDS + "Untold-v0", "cannot train on .*: actions must be Discrete, .* wrap the environment"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_sentence(name, says, capsys):
    with pytest.raises(GymError, match=says):
        Trainer(name)
    assert main.main(["train", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_environment_with_the_name_of_a_drill_is_not_swapped():
    with Trainer("gym:CartPole-v1") as trainer:
        assert isinstance(trainer.drill, Environment)
        assert trainer.drill.rules_hash != Trainer("cartpole").drill.rules_hash


BOX = Actions.of(spaces.Box(np.float32([-2, 0]), np.float32([2, 10])))
FREE = Actions.of(spaces.Box(-np.inf, np.inf, (2,)))


@pytest.mark.parametrize("distribution", ["gaussian", "beta"])
def test_drawn_numbers_stay_within_the_bounds(distribution):
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(4000, BOX.outputs)).astype(np.float32) * 2
    told = BOX.to_environment(BOX.draw(outputs, distribution, rng), distribution)
    assert told.shape == (4000, 2) and told.dtype == np.float32
    assert (told >= [-2, 0]).all() and (told <= [2, 10]).all()
    assert told[:, 1].std() > 1, "the whole of the box is used"


def test_the_middle_of_the_outputs_is_the_middle_of_the_box():
    for distribution in ("gaussian", "beta"):
        drawn = BOX.draw(np.zeros((1, 4), np.float32), distribution, np.random.default_rng(0), greedy=True)
        assert np.allclose(BOX.to_environment(drawn, distribution), [[0, 5]])


def test_choices_are_drawn_as_often_as_their_softmax_says():
    actions = Actions.of(spaces.MultiDiscrete([2, 3]))
    outputs = np.tile(np.float32([0, 1, 0, 0, 2]), (20000, 1))
    drawn = actions.draw(outputs, "gaussian", np.random.default_rng(1))
    for k, logits in enumerate(([0, 1], [0, 0, 2])):
        share = np.exp(logits) / np.exp(logits).sum()
        assert np.allclose(np.bincount(drawn[:, k].astype(int)) / len(drawn), share, atol=0.015)
    assert actions.to_environment(drawn, "gaussian").shape == (20000, 2)


def test_actions_survive_json():
    assert "dtype" not in BOX.to_json(), "the hash of an environment's rules stays"
    with pytest.raises(GymError, match="dtype must be one of"):
        Actions.from_json({**BOX.to_json(), "dtype": "object"})
    for actions in (BOX, FREE, Actions.of(spaces.Discrete(4)), Actions.of(spaces.MultiBinary(3))):
        assert Actions.from_json(json.loads(json.dumps(actions.to_json()))) == actions
    with pytest.raises(GymError, match="damaged"):
        Actions.from_json({"kind": "box"})


def learner_of(actions: Actions, distribution: str = "gaussian", pixels: tuple[int, ...] = ()) -> GymPPO:
    n_obs = convolutions.features(pixels) if pixels else 3
    spec = PolicySpec((n_obs, 8, actions.outputs + 1), "tanh", pictures=(pixels,) if pixels else ())
    return GymPPO(spec, actions, distribution, seed=1)


@pytest.mark.parametrize("distribution, low, high", [("gaussian", -30, 30), ("beta", 1e-6, 1 - 1e-6)])
def test_densities_add_up_to_one(distribution, low, high):
    actions = Actions.of(spaces.Box(-1, 1, (1,)))
    grid = np.linspace(low, high, 200001, dtype=np.float64)
    outputs = np.tile(np.float32([0.4, -0.3]), (len(grid), 1))
    log_prob = learner_of(actions, distribution).log_prob(outputs, grid[:, None].astype(np.float32))
    assert np.trapezoid(np.exp(log_prob), grid) == pytest.approx(1, abs=1e-3)


def test_the_chance_of_several_choices_is_the_product():
    actions = Actions.of(spaces.MultiDiscrete([2, 3]))
    outputs = np.random.default_rng(0).normal(size=(1, 5)).astype(np.float32)
    every = np.float32([[a, b] for a in range(2) for b in range(3)])
    chances = np.exp(learner_of(actions).log_prob(np.repeat(outputs, 6, 0), every))
    assert chances.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("pixels", [(4, 84, 84), (2, 6, 8)])
def test_the_trunk_in_numpy_is_the_trunk_in_torch(pixels):
    learner = learner_of(Actions.of(spaces.Discrete(6)), pixels=pixels)
    pictures = np.random.default_rng(0).integers(0, 256, (3, *pixels), np.uint8)
    said, values = learner.look(pictures)
    environment = {"actions": learner.actions.to_json(), "pixels": list(pixels)}
    player = GymPolicy(learner.spec.layers, "tanh", learner.blob(), environment, "gaussian")
    outputs, value = player.forward(pictures)
    assert np.allclose(said, outputs, atol=1e-5) and np.allclose(values, value, atol=1e-4)
    assert player.act(pictures[0]).shape == ()
    with pytest.raises(ValueError, match="at least 5 pixels"):
        convolutions.features((1, 4, 84))


def test_a_picture_is_learned():
    """A contextual bandit on dark and light pictures: what pays becomes likely."""
    pixels, rng = (1, 36, 36), np.random.default_rng(0)
    learner = learner_of(Actions.of(spaces.Discrete(2)), pixels=pixels)
    hyper = Hyper(learning_rate=3e-3, epochs=2, minibatch_size=128)
    light = rng.integers(0, 2, (16, 16))
    pictures = np.broadcast_to((40 + 160 * light)[..., None, None, None], (16, 16, *pixels)).astype(np.uint8)
    for _ in range(40):
        outputs, values = learner.look(pictures.reshape(-1, *pixels))
        drawn = learner.actions.draw(outputs, "gaussian", rng)
        paid = (drawn[:, 0] == light.reshape(-1)).astype(np.float32)
        rows = {"log_prob": learner.log_prob(outputs, drawn), "value": values, "returns": paid}
        rows |= {"advantage": paid - values}
        units = {name: row.reshape(16, 16) for name, row in rows.items()}
        samples = GymSamples(obs=pictures, action=drawn.reshape(16, 16, 1), **units)
        learner.update(samples, np.arange(16), hyper)
    assert paid.mean() > 0.9


def test_rollouts_bootstrap_where_time_ends_an_episode():
    games, learner, config = played(WORLDS + "Several-v0", gamma=0.5, gae_lambda=1.0, **PLAIN)
    samples = games.next(learner, config, 0).samples
    games.close()
    value = learner.look(np.zeros((1, 4), np.float32))[1][0]
    rewards = (samples.action[:, :, 1] == 2).astype(np.float64)
    assert np.allclose(samples.returns[7], rewards[7] + 0.5 * value, atol=1e-5), "the eighth step is the last one"
    assert np.allclose(samples.returns[6], rewards[6] + 0.5 * samples.returns[7], atol=1e-5)


@pytest.mark.parametrize("scaled", [False, True])
def test_rewards_are_clipped_in_the_returns_deviations(scaled):
    how = {**PLAIN, "normalize_rewards": scaled}
    games, learner, config = played(WORLDS + "Several-v0", gamma=0.0, reward_clip=0.25, **how)
    if scaled:
        learner.normalizer.returns.numbers[:] = (0, 4, 1e9)
        learner.normalizer.restore(learner.normalizer.state())
    samples = games.next(learner, config, 0).samples
    games.close()
    paid = samples.action[:, :, 1] == 2
    assert np.allclose(samples.returns[paid], 0.5 if scaled else 0.25, atol=1e-3)
    assert np.allclose(samples.returns[~paid], 0)


def test_the_rollout_that_gives_the_returns_deviation_is_not_clipped():
    """Rewards would be clipped in their own unit, and a reward of 100 would have the deviation of one of 0.25."""
    how = {**PLAIN, "normalize_rewards": True}
    games, learner, config = played(WORLDS + "Several-v0", gamma=0.0, reward_clip=0.25, **how)
    paid = []
    for version in range(2):
        experience = games.next(learner, config, version)
        paid.append(experience.samples.returns[experience.samples.action[:, :, 1] == 2])
        learner.update(experience.samples, experience.units, Hyper(learning_rate=0.0))
        if version == 0:
            deviation = float(learner.normalizer.returns.deviation[0])
    games.close()
    assert np.allclose(paid[0], 1.0, atol=1e-3) and deviation > 0.25
    assert np.allclose(paid[1], 0.25 * deviation, atol=1e-3)


def test_environments_begin_otherwise_where_a_run_goes_on(monkeypatch):
    """A run that is stopped and started again would see the same episodes, and draw the same actions."""
    environment = described("gym:CartPole-v1")
    config = TrainConfig.from_values(QUICK)
    found = {}
    for version in (0, 0, 7, 8, 8):
        games = GymGames(environment, config, version=version)
        found.setdefault(version, []).append((games.obs.tobytes(), games.rng.bit_generator.state["state"]["state"]))
        games.close()
    assert all(one == two for one, two in (found[0], found[8])), "the same start is the same again"
    for k in range(2):
        assert len({found[version][0][k] for version in found}) == 3


def test_a_free_deviation_is_the_same_in_every_state():
    """Also after learning; it learns, and what else depends on the state still does."""
    spec, actions, rng = PolicySpec((3, 8, 5)), Actions.of(spaces.Box(-1, 1, (2,))), np.random.default_rng(0)
    learner = GymPPO(spec, actions, "gaussian", "free", seed=0)
    obs = rng.normal(size=(64, 3)).astype(np.float32)
    before = learner.look(obs)[0]
    drawn = actions.draw(before, "gaussian", rng)
    rows = {"log_prob": learner.log_prob(before, drawn), "value": np.zeros(64, np.float32)}
    rows |= {"advantage": (-np.abs(drawn).sum(1)).astype(np.float32), "returns": obs[:, 0].copy()}
    units = {name: row.reshape(4, 16) for name, row in rows.items()}
    samples = GymSamples(obs=obs.reshape(4, 16, 3).transpose(0, 2, 1).copy(), action=drawn.reshape(4, 16, 2), **units)
    learner.update(samples, np.arange(4), Hyper(minibatch_size=64, epochs=20))
    after = learner.look(obs)[0]
    assert np.ptp(after[:, 2:], axis=0).max() < 1e-6 and np.abs(after[0, 2:] - before[0, 2:]).min() > 0.01
    assert np.ptp(after[:, :2], axis=0).min() > 1e-3
    learner.load(spec.untrained(1))
    assert np.ptp(learner.look(obs)[0][:, 2:], axis=0).max() == 0


@pytest.mark.parametrize(("asked", "kept"), [(0, 0), pytest.param(150, 150, marks=pytest.mark.slow)])
def test_cartpole_is_learned_saved_and_evaluated(asked, kept, tmp_path, capsys):
    """Random play earns about 20; without the slow tests it is trained, and asked for nothing."""
    file = tmp_path / "bot.dshq"
    with Trainer("gym:CartPole-v1", seed=1) as trainer:
        untrained = trainer.latest_policy()
        trainer.start()
        finish(
            trainer,
            lambda: trainer.metrics.get("updates", 0) > 5 and trainer.metrics.get("evaluated_return", 0) > asked,
        )
        assert trainer.metrics["evaluated_return"] > asked
        assert trainer.metrics["agent_steps"] <= 60_000
        assert untrained.version == 0 and trainer.version == trainer.metrics["updates"] > 5
        assert trainer.save(file) == file
        version, weights = trainer.version, trainer.latest_policy().weights

    player = load_policy(file)
    assert isinstance(player, GymPolicy) and player.metadata["drill"] == "gym:CartPole-v1"
    assert np.array_equal(player.weights, weights)
    assert evaluate_environment(player, "gym:CartPole-v1", 20)["return_mean"] > kept
    few = evaluate_environment(load_policy(file), "gym:CartPole-v1", 5)
    assert main.main(["evaluate", str(file), "--matches", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["return_mean"] == few["return_mean"]
    assert few["return_std"] > 0 or few["return_mean"] == 500, "the same episodes, and not all of them whole"
    assert main.main(["evaluate", str(file), "--against", "random"]) == 2
    assert load(file).environment["wrappers"][0] == "FlattenObservation"

    with Trainer(file) as again:
        assert (again.drill.name, again.version) == ("gym:CartPole-v1", version)
        again.start(hidden_sizes=(64, 64))
        again.wait(updates=version + 1, progress=False)
        assert again.version > version
    with pytest.raises(CheckpointError, match="needs"):
        Trainer("gym:Acrobot-v1", resume=file)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["gaussian", "beta"])
def test_pendulum_swings_up(distribution):
    """Random play earns about -1200. gamma is that of Stable-Baselines3's zoo for this environment."""
    with Trainer("gym:Pendulum-v1", gamma=0.9, action_distribution=distribution) as trainer:
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("evaluated_return", -np.inf) > -600)
        assert trainer.metrics["evaluated_return"] > -600
        assert trainer.metrics["agent_steps"] <= 120_000


@pytest.mark.slow
def test_a_target_ends_training_by_itself():
    with Trainer(WORLDS + "Easy-v0", **QUICK, normalize_observations=False) as trainer:
        trainer.start(until_solved=True)
        finish(trainer, lambda: False)
        assert trainer.metrics["solved"] == 1 and trainer.metrics["evaluated_return"] >= 9.5
        assert trainer.status_text.startswith("solved")


@pytest.mark.parametrize(
    ("world", "said", "traced"),
    [
        ("Leaving", "Leaving-v0 failed in step: SystemExit: no licence", ""),
        ("Faulty", "Faulty-v0 failed in step: RuntimeError: the wheel fell off", 'RuntimeError("the wheel fell off")'),
        ("Nan", "returned an observation that is not finite", ""),
    ],
)
def test_an_environment_that_fails_is_named_with_its_reason_and_its_own_traceback(world, said, traced, caplog):
    with Trainer(f"{WORLDS}{world}-v0", **QUICK) as trainer, caplog.at_level(logging.WARNING):
        with pytest.raises(EnvironmentFailed, match=said):
            trainer.train_for(updates=1, progress=False)
        assert trainer.status == "error" and said in trainer.error
    assert traced in caplog.text


@pytest.mark.parametrize(
    ("world", "words"),
    [("Leaving", "step: SystemExit: no licence"), ("Faulty", "step: RuntimeError: the wheel fell off")],
)
def test_an_evaluation_names_what_failed(world, words, tmp_path):
    """A `sys.exit` in it ended `dshq evaluate` with its status, 0 included, and said nothing."""
    with Trainer(f"{WORLDS}{world}-v0", hidden_sizes=(8,)) as trainer:
        policy = load_policy(trainer.save(tmp_path / "bot.dshq"))
    with pytest.raises(GymError, match=f"{world}-v0 failed in {words}"):
        evaluate_environment(policy, f"{WORLDS}{world}-v0", 9)


@pytest.mark.parametrize("limit", ["", "+TimeLimit(max_episode_steps=1000000000)"])
def test_an_evaluation_ends_where_an_episode_does_not(limit, tmp_path, monkeypatch):
    """CliffWalking has no limit, so that a file with a policy that walks into a wall was evaluated for ever."""
    monkeypatch.setattr("dshq_widget.gyms.evaluate.MOST_STEPS", 500)
    name = f"gym:CliffWalking-v1{limit}"
    layers = (48, 1, 5)
    weights = np.zeros(protocol.blob_floats(layers), np.float32)
    weights[-5] = 50.0  # always up
    saved = dataclasses.replace(environment_file(name, layers), weights=weights)
    saved.environment["actions"]["start"] = 0
    with pytest.raises(GymError, match="wanted an episode that ends, got one of 500 steps"):
        evaluate(checkpoint.save(tmp_path / "bot.dshq", saved), matches=1)


@pytest.mark.slow
def test_a_module_in_the_working_directory_is_found_by_every_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = "from tests.harness.games.gym_worlds import Easy, gym\ngym.register('Beside-v0', Easy)\n"
    (tmp_path / "beside.py").write_text(module)
    with Trainer("gym:beside:Beside-v0", workers=1, **QUICK) as trainer:
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("updates", 0) > 0)
        assert trainer.metrics["updates"] > 0, trainer.error


@pytest.mark.slow
@pytest.mark.processes
def test_environments_in_processes_of_their_own_leave_none_behind():
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with Trainer(WORLDS + "Easy-v0", **QUICK, workers=1) as trainer:
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("updates", 0) >= 3)
        assert trainer.metrics["updates"] >= 3 and trainer.workers == 16
    until(lambda: {child.pid for child in psutil.Process().children(recursive=True)} <= before, "their end")


@pytest.mark.peers
def test_pictures_are_read_through_the_standard_wrappers():
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    environment = described(WORLDS + "Pictures-v0")
    assert environment.spec.pictures_read == ((4, 84, 84),)
    with Trainer(WORLDS + "Pictures-v0", rollout_length=4, epochs=1, hidden_sizes=(16,)) as trainer:
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("updates", 0) >= 3)
        assert trainer.metrics["updates"] >= 3


@pytest.mark.peers
def test_an_atari_game_is_read_and_learned_from(tmp_path):
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    with Trainer("gym:ALE/Pong-v5", rollout_length=4, epochs=1, hidden_sizes=(16,)) as trainer:
        spec = trainer.drill.spec
        assert (spec.pictures_read, spec.n_actions, spec.tick_rate) == (((4, 84, 84),), 6, 15)
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("updates", 0) >= 2)
        assert trainer.metrics["updates"] >= 2
        player = load_policy(trainer.save(tmp_path / "pong.dshq"))
    env = make("ALE/Pong-v5", render=True)
    obs, _ = env.reset(seed=0)
    assert env.action_space.contains(player.act(obs)) and env.render().shape == (210, 160, 3)
    env.close()


@pytest.mark.peers
def test_a_mujoco_robot_is_learned_from():
    pytest.importorskip("mujoco", reason="no mujoco here: pip install dshq-widget[mujoco]", exc_type=ImportError)
    with Trainer("gym:HalfCheetah-v5", rollout_length=32, epochs=2) as trainer:
        assert trainer.drill.spec.n_actions == 12
        trainer.start()
        finish(trainer, lambda: trainer.metrics.get("updates", 0) >= 2)
        assert trainer.metrics["updates"] >= 2


LATE = [("Late", "the wheel fell off"), pytest.param("Unpaid", "reward that is not finite", marks=pytest.mark.slow)]


@pytest.mark.parametrize(("world", "said"), LATE)
def test_an_environment_that_fails_after_an_update_ends_the_run(tmp_path, world, said, capsys, caplog):
    """It would fail again, for ever; the newest weights are kept."""
    flags = ["--num-envs", "16", "--rollout-length", "16", "--hidden-sizes", "16", "--epochs", "1", "--workers", "0"]
    out = tmp_path / "a.dshq"
    status = main.main(["train", f"{WORLDS}{world}-v0", "--updates", "500", *flags, "--out", str(out), "--quiet"])
    heard = capsys.readouterr().err
    assert status == 2 and said in heard and load(out).version > 0
    assert "Traceback" in caplog.text and "restarted" not in caplog.text
