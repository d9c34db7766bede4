"""Who plays against the learner: shares, policies on their way to the games, fixed opponents, the competition's."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dshq_kernels.play.players import POLICY, SELF
from dshq_widget.algorithms.ppo.processes import _ring
from dshq_widget.algorithms.ppo.ring_games import RingGames
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.learning import worker
from dshq_widget.learning.opponents.opposition import Opposition, opposition
from dshq_widget.learning.opponents.slots import Opponents, OpponentSlots, fixed_opponents, opponent_shares, slot_count
from dshq_widget.learning.worker import chunk_fields, make_rollouts
from dshq_widget.policy.compatibility import ladder_weights
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.training.trainer import Trainer
from tests.harness.games.opposed import Opposed, weights

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def test_the_pool_shares_its_games_over_slots():
    spec = compiled("ball").spec
    config = TrainConfig(opponents={"self": 0.75, "pool": 0.25})
    assert slot_count(config, spec) == 8
    assert opponent_shares(config, spec) == {SELF: 0.75, **{POLICY - k: 0.25 / 8 for k in range(8)}}
    assert slot_count(TrainConfig(num_envs=16, opponents={"self": 0.75, "pool": 0.25}), spec) == 1
    assert slot_count(TrainConfig(), spec) == 0


def test_policies_reach_another_process_memory():
    drill = compiled("ball")
    config = TrainConfig(num_envs=64, rollout_length=2, opponents={"pool": 1.0}, hidden_sizes=(8,))
    rollouts = make_rollouts(drill, config, 64, 0, 1)
    spec = PolicySpec.for_config(drill.spec, config)
    count = slot_count(config, drill.spec)
    block, writer = OpponentSlots.create(spec.floats, count)
    reader, opponents = OpponentSlots.attach(block, spec.floats, count), Opponents(rollouts.plan, count)
    direct = Opponents(rollouts.plan, count)
    newest = np.arange(opponents.params.shape[1], dtype=np.float32)
    opponents.read(reader, newest)
    assert (opponents.params == newest).all(), "before anything is published the newest policy plays"
    for turn in range(3):
        blobs = [weights(spec, 10 * turn + k) for k in range(count)]
        writer.publish(blobs)
        opponents.read(reader, newest)
        direct.set_opponents(blobs)
        assert np.array_equal(opponents.params, direct.params)
    block.close()


def test_what_a_collapsed_policy_played_is_thrown_away():
    drill = compiled("ball")
    config = TrainConfig(num_envs=16, rollout_length=2)
    block, offsets = _ring(drill, config, (16,))
    games = RingGames(drill, config, block, [16], offsets, None)
    rollouts = make_rollouts(drill, config, 16, 0, 1)
    producer = Lane.attach(block, chunk_fields(rollouts.units, drill.spec, config), offsets[0])
    for version in (4, 5):
        chunk = producer.reserve()
        chunk.arrays["stats"][:] = version
        producer.commit(version)
    games.forget_before(5)
    batch = games.next(None, config, 5)
    assert (batch.stats == 5).all() and batch.lag == 0 and games.dropped == 1
    batch.done()
    assert games.next(None, config, 6) is None
    block.close()


def test_the_age_of_samples_counts_rollouts_of_all_games():
    """Two processes make two versions of every rollout."""
    drill = compiled("ball")
    config = TrainConfig(num_envs=32, rollout_length=2)
    block, offsets = _ring(drill, config, (16, 16))
    games = RingGames(drill, config, block, [16, 16], offsets, None)
    rollouts = make_rollouts(drill, config, 16, 0, 1, (0, 2))
    producer = Lane.attach(block, chunk_fields(rollouts.units, drill.spec, config), offsets[0])
    producer.reserve()
    producer.commit(4)
    experience = games.next(None, config, 7)
    assert (experience.lag, experience.age) == (3, 1.5)
    experience.done()
    block.close()


class OpenChannel:
    """Of a process that nobody commands, until it is closed."""

    closed = False

    def poll(self):
        return []


def test_what_is_learned_from_is_what_a_process_has_played():
    """An odd number of tiles with one learning side leaves half a group empty; the seed decides which."""
    drill, channel = compiled("bandit"), OpenChannel()
    spec = drill.spec
    for seed in range(4):
        config = TrainConfig(num_envs=80, rollout_length=2, seed=seed)
        network = PolicySpec.for_config(spec, config)
        ring, offsets = _ring(drill, config, (80,))
        weights_block = SharedBlock.create(WeightSlots.nbytes_for(network.floats))
        WeightSlots.create(weights_block, network.floats).publish(1, 1, network.initial(np.random.default_rng(0)))
        games = RingGames(drill, config, ring, [80], offsets, None)
        job = {"drill": drill.to_json(), "hyper": config.to_json(), "games": 80, "index": 0, "lane_offset": offsets[0]}
        job |= {"first_tile": 0, "all_tiles": 5, "version": 0}
        found = chunk_of(games, config, channel, job, {"weights": weights_block, "ring": ring})
        assert len(found.units) == 80 // 16 * 2 and (found.samples.log_prob[found.units] < 0).all()
        found.done()
        channel.closed = False
        ring.close()
        weights_block.close()


def chunk_of(games, config, channel, job, blocks):
    """What a rollout process of this job plays first."""
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(worker.run, channel, job, blocks)
        found = None
        while found is None and not playing.done():
            found = games.next(None, config, 1)
        channel.closed = True
        playing.result()
    return found


@pytest.mark.parametrize(("again", "same"), [({}, True), ({"version": 9}, False), ({"generation": 1}, False)])
def test_a_process_plays_other_games_where_a_run_goes_on_or_it_was_replaced(again, same):
    drill, config = compiled("ball"), TrainConfig(num_envs=16, rollout_length=2)
    network = PolicySpec.for_config(drill.spec, config)
    block = SharedBlock.create(WeightSlots.nbytes_for(network.floats))
    WeightSlots.create(block, network.floats).publish(1, 1, network.untrained(0))
    seen = []
    for more in ({}, again):
        ring, offsets = _ring(drill, config, (16,))
        games = RingGames(drill, config, ring, [16], offsets, None)
        job = {"drill": drill.to_json(), "hyper": config.to_json(), "games": 16, "index": 0, "lane_offset": offsets[0]}
        job |= {"first_tile": 0, "all_tiles": 1, "version": 3, **more}
        found = chunk_of(games, config, OpenChannel(), job, {"weights": block, "ring": ring})
        seen.append(found.samples.obs.copy())
        found.done()
        ring.close()
    assert np.array_equal(*seen) == same
    block.close()


def test_fixed_opponents_have_slots_behind_the_pools():
    spec = compiled("ball").spec
    config = TrainConfig(num_envs=128, opponents={"self": 0.25, "gold": 0.25, "pool": 0.375, "v7": 0.125})
    assert fixed_opponents(config, spec) == ("gold", "v7") and slot_count(config, spec) == 1 + 2
    assert opponent_shares(config, spec) == {SELF: 0.25, POLICY: 0.375, POLICY - 1: 0.25, POLICY - 2: 0.125}
    named = dataclasses.replace(spec, baselines=("v7", "gold"))
    assert fixed_opponents(config, named) == (), "a script of that name is the script"


def test_without_a_competition_there_are_scripts_and_fixed_policies():
    drill, games = compiled("ball"), Opposed()
    spec = PolicySpec.for_drill(drill.spec, (64, 64))
    (chosen,) = opposition(drill, spec, games, TrainConfig(opponents={"self": 0.5, "gold": 0.5}), None)
    assert isinstance(chosen, Opposition) and chosen.begin(None) is None
    assert [policy.tobytes() for policy in games.policies] == [ladder_weights("gold", "ball", spec).tobytes()]
    for earlier in ("pool", "v120"):
        with pytest.raises(ConfigError, match="need a league, and this package has none"):
            opposition(drill, spec, games, TrainConfig(opponents={earlier: 1.0}), None)


def test_a_policy_of_the_ladder_needs_the_learners_network():
    with Trainer("ball", opponents={"gold": 1.0}) as trainer:
        with pytest.raises(ConfigError, match=r"gold has the network hidden_sizes=64,64.*must have the same"):
            trainer.set_hyper(hidden_sizes=(32,))
        trainer.set_hyper(hidden_sizes=(32,), opponents={"self": 1.0})
    with pytest.raises(ConfigError, match="opponents must be among self, pool, idle, random, pusher or a version"):
        Trainer("sumo", opponents={"gold": 1.0})


@pytest.mark.parametrize("workers", [0, 1])
def test_one_side_learns_against_gold(workers):
    hyper = {"num_envs": 64, "rollout_length": 32, "minibatch_size": 512, "workers": workers}
    with Trainer("ball", opponents={"gold": 1.0}, seed=3, **hyper) as t:
        t.start()
        assert t.wait(updates=20, progress=False) and t.error == ""
        steps = t.metrics["agent_steps"] / t.metrics["updates"]
        assert steps == 64 * 32, "one side of each game is learned from"
        assert t.metrics["reward_goal"] < -0.2, "gold plays: a network as untrained as itself would cost nothing"
