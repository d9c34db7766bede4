"""Snake, Maze and Bin Pack step for step against Jumanji's own (Bonnet et al., 2023), where it is installed."""

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get

pytestmark = pytest.mark.peers

STEPS = 400


@pytest.fixture(autouse=True, scope="module")
def installed():
    """Jumanji and JAX, for all tests here."""
    global jumanji, jax
    jumanji = pytest.importorskip("jumanji", reason="Jumanji is not installed: `pip install jumanji` (it brings JAX)")
    jax = pytest.importorskip("jax")


def played(name):
    """16 games, half random and half the baseline: the tiles before and after each decision, and what it said."""
    game = compile_drill(get(name)).game()
    tiles, rng = game.new(1, 3), np.random.default_rng(0)
    for _ in range(STEPS):
        tiles["action"] = game.actions(tiles, rng.choice(["random", game.baselines[0]]))
        before, mask = tiles.copy()[0], game.mask(tiles)[0, 0].T
        if name != "binpack":  # ours has a first action for people; where it is allowed, nothing else was
            mask = mask[:, 1:] & ~mask[:, :1]
        game.decide(tiles)
        game.tick(tiles)
        over = game.status(tiles)[0]
        yield before, mask, tiles.copy()[0], game.terms(tiles)[0, 0, 0], over[0]
        game.reset(tiles, over | (tiles["ticks"] >= game.spec.time_limit))


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


def test_binpack():
    """Ours numbers the spaces from the largest, theirs keep their places; both know 40, but forget others beyond."""

    def boxes(tile):
        return tile["space"].T.reshape(16, 40, 6), np.arange(40) < tile["spaces"][:, None]

    def change(state, spaces, known, sizes, corners, packed, mask):
        faces = {name: spaces[:, k] for k, name in enumerate(("x1", "x2", "y1", "y2", "z1", "z2"))}
        lengths = {name: sizes[:, k] for k, name in enumerate(("x_len", "y_len", "z_len"))}
        return state.replace(
            ems=type(state.ems)(**faces),
            ems_mask=known,
            items=type(state.items)(**lengths),
            items_mask=jax.numpy.ones(20, bool),
            items_placed=packed,
            items_location=type(state.items_location)(**{name: corners[:, k] for k, name in enumerate("xyz")}),
            action_mask=mask.reshape(20, 40).T,
            sorted_ems_indexes=jax.numpy.arange(40),
        )

    step, compared = reference("BinPack-v2", change), 0
    for before, mask, after, paid, over in played("binpack"):
        item, space = divmod(before["action"][0], 40)
        rows = [before[name].T.reshape(16, 20, 3) for name in ("size", "corner")]
        state, told = step(np.stack([space, item], 1), *boxes(before), *rows, before["packed"].T != 0, mask)
        found, known = boxes(after)
        theirs = np.stack([state.ems[name] for name in ("x1", "x2", "y1", "y2", "z1", "z2")], -1)
        for lane in range(16):
            mine, wanted = found[lane][known[lane]], theirs[lane][np.asarray(state.ems_mask[lane])]
            if max(len(mine), len(wanted)) < 30:
                assert {tuple(row) for row in mine} == {tuple(row) for row in wanted}
                assert told.last()[lane] == over[lane]
                compared += 1
        np.testing.assert_allclose(told.reward, paid, rtol=1e-4)
    assert compared > 4000
