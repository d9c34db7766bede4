"""Networks with a memory: the layer itself, rollouts and learning, in drills and in environments."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from dshq_kernels.network import mlp
from dshq_kernels.network.layers import is_network, memory_of, without_memory
from dshq_kernels.network.mlp import ACTIVATIONS
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import Player, Rollouts, Samples, play_matches
from dshq_widget import Trainer, evaluate, load_policy
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.validation import Validator
from dshq_widget.algorithms.ppo.recurrent.gym import RecurrentGymGames, RecurrentGymPPO
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.recurrent.rows import by_sequence
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.gyms.making import described
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.opponents.slots import opponent_shares
from dshq_widget.policy import checkpoint, convolutions
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.gym_policy import RecurrentGymPolicy, gym_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.recurrent import RecurrentNetwork, RecurrentPolicy
from tests.harness.processes.lockstep_runs import assert_goes_on

pytestmark = pytest.mark.usefixtures("learners_in_threads")

LAMP = compiled("lamp")
RECALL = "gym:tests.harness.games.gym_worlds:Recall-v0"
SPEC = PolicySpec((2, 6, -5, 4))
SMALL = {"num_envs": 32, "rollout_length": 12, "hidden_sizes": (8,), "memory": 4, "minibatch_size": 128, "epochs": 2}
PATIENCE = 300.0  # seconds


def random_weights(spec, seed=0):
    return np.random.default_rng(seed).normal(0, 0.6, spec.floats).astype(np.float32)


def learner_of(spec, config, threads=1):
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    return FusedPPO(spec, seed=config.seed, threads=threads, normalizer=normalizer)


def played(config=None, drill=LAMP, spec=None, rollouts=1, policies=None):
    """A learner, its games and their last rollout's samples."""
    config = config or TrainConfig.from_values(SMALL)
    spec = spec or PolicySpec.for_config(drill.spec, config)
    learner = learner_of(spec, config)
    learner.load(random_weights(spec))
    shares = opponent_shares(config, drill.spec)
    options = {"games": config.num_envs, "length": config.rollout_length, "shares": shares, "seed": config.seed}
    games = Rollouts(drill.game(), drill.spec, spec.layers, ACTIVATIONS[spec.activation], **options)
    samples = Samples.new(games.units, *games.sizes)
    for _ in range(rollouts):
        given = {"gamma": config.gamma, "gae_lambda": config.gae_lambda, "policies": policies}
        games.play(learner.params, samples, games.new_stats(), **given)
        games.advance()
    return learner, games, samples


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


def check_rebuilt(drill, spec, learner, samples, units):
    """What the samples hold, computed once more game by game."""
    rows, ours = by_sequence(samples, units), RecurrentNetwork(spec, learner.blob())
    length = rows.length
    for tile, lane in itertools.product(range(len(rows.states)), (0, 7, 15)):
        state = rows.states[tile, lane]
        for t in range(length):
            unit = tile * length + t
            state = np.zeros_like(state) if rows.begins[unit, lane] else state
            logits, value, state = ours.step(rows.obs[unit, :, lane], state)
            if drill.spec.masked:
                bits = rows.mask[unit, :, lane][:, None] >> np.arange(32, dtype=np.uint32) & 1
                logits = np.where(bits.ravel()[: spec.n_actions] != 0, logits, -1e9)
            log_probs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
            assert np.isclose(value, rows.value[unit, lane], atol=1e-5)
            assert np.isclose(log_probs[rows.action[unit, lane]], rows.log_prob[unit, lane], atol=1e-5)


class TestRollouts:
    @pytest.mark.parametrize("drill", [LAMP, compiled("maze")], ids=lambda drill: drill.name)
    def test_states_go_on_and_are_empty_where_an_episode_begins(self, drill):
        """Masked drills, too; units that are no multiple of a block."""
        spec = PolicySpec((drill.spec.n_obs, 8, -5, drill.spec.n_actions + 1))
        learner, games, samples = played(TrainConfig.from_values(SMALL), drill, spec, rollouts=3)
        assert samples.length == 12 and len(games.trainable) == 2 * 12
        assert samples.begins.any() and samples.states.any()
        check_rebuilt(drill, spec, learner, samples, games.trainable)
        _, parts = learner.gradient(samples, games.trainable, Hyper())
        assert parts["approx_kl"] < 1e-9 and parts["clip_fraction"] == 0, "nothing before the first step"

    def test_both_sides_of_a_match_and_their_opponents_remember(self):
        """Self-play, two learning sides of different tiles, and one tile left over; earlier policies have memories."""
        drill = compiled("ball")
        shares = {"self": 0.3, "pool": 0.4, "chaser": 0.3}
        config = TrainConfig.from_values({**SMALL, "num_envs": 112, "opponents": shares, "rollout_length": 40})
        spec = PolicySpec.for_config(drill.spec, config)
        earlier = np.stack([mlp.pack(mlp.make_plan(spec.layers), random_weights(spec, k)) for k in range(1, 9)])
        learner, games, samples = played(config, drill, spec, rollouts=3, policies=earlier)
        assert len(games.trainable) < games.units, "a group of one tile"
        assert samples.begins.any() and games.memories[games.opponents <= POLICY].any(axis=(0, 2, 3)).all()
        scripted = games.memories[games.opponents >= 0]
        assert len(scripted) and not scripted.any(axis=(2, 3)).all(axis=1).any(), "scripts have none"
        check_rebuilt(drill, spec, learner, samples, games.trainable)
        _, parts = learner.gradient(samples, games.trainable, Hyper())
        assert parts["approx_kl"] < 1e-9

    def test_players_of_matches_remember(self):
        """Each action of a match is the likeliest of the network in numpy, which saw the match from its beginning."""
        drill = compiled("ball")
        game, spec = drill.game(), PolicySpec((drill.spec.n_obs, 8, -5, drill.spec.n_actions + 1))
        other = PolicySpec((drill.spec.n_obs, 8, 6, -3, drill.spec.n_actions + 1), "relu")
        players = [
            Player(POLICY, each.layers, ACTIVATIONS[each.activation], random_weights(each, k))
            for k, each in enumerate((spec, other))
        ]
        found = play_matches(game, drill.spec, *players, 35, seed=3, greedy=True, keep_actions=True)
        for k in (0, 17, 18, 34):
            tiles = game.new(1)
            words = tiles.view(np.uint32).reshape(1, -1, 16)
            words[0, :, 0] = found.start[k]
            nets = [RecurrentNetwork(each, player.blob) for each, player in zip((spec, other), players, strict=True)]
            states = [net.fresh() for net in nets]
            for t in range(found.length[k]):
                seen = game.observe(tiles)[0, :, :, 0]
                for who, net in enumerate(nets):
                    side = who ^ found.side[k]
                    logits, _, states[who] = net.step(seen[side], states[who])
                    taken = found.actions[k, t, side]
                    assert logits[taken] > logits.max() - 1e-4, (k, t, side)
                    tiles["action"][0, side, 0] = taken
                game.decide(tiles)
                game.tick(tiles, drill.spec.action_repeat)
            assert found.length[k] > 20


def loss_in_numpy(spec, weights, samples, hyper):
    """PPO's loss over whole sequences in float64, written down once more from the formulas."""
    (hidden, add), (matrix, bias), (head, head_bias) = spec.split(weights)
    units, length, n = spec.memory, samples.length, len(samples.states)
    advantage = samples.advantage.astype(np.float64)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    h, c = (part.astype(np.float64) for part in np.split(samples.states, 2, -1))
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
        learner, games, found = played(spec=SPEC, rollouts=3)
        samples, hyper = by_sequence(found, games.trainable), Hyper(entropy_coef=0.05)
        assert samples.begins.any()
        slope, _ = learner.gradient(found, games.trainable, hyper)
        weights, rng = learner.blob().astype(np.float64), np.random.default_rng(1)
        directions = [np.eye(SPEC.floats)[k] for k in rng.choice(SPEC.floats, 60, replace=False)]
        directions += [rng.standard_normal(SPEC.floats) / 10 for _ in range(5)]
        for direction in directions:
            ahead, behind = (loss_in_numpy(SPEC, weights + s * 1e-5 * direction, samples, hyper) for s in (1, -1))
            assert (ahead - behind) / 2e-5 == pytest.approx(float(slope @ direction), rel=2e-3, abs=2e-5)

    @pytest.mark.parametrize(
        ("layers", "activation", "length"),
        [((2, 6, -5, 4), "tanh", 12), ((2, 48, 40, -33, 4), "relu", 7), ((2, 32, -32, 4), "tanh", 1)],
    )
    @pytest.mark.parametrize("clip_value", [False, True])
    def test_it_learns_what_torch_learns(self, layers, activation, length, clip_value):
        """The gradient by autograd through time, and two epochs of minibatches, in one thread and in two."""
        config = TrainConfig.from_values({**SMALL, "num_envs": 96, "rollout_length": length})
        spec = PolicySpec(layers, activation)
        learner, games, samples = played(config, spec=spec, rollouts=20)
        rows, hyper = by_sequence(samples, games.trainable), Hyper(entropy_coef=0.05, clip_value=clip_value)
        reference = RecurrentPPO(spec, seed=0)
        reference.load(learner.blob())
        everything = np.arange(len(rows.action))
        expected, parts = reference.gradient(rows, everything, hyper)
        found, sums = learner.gradient(samples, games.trainable, hyper)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-6)
        assert sums["loss_value"] == pytest.approx(parts["loss_value"], rel=1e-4)
        hyper = dataclasses.replace(hyper, minibatch_size=2 * 16 * length, epochs=2, learning_rate=1e-3)
        reference.update(rows, everything, hyper)
        for threads in (1, 2):
            again = learner_of(spec, config, threads)
            again.load(learner.blob())
            again.update(samples, games.trainable, hyper)
            apart = np.abs(again.blob() - reference.blob())
            assert np.mean(apart < 2e-5) > 0.99 and apart.max() < 2e-3, "Adam divides by the size of a tiny slope"

    def test_samples_of_an_earlier_policy_are_corrected_as_torch_does(self):
        learner, games, samples = played()
        units = games.trainable
        before = samples.log_prob[units].copy()
        learner.correct_lag(samples, units)
        assert np.allclose(samples.log_prob[units], before, atol=1e-5), "the policy that played"
        weights = random_weights(learner.spec, 1)
        learner.load(weights)
        reference, rows = RecurrentPPO(learner.spec), by_sequence(samples, units)
        reference.load(weights)
        reference.correct_lag(rows, np.arange(len(rows.action)))
        learner.correct_lag(samples, units)
        assert np.abs(samples.log_prob[units] - before).max() > 0.01
        found = by_sequence(samples, units)
        assert np.allclose(found.log_prob, rows.log_prob, atol=1e-5)
        assert np.allclose(found.advantage, rows.advantage, atol=1e-5)

    @pytest.mark.parametrize("normal", [{}, {"normalize_observations": True, "normalize_rewards": True}])
    def test_validation_compares_whole_sequences(self, normal):
        learner, games, samples = played(TrainConfig.from_values({**SMALL, **normal, "num_envs": 96}))
        if normal:
            learner.update(samples, games.trainable, Hyper())  # measures
        finding = Validator(learner).compare(learner, samples, games.trainable, Hyper(minibatch_size=400), (7, 1))
        assert finding.first is None and 0 < finding.largest_relative < 1e-4

    def test_a_run_that_is_validated_goes_on(self):
        with Trainer("lamp", validate_every=1, workers=0, **SMALL) as trainer:
            trainer.train_for(updates=3, progress=False)
            assert trainer.metrics["validation_relative_error"] < 1e-3

    def test_minibatches_are_whole_sequences_each_once_an_epoch(self):
        learner, games, samples = played(TrainConfig.from_values({**SMALL, "num_envs": 96}))
        hyper = Hyper(minibatch_size=2 * 16 * 12, epochs=2)
        order, importance, bounds = learner._drawn(samples, games.trainable, hyper)
        assert list(bounds) == [0, 24, 48, 72, 96, 120, 144] and (importance == 1).all()
        for epoch in order.reshape(2, 6, 12):
            assert (np.diff(epoch, axis=1) == 2).all()
            assert {divmod(first, 24) for first in epoch[:, 0].tolist()} == set(itertools.product(range(3), (0, 1)))

    @pytest.mark.parametrize("normal", [{}, {"normalize_observations": True, "normalize_rewards": True}])
    def test_it_goes_on_to_the_bit(self, normal):
        """From what a file holds: learner, games, memories and generators."""
        config = TrainConfig.from_values({**SMALL, **normal})
        spec, hyper = PolicySpec.for_config(LAMP.spec, config), Hyper.at(config, 0)
        learner, games = learner_of(spec, config), OwnGames(LAMP, config, 1)
        learner.load(random_weights(spec))
        for _ in range(2):
            found = games.next(learner, config, 0)
        learner.update(found.samples, found.units, hyper)
        blob, state = learner.blob(), {**learner.state(), **games.state()}
        assert all(checkpoint.TENSOR_NAMES.fullmatch(name) for name in state)
        another = config.replace({"seed": 9})
        other, other_games = learner_of(spec, another), OwnGames(LAMP, another, 1)
        other_games.rollouts.seed = games.rollouts.seed
        other.load(blob)
        other.restore(state)
        other_games.restore(state)
        for _ in range(2):
            for each, source in ((learner, games), (other, other_games)):
                found = source.next(each, config, 0)
                each.update(found.samples, found.units, hyper)
        assert not np.array_equal(learner.blob(), blob)
        assert np.array_equal(other.blob(), learner.blob())
        assert np.array_equal(other_games.rollouts.memories, games.rollouts.memories)

    def test_a_learned_function_outlives_its_normalisers(self):
        config = TrainConfig.from_values({**SMALL, "normalize_observations": True, "normalize_rewards": True})
        learner, games, samples = played(config)
        before = learner.blob()
        for _ in range(2):
            learner.update(samples, games.trainable, dataclasses.replace(Hyper(), learning_rate=0.0))
        assert np.allclose(learner.blob(), before, atol=1e-4)

    def test_a_game_with_numbers_that_are_not_finite_begins_anew_with_an_empty_memory(self):
        _, games, samples = played()
        tile = games.groups[0, 0]
        samples.advantage[2, 5] = np.nan
        assert games.memories[tile, 0, :, 5].any()
        assert games.mend(samples) == 1
        assert not games.memories[tile, 0, :, 5].any()
        assert games.memories[tile, 0, :, 4].any(), "the others continue"


@pytest.mark.slow
def test_a_new_process_goes_on_to_the_bit(tmp_path):
    """Schedules, optimiser, minibatch order, games, memories and their generators: all of it is in the file."""
    with Trainer("lamp", seed=3, **{**SMALL, "pace": 32 * 12 * 35}) as trainer:
        assert_goes_on(trainer, tmp_path / "half.dshq")


@pytest.mark.slow
def test_the_lamp_is_learned_with_a_memory_alone(tmp_path):
    """The command's way: settings, processes, evaluation, the file, and continuing from it."""
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
        values = {**environment.spec.training, **SMALL, "normalize_observations": False}
        config = TrainConfig.from_values(values)
        spec = PolicySpec.for_config(environment.spec, config)
        learner = RecurrentGymPPO(spec, environment.actions, "gaussian", seed=0)
        learner.load(random_weights(spec))
        games = RecurrentGymGames(environment, config)
        for _ in range(2):
            experience = games.next(learner, config, 0)
        games.close()
        assert experience.agent_steps == 32 * 12 and experience.samples.length == 12
        assert experience.samples.begins.any() and experience.samples.states.any()
        _, parts = learner.gradient(experience.samples, experience.units, Hyper())
        assert parts["approx_kl"] < 1e-8 and parts["clip_fraction"] == 0
        before = learner.blob()
        learner.update(experience.samples, experience.units, Hyper(minibatch_size=128))
        assert not np.array_equal(learner.blob(), before)

    def test_pictures_are_remembered_as_numpy_has_it(self):
        pixels = (4, 36, 36)
        actions = Actions("choice", (3,))
        spec = PolicySpec((convolutions.features(pixels), 16, -5, 4), "relu", pictures=(pixels,))
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
        given = (spec.layers, "tanh", random_weights(spec), environment.spec.environment.to_json(), "gaussian")
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
        assert evaluate(path, RECALL, matches=100)["return_mean"] > 0.85
        with Trainer(RECALL, resume=path) as trainer:
            trainer.train_for(updates=2, progress=False)
            assert trainer.error == "" and trainer.config.memory == 16
        with Trainer(RECALL, **{**quick, "memory": 0}) as trainer:
            trainer.train_for(agent_steps=60_000, progress=False)
            assert trainer.error == "" and trainer.metrics["evaluated_return"] < 0.75
