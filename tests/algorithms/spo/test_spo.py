"""The parts of SPO: dual variables, replay, what is learned from it, and the games that fill it."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
import torch

from dshq_kernels.network import mlp
from dshq_kernels.run.draws import Draws
from dshq_widget.algorithms.spo.duals import LEAST, Dual, temperature_loss
from dshq_widget.algorithms.spo.games import SearchedGames
from dshq_widget.algorithms.spo.learner import SpoLearner, critic_weights
from dshq_widget.algorithms.spo.replay import Replay
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.opponents.slots import left_out
from dshq_widget.learning.parts import Progress
from dshq_widget.learning.saved.compressed import PIECE, OtherSize, compress, fill, pieces
from dshq_widget.learning.saved.fingerprint import NAME
from dshq_widget.learning.saved.saved_state import with_fresh_moments
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.evaluate import evaluate_alone, network
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.search_drills import SmallMaze
from tests.harness.games.specs import NOTHING

FEW = SpoSettings(
    num_particles=8, search_depth=2, replay_buffer_size=32 * 40, sample_sequence_length=8, sample_batch_size=32
)


FORGED = (
    *(("action", -1), ("action", 1 << 20), ("final_at", -2), ("over", 2), ("terminated", np.nan)),
    *((name, np.nan) for name in ("obs", "reward", "total", "weight", "finals")),
    *((name, np.inf) for name in ("obs", "reward", "total", "weight")),
)
"""Of which array, and what stands in it."""


def unplayed(drill="cartpole", settings=FEW, decisions=30, seed=0, warn=print, **hyper):
    """Games, a learner and their settings."""
    compiled_drill = compiled(drill)
    config = of_drill(compiled_drill.spec).replace(
        {"num_envs": 32, "rollout_length": decisions, "hidden_sizes": (16,), "seed": seed, **hyper}
    )
    spec = PolicySpec.for_config(compiled_drill.spec, config)
    return SearchedGames(compiled_drill, config, settings, spec, 1, warn), SpoLearner(spec, settings, seed), config


def parts(drill="cartpole", settings=FEW, decisions=30, seed=0, **hyper):
    """Games that have filled a replay, and a learner."""
    games, learner, config = unplayed(drill, settings, decisions, seed, **hyper)
    return games, learner, config, games.next(learner, config, 0)


class TestDuals:
    def test_the_temperature_is_learned_for_the_wanted_distance(self):
        """KL(softmax(G / temperature), uniform) = epsilon within a hundredth, from softplus(3) = 3.05."""
        totals = np.random.default_rng(0).normal(0, 0.4, (50, 16, 16)).astype(np.float32)
        dual = Dual(3.0)
        assert dual.value == pytest.approx(3.0486, abs=1e-3)
        for _ in range(3000):
            _, slope = temperature_loss(totals, dual.value, 0.5)
            dual.step(slope, 0.01)
        scaled = totals / dual.value
        weights = np.exp(scaled - scaled.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        distance = (weights * np.log(16 * weights)).sum(axis=1).mean()
        assert distance == pytest.approx(0.5, rel=0.01)

    def test_the_losses_slope_is_its_difference_quotient(self):
        totals = np.random.default_rng(1).normal(0, 3, (4, 5, 16)).astype(np.float32)
        (above, _), (below, _), (_, slope) = (temperature_loss(totals, t, 0.3) for t in (0.7001, 0.6999, 0.7))
        assert slope == pytest.approx((above - below) / 0.0002, rel=1e-3)
        loss, _ = temperature_loss(np.full((1, 4, 16), 500.0, np.float32), 0.5, 0.25)
        assert loss == pytest.approx(0.5 * 0.25 + 500)  # no overflow

    def test_they_stay_above_their_least_value(self):
        dual = Dual(-17.9)
        for _ in range(200):
            dual.step(1e9, 1.0)
        assert dual.numbers[0] == LEAST and dual.value > 0


class TestReplay:
    def replay(self, size=32 * 12, length=4, spec=None):
        spec = spec or dataclasses.replace(NOTHING, n_obs=3, n_actions=40, time_limit=20, action_repeat=2, masked=True)
        return Replay(spec, 2, size, 4, length)

    def test_sequences_begin_anywhere_that_is_whole(self):
        replay = self.replay()
        for _ in range(30):
            replay.advance()
        draws = Draws(0)
        found = np.concatenate([replay.sample(draws, 64, 1) for _ in range(40)])
        # 12 are kept, 18 to 29; the 18th is overwritten next; the decision behind a sequence must be there, too.
        assert np.unique(found[:, 1]).tolist() == list(range(19, 26)) and np.unique(found[:, 0]).tolist() == [0, 1]
        counts = np.bincount(found[:, 1])[19:]
        assert counts.min() > 0.8 * counts.mean()
        every_third = np.concatenate([replay.sample(draws, 64, 3) for _ in range(5)])[:, 1]
        assert np.unique(every_third).tolist() == [21, 24]

    def test_a_period_without_a_whole_sequence_is_refused(self):
        """12 are kept: 7 beginnings are whole, so with a period of 8 there may be none."""
        for decisions in range(5, 60):
            replay = self.replay()
            replay.decisions = decisions
            starts = replay.sample(Draws(0), 64, 7)[:, 1]
            assert max(decisions - 11, 0) <= starts.min() and starts.max() <= decisions - 1 - replay.length
        with pytest.raises(ConfigError, match="sample_period must be 7 decisions at most, .* got 8: lower it"):
            replay.check_period(8)
        with pytest.raises(ConfigError, match="sample_period must be 31 decisions at most"):
            parts(settings=dataclasses.replace(FEW, sample_period=32))

    def test_units_wrap_around(self):
        replay = self.replay()
        assert replay.units(np.array([[1, 22]])).tolist() == [(t % 12) * 2 + 1 for t in range(22, 26)]

    def test_it_is_restored_to_the_bit_and_only_where_it_fits(self):
        games, *_ = parts()
        replay = games.replay
        state = replay.state()
        assert sum(one.nbytes for one in state.values()) < 0.7 * sum(
            getattr(replay, name).nbytes for name in ("obs", "action", "weight", "total", "finals")
        )
        other = Replay(games.drill.spec, 2, FEW.replay_buffer_size, FEW.num_particles, 8)
        assert other.restore(state)
        assert other.state().keys() == state.keys()
        assert all(np.array_equal(one, state[name]) for name, one in other.state().items())
        smaller = Replay(games.drill.spec, 2, FEW.replay_buffer_size // 2, FEW.num_particles, 8)
        assert not smaller.restore(state) and len(smaller) == 0
        for name, value in (*FORGED, ("final_at", len(replay.finals))):
            forged = getattr(replay, name).copy()
            forged.flat[-1] = value  # an index of machine code, or what no step learns from again
            with pytest.raises(CheckpointError, match="holds what no game gives"):
                other.restore({**state, f"train.replay.{name}": compress(forged)})
        no_zlib = {"train.replay.obs": np.zeros(9, np.uint8)}
        counts = [{"train.replay.counts": np.array(odd)} for odd in ([-1, 0], [1 << 62, 0], [1, 1 << 62])]
        for broken, said in ((no_zlib, "cannot be read"), *((odd, "no game") for odd in counts)):
            with pytest.raises(CheckpointError, match=said):
                other.restore({**state, **broken})
        assert all(np.array_equal(one, state[name]) for name, one in other.state().items()), "and nothing is changed"


def test_what_is_compressed_comes_back_piece_by_piece():
    """A replay may be as large as the memory: a file of few bytes took it twice, and three times."""
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, 3 * PIECE + 5, np.uint8)
    for row in (noise, noise[:8], np.zeros(0, np.uint8), np.repeat(noise[:9999], 731)[: 2 * PIECE + 3]):
        back = np.ones_like(row)
        fill(compress(row), back)
        assert np.array_equal(back, row)
        for size in (len(row) + 1, len(row) - 1):
            with pytest.raises(OtherSize):
                list(pieces(compress(row), size))
    large = np.zeros(64 * PIECE, np.uint8)
    packed = compress(large)
    tracemalloc.start()
    fill(packed, large)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * PIECE and len(packed) < PIECE


class TestGames:
    def test_what_is_kept_is_what_happened(self):
        games, learner, config, played = parts("maze", decisions=12)
        replay, game = games.replay, games.game
        assert played.agent_steps == 12 * 32 == len(replay) and replay.decisions == 12
        row = replay.row()
        before = games.tiles.copy()
        games.next(learner, config.replace({"rollout_length": 1}), 0)
        assert np.array_equal(replay.obs[row], game.observe(before)[:, 0])
        allowed = game.mask(before)[:, 0]
        bits = replay.mask[row, :, :1] >> np.arange(5, dtype=np.uint32)[None, :, None] & 1
        assert np.array_equal(bits != 0, allowed != 0)
        roots = replay.action[row].transpose(0, 2, 1).reshape(-1, 8)
        assert all(allowed.transpose(0, 2, 1).reshape(-1, 5)[g, a] for g in range(32) for a in roots[g])
        assert np.allclose(replay.weight[row].sum(axis=1), 1, atol=1e-5)
        over = (replay.over[row] != 0).ravel()
        moved = games.tiles["action"][:, 0].ravel()
        assert all(moved[g] in roots[g] for g in range(32) if not over[g])

    def test_an_episode_out_of_time_keeps_what_it_saw_last(self):
        games, learner, config, _ = parts("cartpole", decisions=2)  # nobody sees its clock
        games.tiles["ticks"] = games.drill.spec.time_limit - games.drill.spec.action_repeat
        row = games.replay.row()
        games.next(learner, config.replace({"rollout_length": 1}), 0)
        assert games.replay.over[row].all()
        late = games.replay.terminated[row] == 0
        assert late.any() and (games.replay.final_at[row] >= 0).all()
        assert (games.tiles["ticks"] == 0).all()

    def test_two_sides_alternate_and_the_script_moves(self):
        games, _, config, _ = parts("sumo", decisions=3, opponents={"random": 1.0})
        assert games.sides.tolist() == [0, 1]
        others = games.tiles["action"][np.arange(2), 1 - games.sides]
        assert len(np.unique(others)) > 3

    def test_each_opponent_meets_both_sides(self):
        """Sides alternate among the tiles of each kind, whatever else lies between them."""
        games = parts("sumo", decisions=1, num_envs=128, opponents={"self": 0.5, "random": 0.25, "idle": 0.25})[0]
        for kind in np.unique(games.kinds_of_others):
            assert set(games.sides[games.kinds_of_others == kind]) == {0, 1}

    def test_a_share_too_small_for_a_tile_is_said(self):
        spec = compiled("sumo").spec
        config = of_drill(spec).replace({"num_envs": 64, "opponents": {"self": 0.9, "random": 0.05, "pool": 0.05}})
        assert left_out(config, spec) == (
            "pool and random will not play: 64 games are 4 tiles of 16, each against one opponent, and so small a "
            "share gets none; set num_envs to 320 or more"
        )
        assert left_out(config.replace({"num_envs": 320}), spec) == ""
        assert left_out(config, compiled("cartpole").spec) == ""

    def test_earlier_policies_of_the_pool_play_the_other_side(self):
        games, learner, config, _ = parts("sumo", decisions=2, opponents={"pool": 1.0})
        for option in (2, 5):
            always = np.zeros(learner.spec.floats, np.float32)
            learner.spec.split(always)[-1][1][option] = 50.0
            games.set_opponents([always])
            games.next(learner, config, 0)
            others = games.tiles["action"][np.arange(2), 1 - games.sides]
            assert (others[games.tiles["ticks"] > 0] == option).all()

    @pytest.mark.parametrize(
        ("settings", "hyper", "changed"),
        [
            ({}, {"reward_weights": {"goal": 3.0}}, "reward weights"),
            ({}, {"gamma": 0.9}, "discount"),
            ({}, {"opponents": {"random": 1.0}}, "opponents"),
            ({"search_gamma": 0.9}, {}, "search discount"),
            ({"fixed_temperature": 0.1, "search_gae_lambda": 0.9}, {"gae_lambda": 0.5, "learning_rate": 0.1}, ""),
        ],
    )
    def test_a_replay_that_was_paid_or_played_otherwise_begins_empty(self, settings, hyper, changed):
        """From a file, where the settings are others than those that it was made with."""
        before, heard = {"opponents": {"self": 1.0}}, []
        games, *_ = parts("ball", decisions=12, **before)
        own = dataclasses.replace(FEW, **settings)
        resumed, learner, config = unplayed("ball", own, 12, warn=heard.append, **{**before, **hyper})
        resumed.restore(games.state())
        assert len(resumed.replay) == 12 * 32
        resumed.next(learner, config, 0)
        assert len(resumed.replay) == (12 if changed else 24) * 32
        said = f"the replay begins empty, since it was made with other values of: {changed}"
        assert heard == ([said] if changed else [])

    def test_the_discount_of_potentials_that_changes_in_a_run_empties_the_replay(self):
        games, learner, config, _ = parts("ball", decisions=12)
        games.next(learner, config.replace({"gae_lambda": 0.5}), 0)
        assert len(games.replay) == 24 * 32
        games.next(learner, config.replace({"gamma": 0.9}), 0)
        assert len(games.replay) == 12 * 32

    def test_a_file_of_an_earlier_release_and_one_of_other_games_leave_the_replay_empty(self):
        games, *_ = parts(decisions=12)
        state, heard = games.state(), []
        older = {name: row for name, row in state.items() if name != NAME}
        for given, hyper in ((older, {}), (state, {"num_envs": 16})):
            resumed, learner, config = unplayed(decisions=12, warn=heard.append, **hyper)
            resumed.restore(given)
            resumed.next(learner, config, 0)
            assert len(resumed.replay) == 12 * config.num_envs
        assert "does not say what its rewards were paid for" in heard[0]
        assert "other games than this run" in heard[1] and len(heard) == 2


def torch_network(spec, blob, obs):
    """Logits and values f64 of rows of observations, in torch, and the flat weights to differentiate by."""
    flat = torch.tensor(blob, dtype=torch.float64, requires_grad=True)
    x, at = torch.tensor(obs, dtype=torch.float64), 0
    sizes = list(zip(spec.layers[:-1], spec.layers[1:], strict=True))
    for k, (n_in, n_out) in enumerate(sizes):
        matrix = flat[at : at + n_in * n_out].reshape(n_in, n_out)
        bias = flat[at + n_in * n_out : at + n_in * n_out + n_out]
        x, at = x @ matrix + bias, at + n_in * n_out + n_out
        x = torch.tanh(x) if k < len(sizes) - 1 else x
    return x[:, :-1], x[:, -1], flat


@pytest.mark.parametrize("separate", [False, True])
def test_the_gradient_is_that_of_the_formulas(separate):
    """Written once more in torch and numpy: cross entropy, alpha KL, half the squared error to GAE's returns."""
    games, learner, config, played = parts("snake", decisions=20, separate_value_net=separate, hidden_sizes=(16, 16))
    if learner.spec.front:
        games, learner, config, played = parts("approach", decisions=20, separate_value_net=separate)
    rng = np.random.default_rng(3)
    spec, replay = learner.spec, played.samples
    mask = spec.mask()
    target = learner.blob() + rng.normal(0, 0.1, spec.floats).astype(np.float32) * mask
    learner.load(target)
    blob = target + rng.normal(0, 0.1, spec.floats).astype(np.float32) * mask
    learner._params[:] = learner._params * 0 + mlp.pack(learner.plan, blob)
    sequences = np.array([[1, 5], [0, 2]])
    learner._study(replay, sequences, config)
    units = replay.units(sequences)
    sums = learner._gradient(replay, units, config.value_coef)
    found = mlp.unpack(learner.plan, learner._gradients[0][: len(learner._params)])

    obs = replay.obs.reshape(-1, spec.layers[0], 16)[units].transpose(0, 2, 1).reshape(-1, spec.layers[0])
    action = replay.action.reshape(-1, 8, 16)[units].transpose(0, 2, 1).reshape(-1, 8)
    weight = replay.weight.reshape(-1, 8, 16)[units].transpose(0, 2, 1).reshape(-1, 8)
    logits, value, flat = torch_network(spec, blob, obs)
    allowed = torch.ones_like(logits, dtype=torch.bool)
    if replay.mask.size:
        words = replay.mask.reshape(-1, replay.mask.shape[2], 16)[units]
        bits = np.stack([words[:, j // 32] >> j % 32 & 1 for j in range(spec.n_actions)], axis=-1)
        allowed = torch.tensor(bits.reshape(-1, spec.n_actions) != 0)
    logs = torch.log_softmax(logits.masked_fill(~allowed, -1e9), dim=1)
    with torch.no_grad():
        before, _, _ = torch_network(spec, target, obs)
        before = torch.log_softmax(before.masked_fill(~allowed, -1e9), dim=1)
    policy = -(torch.tensor(weight) * logs.gather(1, torch.tensor(action).long())).sum(1).mean()
    divergence = (before.exp() * (before - logs)).sum(1).mean()
    returns = torch.tensor(np.concatenate([wanted_returns(games, learner, s, config).ravel() for s in sequences]))
    critic = 0.5 * ((value - returns) ** 2).mean()
    alpha = learner.dual_alpha.value
    loss = policy + alpha * divergence + config.value_coef * critic
    loss.backward()
    assert np.abs(found - flat.grad.numpy() * mask).max() < 1e-5 * max(1.0, float(flat.grad.abs().max()))
    policy, divergence, critic = policy.item(), divergence.item(), critic.item()
    crossed, error, _, kl, _ = sums / (len(units) * 16)
    assert crossed == pytest.approx(policy, rel=1e-4)
    assert kl == pytest.approx(divergence, rel=1e-3)
    assert error == pytest.approx(2 * critic, rel=1e-4)
    # The loss over particles is the cross entropy of the target q.
    q = torch.zeros_like(logs).scatter_add(1, torch.tensor(action).long(), torch.tensor(weight).double())
    assert (-(q * logs.clamp(min=-1e8)).sum(1).mean()).item() == pytest.approx(policy, rel=1e-5)


def wanted_returns(games, learner, sequence, config):
    """f64 `[length, 16]`: generalised advantage estimation, a step at a time, plus the values."""
    replay, (tile, begin) = games.replay, sequence
    policy = Policy(learner.spec.layers, learner.spec.activation, mlp.unpack(learner.plan, learner._target))

    def value(t):
        return policy.forward(replay.obs[t % replay.capacity, tile].T)[1].astype(np.float64)

    carry, out = np.zeros(16), []
    for t in range(begin + replay.length - 1, begin - 1, -1):
        row = t % replay.capacity
        over, terminated = replay.over[row, tile] > 0, replay.terminated[row, tile] > 0
        following = value(t + 1)
        if replay.final_at[row, tile] >= 0:
            late = policy.forward(replay.finals[replay.final_at[row, tile]].T)[1]
            following = np.where(over, late, following)
        following = np.where(terminated, 0.0, following)
        delta = replay.reward[row, tile] + config.gamma * following - value(t)
        carry = delta + config.gamma * config.gae_lambda * np.where(over, 0.0, carry)
        out.append(carry + value(t))
    return np.array(out[::-1])


class TestLearner:
    def test_the_critic_has_weights_of_its_own(self):
        for separate, share in ((False, (16 + 1) / (4 * 16 + 16 + 16 * 3 + 3)), (True, None)):
            spec = PolicySpec.for_drill(compiled("cartpole").spec, (16,), separate=separate)
            marked = critic_weights(spec)
            if share is not None:
                assert marked.sum() == 17
            else:
                rng = np.random.default_rng(0)
                one = spec.untrained(0)
                other = one + marked * rng.normal(0, 1, spec.floats).astype(np.float32) * spec.mask()
                obs = rng.normal(0, 1, (20, 4))
                a, b = (Policy(spec.layers, spec.activation, blob).forward(obs) for blob in (one, other))
                assert np.array_equal(a[0], b[0]) and not np.allclose(a[1], b[1])

    def test_the_target_follows_and_the_newest_network_searches(self):
        games, learner, config, played = parts()
        before = learner.blob()
        assert learner.step(played.samples, config) is not None
        moved, target = learner.blob() - before, mlp.unpack(learner.plan, learner._target) - before
        assert np.abs(moved).max() > 0 and np.allclose(target, FEW.tau * moved, atol=1e-7)

    def test_a_step_that_is_not_finite_changes_nothing(self):
        games, learner, config, played = parts()
        played.samples.reward[:] = np.nan
        before, state = learner.blob(), learner.state()
        assert learner.step(played.samples, config) is None
        metrics = learner.update(played, Progress(config, 0, 0))
        assert learner.skipped == 1 and "loss_value" not in metrics
        assert np.array_equal(learner.blob(), before)
        assert all(np.array_equal(one, learner.state()[name]) for name, one in state.items() if "generator" not in name)
        games.mend(played.samples)
        assert len(games.replay) == 0

    def test_a_search_discounts_as_the_critic_learns(self):
        """At 1, where potentials are paid at less, a way that ends farther from the aim is worth more than it is."""
        games, learner, config, _ = parts("maze", decisions=12)
        assert config.gamma == 0.9
        assert games.how(learner, config.gamma).gamma == np.float32(0.9)
        games.settings = dataclasses.replace(games.settings, search_gamma=0.5)
        assert games.how(learner, config.gamma).gamma == 0.5

    def test_a_policy_that_stops_exploring_gets_noise_at_the_root(self):
        games, learner, config, played = parts()
        assert games.how(learner, 0.9).fraction == 0
        learner.update(played, Progress(config, 0, 0, entropy_bonus=0.04))
        assert games.how(learner, 0.9).fraction == 0.04
        assert played.samples.mean_return(played.units) == pytest.approx(played.samples.reward[22:30].mean(), rel=1e-5)

    def test_threads_learn_the_same(self):
        games, learner, config, played = parts()
        other = SpoLearner(learner.spec, FEW, 0, threads=2)
        rows = [one.step(played.samples, config) for one in (learner, other)]
        assert rows[0].keys() == rows[1].keys()
        assert np.allclose(learner.blob(), other.blob(), atol=1e-6)

    def test_with_fresh_moments_target_and_duals_stay(self):
        """As in a learner that replaces a dead one."""
        _, learner, config, played = parts()
        for _ in range(3):
            learner.step(played.samples, config)
        state, again = learner.state(), SpoLearner(learner.spec, FEW, 9)
        again.load(learner.spec.untrained(5))
        again.restore(with_fresh_moments(state))
        now = again.state()
        assert now["adam_step"] == 0 and not now["adam_m"].any() and not now["adam_v"].any()
        kept = ("train.spo.target", "train.spo.duals", "generator_update")
        assert all(np.array_equal(now[name], state[name]) for name in kept) and state["adam_step"] == 3

    @pytest.mark.parametrize("drill", ["binpack", "maze", "bandit"])
    def test_every_kind_of_network_learns(self, drill):
        """The policy's loss falls on what is kept: pairs, a grid, and dense layers."""
        faster = dataclasses.replace(FEW, fixed_temperature=0.05, adaptive_temperature=False)
        _, learner, config, played = parts(drill, faster, decisions=12)
        losses = [learner.step(played.samples, config)["loss_policy"] for _ in range(60)]
        assert np.mean(losses[-10:]) < np.mean(losses[:10])


def test_it_finds_the_only_way_of_ten_moves():
    """A small maze, from nothing: the greedy policy, without search, takes the ten moves."""
    drill = compiled(SmallMaze)
    settings = SpoSettings()
    config = of_drill(drill.spec).replace({"num_envs": 64, "rollout_length": 32})
    spec = PolicySpec.for_config(drill.spec, config)
    games, learner = SearchedGames(drill, config, settings, spec, 1), SpoLearner(spec, settings, 0)
    for _ in range(60):
        learner.update(games.next(learner, config, 0), Progress(config, 0, 0))
        found = evaluate_alone(drill, network(spec.layers, spec.activation, learner.blob()), 1, greedy=True)
        if found["return_mean"] == 1 and found["episode_length_mean"] == 10:
            break
    assert found["episode_length_mean"] == 10 and found["return_mean"] == 1
