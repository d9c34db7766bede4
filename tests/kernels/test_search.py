"""Search by particles: what it should find, what it must not know, and that it leaves nothing behind."""

import threading

import numpy as np
import pytest

from dshq_kernels.network.mlp import ACTIVATIONS, pack
from dshq_kernels.search.searcher import Others, Search, how
from dshq_kernels.search.weights import noise_key
from dshq_widget.env.batch import Batch
from dshq_widget.env.snapshots import Snapshots
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.search_drills import Chain, Dice, OneChoice
from tests.harness.snapshot_search import search, temperature_for


def constant_policy(spec, logits, value=0.0):
    """A policy that says the same of every state."""
    shape = PolicySpec.for_drill(spec, (32,))
    weights = np.zeros(shape.floats, np.float32)
    weights[-len(logits) - 1 :] = [*logits, value]
    return Policy(shape.layers, shape.activation, weights)


class Searched:
    """A batch of games and a search in all of them."""

    def __init__(self, drill, policy=None, games=16, seed=0, threads=1, **options):
        self.batch = Batch(drill, games, seed, practice=False)
        spec = self.batch.spec
        self.policy = policy or constant_policy(spec, [0.0] * spec.n_actions)
        self.how = how(**options)
        network = self.policy.spec
        sizes = (len(self.batch.tiles), self.how.particles, self.how.depth)
        activation = ACTIVATIONS[network.activation]
        self.search = Search(self.batch.game, spec, network.layers, activation, *sizes, threads=threads)
        self.params = pack(self.search.plan, self.policy.weights)

    def run(self, seed=0, count=0, **more):
        told = {"weights": self.batch.weights, "gamma": float(self.batch.gamma), "seed": seed, "count": count}
        self.search.run(self.params, self.batch.tiles, self.how, **told, **more)
        return self.search

    def targets(self):
        """q of every game, f64 (games, actions)."""
        n = self.batch.spec.n_actions
        action, weight = (
            array.transpose(0, 2, 1).reshape(-1, self.how.particles)
            for array in (self.search.action, self.search.weight)
        )
        return np.stack([np.bincount(a, w, n) for a, w in zip(action, weight, strict=True)])


def test_one_choice_is_weighted_as_the_formula_says():
    """q(a) is pi(a) exp(r(a) / temperature), normalised: total variation below .03 with 4,096 particles."""
    logits, pays, temperature = [0.3, -0.2, 0.0, 0.5], np.array([0.0, 0.5, 1.0, -1.0]), 0.7
    spec = Batch(OneChoice, 16).spec
    searched = Searched(
        OneChoice, constant_policy(spec, logits), particles=4096, depth=1, period=0, temperature=temperature
    )
    searched.run()
    wanted = np.exp(np.array(logits) + pays / temperature)
    distance = np.abs(searched.targets() - wanted / wanted.sum()).sum(axis=1) / 2
    assert distance.max() < 0.03
    assert np.allclose(searched.search.weight.sum(axis=1, dtype=np.float64), 1, atol=1e-4)


@pytest.mark.parametrize("particles", [4, 16, 40])
def test_root_actions_are_carried_through_resampling(particles):
    """Only c leads to the reward, a decision later: it has all the weight at the end."""
    spec = Batch(Chain, 16).spec
    searched = Searched(
        Chain, constant_policy(spec, [0.0] * 4), games=160, particles=particles, depth=2, period=1, temperature=1e-3
    )
    searched.run()
    alive = (searched.search.action == 2).any(axis=1).ravel()  # c survived in this game's particles
    q = searched.targets()[:, 2]
    paid = searched.search.total.max(axis=1).ravel() > 0.5
    assert alive.mean() > 0.3
    assert (q[paid] > 0.999).all()
    assert (searched.search.total[:, :, :].max() == 1) and searched.search.trace[0, 3] == 160


def test_the_searched_game_does_not_reveal_its_dice():
    """A state carries its generator: who copied it along would throw exactly the dice that win, and earn .8."""
    spec = Batch(Dice, 16).spec
    searched = Searched(
        Dice, constant_policy(spec, [0.0, 0.0]), games=512, particles=16, depth=1, temperature=0.05, greedy=True
    )
    batch, earned, thrown = searched.batch, [], []
    for count in range(10):
        searched.run(count=count)
        actions = batch.tiles["action"].transpose(0, 2, 1).reshape(-1, 1)
        rewards, *_ = batch.step(actions)
        earned.append(rewards[:, 0])
        thrown.append(actions[:, 0] == 1)
    earned, thrown = np.concatenate(earned), np.concatenate(thrown)
    assert thrown.mean() > 0.2  # it does throw: 16 particles saw more luck than there is
    margin = 4 * 0.5 / np.sqrt(thrown.sum())
    assert abs(earned[thrown].mean() - 0.5) < margin
    assert earned.mean() < 0.6


def test_a_dead_particle_earns_nothing_more():
    searched = Searched(OneChoice, particles=16, depth=3, period=0, least_ess=0.0, temperature=1.0)
    searched.run()
    pays = np.array([0.0, 0.5, 1.0, -1.0])
    assert np.allclose(searched.search.total, pays[searched.search.action])
    assert searched.search.trace[0, 1] == 0
    assert searched.search.trace[-1].tolist() == [16, 16 * 16, 0, 0]


def test_the_value_where_the_time_is_up_counts_and_where_it_terminated_it_does_not():
    for drill, wanted in ((Dice, 0.6 + 0.9 * 5 - 5), (OneChoice, 0.0 - 5)):
        spec = Batch(drill, 16).spec
        always = [0.0] + [-80.0] * (spec.n_actions - 1)
        searched = Searched(drill, constant_policy(spec, always, value=5.0), depth=2, gamma=0.9, temperature=1.0)
        searched.batch.tiles["ticks"] = 9 if drill is Dice else 0
        searched.run()
        assert np.allclose(searched.search.total, wanted, atol=1e-5)


def test_the_same_seed_finds_the_same_and_the_game_is_only_told_its_action():
    searched = Searched("ball", games=40, particles=16, depth=4, period=2)
    sides, others = np.array([0, 1, 0]), Others(np.array([0, 0, -3]))
    before = searched.batch.tiles.copy()
    first = [array.copy() for array in self_arrays(searched.run(seed=5, count=3, sides=sides, others=others))]
    played = searched.batch.tiles["action"].copy()
    again = self_arrays(searched.run(seed=5, count=3, sides=sides, others=others))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert np.array_equal(played, searched.batch.tiles["action"])
    searched.batch.tiles["action"] = before["action"]
    assert searched.batch.tiles.tobytes() == before.tobytes()
    other = self_arrays(searched.run(seed=6, count=3, sides=sides, others=others))
    assert not np.array_equal(first[1], other[1])


def self_arrays(found):
    return found.value, found.action, found.weight, found.total


def test_threads_change_nothing():
    one, two = (Searched("maze", games=64, threads=threads, period=2).run(seed=1) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(self_arrays(one), self_arrays(two), strict=True))


def test_only_active_games_are_searched():
    searched = Searched(OneChoice, games=32)
    active = np.zeros((2, 16), bool)
    active[1, 3] = active[0, 15] = True
    searched.batch.tiles["action"] = 3
    searched.run(active=active)
    assert (searched.search.weight.sum(axis=1) > 0.5).tolist() == active.tolist()
    assert (searched.batch.tiles["action"][:, 0][~active] == 3).all()
    assert searched.search.trace[-1, 0] == 2


def test_the_temperature_puts_the_weights_epsilon_nats_from_uniform():
    searched = Searched("maze", depth=3)
    searched.run()
    weights = searched.search.weight.transpose(0, 2, 1).reshape(-1, 16).astype(np.float64)
    entropy = -(weights * np.log(np.maximum(weights, 1e-30))).sum(axis=1)
    assert np.allclose(np.log(16) - entropy, 0.5, atol=0.01)
    gains = np.array([0.3, -1.0, 2.0, 0.1])
    eta = temperature_for(gains, 0.4)
    beside = [t * (0.4 + np.log(np.mean(np.exp(gains / t)))) for t in (0.98 * eta, eta, 1.02 * eta)]
    assert beside[1] == min(beside)  # it is where the dual is least


def test_noise_in_the_root_changes_what_is_tried():
    spec = Batch(OneChoice, 16).spec
    sure = constant_policy(spec, [20.0, 0.0, 0.0, 0.0])
    plain = Searched(OneChoice, sure, games=160, depth=1).run()
    assert (plain.action == 0).all()
    for alpha in (0.3, 1.0, 4.0):
        noisy = Searched(OneChoice, sure, games=1600, depth=1, alpha=alpha, fraction=1.0).run()
        shares = np.stack([(noisy.action == a).mean(axis=1).ravel() for a in range(4)])
        assert np.allclose(shares.mean(axis=1), 0.25, atol=0.03)
        # A component of Dirichlet(alpha) over 4 has the variance .25 .75 / (4 alpha + 1); 16 draws add theirs.
        spread = 0.1875 / (4 * alpha + 1)
        assert np.allclose(shares.var(axis=1), spread + (0.1875 - spread) / 16, rtol=0.15)


@pytest.mark.parametrize("alpha", [0.001, 0.01])
def test_a_small_alpha_leaves_a_choice_at_random(alpha):
    """Its draws are below every float. With one action allowed that one is chosen; with four each as often."""
    spec = Batch(OneChoice, 16).spec
    even = constant_policy(spec, [0.0, 0.0, 0.0, 0.0])
    noisy = Searched(OneChoice, even, games=1600, depth=1, alpha=alpha, fraction=1.0).run()
    shares = np.stack([(noisy.action == a).mean(axis=1).ravel() for a in range(4)])
    assert np.allclose(shares.mean(axis=1), 0.25, atol=0.04)
    assert np.mean(shares.max(axis=0) > 0.99) > 0.9, "nearly all of the noise is on one action"


def test_each_decision_of_each_game_has_its_own_noise():
    """Depth 4 and 16 particles: the streams of neighbouring games lie 4 apart, their decisions 5."""
    keys = {noise_key(7, 4 * game, 5 * decision) for game in range(64) for decision in range(100)}
    assert len(keys) == 64 * 100


def test_it_agrees_with_the_reference_in_numpy():
    """The same mean weight of each root action where a pole begins to fall, with resampling."""
    batch = Batch("cartpole", 16, seed=3, practice=False)
    for _ in range(6):
        batch.step(np.ones((16, 1), np.int64))  # the same push again and again: some particles fall
    policy = Policy((spec := PolicySpec.for_drill(batch.spec, (32,))).layers, spec.activation, spec.untrained(4))
    kept = Snapshots(batch)
    state = int(kept.snapshot([5])[0])
    options = {"particles": 16, "depth": 4, "period": 2, "temperature": 0.3, "gamma": 0.9}
    rng = np.random.default_rng(0)
    found = [search(kept, state, policy, rng, **options) for _ in range(400)]
    slow = np.stack([one.target(2) for one in found])
    assert kept.live == 1
    searched = Searched("cartpole", policy, games=1600, **options)
    searched.batch.restore(range(1600), np.repeat(batch.snapshot([5]), 1600, axis=0))
    searched.run(seed=2)
    fast = searched.targets()
    error = np.sqrt(slow.var(axis=0) / len(slow) + fast.var(axis=0) / len(fast))
    assert (np.abs(slow.mean(axis=0) - fast.mean(axis=0)) < 4 * error).all()
    assert (error < 0.02).all() and 0 < searched.search.trace[3, 1] / 1600 < 1  # it would tell, and some fell
    ess = np.mean([one.ess for one in found], axis=0)
    assert np.allclose(ess, searched.search.trace[:-1, 0] / 1600, atol=0.02)


def test_two_threads_search_at_once_and_leave_nothing():
    batch = Batch(OneChoice, 16, practice=False)
    kept = Snapshots(batch, capacity=256)
    states = kept.snapshot(range(4))
    policy = constant_policy(batch.spec, [0.0] * 4)
    searched = Searched(OneChoice, games=64, particles=8, depth=2, period=1)
    problems = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for k in range(60):
                search(kept, int(states[k % 4]), policy, rng, particles=8, depth=2, period=1)
                searched.run(seed=seed, count=k)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and kept.live == 4


def test_wrong_wishes_are_answered():
    with pytest.raises(ValueError, match="particles of a search must be from 1"):
        how(0)
    with pytest.raises(ValueError, match="depth of a search must be from 1"):
        how(4, 0)
    with pytest.raises(ValueError, match="alpha"):
        how(alpha=0.0)
    searched = Searched(OneChoice)
    searched.how = how(8)
    with pytest.raises(ValueError, match="made for 1 tiles, 16 particles"):
        searched.run()
    with pytest.raises(ValueError, match="needs a policy of 1 inputs and 5 outputs"):
        Search(searched.batch.game, searched.batch.spec, (3, 8, 5), 1, 1, 16, 4)
