"""Territory: its rules, what the queen sees and what she is paid, by states made by hand and by bookkeeping."""

from __future__ import annotations

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.territory import Territory
from dshq_widget.drills.territory_units import CHUNKS, COMBAT, ENERGY, FLEE, MINE, OUT, SLOTS, SPOTS, WINDOW
from dshq_widget.training.trainer import Trainer

SPEC = compile_drill(Territory).spec
TERMS = [term.name for term in SPEC.terms]
WAIT = 0


@pytest.fixture(scope="module")
def game():
    return compile_drill(Territory).game()


@pytest.fixture
def quiet(game):
    """16 equal games: every worker far off on its way at (2, 2), protectors at (17, 17), no parasite."""
    state = game.new(1, 7)
    state["worker_x"], state["worker_y"], state["worker_chunk"] = 2, 2, 42
    state["protector_x"], state["protector_y"], state["protector_chunk"] = 17, 17, 357
    state["worker_phase"], state["worker_spot"] = OUT, 0
    state["spot_x"], state["spot_y"] = 2, 2
    state["cluster_x"], state["cluster_y"] = 17, 17
    state["protector_way"] = 1
    open_window(state)
    return state


def open_window(state):
    """The window begins now."""
    work = (state["worker_alive"] != 0) & (state["worker_phase"] != FLEE)
    state["start_working"] = work.sum(1)
    for spot in range(SPOTS):
        state["start_spot"][:, spot] = (work & (state["worker_spot"] == spot)).sum(1)
    state["start_protectors"] = (state["protector_alive"] != 0).sum(1)
    state["start_energy"] = state["player_energy"]
    state["start_parasite_chunk"], state["start_parasite_kind"] = state["parasite_chunk"], state["parasite_kind"]


def put_parasite(state, slot, kind, x, y, age=0):
    state["parasite_kind"][:, slot], state["parasite_age"][:, slot] = kind, age
    state["parasite_x"][:, slot], state["parasite_y"][:, slot] = x, y
    state["parasite_chunk"][:, slot] = 20 * round(y) + round(x)


def decide(game, state, action=WAIT, ticks=WINDOW):
    state["action"] = action
    game.decide(state)
    game.tick(state, ticks)


def terms(game, state):
    return dict(zip(TERMS, game.terms(state)[0, 0, :, 0].tolist(), strict=True))


def moments(game, decisions, seed=3, tiles=4, who=("random", "raider", "hunter")):
    state = game.new(tiles, seed)
    for k in range(decisions):
        decide(game, state, game.actions(state, who[k % len(who)]))
        yield state
        game.reset(state, state["ticks"] >= SPEC.time_limit)


def test_spots_are_eight_cells_in_clusters_away_from_the_hive(game):
    state = game.new(64, 1)
    x, y = (state[f"spot_{axis}"].transpose(0, 2, 1).reshape(-1, SPOTS) for axis in "xy")
    assert ((x >= 0) & (x <= 19) & (y >= 0) & (y <= 19) & (x == np.floor(x)) & (y == np.floor(y))).all()
    assert (np.hypot(x - 10, y - 9) >= 5).all()
    assert all(len(set(row)) == SPOTS for row in (20 * y + x).tolist())
    clusters = state["clusters"].ravel()
    assert set(clusters) == {2, 3}
    middle_x, middle_y = (state[f"cluster_{axis}"].transpose(0, 2, 1).reshape(-1, 3) for axis in "xy")
    for k in range(SPOTS):
        own = (
            np.take_along_axis(middle_x, (k % clusters)[:, None], 1),
            np.take_along_axis(middle_y, (k % clusters)[:, None], 1),
        )
        assert (np.hypot(x[:, k] - own[0][:, 0], y[:, k] - own[1][:, 0]) <= 2).all()


def test_nobody_is_lost_and_every_unit_is_accounted_for(game):
    for state in moments(game, 120):
        for who in ("worker", "protector"):
            waits = state[f"{who}_wait"]
            assert ((state[f"{who}_alive"] != 0) == (waits == 0)).all() and waits.max() <= 60
        carried = state["worker_load"].sum(1)
        assert (state["mined"] == state["deposited"] + carried + state["lost"]).all()
        assert np.allclose(state["minerals"], 0.3 * state["deposited"], atol=0.05)
        assert (state["queen_energy"] >= 0).all() and (state["queen_energy"] <= 100).all()
        assert (state["player_energy"] >= 0).all()
        wanted = 100 - 0.2 * state["ticks"] + 0.5 * state["deposited"] - state["drained"]
        rich = state["player_energy"] > 0
        assert (state["player_energy"] >= wanted - 0.05).all(), "the floor can only add"
        assert np.allclose(state["player_energy"][rich], wanted[rich], atol=0.05) or not (wanted > 40)[rich].all()


def test_no_parasite_is_ever_lost_for_want_of_a_slot(game):
    """A queen who spends all she has in the way that fills most slots, where nobody fights back."""
    state = game.new(1, 2)
    most = 0
    for k in range(40):
        state["protector_alive"], state["protector_wait"] = 0, 60
        state["worker_alive"], state["worker_wait"] = 0, 60
        rich = bool((state["queen_energy"] >= 25).all())
        kind = ENERGY if k >= 36 else COMBAT
        decide(game, state, kind * CHUNKS + 5 if rich or k >= 36 else WAIT)
        assert ((state["spawn_slot"] >= 0) == (rich or k >= 36)).all()
        most = max(most, int((state["parasite_kind"] != 0).sum(1).max()))
    assert 20 <= most <= SLOTS


def test_mask_allows_what_the_queen_can_pay_for(game, quiet):
    for energy, kinds in ((14.9, ()), (15, (ENERGY,)), (24.9, (ENERGY,)), (25, (ENERGY, COMBAT))):
        quiet["queen_energy"] = energy
        wanted = np.zeros(3 * CHUNKS, bool)
        wanted[WAIT] = True
        for kind in kinds:
            wanted[kind * CHUNKS : (kind + 1) * CHUNKS] = True
        assert np.array_equal(game.mask(quiet)[0, 0, :, 0] != 0, wanted)


def test_a_spawn_costs_stands_in_its_chunk_and_is_remembered(game, quiet):
    quiet["queen_energy"] = 40
    assert (quiet["spawn_slot"] == -1).all()
    quiet["ticks"] = 30
    decide(game, quiet, 2 * CHUNKS + 20 * 3 + 15, ticks=0)
    slot = quiet["spawn_slot"][0, 0]
    assert (quiet["queen_energy"] == 15).all() and quiet["parasite_kind"][0, slot, 0] == COMBAT
    assert (quiet["parasite_x"][0, slot, 0], quiet["parasite_y"][0, slot, 0]) == (15, 3)
    assert (quiet["spawned_at"][0, 75] == 30).all() and quiet["spawned_at"].sum() == 30 * 16
    assert (quiet["spawn_survived"] != 0).all() and (quiet["spawn_kind"] == COMBAT).all()
    quiet["queen_energy"] = 14
    decide(game, quiet, CHUNKS + 7, ticks=0)
    assert (quiet["spawn_slot"] == -1).all() and (quiet["queen_energy"] == 14).all(), "who cannot pay waits"


def test_what_became_of_a_spawn(game, quiet):
    decide(game, quiet, CHUNKS + 357)
    assert (quiet["spawn_slot"] >= 0).all() and (quiet["spawn_survived"] == 0).all(), "right on the protectors"
    decide(game, quiet, CHUNKS + 19)
    assert (quiet["spawn_survived"] != 0).all()


def test_energy_parasite_drains_frightens_and_dies_of_age(game, quiet):
    quiet["worker_phase"], quiet["worker_load"] = MINE, 0
    put_parasite(quiet, 0, ENERGY, 4, 2, age=40)
    game.tick(quiet, 1)
    assert (quiet["parasite_x"][0, 0] == 3).all() and (quiet["drained"] == 1).all(), "1 chunk a tick; drains within 1"
    assert (quiet["worker_phase"] == FLEE).all() and (quiet["worker_x"] == 1).all()
    assert np.allclose(quiet["player_energy"], 100 - 0.2 - 1)
    game.tick(quiet, 18)
    assert (quiet["parasite_kind"][0, 0] == ENERGY).all()
    game.tick(quiet, 1)
    assert (quiet["parasite_kind"][0, 0] == 0).all(), "60 ticks old"
    game.tick(quiet, 10)
    assert (quiet["worker_phase"] != FLEE).all()


def test_energy_parasite_sees_no_further_than_six(game, quiet):
    put_parasite(quiet, 0, ENERGY, 2, 8)
    put_parasite(quiet, 1, COMBAT, 2, 9)
    game.tick(quiet, 1)
    assert (quiet["parasite_y"][0, 0] == 8).all() and (quiet["parasite_y"][0, 1] == 8).all()


def test_protectors_chase_what_they_detect_and_end_energy_parasites_at_once(game, quiet):
    put_parasite(quiet, 0, ENERGY, 13, 17)
    game.tick(quiet, 1)
    assert (quiet["protector_x"] == 15.5).all(), "1.5 chunks a tick"
    assert (quiet["parasite_kind"][0, 0] == ENERGY).all()
    game.tick(quiet, 1)
    assert (quiet["parasite_kind"][0, 0] == 0).all() and (quiet["protector_alive"] != 0).all()


def test_fights_end_by_chance_as_often_as_the_rules_say(game):
    state = game.new(64, 5)
    state["protector_x"], state["protector_y"] = 3, 3
    state["protector_alive"][:, 1:], state["protector_wait"][:, 1:] = 0, 1000
    state["worker_x"], state["worker_y"] = 17, 17
    put_parasite(state, 0, COMBAT, 3, 3)
    put_parasite(state, 1, COMBAT, 17, 17)
    state["spot_x"], state["spot_y"], state["worker_phase"] = 17, 17, MINE
    game.tick(state, 1)
    assert abs((state["protector_alive"][:, 0] == 0).mean() - 0.10) < 0.03
    assert abs((state["parasite_kind"][:, 0] == 0).mean() - 0.15) < 0.035
    assert abs((state["worker_alive"] == 0).mean() - 0.05) < 0.01
    assert (state["killed"] == (state["protector_alive"][:, 0] == 0)).all()
    dead = state["worker_alive"] == 0
    state["parasite_kind"] = 0
    game.tick(state, 59)
    assert (state["worker_alive"][dead] == 0).all()
    game.tick(state, 1)
    assert (state["worker_alive"][dead] != 0).all(), "back after 60 ticks"


def features(game, state):
    return game.observe(state)[0, 0, :, 0]


def places(seen):
    """{chunk: the other four numbers} of the five places."""
    rows = seen[:25].reshape(5, 5)
    return {round(float(row[0]) * 399): tuple(row[1:].tolist()) for row in rows}


def test_golden_features(game, quiet):
    for chunk, workers in ((42, (0, 1, 2)), (399, (3, 4)), (100, (5,)), (101, (6,)), (102, (7,))):
        quiet["worker_chunk"][:, workers] = chunk
    quiet["protector_chunk"][:, 0] = 42
    quiet["queen_energy"] = 58
    quiet["start_energy"], quiet["player_energy"] = 50, 100
    put_parasite(quiet, 0, ENERGY, 2, 2)
    for slot in range(1, 5):
        put_parasite(quiet, slot, COMBAT, 19, 19)
    quiet["start_parasite_chunk"][:, 3:5], quiet["start_parasite_kind"][:, 3:5] = 399, COMBAT
    seen = features(game, quiet)
    shown = places(seen)
    assert set(shown) == {42, 399, 100, 101, 102}
    assert shown[42] == pytest.approx((0.375, 1 / 3, 1.0, 0.5))
    assert shown[399] == pytest.approx((0.25, 0, 0.5, 0.75)), "rate(2, 4) is .5"
    assert shown[100] == pytest.approx((0.125, 0, 0.5, 0.5))
    assert seen[25:].tolist() == pytest.approx([3 / 6, 2 / 4, 0.75])


def test_fewer_chunks_leave_zeros_and_the_order_is_shuffled_without_touching_the_state(game, quiet):
    quiet["rng_key"] = np.arange(16)
    before = game.words(quiet).copy()
    seen = game.observe(quiet)[0, 0]
    assert np.array_equal(seen, game.observe(quiet)[0, 0]) and np.array_equal(game.words(quiet), before)
    assert (np.sort(seen[:25].reshape(5, 5, 16)[:, 1], axis=0) == np.array([0, 0, 0, 0, 1])[:, None]).all()
    assert len(set(seen[:25].reshape(5, 5, 16)[:, 1].argmax(0))) > 2


def test_features_stay_between_0_and_1(game):
    for state in moments(game, 60):
        seen = game.observe(state)
        assert (seen >= 0).all() and (seen <= 1).all()


def test_reward_of_each_part(game, quiet):
    assert terms(game, quiet)["stagnant"] == pytest.approx(-0.1), "nothing changed"
    quiet["worker_spot"][:, 4:] = 1
    open_window(quiet)
    quiet["worker_phase"][:, 4:] = FLEE
    paid = terms(game, quiet)
    assert paid["mining"] == pytest.approx(0.4 * 0.5) and paid["stopped"] == pytest.approx(0.2)
    assert paid["stagnant"] == 0 and paid["result"] == pytest.approx(0.4)
    quiet["protector_alive"][:, 0], quiet["killed"] = 0, 1
    paid = terms(game, quiet)
    assert paid["protectors"] == pytest.approx(0.3 / 3) and paid["killed"] == pytest.approx(0.15)
    quiet["player_energy"] = 75
    paid = terms(game, quiet)
    assert paid["energy"] == pytest.approx(0.3 * 0.25)
    assert paid["result"] == pytest.approx(0.2 + 0.2 + 0.1 + 0.15 + 0.075)


def test_result_is_its_parts_and_at_most_1(game, quiet):
    quiet["worker_spot"] = np.arange(8)[None, :, None]
    open_window(quiet)
    quiet["worker_phase"] = FLEE
    paid = terms(game, quiet)
    assert paid["stopped"] == pytest.approx(1.6) and paid["result"] == 1
    for state in moments(game, 40):
        values = game.terms(state)[:, 0]
        assert np.allclose(values[:, 0], np.clip(values[:, 1:].sum(1), -1, 1), atol=1e-5)


def test_location_counts_only_with_a_spawn(game, quiet):
    decide(game, quiet, WAIT, ticks=0)
    assert terms(game, quiet)["location"] == 0
    decide(game, quiet, CHUNKS + 20 * 2 + 12, ticks=0)
    assert terms(game, quiet)["location"] == pytest.approx(-0.4 * 10 / 26.87006, rel=1e-5)
    quiet["worker_alive"], quiet["queen_energy"] = 0, 50
    decide(game, quiet, CHUNKS + 20 * 9 + 15, ticks=0)
    assert terms(game, quiet)["location"] == pytest.approx(-0.3 * 5 / 26.87006, rel=1e-5)


def test_ppo_takes_some_updates():
    with Trainer(
        Territory, algorithm="ppo", num_envs=32, rollout_length=8, minibatch_size=128, workers=0, device="cpu"
    ) as trainer:
        trainer.start()
        assert trainer.wait(updates=3, progress=False)
        assert np.isfinite(trainer.metrics["loss_policy"])
        assert {f"reward_{name}" for name in TERMS} <= set(trainer.metrics)
