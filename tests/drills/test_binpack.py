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
    """The known spaces of one game of the first tile, in order: (x1, x2, y1, y2, z1, z2) each."""
    rows = tiles["space"][0, :, lane].reshape(SPACES, 6)
    return [tuple(map(int, row)) for row in rows[: tiles["spaces"][0, lane]]]


def volume(box):
    return float(np.prod([box[2 * axis + 1] - box[2 * axis] for axis in range(3)], dtype=np.float64))


def meet(a, b):
    return all(a[k] < b[k + 1] and b[k] < a[k + 1] for k in (0, 2, 4))


def within(a, b):
    return all(b[k] <= a[k] and a[k + 1] <= b[k + 1] for k in (0, 2, 4))


def after_packing(known, item):
    """The largest empty boxes once `item` stands among those that were, and among how many boxes they were found."""
    boxes = {box for box in known if not meet(box, item)}
    for box in known:
        if meet(box, item):
            for k in range(6):
                part = list(box)
                part[k] = item[k ^ 1]
                if part[k // 2 * 2] < part[k // 2 * 2 + 1] and within(part, box):
                    boxes.add(tuple(part))
    return {a for a in boxes if not any(a != b and within(a, b) for b in boxes)}, len(boxes)


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
            for k, box in enumerate(before[lane]):
                room = np.array(box[1::2]) - box[::2]
                assert np.array_equal(masks[lane, :, k], left[lane] & (items[lane] <= room).all(axis=1))
            assert not masks[lane, :, len(before[lane]) :].any()
            placed = tuple(v for axis in range(3) for v in (at[2 * axis], at[2 * axis] + int(chosen[axis])))
            assert np.array_equal(tiles["corner"][0, :, lane].reshape(ITEMS, 3)[item[lane]], placed[::2])
            found, (wanted, looked_at) = spaces(tiles, lane), after_packing(before[lane], placed)
            assert set(found) <= wanted and len(set(found)) == len(found)
            assert set(found) == wanted or looked_at > SPACES, "with more than that, small ones may be forgotten"
            crowded += looked_at > SPACES
            volumes = np.array([volume(box) for box in found])
            assert (np.diff(volumes) <= 1e-6 * VOLUME).all()
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
        np.testing.assert_allclose(rows[: len(known), :6], np.array(known) / np.repeat(EXTENT, 2), rtol=1e-6)
        np.testing.assert_allclose(rows[: len(known), 6], [volume(box) / VOLUME for box in known], rtol=1e-5)
        lengths = np.array(known)[:, 1::2] - np.array(known)[:, ::2]
        snug = (sizes(tiles)[lane, :, None] == lengths) & allowed[lane, :, : len(known), None]
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
