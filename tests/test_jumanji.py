"""Snake and Maze step for step against Jumanji's own (Bonnet et al., 2023), where it is installed: it brings JAX, which
is large, so that nothing of the package asks for it."""

import numpy as np
import pytest

from dshq_widget.drill import compile_drill
from dshq_widget.drills import get

jumanji = pytest.importorskip("jumanji", reason="Jumanji is not installed: `pip install jumanji` (it brings JAX)")
jax = pytest.importorskip("jax")

STEPS = 400


def played(name):
    """16 games, half random and half the baseline: the tiles before and after each decision, and what it said."""
    game = compile_drill(get(name)).game()
    tiles, rng = game.new(1, 3), np.random.default_rng(0)
    for _ in range(STEPS):
        tiles["action"] = game.actions(tiles, rng.choice(["random", game.baselines[0]]))
        before, mask = tiles.copy()[0], game.mask(tiles)[0, 0].T
        mask = mask[:, 1:] & ~mask[:, :1]  # ours has a first action for people; where it is allowed, nothing else was
        game.decide(tiles)
        game.tick(tiles)
        over = game.status(tiles)[0]
        yield before, mask, tiles.copy()[0], game.terms(tiles)[0, 0, 0], over[0]
        game.reset(tiles, over | (tiles["ticks"] >= game.spec["time_limit"]))


def reference(name, change):
    """Their environment from states of ours: `change(state, *arrays)` says how, `step(action, *arrays)` steps 16."""
    env = jumanji.make(name).unwrapped
    start, _ = env.reset(jax.random.PRNGKey(0))
    return jax.jit(jax.vmap(lambda action, *arrays: env.step(change(start, *arrays), action)))


def bodies(tile):
    """i32 [16, 12, 12]: moves until the body has left each cell."""
    return np.maximum(tile["until"] - tile["clock"], 0).T.reshape(16, 12, 12)


def test_snake():
    def change(state, body, head, fruit, length, mask):
        place = type(state.head_position)
        return state.replace(
            body_state=body,
            body=body > 0,
            tail=body == 1,
            head_position=place(head // 12, head % 12),
            fruit_position=place(fruit // 12, fruit % 12),
            length=length,
            action_mask=mask,
        )

    step, meals = reference("Snake-v1", change), 0
    for before, mask, after, paid, over in played("snake"):
        arrays = (bodies(before), before["head"], before["fruit"], before["length"], mask)
        state, told = step(before["action"][0] - 1, *arrays)
        assert np.array_equal(told.last(), over)
        live = ~over
        assert np.array_equal(np.asarray(state.body_state)[live], bodies(after)[live])
        assert np.array_equal((state.head_position.row * 12 + state.head_position.col)[live], after["head"][live])
        assert np.array_equal(told.reward[live], paid[live])
        meals += paid.sum()
    assert meals > 100


def test_maze():
    def change(state, walls, walker, target, mask):
        place = type(state.agent_position)
        return state.replace(
            agent_position=place(walker // 10, walker % 10),
            target_position=place(target // 10, target % 10),
            walls=walls,
            action_mask=mask,
        )

    step, arrivals = reference("Maze-v0", change), 0
    for before, mask, after, paid, over in played("maze"):
        walls = before["wall"].T.reshape(16, 10, 10) != 0
        state, told = step(before["action"][0] - 1, walls, before["walker"], before["target"], mask)
        assert np.array_equal(state.agent_position.row * 10 + state.agent_position.col, after["walker"])
        assert np.array_equal(told.reward, paid)
        assert np.array_equal(told.last(), over)
        arrivals += paid.sum()
    assert arrivals > 100
