"""What a drill's scripts may know: nobody's action of the decision that they decide, whoever they play against."""

import numpy as np
import pytest

from dshq_kernels.network.mlp import ACTIVATIONS, make_plan, pack
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import Player, Rollouts, Samples, play_matches
from dshq_kernels.search.searcher import Others, Search, how
from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.policy.network import PolicySpec
from tests.harness.games.toy_drills import Copying

DRILL = compile_drill(Copying)
SPEC = PolicySpec.for_drill(DRILL.spec, (16,))
COPIER = 0


def test_in_rollouts_a_script_finds_what_was_done_before():
    game = DRILL.game()
    options = {"games": 64, "length": 1, "shares": {"copier": 1.0}, "seed": 0}
    rollouts = Rollouts(game, DRILL.spec, SPEC.layers, ACTIVATIONS["tanh"], **options)
    rollouts.tiles["ticks"] = 0
    samples, params = Samples.new(rollouts.units, *rollouts.sizes), pack(rollouts.plan, SPEC.untrained(0))
    groups = rollouts.groups.reshape(-1, 2)
    before = np.zeros((len(groups), LANES), np.int32)
    for _ in range(5):
        rollouts.play(params, samples, rollouts.new_stats(), gamma=1.0, gae_lambda=1.0)
        rollouts.advance()
        done = rollouts.tiles["action"]
        assert np.array_equal([done[tile, 1 - side] for tile, side in groups], before)
        before = np.array([done[tile, side] for tile, side in groups])
    assert len(np.unique(before)) == 4


@pytest.mark.parametrize("first", ["policy", "script"])
def test_in_matches_neither_player_finds_what_the_other_does_now(first):
    """The script plays first or second, on both sides; against another script it does not see more."""
    script, policy = Player(COPIER, SPEC.layers), Player(POLICY, SPEC.layers, blob=SPEC.untrained(0))
    players = (policy, script) if first == "policy" else (script, policy)
    kept = play_matches(DRILL.game(), DRILL.spec, *players, 32, seed=1, keep_actions=True)
    at = kept.side if first == "script" else 1 - kept.side
    each = np.arange(32)
    mine, others = kept.actions[each, :, at], kept.actions[each, :, 1 - at]
    assert (mine[:, 0] == 0).all() and np.array_equal(mine[:, 1:], others[:, :-1]) and len(np.unique(others)) == 4


def test_in_a_search_and_beside_it_a_script_finds_what_was_done_before():
    """All did 0; the script will do it again, so whatever else is better than 0, at the root and behind it."""
    game, settings = DRILL.game(), how(64, 2, temperature=0.2)
    tiles, sides = game.new(2), np.array([0, 1])
    game.reset(tiles, np.ones((2, LANES), np.uint8))
    others = Others(np.full(2, COPIER, np.int64))
    search = Search(game, DRILL.spec, SPEC.layers, ACTIVATIONS["tanh"], 2, 64, 2)
    params = pack(make_plan(SPEC.layers), np.zeros(SPEC.floats, np.float32))
    before = tiles["action"].copy()
    weights = np.ones(1, np.float32)
    search.run(params, tiles, settings, weights=weights, gamma=1.0, seed=0, count=0, sides=sides, others=others)
    on_zero = np.where(search.action == 0, search.weight, 0.0).sum(axis=1)
    assert on_zero.mean() < 0.1, "a quarter without a difference"
    search.move_others(tiles, sides, others, before, 0, 0)
    assert (tiles["action"][[0, 1], 1 - sides] == 0).all()
    assert tiles["action"][[0, 1], sides].any()
