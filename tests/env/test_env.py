"""Batches of games and their Gymnasium and PettingZoo faces."""

import numpy as np
import pytest

from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.env.making import make, make_parallel, make_vec


def play(env, steps, seed):
    rng = np.random.default_rng(seed)
    observed, _ = env.reset(seed=seed)
    rows = [observed]
    for _ in range(steps):
        observed, reward, terminated, truncated, infos = env.step(
            rng.integers(0, env.single_action_space.n, env.num_envs)
        )
        rows.append((observed, reward, terminated, truncated))
    return rows


def equal(a, b):
    return all(np.array_equal(x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True))


@pytest.mark.parametrize("opponent, rows", [("chaser", 20), ("random", 20), ("idle", 20), ("self", 40), (None, 20)])
def test_vector_env_shapes_and_determinism(opponent, rows):
    env = make_vec("ball", 20, opponent=opponent)
    assert env.num_envs == rows and env.observation_space.shape == (rows, 28)
    assert equal(play(env, 40, 3), play(make_vec("ball", 20, opponent=opponent), 40, 3))
    assert not equal(play(env, 40, 3), play(env, 40, 4))


def test_snapshot_and_restore_are_exact():
    env = make_vec("ball", 40, opponent="self")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    moves = rng.integers(0, 30, (60, 80))
    for move in moves[:20]:
        env.step(move)
    games = np.array([3, 17, 39])
    states = env.snapshot(games)
    first = [env.step(move)[:4] for move in moves[20:]]
    env.reset(seed=99)
    env.restore(games, states)
    rows = np.stack([2 * games, 2 * games + 1], 1).ravel()
    for move, (observed, reward, terminated, truncated) in zip(moves[20:], first, strict=True):
        again = env.step(move)
        for before, now in zip((observed, reward, terminated, truncated), again[:4], strict=True):
            assert np.array_equal(before[rows], now[rows])


def test_a_snapshot_moves_to_any_game():
    a, b = Batch("ball", 5, 1), Batch("ball", 33, 2)
    a.step(np.full((5, 2), 7))
    b.restore([32], a.snapshot([4]))
    assert np.array_equal(b.observe()[32], a.observe()[4])
    with pytest.raises(IndexError, match="0..4"):
        a.snapshot([5])
    with pytest.raises(IndexError, match="by their numbers, got bool"):  # it would be of the games 0 and 1
        a.snapshot(np.arange(5) > 2)
    with pytest.raises(ValueError, match="u32 snapshots"):
        b.restore([0], np.zeros((1, 3), np.uint32))


def test_rewards_sum_their_terms_and_shaping_telescopes():
    batch = Batch("ball", 32, 5, gamma=1.0)
    rng = np.random.default_rng(5)
    start = batch.game.terms(batch.tiles).copy()
    terms = len(batch.spec.terms)
    total = np.zeros((32, 2, terms))
    for _ in range(30):
        reward, paid, _, _ = batch.step(rng.integers(0, 30, (32, 2)))
        assert np.allclose(reward, paid.sum(-1), atol=1e-6)
        total += paid
    end = batch.game.terms(batch.tiles)
    moved = (end - start).transpose(0, 3, 1, 2).reshape(-1, 2, terms) * batch.weights
    shaping = batch.kinds
    assert np.allclose(total[..., shaping], moved[:32][..., shaping], atol=1e-4), (
        "with gamma 1 the potentials' payments add up to the difference of their ends"
    )


@pytest.mark.parametrize("name", drills)
def test_parallel_env_passes_pettingzoos_tests(name):
    pettingzoo_test = pytest.importorskip("pettingzoo.test", reason="the extra `pettingzoo` is not installed")
    pettingzoo_test.parallel_api_test(make_parallel(name), num_cycles=700)
    pettingzoo_test.parallel_seed_test(lambda: make_parallel(name))


def test_masks_are_told_where_gymnasium_looks_for_them():
    """Random play from `infos["action_mask"]` never takes a forbidden action; drills without a mask have none."""
    env = make_vec("snake", 20)
    _, infos = env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        mask = infos["action_mask"]
        assert mask.dtype == np.int8 and mask.shape == (20, 5)
        assert np.array_equal(mask, env.batch.mask()[:, 0])
        chosen = [rng.choice(np.flatnonzero(row)) for row in mask]
        _, _, terminated, _, infos = env.step(np.array(chosen))
        trapped = mask.all(1)  # nowhere to go: everything is allowed, and ends it
        assert not terminated[~trapped].any()
    single = make("maze")
    _, infos = single.reset(seed=3)
    assert infos["action_mask"].tolist()[0] == 0
    assert single.action_space.sample(mask=infos["action_mask"]) > 0
    assert "action_mask" not in make("ball").reset(seed=1)[1]
    alone = make_parallel("maze")
    _, infos = alone.reset(seed=3)
    _, _, _, _, after = alone.step({"side_0": int(infos["side_0"]["action_mask"].argmax())})
    assert infos["side_0"]["action_mask"].shape == after["side_0"]["action_mask"].shape == (5,)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: make_vec("bal"), "'ball'"),
        (lambda: make_vec("ball", 0), "num_envs must be a whole number of at least 1, got 0"),
        (lambda: make_vec("ball", 4, opponent="chasr"), "chaser"),
        (lambda: make("cartpole", opponent="balancer"), "'cartpole' has one side"),
        (lambda: make_vec("ball", 4, autoreset="never"), "next_step, same_step"),
        (lambda: make_vec("ball", 4, weights={"gaol": 1.0}), "goal"),
        (lambda: make("ball", "self"), "make_vec"),
    ],
)
def test_wrong_requests_say_what_was_wanted(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_both_sides_of_a_parallel_game_have_to_act():
    pytest.importorskip("pettingzoo", reason="the extra `pettingzoo` is not installed")
    game = make_parallel("ball")
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        game.step({"side_0": 0, "side_1": 0})
    game.reset(seed=0)
    with pytest.raises(ValueError, match="expected an action of each agent, got none of side_1"):
        game.step({"side_0": 0})
    with pytest.raises(ValueError, match="whole numbers as actions"):
        game.step({"side_0": 0, "side_1": 0.5})
    before = game.batch.tiles.tobytes()
    with pytest.raises(ValueError, match="seed must be a whole number"):
        game.reset(seed=1.5, options={"practice": True})
    assert game.batch.tiles.tobytes() == before
