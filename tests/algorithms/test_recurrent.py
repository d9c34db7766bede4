"""Networks with a memory: the layer itself, rollouts, learning, files, and what refuses them."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from dshq_widget import ConfigError, ExportError, Trainer, evaluate, load_policy, save_json, save_onnx
from dshq_widget.algorithms.algorithm import Refused
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.recurrent.games import RecurrentGames
from dshq_widget.algorithms.ppo.recurrent.gym import RecurrentGymGames, RecurrentGymPPO
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.recurrent.run import make_learner
from dshq_widget.classroom.upload_checks import admit
from dshq_widget.contract.layers import is_network, memory_of, without_memory
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.drills.lamp import GLOW, Lamp
from dshq_widget.drills.maze import Maze
from dshq_widget.gyms.making import described
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.evaluate import network, player_of
from dshq_widget.policy.gym_policy import RecurrentGymPolicy, gym_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.recurrent import RecurrentNetwork, RecurrentPolicy
from dshq_widget.widget import page_protocol
from dshq_widget.widget.drill_widget import DrillWidget
from tests.harness.processes.lockstep import hashes
from tests.harness.processes.lockstep_runs import LOCKSTEP, assert_same

LAMP = compile_drill(Lamp)
RECALL = "gym:tests.harness.games.gym_worlds:Recall-v0"
SPEC = PolicySpec((2, 6, -5, 4))
SMALL = {"num_envs": 32, "rollout_length": 12, "hidden_sizes": (8,), "memory": 4, "minibatch_size": 128, "epochs": 2}
PATIENCE = 300.0  # seconds


def random_weights(spec, seed=0):
    return np.random.default_rng(seed).normal(0, 0.6, spec.floats).astype(np.float32)


def played(config=None, drill=LAMP, spec=None, rollouts=1):
    """A learner, its games and their last rollout."""
    config = config or TrainConfig.from_values(SMALL)
    spec = spec or PolicySpec.for_config(drill.spec, config)
    learner = make_learner(spec, config)
    learner.load(random_weights(spec))
    games = RecurrentGames(drill, config, spec)
    for _ in range(rollouts):
        experience = games.next(learner, config, 0)
    return learner, games, experience


class TestLayer:
    def test_layers_say_that_there_is_one(self):
        assert memory_of((2, 6, -5, 4)) == 5 and without_memory((2, 6, -5, 4)) == (2, 6, 4)
        assert memory_of((28, 64, 64, 31)) == 0 and is_network((28, 64, 64, 31))
        assert SPEC.memory == 5 and SPEC.floats == 3 * 6 + (6 + 5 + 1) * 20 + 6 * 4
        for wrong in ((2, -5, 4), (2, -3, -3, -1, -2, -2, 6, -5, 4), (2, 6, -5, -5, 4), (2, 6, -5, 6, 4), (2, 6, -5)):
            assert not is_network(wrong), wrong

    def test_it_is_torchs_lstm(self):
        weights = random_weights(SPEC)
        (hidden, add), (matrix, bias), (head, head_bias) = (
            (torch.from_numpy(w.copy()), torch.from_numpy(b.copy())) for w, b in SPEC.split(weights)
        )
        lstm = torch.nn.LSTM(6, 5)
        with torch.no_grad():
            lstm.weight_ih_l0.copy_(matrix[:6].T)
            lstm.weight_hh_l0.copy_(matrix[6:].T)
            lstm.bias_ih_l0.copy_(bias)
            lstm.bias_hh_l0.zero_()
            obs = torch.randn(9, 7, 2)
            found, (h, c) = lstm(torch.tanh(obs @ hidden + add))
            expected = found @ head + head_bias
        ours, state = RecurrentNetwork(SPEC, weights), np.zeros((7, 10), np.float32)
        for t in range(9):
            logits, value, state = ours.step(obs[t].numpy(), state)
            assert np.allclose(np.c_[logits, value], expected[t].numpy(), atol=1e-5)
        assert np.allclose(state, torch.cat([h[0], c[0]], -1).numpy(), atol=1e-5)

    def test_initial_weights_of_a_memory_are_orthogonal(self):
        parts = PolicySpec((2, 16, -8, 4)).split(PolicySpec((2, 16, -8, 4)).untrained(0))
        matrix, bias = parts[1]
        assert not bias.any()
        for rows in (matrix[:16], matrix[16:]):
            assert np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-5)
        assert np.abs(parts[2][0][:, :3]).max() < 0.02, "all actions are about as likely at first"

    def test_a_policy_remembers_until_it_is_told_to_forget(self):
        policy = RecurrentPolicy(SPEC.layers, "tanh", random_weights(SPEC))
        lit, dark = np.array([[1, 0], [-1, 0]], np.float32), np.zeros((2, 2), np.float32)
        policy.forward(lit)
        after = policy.probabilities(dark)
        assert np.abs(after[0] - after[1]).max() > 1e-3, "the two rows saw different things"
        policy.forget(np.array([True, False]))
        fresh = RecurrentPolicy(SPEC.layers, "tanh", policy.weights).probabilities(dark[:1])
        assert np.allclose(policy.probabilities(dark)[0], fresh[0], atol=1e-6)
        policy.forget()
        assert np.allclose(policy.probabilities(dark)[1], fresh[0], atol=1e-6)
        assert policy.act(dark).shape == (2,)


class TestRollouts:
    @pytest.mark.parametrize("drill", [LAMP, compile_drill(Maze)], ids=lambda drill: drill.name)
    def test_states_go_on_and_are_empty_where_an_episode_begins(self, drill):
        """What the samples hold, computed once more game by game; masked drills, too."""
        spec = PolicySpec((drill.spec["n_obs"], 8, -4, drill.spec["n_actions"] + 1))
        learner, _, experience = played(TrainConfig.from_values(SMALL), drill, spec, rollouts=3)
        samples, ours = experience.samples, RecurrentNetwork(spec, learner.blob())
        length = samples.length
        assert length == 12 and len(experience.units) == 2 * length and experience.agent_steps == 32 * 12
        assert samples.begins.any() and samples.state.any()
        for tile, lane in [(0, 0), (0, 7), (1, 3), (1, 15)]:
            state = samples.state[tile, lane]
            for t in range(length):
                unit = tile * length + t
                state = np.zeros_like(state) if samples.begins[unit, lane] else state
                logits, value, state = ours.step(samples.obs[unit, :, lane], state)
                if drill.spec["masked"]:
                    bits = samples.mask[unit, :, lane][:, None] >> np.arange(32, dtype=np.uint32) & 1
                    logits = np.where(bits.ravel()[: spec.n_actions] != 0, logits, -1e9)
                log_probs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
                assert np.isclose(value, samples.value[unit, lane], atol=1e-5)
                assert np.isclose(log_probs[samples.action[unit, lane]], samples.log_prob[unit, lane], atol=1e-5)

    def test_an_episode_of_the_lamp_begins_where_the_one_before_ends(self):
        _, _, experience = played(rollouts=3)
        samples = experience.samples
        lit = samples.obs[:, 0].reshape(2, 12, 16) != 0
        begins = samples.begins.reshape(2, 12, 16)[:, :-GLOW] > 0
        assert begins.any() and lit[:, :-GLOW][begins].all()
        assert not (samples.obs[:, 1].reshape(2, 12, 16)[:, :-GLOW][begins]).any()

    def test_the_learner_rebuilds_what_was_played(self):
        """The divergence from the policy that played is nothing before the first step, ends within sequences or not."""
        learner, _, experience = played(rollouts=3)
        _, parts = learner.gradient(experience.samples, experience.units, Hyper())
        assert parts["approx_kl"] < 1e-9 and parts["clip_fraction"] == 0


def loss_in_numpy(spec, weights, samples, hyper):
    """PPO's loss over whole sequences in float64, written down once more from the formulas."""
    (hidden, add), (matrix, bias), (head, head_bias) = spec.split(weights)
    units, length, n = spec.memory, samples.length, len(samples.state)
    advantage = samples.advantage.astype(np.float64)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    h, c = (part.astype(np.float64) for part in np.split(samples.state, 2, -1))
    policy, value_loss, entropy = [], [], []
    at = np.arange(n) * length
    for t in range(length):
        stays = 1 - samples.begins[at + t][..., None]
        h, c = h * stays, c * stays
        x = np.tanh(samples.obs[at + t].transpose(0, 2, 1) @ hidden + add)
        gates = np.concatenate([x, h], -1) @ matrix + bias
        i, f, g, o = (gates[..., k * units : (k + 1) * units] for k in range(4))
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        out = h @ head + head_bias
        log_probs = out[..., :-1] - np.log(np.exp(out[..., :-1]).sum(-1, keepdims=True))
        chosen = np.take_along_axis(log_probs, samples.action[at + t][..., None], -1)[..., 0]
        ratio, gain = np.exp(chosen - samples.log_prob[at + t]), advantage[at + t]
        clipped = np.clip(ratio, 1 - hyper.clip_epsilon, 1 + hyper.clip_epsilon)
        policy.append(-np.minimum(ratio * gain, clipped * gain))
        value_loss.append((out[..., -1] - samples.returns[at + t]) ** 2)
        entropy.append(-(np.exp(log_probs) * log_probs).sum(-1))
    parts = np.mean(policy), np.mean(value_loss), np.mean(entropy)
    return parts[0] + hyper.value_coef * parts[1] - hyper.entropy_coef * parts[2]


class TestLearning:
    def test_the_gradient_is_that_of_the_formulas(self):
        """Differences of the loss in float64 along single weights of every layer and along random directions."""
        learner, _, experience = played(spec=SPEC, rollouts=3)
        samples, hyper = experience.samples, Hyper(entropy_coef=0.05)
        assert samples.begins.any()
        slope, _ = learner.gradient(samples, experience.units, hyper)
        weights, rng = learner.blob().astype(np.float64), np.random.default_rng(1)
        directions = [np.eye(SPEC.floats)[k] for k in rng.choice(SPEC.floats, 60, replace=False)]
        directions += [rng.standard_normal(SPEC.floats) / 10 for _ in range(5)]
        for direction in directions:
            ahead, behind = (loss_in_numpy(SPEC, weights + s * 1e-5 * direction, samples, hyper) for s in (1, -1))
            assert (ahead - behind) / 2e-5 == pytest.approx(float(slope @ direction), rel=2e-3, abs=2e-5)

    def test_minibatches_are_whole_sequences_each_once_an_epoch(self):
        learner, _, experience = played(TrainConfig.from_values({**SMALL, "num_envs": 96}))
        samples, hyper = experience.samples, Hyper(minibatch_size=2 * 16 * 12, epochs=2)
        order, importance, bounds = learner._drawn(samples, experience.units, hyper)
        assert list(bounds) == [0, 24, 48, 72, 96, 120, 144] and (importance == 1).all()
        for epoch in order.reshape(2, 6, 12):
            assert (np.diff(epoch, axis=1) == 1).all() and not (epoch[:, 0] % 12).any()
            assert set(epoch[:, 0]) == {12 * k for k in range(6)}

    @pytest.mark.parametrize("normal", [{}, {"normalize_observations": True, "normalize_rewards": True}])
    def test_it_goes_on_to_the_bit(self, normal):
        """From what a file holds: learner, games, memories and generators."""
        config = TrainConfig.from_values({**SMALL, **normal})
        learner, games, experience = played(config, rollouts=2)
        hyper = Hyper.at(config, 0)
        learner.update(experience.samples, experience.units, hyper)
        blob, state = learner.blob(), {**learner.state(), **games.state()}
        assert all(checkpoint.TENSOR_NAMES.fullmatch(name) for name in state)
        other = make_learner(SPEC.for_config(LAMP.spec, config), config.replace({"seed": 9}))
        other_games = RecurrentGames(LAMP, config.replace({"seed": 9}), other.spec)
        other.load(blob)
        other.restore(state)
        other_games.restore(state)
        for _ in range(2):
            for each, source in ((learner, games), (other, other_games)):
                found = source.next(each, config, 0)
                each.update(found.samples, found.units, hyper)
        assert not np.array_equal(learner.blob(), blob)
        assert np.array_equal(other.blob(), learner.blob())
        assert np.array_equal(other_games.state_of_memories, games.state_of_memories)

    def test_a_learned_function_outlives_its_normalisers(self):
        config = TrainConfig.from_values({**SMALL, "normalize_observations": True, "normalize_rewards": True})
        learner, _, experience = played(config)
        before = learner.blob()
        for _ in range(2):
            learner.update(experience.samples, experience.units, dataclasses.replace(Hyper(), learning_rate=0.0))
        assert np.allclose(learner.blob(), before, atol=1e-4)

    def test_weights_that_are_no_numbers_empty_the_memories(self):
        learner, games, experience = played()
        games.state_of_memories[:] = np.nan
        games.mend(experience.samples)
        assert not games.state_of_memories.any()
        assert isinstance(learner, RecurrentPPO)

    def test_practice_begins_at_scenes(self):
        config = TrainConfig.from_values({**SMALL, "scene_share": 0.9})
        learner, games, _ = played(config)
        scene = games.tiles.view(np.uint32).reshape(2, -1, 16)[0, :, 0].copy()
        fields = list(games.tiles.dtype.names)
        assert fields[-3:] == ["side", "gong", "answer"]
        scene[-3:] = (1, 11, 0)
        games.practise(np.stack([scene]))
        for _ in range(4):
            games.next(learner, config, 0)
        assert (games.tiles["gong"] == 11).mean() > 0.3, "by chance one in eleven"


@pytest.mark.slow
def test_a_new_process_goes_on_to_the_bit(tmp_path):
    """Schedules, optimiser, minibatch order, games, memories and their generators: all of it is in the file."""
    with Trainer("lamp", seed=3, **{**SMALL, "pace": 32 * 12 * 35}) as trainer:
        trainer.start()
        assert trainer.wait(updates=12, progress=False)
        path = trainer.save(tmp_path / "half.dshq")
        saved = checkpoint.load(path)
        last = saved.version + 30
        ahead = hashes(trainer, last, saved.version)
    answer = subprocess.run([sys.executable, LOCKSTEP, path, str(last)], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    after = {int(version): digest for version, digest in json.loads(answer.stdout).items()}
    assert_same(ahead, after, saved.version + 15)


@pytest.mark.slow
def test_the_lamp_is_learned_with_a_memory_alone(tmp_path):
    """The command's way: settings, processes, evaluation, the file, and going on from it."""
    with Trainer("lamp") as trainer:
        assert trainer.config.memory == 32 and trainer.config.deterministic is False
        trainer.train_for(seconds=PATIENCE, until_solved=True, progress=False)
        assert trainer.error == "" and trainer.metrics["solved"] == 1
        path = trainer.save(tmp_path / "lamp.dshq")
    found = evaluate(path, matches=300)
    assert found["return_mean"] > 0.85 and found["return_mean_random"] < 0.65
    policy = load_policy(path)
    assert isinstance(policy, RecurrentPolicy) and policy.spec.layers == (2, 32, -32, 4)
    with Trainer("lamp", resume=path) as trainer:
        steps = trainer.metrics["agent_steps"]
        trainer.train_for(updates=3, progress=False)
        assert trainer.error == "" and trainer.metrics["agent_steps"] == steps + 3 * 128 * 32
    with Trainer("lamp", memory=0) as trainer:
        trainer.train_for(agent_steps=200_000, progress=False)
        assert trainer.error == "" and trainer.metrics["return_mean"] < 0.7
        blind = trainer.save(tmp_path / "blind.dshq")
    assert evaluate(blind, matches=300)["return_mean"] < 0.65


class TestEnvironments:
    @pytest.mark.parametrize("world", ["Recall", "Several"])
    def test_an_environments_sequences_are_rebuilt(self, world):
        """The divergence from the policy that played is nothing before the first step."""
        environment = described(f"gym:tests.harness.games.gym_worlds:{world}-v0")
        values = {**environment.spec["training"], **SMALL, "normalize_observations": False}
        config = TrainConfig.from_values(values)
        spec = PolicySpec.for_config(environment.spec, config)
        learner = RecurrentGymPPO(spec, environment.actions, "gaussian", seed=0)
        learner.load(random_weights(spec))
        games = RecurrentGymGames(environment, config)
        for _ in range(2):
            experience = games.next(learner, config, 0)
        games.close()
        assert experience.agent_steps == 32 * 12 and experience.samples.length == 12
        assert experience.samples.begins.any() and experience.samples.state.any()
        _, parts = learner.gradient(experience.samples, experience.units, Hyper())
        assert parts["approx_kl"] < 1e-8 and parts["clip_fraction"] == 0
        before = learner.blob()
        learner.update(experience.samples, experience.units, Hyper(minibatch_size=128))
        assert not np.array_equal(learner.blob(), before)

    def test_pictures_are_remembered_as_numpy_has_it(self):
        pixels = (4, 36, 36)
        actions = Actions("choice", (3,))
        spec = PolicySpec((convolutions.features(pixels), 16, -5, 4), "relu", pixels=pixels)
        learner = RecurrentGymPPO(spec, actions, "gaussian", seed=0)
        learner.load(spec.untrained(0) + np.random.default_rng(1).normal(0, 0.01, spec.floats).astype(np.float32))
        described_by = {"actions": actions.to_json(), "pixels": list(pixels)}
        policy = gym_policy(spec.layers, "relu", learner.blob(), described_by, "gaussian")
        state, rng = np.zeros((3, 10), np.float32), np.random.default_rng(2)
        for _ in range(3):
            pictures = rng.integers(0, 256, (3, *pixels), np.uint8)
            outputs, values, state = learner.recall(pictures, state)
            expected, expected_values = policy.forward(pictures)
            assert np.allclose(outputs, expected, atol=1e-5) and np.allclose(values, expected_values, atol=1e-4)
        assert np.abs(state).max() > 1e-4 and np.allclose(state, policy.state, atol=1e-5)

    def test_a_policy_of_an_environment_remembers(self):
        environment = described(RECALL)
        spec = PolicySpec.for_drill(environment.spec, (8,), memory=4)
        given = (spec.layers, "tanh", random_weights(spec), environment.spec["environment"], "gaussian")
        policy = gym_policy(*given)
        assert isinstance(policy, RecurrentGymPolicy)
        dark = np.zeros((1, 2), np.float32)
        first = policy.forward(dark)[0]
        assert not np.allclose(policy.forward(dark)[0], first)
        policy.forget()
        assert np.allclose(policy.forward(dark)[0], first)
        assert not isinstance(gym_policy((2, 8, 3), "tanh", np.zeros(51, np.float32), *given[3:]), RecurrentGymPolicy)

    @pytest.mark.slow
    def test_recall_is_learned_with_a_memory_alone(self, tmp_path):
        quick = {"memory": 16, "hidden_sizes": (16,), "num_envs": 64, "rollout_length": 20, "workers": 0}
        quick |= {"learning_rate": 3e-3, "minibatch_size": 320, "epochs": 4}
        with Trainer(RECALL, **quick) as trainer:
            trainer.train_for(seconds=PATIENCE, until_solved=True, progress=False)
            assert trainer.error == "" and trainer.metrics["solved"] == 1
            path = trainer.save(tmp_path / "recall.dshq")
        assert evaluate(path, matches=100)["return_mean"] > 0.85
        with Trainer(RECALL, resume=path) as trainer:
            trainer.train_for(updates=2, progress=False)
            assert trainer.error == "" and trainer.config.memory == 16
        with Trainer(RECALL, **{**quick, "memory": 0}) as trainer:
            trainer.train_for(agent_steps=60_000, progress=False)
            assert trainer.error == "" and trainer.metrics["evaluated_return"] < 0.75


class TestRefusals:
    @pytest.mark.parametrize(
        "drill, more, why",
        [
            ("ball", {}, "drills of two sides have none so far"),
            ("maze", {}, "other layers than dense ones"),
            ("bandit", {"separate_value_net": True}, "separate_value_net must be false"),
        ],
    )
    def test_settings(self, drill, more, why):
        with pytest.raises(ConfigError, match=f"memory must be 0 here, got 8: .*{why}"):
            Trainer(drill, memory=8, **more)

    def test_algorithms(self):
        with pytest.raises(Refused, match="spo has no networks with memory: leave out --memory"):
            Trainer("bandit", algorithm="spo", memory=8)
        with Trainer("lamp", algorithm="spo") as trainer:
            assert trainer.config.memory == 0, "the drill's own setting is for algorithms that have one"

    def test_shapes(self):
        with pytest.raises(ValueError, match="share one memory"):
            PolicySpec((2, 6, -4, 4), separate=True)
        with pytest.raises(ValueError, match="set memory to 0"):
            PolicySpec.for_drill(compile_drill(Maze).spec, (32,), memory=8)
        with pytest.raises(ValueError, match="plays drills of one side only"):
            network(SPEC.layers, "tanh", random_weights(SPEC))
        assert isinstance(player_of(SPEC.layers, "tanh", random_weights(SPEC)), RecurrentNetwork)

    def test_the_page_keeps_what_is_remembered_and_does_not_train_it(self):
        kept = {"state": b"12", "tick": 3, "memory": memoryview(b"3456")}
        assert page_protocol.snapshot(kept) == {"state": b"12", "tick": 3, "memory": b"3456"}
        assert "memory" not in page_protocol.snapshot({"state": b"12"})
        for wrong in ("text", b"0" * 5000, None):
            with pytest.raises(ValueError, match="a memory of at most 4096 bytes, or none"):
                page_protocol.snapshot({"state": b"12", "memory": wrong})
        with pytest.raises(ValueError, match="a page trains networks without a memory: set memory to 0"):
            DrillWidget("lamp", device="page")

    def test_files(self, tmp_path):
        config = of_drill(LAMP.spec)
        spec = PolicySpec.for_config(LAMP.spec, config)
        weights = spec.untrained(0)
        saved = checkpoint.Checkpoint(
            "lamp", LAMP.rules_hash, spec.layers, "tanh", weights, config=config.to_json(), version=1
        )
        path = checkpoint.save(tmp_path / "lamp.dshq", saved)
        assert checkpoint.load(path).memory == 32
        policy = load_policy(path)
        for save in (save_onnx, save_json):
            with pytest.raises(ExportError, match="a network with a memory cannot be written as"):
                save(policy, tmp_path / "file")
        with pytest.raises(ValueError, match="a network with a memory cannot search"):
            evaluate(path, matches=4, search="4,2")
        assert evaluate(path, matches=40)["return_mean"] <= 1
        with Trainer("lamp", resume=path, memory=32) as trainer:
            assert trainer.config.memory == 32 and trainer.latest_policy().layers == (2, 32, -32, 4)
        ball = compile_drill(Ball)
        shape = PolicySpec((ball.spec["n_obs"], 8, -4, ball.spec["n_actions"] + 1))
        other = dataclasses.replace(
            saved, drill="ball", rules_hash=ball.rules_hash, layers=shape.layers, weights=shape.untrained(0)
        )
        with pytest.raises(checkpoint.CheckpointError, match="the file's network has a memory"):
            admit(checkpoint.encode(other))
