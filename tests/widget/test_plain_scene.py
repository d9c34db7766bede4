"""The rules as plain Python draw what compiled rules draw."""

import numpy as np
import pytest

from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.widget.still import plain_scene
from tests.harness.games.constructs import Permits, Words


@pytest.mark.parametrize("declared", [*drills.values(), Words, Permits])
def test_a_first_game_and_a_later_state_look_as_compiled(declared):
    drill = compile_drill(declared)
    batch = Batch(drill, 1, practice=False)
    batch.seed(np.array([7]))
    assert np.array_equal(plain_scene(drill, 7), batch.game.scene(batch.tiles))
    batch.game.decide(batch.tiles)
    batch.game.tick(batch.tiles, 20)
    state = np.ascontiguousarray(batch.tiles[:1]).view("<u4").reshape(-1, LANES)[:, 0]
    assert np.array_equal(plain_scene(drill, state=state.tobytes()), batch.game.scene(batch.tiles))


def test_a_state_of_another_drill_is_refused():
    with pytest.raises(ValueError, match="a state of ball has 140 bytes, got 3"):
        plain_scene(compile_drill(drills["ball"]), state=b"abc")
