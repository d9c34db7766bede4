"""What every drill of the registry promises: one suite, run over each.

A new drill needs no test here, only a line in MIRRORS if it is mirrored.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from dshq_widget.drill import Drill, compile_drill
from dshq_widget.drills import drills, get

# The half turn of a mirrored drill: fields whose values change sign. Fields of length 2 belong to the sides and swap.
MIRRORS = {
    "ball": {"ball_px", "ball_py", "ball_vx", "ball_vy", "p_px", "p_py", "p_cos", "p_sin", "p_vx", "p_vy", "goal"},
}
SHAPE_KINDS = 5


@pytest.fixture(scope="module", params=drills, ids=str)
def drill(request):
    return compile_drill(drills[request.param])


@pytest.fixture(scope="module")
def game(drill):
    return drill.game()


def advance(game, state, actions):
    """One decision of every game; returns which games are over (n_tiles, 16)."""
    state["action"] = actions
    game.decide(state)
    game.tick(state, game.spec["action_repeat"])
    return game.status(state)[0] | (state["ticks"] >= game.spec["time_limit"])


def play(game, state, decisions, who="random"):
    """Many decisions; finished games begin again."""
    for _ in range(decisions):
        game.reset(state, advance(game, state, game.actions(state, who)))


def by_kind(drill, kind):
    return [k for k, term in enumerate(drill.spec["terms"]) if term["kind"] == kind]


def half_turn(drill, state):
    """The same moment seen from the other side."""
    turned = state.copy()
    for name, _, length in drill.spec["fields"]:
        values = state[name][:, ::-1] if length == 2 else state[name]
        turned[name] = -values if name in MIRRORS[drill.name] else values
    return turned


def same(a, b):
    """Equal bits but for the sign of zero."""
    return all(np.array_equal(a[name], b[name]) for name in a.dtype.names)


# -- the registry ---------------------------------------------------------------------------------


def test_registry_holds_classes_under_their_names():
    for name, drill in drills.items():
        assert issubclass(drill, Drill) and drill.name == name
        assert get(name) is drill


@pytest.mark.parametrize("wrong, near", [("bal", "ball"), ("Ball", "ball"), ("xyz", None)])
def test_unknown_drill(wrong, near):
    with pytest.raises(ValueError, match=f"no drill called '{wrong}'.*Known drills: .*ball") as caught:
        get(wrong)
    assert (f"did you mean {near!r}" in str(caught.value)) == (near is not None)


# -- the declaration ------------------------------------------------------------------------------


def test_spec_is_json(drill):
    assert json.loads(json.dumps(drill.spec)) == drill.spec


def test_actions_and_keys(drill):
    factors = {choice["name"]: choice["options"] for choice in drill.spec["actions"]}
    assert drill.spec["n_actions"] == np.prod([len(options) for options in factors.values()])
    assert all(len(set(options)) == len(options) for options in factors.values())
    played = {tuple(pair) for pair in drill.spec["keys"].values()}
    wanted = {(choice, option) for choice, options in factors.items() for option in options[1:]}
    first = {(choice, options[0]) for choice, options in factors.items()}
    assert wanted <= played <= wanted | first, "every option can be played; the first one is also what no key means"


def test_names_are_unique(drill):
    for table in ("observations", "terms", "actions", "drag"):
        names = [row["name"] for row in drill.spec[table]]
        assert len(set(names)) == len(names), table
    assert len(drill.spec["observations"]) == drill.spec["n_obs"]


# -- playing it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("practice", [False, True])
def test_same_seed_same_bits(game, practice):
    runs = []
    for seed in (3, 3, 4):
        state = game.new(2, seed=seed, practice=practice)
        play(game, state, 400)
        runs.append(state.tobytes())
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_observations_and_terms_are_finite_and_bounded(drill, game):
    state = game.new(8, seed=1, practice=True)
    seen = []
    for _ in range(500):
        play(game, state, 1)
        seen.append(game.observe(state))
        assert np.isfinite(game.terms(state)).all()
        assert abs(seen[-1]).max() <= 2, "NaN fails here too"
    spread = np.concatenate(seen).std(axis=(0, 1, 3))
    dull = [row["name"] for row, s in zip(drill.spec["observations"], spread, strict=True) if s == 0]
    assert not dull, "an observation that never changes tells the policy nothing"


def test_random_actions_cover_all(drill, game):
    state = game.new(64, seed=2)
    counts = np.bincount(
        np.concatenate([game.actions(state, "random").ravel() for _ in range(100)]), minlength=drill.spec["n_actions"]
    )
    assert len(counts) == drill.spec["n_actions"]
    assert counts.min() > 0.9 * counts.mean()


def test_a_copy_of_the_record_is_a_snapshot(game):
    """Restoring one lane by copying its words continues exactly as it did, whatever the other lanes do."""
    state = game.new(1, seed=5, practice=True)
    play(game, state, 50)
    kept = state.copy()
    play(game, state, 200)
    wanted = game.words(state)[3]
    other = game.new(1, seed=99)
    for name in state.dtype.names:
        other[name][..., 3] = kept[name][..., 3]
    play(game, other, 200)
    assert np.array_equal(game.words(other)[3], wanted)


def test_every_episode_ends(drill, game):
    """Random games from proper starts and idle ones: at the time limit the last are over, and a new one starts at 0."""
    for who in ("random", "idle"):
        state = game.new(4, seed=6)
        over = np.zeros((4, 16), bool)
        for _ in range(drill.spec["time_limit"] // drill.spec["action_repeat"]):
            assert (state["ticks"][~over] < drill.spec["time_limit"]).all()
            over |= advance(game, state, game.actions(state, who))
        assert over.all()
        game.reset(state, over)
        assert (state["ticks"] == 0).all()
        assert not game.status(state)[0].any(), "no episode is over as it begins"


def test_nobody_has_won_before_the_end(game):
    state = game.new(16, seed=7, practice=True)
    for _ in range(600):
        over = advance(game, state, game.actions(state, "random"))
        winner = game.status(state)[1]
        assert np.isin(winner, (-1, 0, 1)).all()
        assert (winner[~over] == 0).all()
        game.reset(state, over)


def test_baselines_beat_random(drill, game):
    """Mean reward of an episode, of side 0 against a random side 1, over 512 games."""
    weights = np.array([term["weight"] for term in drill.spec["terms"]])
    rewards = by_kind(drill, "reward")

    def mean_reward(who):
        state = game.new(32, seed=8)
        total, over = np.zeros((32, 16)), np.zeros((32, 16), bool)
        for _ in range(drill.spec["time_limit"] // drill.spec["action_repeat"]):
            actions = game.actions(state, "random")
            actions[:, 0] = game.actions(state, who)[:, 0]
            ended = advance(game, state, actions)
            paid = np.einsum("tkl,k->tl", game.terms(state)[:, 0, rewards], weights[rewards])
            total += np.where(over, 0, paid)
            over |= ended
        return total.mean()

    chance = mean_reward("random")
    for name in drill.spec["baselines"]:
        assert mean_reward(name) > chance + 0.1, f"{name} is no better than random"


def test_baselines_give_actions(drill, game):
    state = game.new(8, seed=9, practice=True)
    for name in drill.spec["baselines"]:
        for _ in range(100):
            actions = game.actions(state, name)
            assert actions.min() >= 0 and actions.max() < drill.spec["n_actions"]
            game.reset(state, advance(game, state, actions))


def test_mirror_is_exact(drill, game):
    """A game and its half turn, played with swapped actions, stay each other's half turn to the bit, seen alike."""
    if not drill.spec["mirrored"]:
        return
    state = game.new(16, seed=10, practice=True)
    turned = half_turn(drill, state)
    for k in range(600):
        actions = game.actions(state, "random")
        if k % 3 == 0 and drill.spec["baselines"]:
            name = drill.spec["baselines"][0]
            actions = game.actions(state, name)
            assert np.array_equal(game.actions(turned, name), actions[:, ::-1])
        turned["rng_count"] = state["rng_count"]
        over = advance(game, state, actions)
        advance(game, turned, actions[:, ::-1])
        assert same(half_turn(drill, state), turned), f"differs after {k + 1} decisions"
        assert np.array_equal(game.observe(state), game.observe(turned)[:, ::-1])
        assert np.array_equal(game.terms(state), game.terms(turned)[:, ::-1])
        game.reset(state, over)
        fresh = half_turn(drill, state)
        for name in state.dtype.names:
            lanes = over if state[name].ndim == 2 else over[:, None]
            turned[name] = np.where(lanes, fresh[name], turned[name])


# -- the picture ----------------------------------------------------------------------------------


def test_scene(drill, game):
    """Shapes fit, are finite, of known kinds and colours, and always the same ones in the same order."""
    state = game.new(1, seed=12, practice=True)
    first = game.scene(state)
    assert 0 < len(first) < drill.spec["scene_max"], "room for one more, so that none was dropped"
    for _ in range(300):
        play(game, state, 1)
        shapes = game.scene(state, lane=5)
        assert np.isfinite(shapes).all()
        assert np.array_equal(shapes[:, :2], first[:, :2]), "kinds and colours stay"
        assert (shapes[:, 9] >= 0).all() and (shapes[:, 9] <= 1).all()
    assert np.isin(first[:, 0], range(SHAPE_KINDS)).all()
    assert np.isin(first[:, 1], range(len(drill.spec["palette"]))).all()
