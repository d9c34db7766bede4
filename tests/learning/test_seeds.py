"""Runs of neighbouring seeds are independent: no game and no generator of one is another's."""

import pytest

from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.learning import seeds


@pytest.mark.parametrize("n", [1, 16, 64])
def test_runs_of_neighbouring_seeds_share_no_game(n: int):
    runs = [seeds.of_games(seed, n) for seed in range(20)]
    assert len({int(key) for run in runs for key in run}) == 20 * n


def test_generators_of_a_run_and_of_its_neighbours_are_apart():
    drawn = [seeds.apart(seed, what) for seed in range(50) for what in range(7)]
    assert len(set(drawn)) == len(drawn) and all(0 <= one < 1 << 32 for one in drawn)


def test_a_gates_games(reference_rules):
    drill = compile_drill(drills["territory"])
    one, two = (Territories(drill, 16, seed).batch.tiles["rng_key"].ravel() for seed in (0, 1))
    assert not set(one.tolist()) & set(two.tolist())


def test_a_dreamers_games(reference_rules):
    pytest.importorskip("torch")
    from dshq_widget.algorithms.dreamer.games import FrameGames

    drill = compile_drill(drills["bandit"])
    one, two = (FrameGames(drill, 16, seed).batch.tiles["rng_key"].ravel() for seed in (0, 1))
    assert not set(one.tolist()) & set(two.tolist())
