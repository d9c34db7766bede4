"""The compiled loop against the same games played step by step in numpy, and matches against their rules."""

import numpy as np
import pytest

from dshq_kernels.network.mlp import make_plan, pack
from dshq_kernels.play.loops import DRAWS, EPISODES, RETURNS, STATS, WINS_0, WINS_1
from dshq_kernels.play.players import IDLE, POLICY, RANDOM, SELF
from dshq_kernels.play.rollout import Player, Rollouts, Samples, make_groups, play_matches, share_tiles
from dshq_kernels.simd.vector import aligned
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.toy_drills import Barred, Climb, Race

LENGTH, GAMMA, LAMBDA = 24, 0.98, 0.9


def start(drill, shares, games=96, hidden=(16,), seed=3, **options):
    compiled = compile_drill(drill)
    network = PolicySpec.for_drill(compiled.spec, hidden)
    how = {"games": games, "length": LENGTH, "shares": shares, "seed": seed, **options}
    rollouts = Rollouts(compiled.game(), compiled.spec, network.layers, 1, **how)
    weights = PolicySpec(network.layers).untrained(1)
    weights += np.random.default_rng(2).standard_normal(weights.size).astype(np.float32) * 0.2
    return compiled, rollouts, Policy(network.layers, "tanh", weights)


def play(rollouts, policy, parts=1, **options):
    samples, params = Samples.new(rollouts.units, *Samples.sizes(rollouts.spec)), pack(rollouts.plan, policy.weights)
    stats = [rollouts.new_stats() for _ in range(parts)]
    for part in range(parts):
        rollouts.play(params, samples, stats[part], gamma=GAMMA, gae_lambda=LAMBDA, part=part, **options)
    rollouts.advance()
    return samples, np.sum(stats, 0)


def replay(compiled, rollouts, policy, tiles, samples):
    """Plays the recorded actions through the game's verbs; checks every sample; returns the game-side statistics."""
    game, spec = compiled.game(), compiled.spec
    sides = spec.sides
    unit_of = {}
    for g, group in enumerate(rollouts.groups):
        for half in range(2):
            tile, side = group[2 * half : 2 * half + 2]
            if tile >= 0:
                unit_of[int(tile), int(side)] = g * LENGTH * 2 + half
    shape = (LENGTH, *tiles["action"].shape)
    reward, value, final = (np.zeros(shape) for _ in range(3))
    terminated, truncated = np.zeros((LENGTH, len(tiles), 16), bool), np.zeros((LENGTH, len(tiles), 16), bool)
    ended = np.zeros(4)

    def values(observed):
        return policy.forward(observed.transpose(0, 1, 3, 2))[1]

    for t in range(LENGTH):
        observed = game.observe(tiles)
        value[t] = values(observed)
        for kind, who in ((RANDOM, "random"), (IDLE, "idle"), (0, "walker")):
            scripted = rollouts.opponents == kind
            if scripted.any():
                some = tiles[scripted]
                some["action"] = game.actions(some, who)
                tiles[scripted] = some
        for (tile, side), first in unit_of.items():
            unit = first + 2 * t
            assert np.array_equal(samples.obs[unit], observed[tile, side])
            tiles["action"][tile, side] = samples.action[unit]
            allowed = game.mask(tiles)[tile, side]  # [n_actions, 16]
            logits = policy.logits(samples.obs[unit].T, allowed.T)
            log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            assert np.take_along_axis(allowed, samples.action[unit][None], 0).all()
            if game.masked:
                assert np.array_equal(samples.mask[unit, 0], (allowed << np.arange(3)[:, None]).sum(0))
            assert np.allclose(
                samples.log_prob[unit],
                np.take_along_axis(log_probs, samples.action[unit][:, None], -1)[:, 0],
                atol=2e-5,
            )
            assert np.allclose(samples.value[unit], value[t, tile, side], atol=2e-5)
        before = game.terms(tiles)
        game.decide(tiles)
        game.tick(tiles, spec.action_repeat)
        after = game.terms(tiles)
        over, winner = game.status(tiles)
        for k, term in enumerate(spec.terms):
            if term.kind == "potential":
                reward[t] += term.weight * (GAMMA * after[:, :, k] - before[:, :, k])
            else:
                reward[t] += term.weight * after[:, :, k]
        terminated[t], truncated[t] = over, ~over & (tiles["ticks"] >= spec.time_limit)
        final[t] = values(game.observe(tiles))
        done = over | truncated[t]
        ended += [done.sum(), (winner[done] > 0).sum(), (winner[done] < 0).sum(), (winner[done] == 0).sum()]
        game.reset(tiles, done)
    carry, following = np.zeros(shape[1:]), values(game.observe(tiles))
    for t in reversed(range(LENGTH)):
        follows = np.where(terminated[t][:, None], 0, np.where(truncated[t][:, None], final[t], following))
        alive = ~(terminated[t] | truncated[t])[:, None]
        carry = reward[t] + GAMMA * follows - value[t] + GAMMA * LAMBDA * alive * carry
        for (tile, side), first in unit_of.items():
            assert np.allclose(samples.advantage[first + 2 * t], carry[tile, side], atol=2e-4)
            assert np.allclose(samples.returns[first + 2 * t], carry[tile, side] + value[t, tile, side], atol=2e-4)
        following = value[t]
    assert terminated.any() and truncated.any()
    assert len(unit_of) * LENGTH == len(rollouts.trainable)
    assert set(rollouts.trainable) == {first + 2 * t for first in unit_of.values() for t in range(LENGTH)}
    assert sides == 2 or all(side == 0 for _, side in unit_of)
    return ended


@pytest.mark.parametrize(
    ("drill", "shares", "games"),
    [
        (Race, {"self": 1}, 96),
        (Race, {"self": 0.4, "walker": 0.2, "random": 0.2, "idle": 0.2}, 160),
        (Race, {"walker": 0.5, "random": 0.5}, 112),
        (Climb, {"self": 1}, 48),
        (Barred, {"self": 1}, 96),
        (Barred, {"self": 0.4, "random": 0.6}, 112),
    ],
)
def test_every_sample_is_what_the_rules_say(drill, shares, games):
    compiled, rollouts, policy = start(drill, shares, games)
    for _ in range(2):
        tiles = rollouts.tiles.copy()
        samples, stats = play(rollouts, policy)
        ended = replay(compiled, rollouts, policy, tiles, samples)
        assert np.array_equal(tiles, rollouts.tiles)
        assert np.array_equal(stats[[EPISODES, WINS_0, WINS_1, DRAWS]], ended)


def test_the_same_bits_however_the_work_is_split():
    results = []
    for parts in (1, 3):
        _, rollouts, policy = start(Race, {"self": 0.5, "walker": 0.5}, 160, parts=parts)
        runs = [play(rollouts, policy, parts) for _ in range(2)]
        results.append(
            [getattr(runs[1][0], name)[rollouts.trainable] for name in ("obs", "action", "advantage")]
            + [rollouts.tiles]
        )
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    _, rollouts, policy = start(Race, {"self": 0.5, "walker": 0.5}, 160, seed=4)
    assert not np.array_equal(play(rollouts, policy)[0].action, results[0][1])


def test_actions_follow_the_policy():
    _, rollouts, policy = start(Climb, {"self": 1}, 1600)
    drawn, expected = np.zeros(2), np.zeros(2)
    for _ in range(5):
        samples, _ = play(rollouts, policy)
        drawn += np.bincount(samples.action[rollouts.trainable].ravel(), minlength=2)
        expected += policy.probabilities(samples.obs[rollouts.trainable].transpose(0, 2, 1)).sum((0, 1))
    assert abs(drawn[0] - expected[0]) < 4 * np.sqrt(expected.prod() / expected.sum())


@pytest.mark.parametrize("greedy", [False, True])
def test_matches_of_policies_obey_masks(greedy):
    """A policy that would always run is never faster than the mask lets it be."""
    compiled = compile_drill(Barred)
    weights = np.zeros(PolicySpec.for_drill(compiled.spec, (8,)).floats, np.float32)
    network = PolicySpec.for_drill(compiled.spec, (8,))
    network.split(weights)[-1][1][2] = 60
    runner = Player(POLICY, network.layers, 1, weights)
    played = play_matches(compiled.game(), compiled.spec, runner, runner, 64, seed=1, greedy=greedy)
    policy, game = Policy(network.layers, "tanh", weights), compiled.game()
    tiles = game.new(4, 2)
    runs = 0
    for _ in range(13):
        mask = game.mask(tiles).transpose(0, 1, 3, 2)
        tiles["action"] = policy.act(game.observe(tiles).transpose(0, 1, 3, 2), greedy=greedy, mask=mask)
        assert np.array_equal(tiles["action"] == 2, mask[..., 2])
        runs += (tiles["action"] == 2).mean()
        game.tick(tiles, 2)
    free = compile_drill(Race)
    faster = play_matches(free.game(), free.spec, runner, runner, 64, seed=1, greedy=greedy)
    assert 2 < runs < 12
    assert faster.length.mean() < played.length.mean() - 0.5


def test_rewards_per_episode_add_up():
    _, rollouts, policy = start(Climb, {"self": 1}, 160)
    rollouts.tiles["ticks"] = 0
    totals = np.sum([play(rollouts, policy)[1] for _ in range(8)], 0)
    assert totals[RETURNS] == totals[EPISODES] > 100
    open_returns = rollouts.running.sum()
    assert totals[len(STATS)] == pytest.approx(totals[STATS.index("return_sum")] + open_returns, rel=1e-4)


def test_opponents_from_earlier_policies():
    """A learner against a policy that always runs loses to it; against one that always stands it wins."""
    compiled = compile_drill(Race)
    network = PolicySpec.for_drill(compiled.spec, (8,))
    plan = make_plan(network.layers)
    blobs = []
    for favourite in (2, 0):
        weights = np.zeros(network.floats, np.float32)
        network.split(weights)[-1][1][favourite] = 20
        blobs.append(weights)
    pool = np.stack([pack(plan, blob) for blob in blobs])
    rollouts = Rollouts(
        compiled.game(), compiled.spec, network.layers, 1, games=32, length=LENGTH, shares={POLICY - 1: 1.0}, seed=0
    )
    samples, stats = Samples.new(rollouts.units, 3), rollouts.new_stats()
    params = aligned(pool.shape[1])
    params[:] = pool[0]
    for few in (None, pool[:1]):  # memory that is not there would be read
        with pytest.raises(ValueError, match="have 2 policies as opponents"):
            rollouts.play(params, samples, stats, gamma=GAMMA, gae_lambda=LAMBDA, policies=few)
    rollouts.play(params, samples, stats, gamma=GAMMA, gae_lambda=LAMBDA, policies=pool)
    assert (samples.action[rollouts.trainable] == 2).all()
    learners_side = {int(tile): int(side) for group in rollouts.groups for tile, side in group.reshape(2, 2)}
    assert sorted(learners_side.values()) == [0, 1]
    opponents = [rollouts.tiles["action"][tile, 1 - side] for tile, side in learners_side.items()]
    assert not np.any(opponents)


def test_matches_follow_the_rules_and_swap_sides():
    compiled = compile_drill(Race)
    game, spec = compiled.game(), compiled.spec
    network = PolicySpec.for_drill(spec, (8,))
    weights = np.zeros(network.floats, np.float32)
    network.split(weights)[-1][1][2] = 20
    runner = Player(POLICY, network.layers, 1, weights)
    for games in (1, 33, 64, 101):
        found = play_matches(game, spec, runner, Player(IDLE), games, seed=1)
        assert found.result.shape == found.length.shape == found.returns.shape == (games,)
        assert (found.result >= 0).all() and found.result.mean() > 0.5
        assert found.length.max() <= 13
        turned = play_matches(game, spec, Player(IDLE), runner, games, seed=1)
        assert (turned.result <= 0).all()
    random = play_matches(game, spec, Player(RANDOM), Player(RANDOM), 512, seed=2)
    assert abs(random.result.mean()) < 0.2
    again = play_matches(game, spec, Player(RANDOM), Player(RANDOM), 512, seed=2)
    assert np.array_equal(random.result, again.result)
    with pytest.raises(ValueError, match="3 inputs"):
        play_matches(game, spec, Player(POLICY, (4, 4), 1, np.zeros(20, np.float32)), Player(IDLE), 4, seed=0)


def test_matches_begin_properly():
    """Ball: kick-off, so nobody scores at once, and the chaser beats random on both sides."""
    compiled = compile_drill(Ball)
    game, spec = compiled.game(), compiled.spec
    found = play_matches(game, spec, Player(0), Player(RANDOM), 256, seed=0)
    first, second = found.result[:128], found.result[128:]
    assert first.mean() > 0.6 and second.mean() > 0.6
    assert found.length.min() > 10


def test_kept_actions_lead_to_the_same_results():
    """One game after the other, played again from its seed and actions; nothing else is told apart by keeping them."""
    compiled = compile_drill(Ball)
    game, spec = compiled.game(), compiled.spec
    plain = play_matches(game, spec, Player(0), Player(RANDOM), 40, seed=3)
    kept = play_matches(game, spec, Player(0), Player(RANDOM), 40, seed=3, keep_actions=True)
    assert plain.start.size == plain.actions.size == 0 and np.array_equal(plain.result, kept.result)
    assert kept.side.tolist() == [0] * 20 + [1] * 20 and len(np.unique(kept.start, axis=0)) == 40
    for k in (0, 5, 20, 39):
        tiles = game.new(1)
        tiles.view(np.uint32).reshape(-1, 16)[:, 0] = kept.start[k]
        for t in range(kept.length[k]):
            tiles["action"][0, :, 0] = kept.actions[k, t]
            game.decide(tiles)
            game.tick(tiles, spec.action_repeat)
        _, winner = game.status(tiles)
        assert winner[0, 0] * (1 - 2 * kept.side[k]) == kept.result[k]


@pytest.mark.parametrize("processes", [1, 3, 7])
def test_processes_share_out_their_games_together(processes):
    """Over all of them each opponent has its share, to a tile, and each that has two tiles meets both sides."""
    shares, tiles = {"self": 0.7, "walker": 0.2, "random": 0.1}, 21
    kinds, sides = [], []
    for k in range(processes):
        first, last = k * tiles // processes, (k + 1) * tiles // processes
        rollouts = start(Race, shares, games=16 * (last - first), among=(first, tiles))[1]
        kinds += rollouts.opponents.tolist()
        learning = rollouts.groups.reshape(-1, 2)
        sides += [(int(rollouts.opponents[tile]), int(side)) for tile, side in learning if tile >= 0]
    for kind, share in ((SELF, 0.7), (0, 0.2), (RANDOM, 0.1)):
        assert abs(kinds.count(kind) - share * tiles) < 1
        of_kind = [side for which, side in sides if which == kind]
        assert abs(of_kind.count(0) - of_kind.count(1)) <= 1


def test_shares_and_groups():
    kinds = share_tiles(64, {SELF: 0.75, 0: 0.125, RANDOM: 0.125})
    assert [(kinds == kind).sum() for kind in (SELF, 0, RANDOM)] == [48, 8, 8]
    groups = make_groups(kinds, 2)
    assert len(groups) == 48 + 8
    for kind in (0, RANDOM):
        sides = [side for group in groups for tile, side in group.reshape(2, 2) if kinds[tile] == kind]
        assert sorted(sides) == [0] * 4 + [1] * 4
    assert make_groups(share_tiles(3, {SELF: 1}), 1).tolist() == [[0, 0, 1, 0], [2, 0, -1, 0]]
    with pytest.raises(ValueError, match="shares"):
        share_tiles(4, {SELF: 0.0})
    with pytest.raises(ValueError, match="tiles 3 to 6 of 5"):
        start(Race, {"self": 1.0}, games=48, among=(3, 5))
    with pytest.raises(ValueError, match="chaser"):
        start(Race, {"chaser": 1.0})
    with pytest.raises(ValueError, match="multiple"):
        start(Race, {"self": 1.0}, games=20)
