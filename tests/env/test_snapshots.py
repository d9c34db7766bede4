"""States kept for search: copies play as the games themselves would, and not one is ever lost or counted twice."""

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.env.making import make_vec
from dshq_widget.env.snapshots import Snapshots
from tests.harness.counts import times


def started(name, games=20, seed=3, decisions=10, **how):
    """Games that have continued for some random decisions."""
    batch = Batch(name, games, seed, **how)
    for _ in range(decisions):
        batch.step(batch.scripted("random"))
    return batch


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", drills)
def test_copies_play_as_the_games_themselves(name):
    """40 decisions on copies and on the games: the same views, payments, endings and masks, and the same states."""
    batch = started(name)
    kept = Snapshots(batch)
    games = np.array([19, 0, 7, 16, 3])
    ids, rng = kept.snapshot(games), np.random.default_rng(0)
    going = np.ones(len(games), bool)
    for _ in range(40):
        actions = rng.integers(0, batch.spec.n_actions, (batch.num_games, batch.sides))
        rewards, _, terminated, truncated = batch.step(actions)
        made = kept.simulate_batch(ids, actions[games])
        wanted = (batch.observe(), rewards, terminated, truncated, batch.mask())
        for copy, game in zip(made[:-1], wanted, strict=True):
            assert np.array_equal(copy[going], game[games][going])
        assert np.array_equal(kept.states(made.state_ids)[going], batch.snapshot(games)[going])
        assert kept.release_batch(ids) == len(games)
        ids, going = made.state_ids, going & ~terminated[games] & ~truncated[games]
    assert kept.live == len(games)


@pytest.mark.parametrize("name", drills)
def test_playing_a_copy_changes_nothing_but_the_copy(name):
    batch = started(name)
    kept = Snapshots(batch)
    ids = kept.snapshot(range(20))
    tiles, states = batch.tiles.copy(), kept.states(ids)
    actions = batch.like(20).scripted("idle") + batch.spec.n_actions - 1
    first, again = kept.simulate_batch(ids, actions), kept.simulate_batch(ids, actions)
    assert same(first[:-1], again[:-1])
    assert not np.intersect1d(first.state_ids, again.state_ids).size
    assert np.array_equal(kept.states(first.state_ids), kept.states(again.state_ids))
    assert np.array_equal(kept.states(ids), states)
    assert np.array_equal(batch.tiles, tiles)


@pytest.mark.parametrize("name", ["ball", "snake"])
def test_every_copy_of_one_state_goes_its_own_way(name):
    """16 copies, which are laid out at once, and 16 copies beside another state, which are not, play alike."""
    batch = started(name)
    kept = Snapshots(batch)
    one, other = kept.snapshot([4, 5])
    actions = np.random.default_rng(2).integers(0, batch.spec.n_actions, (17, batch.sides))
    together = kept.simulate_batch([one] * 16, actions[:16])
    beside = kept.simulate_batch([other] + [one] * 16, np.roll(actions, 1, 0))
    assert same(together[:-1], [rows[1:] for rows in beside[:-1]])
    alone = [kept.simulate_batch([one], actions[k : k + 1]) for k in range(16)]
    assert same(together[:-1], [np.concatenate(rows) for rows in zip(*alone, strict=True)][:-1])


def test_rewards_are_those_of_the_games_it_was_made_for():
    plain, weighted = (started("ball", weights=weights, shaping=False) for weights in (None, {"goal": 7.0}))
    paid = []
    for batch in (plain, weighted):
        kept = Snapshots(batch)
        ids, total = kept.snapshot(range(20)), np.zeros((20, 2))
        for _ in range(300):
            made = kept.simulate_batch(ids, np.full((20, 2), 13))
            kept.release_batch(ids)
            ids, total = made.state_ids, total + made.rewards
        paid.append(total)
    goals = abs(paid[1] - paid[0]) > 1
    assert goals.any()
    assert np.allclose(abs(paid[1] - paid[0])[goals], 6.0)


@pytest.mark.parametrize("name", ["ball", "cartpole", "bandit"])
def test_what_is_over_stays_as_it_is(name):
    """Terminated or truncated, a copy's copies say the same for ever and pay nothing."""
    batch = started(name, decisions=0)
    kept = Snapshots(batch)
    ids, rng = kept.snapshot(range(20)), np.random.default_rng(1)
    before = None
    for _ in range(batch.spec.time_limit // batch.spec.action_repeat + 2):
        made = kept.simulate_batch(ids, rng.integers(0, batch.spec.n_actions, (20, batch.sides)))
        if before is not None:
            over = before.terminated | before.truncated
            assert (made.rewards[over] == 0).all()
            for now, then in zip((made[0], *made[2:5]), (before[0], *before[2:5]), strict=True):
                assert np.array_equal(now[over], then[over])
            assert np.array_equal(kept.states(made.state_ids)[over], kept.states(ids)[over])
        kept.release_batch(ids)
        ids, before = made.state_ids, made
    assert (before.terminated ^ before.truncated).all()


def test_a_vector_environment_goes_on_beside_its_snapshots():
    env, alone = make_vec("snake", 20), make_vec("snake", 20)
    kept, rng = Snapshots(env), np.random.default_rng(0)
    assert same(env.reset(seed=4)[:1], alone.reset(seed=4)[:1])
    for _ in range(60):
        ids = kept.snapshot([3, 8])
        actions = rng.integers(0, 5, 20)
        made = kept.simulate_batch(ids, actions[[3, 8], None])
        now, wanted = env.step(actions), alone.step(actions)
        assert same(now[:4], wanted[:4])
        assert made.action_mask.shape == (2, 1, 5)
        assert kept.release_batch(np.concatenate([ids, made.state_ids])) == 4
    assert kept.live == 0


def search(kept, roots, rng, particles=16, depth=4):
    """What a search does with states: copies play on at random and are drawn anew, the others are let go."""
    ids = np.repeat(roots, particles)
    for level in range(depth):
        actions = rng.integers(0, kept.batch.spec.n_actions, (len(ids), kept.batch.sides))
        made = kept.simulate_batch(ids, actions).state_ids
        if level:
            kept.release_batch(ids)
        drawn = rng.choice(made, len(made))
        kept.release_batch(np.setdiff1d(made, drawn))
        ids = drawn  # with repetitions: one state, carried on by many
    kept.release_batch(ids)


def test_searches_in_several_threads_keep_their_own_states():
    kept = Snapshots(started("ball"))
    failed = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(times(100, 30)):
                root = kept.snapshot([seed])
                state = kept.states(root)
                search(kept, root, rng)
                assert np.array_equal(kept.states(root), state)
                assert kept.release_batch(root) == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failed
    assert kept.live == 0


def test_wrong_requests_say_what_was_wanted_and_change_nothing():
    kept = Snapshots(started("ball"), capacity=4)
    ids = kept.snapshot([0, 1, 2])
    gone = ids[2]
    assert kept.release_batch([gone]) == 1
    fine = np.zeros((2, 2), int)
    for call, error, text in (
        (lambda: kept.simulate_batch([ids[0], gone], fine), LookupError, f"no state has the id {gone}.*2 states"),
        (lambda: kept.simulate_batch([-1], fine[:1]), LookupError, "id -1"),
        (lambda: kept.simulate_batch([10**12], fine[:1]), LookupError, "id 1000000000000"),
        (lambda: kept.simulate_batch(ids[:2], fine[:1]), ValueError, r"shape \(2, 2\), got shape \(1, 2\)"),
        (lambda: kept.simulate_batch(ids[:2], fine + 30), ValueError, r"actions 0..29"),
        (lambda: kept.simulate_batch([], fine[:0]), ValueError, "at least one"),
        (lambda: kept.simulate_batch([ids[:2]], fine), ValueError, r"shape \(1, 2\)"),
        (
            lambda: kept.simulate_batch(ids[[0, 0, 1]], np.zeros((3, 2), int)),
            MemoryError,
            "3 states: 2 of 4 are free.*capacity=8",
        ),
        (lambda: kept.snapshot([0, 1, 2]), MemoryError, "3 states"),
        (lambda: kept.snapshot([20]), IndexError, "0..19"),
        (lambda: kept.states([gone]), LookupError, "released"),
        (lambda: Snapshots(kept.batch, 0), ValueError, "at least 1"),
    ):
        with pytest.raises(error, match=text):
            call()
        assert kept.ids.tolist() == sorted(ids[:2])
    assert kept.snapshot([]).shape == (0,)
    assert kept.release_batch([]) == kept.release_batch([-1, -(10**12), 10**12]) == 0


@settings(max_examples=times(60, 12), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
class Accounting(RuleBasedStateMachine):
    """Any order of calls beside a plain dictionary of states."""

    room = 24

    @initialize()
    def start(self):
        self.batch = started("snake", games=5, decisions=3)
        self.kept, self.model, self.gone = Snapshots(self.batch, self.room), {}, []

    def some(self, data, most):
        """Ids that are kept, any number of times each."""
        return data.draw(st.lists(st.sampled_from(sorted(self.model)), max_size=most)) if self.model else []

    def remember(self, ids, states):
        assert not set(ids.tolist()) & (set(self.model) | set(self.gone)), "an id comes once"
        self.model |= dict(zip(ids.tolist(), map(bytes, states), strict=True))

    @rule(games=st.lists(st.integers(0, 4), max_size=8))
    def snapshot(self, games):
        if len(games) > self.room - len(self.model):
            with pytest.raises(MemoryError):
                self.kept.snapshot(games)
        else:
            self.remember(self.kept.snapshot(games), self.batch.snapshot(games))

    @rule()
    def play(self):
        self.batch.step(self.batch.scripted("random"))

    @rule(data=st.data(), action=st.integers(0, 4))
    def simulate(self, data, action):
        ids = self.some(data, 10)
        actions = np.full((len(ids), 1), action)
        if not ids or len(ids) > self.room - len(self.model):
            with pytest.raises((ValueError, MemoryError)):
                self.kept.simulate_batch(ids, actions)
        else:
            made = self.kept.simulate_batch(ids, actions).state_ids
            self.remember(made, self.kept.states(made))

    @rule(data=st.data(), strangers=st.lists(st.integers(-1000, -1), max_size=2))
    def release(self, data, strangers):
        ids = self.some(data, 12)
        again = data.draw(st.lists(st.sampled_from(self.gone), max_size=3)) if self.gone else []
        assert self.kept.release_batch([*strangers, *ids, *again]) == len(set(ids))
        for id_ in set(ids):
            del self.model[id_]
            self.gone.append(id_)

    @rule(data=st.data())
    def ask_for_what_is_gone(self, data):
        if self.gone:
            with pytest.raises(LookupError):
                self.kept.states([data.draw(st.sampled_from(self.gone))])

    @invariant()
    def nothing_is_lost_or_counted_twice(self):
        if hasattr(self, "kept"):
            assert self.kept.live == len(self.model)
            assert self.kept.ids.tolist() == sorted(self.model)
            states = self.kept.states(sorted(self.model))
            assert {id_: bytes(state) for id_, state in zip(sorted(self.model), states, strict=True)} == self.model


TestAccounting = Accounting.TestCase
