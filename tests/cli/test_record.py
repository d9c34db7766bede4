"""A match as a film: scenes painted with numpy, the best match found and played again, GIFs as others read them."""

import dataclasses

import numpy as np
import pytest

from dshq_widget import make
from dshq_widget.cli import main, record
from dshq_widget.cli.record import RATE, Match, best, best_of, by_name, by_policy, pictures, play, save_gif
from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.drill import palette
from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch, compiled
from dshq_widget.env.picture import BOX, CIRCLE, LINE, RING, TAG, Painter
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.recurrent import RecurrentPolicy
from tests.harness.games.specs import NOTHING
from tests.harness.games.toy_drills import Walk

SPEC = dataclasses.replace(NOTHING, world=(-10, -5, 10, 5), palette=("ink", "player0", "mat"), tags=("GO",))
INK, PLAYER0, MAT = range(3)
DARK = tuple(round(255 * value) for value in palette.rgba(palette.PAINTS["ink"].light)[:3])


def shapes(*rows):
    """f32 (n, 12) of kind, colour, x, y, a, b, c, d, e; alpha is 1."""
    out = np.zeros((len(rows), 12), np.float32)
    for shape, row in zip(out, rows, strict=True):
        shape[: len(row)] = row
        shape[9] = 1
    return out


def at(painter, picture, x, y):
    """The colour at a place of the world."""
    return tuple(int(c) for c in picture[np.abs(painter.ys - y).argmin(), np.abs(painter.xs - x).argmin()])


@pytest.mark.parametrize(
    "shape, inside, outside",
    [
        ((CIRCLE, INK, 3, 2, 1), [(3, 2), (3.8, 2), (3, 1.2)], [(4.2, 2), (3.9, 2.9)]),
        ((BOX, INK, 0, 0, 2, 1, 0, 1), [(0, 1.8), (0.8, 0)], [(1.8, 0), (1.2, 1.8)]),  # turned by a quarter
        ((BOX, INK, 0, 0, 2, 2, 1, 0, 2), [(1.3, 1.3), (1.9, 0)], [(1.7, 1.7)]),  # its corners are round
        ((LINE, INK, -2, -2, 2, 2, 0.3), [(0, 0), (1.9, 1.9)], [(1, 0), (2.5, 2.5)]),
        ((RING, INK, 0, 0, 3, 0.3, 0.25, 0), [(2.1, 2.1), (3, 0.2)], [(0, 0), (-2.1, 2.1), (2.1, -2.1)]),
        ((RING, INK, 0, 0, 3, 0.3, 1, 0), [(-3, 0), (0, -3)], [(0, 0)]),
        ((BOX, INK, 0, 0, 2, 1, 1, 0), [(1.9, 0.9)], [(2.2, 0)]),
    ],
)
def test_each_kind_of_shape_covers_what_it_should(shape, inside, outside):
    painter = Painter(SPEC, 400)
    empty = painter.draw(shapes())
    picture = painter.draw(shapes(shape))
    assert picture.shape == (200, 400, 3)
    assert all(at(painter, picture, *place) == DARK for place in inside)
    assert all(at(painter, picture, *place) == at(painter, empty, *place) for place in outside)


def test_letters_are_drawn_within_their_box():
    pytest.importorskip("PIL")
    painter = Painter(SPEC, 400)
    row = shapes((TAG, INK, 0, 0, 3))
    changed = (painter.draw(row) != painter.draw(shapes())).any(-1)
    rows, columns = np.nonzero(changed)
    assert changed.sum() > 100
    assert np.abs(painter.ys[rows]).max() <= 1.5 and np.abs(painter.xs[columns]).max() <= 6


def test_later_shapes_lie_over_earlier_ones_and_what_moves_leaves_nothing_behind():
    painter = Painter(SPEC, 400)
    mat = (BOX, MAT, 0, 0, 9, 4, 1, 0)
    here = painter.draw(shapes(mat, (CIRCLE, PLAYER0, -5, 0, 1), (CIRCLE, INK, -5, 0, 0.5)))
    there = painter.draw(shapes(mat, (CIRCLE, PLAYER0, 5, 0, 1), (CIRCLE, INK, 5, 0, 0.5)))
    bare = painter.draw(shapes(mat))
    assert at(painter, here, -5, 0) == DARK and at(painter, there, 5, 0) == DARK
    assert at(painter, there, -5, 0) == at(painter, bare, -5, 0)
    blue = at(painter, here, -5.7, 0)
    assert blue[2] > 150 > blue[0]


def test_both_themes_and_no_third():
    assert Painter(SPEC, 64, "dark").draw(shapes()).mean() < Painter(SPEC, 64, "light").draw(shapes()).mean()
    with pytest.raises(ValueError, match="light, dark, got 'sepia'"):
        Painter(SPEC, 64, "sepia")


def test_a_scene_of_colours_that_the_palette_lacks_is_named():
    with make(Walk, render_mode="rgb_array") as env:
        env.reset(seed=0)
        with pytest.raises(ValueError, match="not in the palette: wanted a palette of the drill"):
            env.render()


def test_an_unplanned_name_has_the_colour_it_has_on_the_page():
    assert palette.paint("banana").light == "#40b82eff"  # js/tests/renderer/renderer.test.ts expects the same
    assert palette.paint("banana").dark == "#7be06cff"


@pytest.mark.parametrize("name", sorted(drills))
def test_every_drill_can_be_painted(name):
    drill = compiled(name)
    picture = Painter(drill.spec, 160).draw(Batch(drill, 1).game.scene(Batch(drill, 1).tiles))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3


def test_the_best_match_is_the_quickest_that_was_won():
    ball = compiled("ball")
    lengths = {1: (90, -1), 2: (80, 1), 3: (70, 1), 4: (60, 0)}
    played = [Match(seed, np.zeros((n, 2), np.int32), winner, 0.0) for seed, (n, winner) in lengths.items()]
    assert best(ball, played).seed == 3
    with pytest.raises(ValueError, match="none of the 1 matches was won"):
        best(ball, played[:1])
    alone = [Match(seed, np.zeros((9, 1), np.int32), 0, score) for seed, score in enumerate((1.0, 5.0, 3.0))]
    assert best(compiled("cartpole"), alone).seed == 1


def test_matches_are_the_same_every_time_and_again_from_their_actions():
    ball = compiled("ball")
    players = [by_name("chaser", ball), by_name("random", ball)]
    played = play(ball, players, 16, seed=7)
    again = play(ball, players, 16, seed=7)
    assert all((one.actions == other.actions).all() for one, other in zip(played, again, strict=True))
    match = best(ball, played)
    alone = Batch(ball, 1, match.seed, practice=False)
    for k, actions in enumerate(match.actions):
        terminated = alone.step(actions[None])[2]
        assert terminated[0] == (k == len(match.actions) - 1)
    assert alone.winners()[0] == 1


def test_the_film_is_the_end_of_the_match(tmp_path):
    image = pytest.importorskip("PIL.Image")
    ball = compiled("ball")
    match = best(ball, play(ball, [by_name("scripted", ball), by_name("idle", ball)], 4))
    film = list(pictures(ball, match, seconds=2.0, width=160))
    assert len(film) == 2 * RATE
    assert (film[0] != film[-1]).any()
    short = list(pictures(ball, match, seconds=0.001, width=160))
    assert len(short) == 1 and (short[0] == film[-1]).all()
    assert save_gif(tmp_path / "goal.gif", film) == len(film)
    with image.open(tmp_path / "goal.gif") as gif:
        assert gif.size == film[0].shape[1::-1] and gif.info["loop"] == 0
        milliseconds = 0
        for frame in range(gif.n_frames):  # pictures that are alike become one of their common length
            gif.seek(frame)
            milliseconds += gif.info["duration"]
        assert milliseconds == 1000 * (len(film) - 1) / RATE + 1000
        shown = np.asarray(gif.convert("RGB"), int)
    assert np.abs(shown - film[-1]).mean() < 4, "the last picture is the goal"


def test_many_matches_are_played_some_at_a_time(monkeypatch):
    monkeypatch.setattr(record, "TOGETHER", 16)
    ball, alone = compiled("ball"), compiled("bandit")
    players = [by_name("chaser", ball), by_name("idle", ball)]
    match, wins = best_of(ball, players, 40, seed=5)
    played = [one for first in (0, 16) for one in play(ball, players, 16, 5 + first)] + play(ball, players, 8, 5 + 32)
    assert wins == sum(one.winner > 0 for one in played) and match.seed == best(ball, played).seed
    assert match.actions.base is None, "the other matches' actions are not kept by it"
    with pytest.raises(ValueError, match="none of the 40 matches was won"):
        best_of(ball, players[::-1], 40)
    assert best_of(alone, [by_name("copycat", alone)], 20)[0].score > 90
    monkeypatch.setattr(record, "MOST_ACTIONS", 100)
    with pytest.raises(ValueError, match="matches continue after 4 decisions, more than can be kept: lower --matches"):
        play(ball, players, 16)


def test_a_network_with_a_memory_begins_each_match_anew():
    bandit = compiled("bandit")
    spec = PolicySpec.for_drill(bandit.spec, (8,), memory=4)
    player = by_policy(RecurrentPolicy(spec.layers, "tanh", 3 * spec.untrained(3)))
    first, again = (play(bandit, [player], 16, seed=2) for _ in range(2))
    assert all((one.actions == other.actions).all() for one, other in zip(first, again, strict=True))


def test_an_opponent_is_named_by_its_rung():
    ball = compiled("ball")
    named = [play(ball, [by_name(who, ball), by_name("idle", ball)], 4) for who in ("bronze", "ball:bronze")]
    assert all((one.actions == other.actions).all() for one, other in zip(*named, strict=True))


@pytest.mark.parametrize(("name", "rate"), [("bandit", 5), ("ball", 120)])
def test_a_film_lasts_as_long_as_what_it_shows(name, rate):
    """Also of a drill with fewer ticks than pictures a second, and for any --seconds."""
    drill = compiled(name)
    assert drill.spec.tick_rate == rate
    match = Match(0, np.zeros((3 * rate // drill.spec.action_repeat, drill.spec.sides), np.int32), 1, 0.0)
    rest = REST_SECONDS["goal"]
    for seconds in (2.0, 1e308):
        film = pictures(drill, match, seconds=seconds, width=64)
        assert len(film) == pytest.approx(min(seconds, 3 + rest) * RATE, abs=RATE / rate)


def test_a_gif_holds_two_pictures_at_a_time(tmp_path):
    """It has those that differ, of what differs, and shows each as long as it stood."""
    image = pytest.importorskip("PIL.Image")
    plain, held = np.full((40, 60, 3), 90, np.uint8), []

    class Drawn(list):
        def __getitem__(self, k):
            held.append(k)
            return super().__getitem__(k)

    moved = plain.copy()
    moved[10:20, 30:45] = (200, 30, 30)
    film = Drawn([plain] * 3 + [moved] * 12_100 + [plain])
    assert save_gif(tmp_path / "x.gif", film) == 12_104
    assert held[:3] == [0, 6051, 12_103] and held[3:] == list(range(12_104)), "each once, after three for the colours"
    with image.open(tmp_path / "x.gif") as gif:
        shown = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            shown.append((gif.info["duration"], np.asarray(gif.convert("RGB"), int)[15, 35].tolist()))
    grey, red = [90, 90, 90], [200, 30, 30]
    assert [milliseconds for milliseconds, _ in shown] == [150, 600_000, 5000, 1000]
    assert np.allclose([colour for _, colour in shown], [grey, red, red, grey], atol=4)
    assert (tmp_path / "x.gif").stat().st_size < 5000


def test_a_file_with_another_front_than_the_drills_plays_no_match(tmp_path):
    """Such a layer may cost more than a second a decision."""
    layers = (28, -7, -2, -1, -1, -256, 1, 31)
    weights = np.zeros(PolicySpec(layers).floats, np.float32)
    path = checkpoint.save(tmp_path / "bot.dshq", Checkpoint("ball", "0" * 16, layers, "tanh", weights))
    with pytest.raises(CheckpointError, match=r"'bot.dshq' was trained on 'ball' with layers .* but 'ball' needs"):
        by_name(path, compiled("ball"))
    with pytest.raises(CheckpointError, match="needs"):
        by_name("ball:gold", compiled("maze"))
    assert main.main(["record", str(path), "--gif", str(tmp_path / "x.gif")]) != 0
    assert not (tmp_path / "x.gif").exists()
