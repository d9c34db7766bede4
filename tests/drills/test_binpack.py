"""Bin Pack: what the generator cuts, and the spaces that are left against a bookkeeping written again in Python."""

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.binpack import EXTENT, ITEM, ITEMS, SEEN_OF_ITEMS, SPACE, SPACES, BinPack

VOLUME = float(np.prod(np.array(EXTENT, np.float64)))


@pytest.fixture(scope="module")
def game():
    return compile_drill(BinPack).game()


def sizes(tiles):
    """i64 `[games, ITEMS, 3]`."""
    return tiles["size"].transpose(0, 2, 1).reshape(-1, ITEMS, 3).astype(np.int64)


def spaces(tiles, lane):
    """The known spaces of one game of the first tile, in order: i64 `[n, 6]`, each x1, x2, y1, y2, z1, z2."""
    rows = tiles["space"][0, :, lane].reshape(SPACES, 6)
    return rows[: tiles["spaces"][0, lane]].astype(np.int64)


def lengths(boxes):
    return boxes[..., 1::2] - boxes[..., ::2]


def within(a, b):
    """Whether each box of `a` lies in that of `b`."""
    return ((b[..., ::2] <= a[..., ::2]) & (a[..., 1::2] <= b[..., 1::2])).all(axis=-1)


def after_packing(known, item):
    """The largest empty boxes once `item` stands among those that were, and among how many boxes they were found."""
    met = ((known[:, ::2] < item[1::2]) & (item[::2] < known[:, 1::2])).all(axis=1)
    parts = np.repeat(known[met][:, None], 6, axis=1)
    for k in range(6):
        parts[:, k, k] = item[k ^ 1]
    parts = parts[(lengths(parts) > 0).all(axis=-1) & within(parts, known[met][:, None])]
    boxes = np.unique(np.concatenate([known[~met], parts]), axis=0)
    smaller = within(boxes[:, None], boxes) & ~np.eye(len(boxes), dtype=bool)
    return as_set(boxes[~smaller.any(axis=1)]), len(boxes)


def as_set(boxes):
    return set(map(tuple, boxes.tolist()))


def test_items_fill_the_container_exactly_and_come_largest_first(game):
    tiles = game.new(20, 5)
    items = sizes(tiles)
    volumes = items.prod(axis=2)
    assert (items > 0).all() and (items <= EXTENT).all()
    assert (volumes.sum(axis=1) == np.prod(np.array(EXTENT, np.int64))).all()
    assert (np.diff(volumes, axis=1) <= 1e-6 * VOLUME).all()
    assert len({game.tobytes() for game in items}) == len(items)
    assert volumes.min() / VOLUME < 0.005 and 0.15 < volumes[:, 0].mean() / VOLUME < 0.4


@pytest.mark.parametrize("who", ["random", "largest"])
def test_every_step_is_the_references(game, who):
    """16 games, 300 steps: corners, spaces, masks, rewards and ends."""
    tiles, crowded, ends = game.new(1, 3), 0, 0
    for _ in range(300):
        before = [spaces(tiles, lane) for lane in range(16)]
        left, items = tiles["packed"][0].T == 0, sizes(tiles)
        masks = game.mask(tiles)[0, 0].T.reshape(16, ITEMS, SPACES)
        tiles["action"] = game.actions(tiles, who)
        item, space = divmod(tiles["action"][0, 0], SPACES)
        game.decide(tiles)
        game.tick(tiles)
        over, paid, allowed = game.status(tiles)[0][0], game.terms(tiles)[0, 0, 0], game.mask(tiles)[0, 0]
        for lane in range(16):
            chosen, at = items[lane, item[lane]], before[lane][space[lane]]
            fits = (items[lane][:, None] <= lengths(before[lane])).all(axis=2)
            assert np.array_equal(masks[lane, :, : len(fits[0])], left[lane][:, None] & fits)
            assert not masks[lane, :, len(before[lane]) :].any()
            placed = np.stack([at[::2], at[::2] + chosen], axis=1).ravel()
            assert np.array_equal(tiles["corner"][0, :, lane].reshape(ITEMS, 3)[item[lane]], placed[::2])
            found, (wanted, looked_at) = spaces(tiles, lane), after_packing(before[lane], placed)
            assert as_set(found) <= wanted and len(as_set(found)) == len(found)
            assert as_set(found) == wanted or looked_at > SPACES, "with more than that, small ones may be forgotten"
            crowded += looked_at > SPACES
            assert (np.diff(lengths(found).prod(axis=1)) <= 1e-6 * VOLUME).all()
            np.testing.assert_allclose(paid[lane], chosen.prod() / VOLUME, rtol=1e-5)
            assert over[lane] == allowed[:, lane].all(), "a mask that allows nothing allows everything"
        ends += over.sum()
        game.reset(tiles, over[None])
    assert ends > 200
    assert 0 < crowded < 2400


def test_what_does_not_fit_ends_the_episode(game):
    tiles = game.new(1, 7)
    for _ in range(2):  # the second time the item is gone
        tiles["action"] = 0
        game.decide(tiles)
        game.tick(tiles)
    assert game.status(tiles)[0].all()
    assert (game.terms(tiles)[0, 0, 0] == 0).all() and (tiles["packed"][0].sum(axis=0) == 1).all()


def test_observations_are_the_items_then_the_spaces_in_shares_of_the_container(game):
    tiles = game.new(1, 11)
    for _ in range(6):
        tiles["action"] = game.actions(tiles, "random")
        game.decide(tiles)
        game.tick(tiles)
    seen = game.observe(tiles)[0, 0].T
    items, places = seen[:, :SEEN_OF_ITEMS].reshape(16, ITEMS, len(ITEM)), seen[:, SEEN_OF_ITEMS:]
    np.testing.assert_allclose(items[..., :3], sizes(tiles) / np.array(EXTENT), rtol=1e-6)
    allowed = game.mask(tiles)[0, 0].T.reshape(16, ITEMS, SPACES) != 0
    allowed[allowed.all(axis=(1, 2))] = False  # so the mask of a game that is over says
    assert np.array_equal(items[..., 4], allowed.any(axis=2)) and 0 < items[..., 4].mean() < 0.9
    assert items[..., 5:].any(axis=(0, 1)).all()
    for lane in range(16):
        rows, known = places[lane].reshape(SPACES, len(SPACE)), spaces(tiles, lane)
        np.testing.assert_allclose(rows[: len(known), :6], known / np.repeat(EXTENT, 2), rtol=1e-6)
        np.testing.assert_allclose(rows[: len(known), 6], lengths(known).prod(axis=1) / VOLUME, rtol=1e-5)
        snug = (sizes(tiles)[lane, :, None] == lengths(known)) & allowed[lane, :, : len(known), None]
        assert np.array_equal(items[lane, :, 5:], snug.any(axis=1))
        assert np.array_equal(rows[: len(known), 7:], snug.any(axis=0))
        assert (rows[len(known) :] == 0).all()


def test_a_success_is_a_container_nearly_full(game):
    tiles = game.new(8, 13)
    for _ in range(ITEMS):
        over, winner = game.status(tiles)
        assert (winner[~over] == 0).all()
        tiles["action"] = game.actions(tiles, "largest")
        game.tick(tiles)
    over, winner = game.status(tiles)
    packed = (sizes(tiles).prod(axis=2) / VOLUME * (tiles["packed"].transpose(0, 2, 1).reshape(-1, ITEMS) != 0)).sum(1)
    assert over.all()
    np.testing.assert_allclose(tiles["filled"].ravel(), packed, rtol=1e-5)
    assert np.array_equal(winner.ravel() == 1, tiles["filled"].ravel() >= np.float32(0.9)) and 20 < winner.sum() < 100
