"""The cells that the page writes for a reward of one's own: every one of them is a game that compiles."""

import linecache

import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from tests.harness.typescript import run

CELLS = """
import { cellOf, measuresOf } from "./js/panels/rewards/own_reward";
export const main = ({ spec, python }) => measuresOf(spec).map((one) => [one.name, cellOf(python, one)]);
"""


@pytest.mark.parametrize(
    ("drill", "names"),
    [
        ("ball", ["stay_back", "near_ball", "ball_speed", "running"]),
        ("approach", ["near_ball", "ball_speed", "running"]),
        ("chase", ["stay_back", "running"]),
        ("maze", []),
    ],
)
def test_every_cell_is_a_game_that_pays_for_it(reference_rules, drill, names):
    spec = compile_drill(get(drill)).spec
    cells = run(CELLS, {"spec": spec, "python": f'"{drill}"'})
    assert [name for name, _ in cells] == names
    for name, cell in cells:
        assert cell.endswith("w = DrillWidget(Mine)\nw\n")
        text = cell.removesuffix("w = DrillWidget(Mine)\nw\n")
        linecache.cache[name] = len(text), None, text.splitlines(True), name  # where rules find their source
        made: dict = {}
        exec(compile(text, name, "exec"), made)
        compiled = compile_drill(made["Mine"]).spec
        assert [term["name"] for term in compiled["terms"] if term["kind"] == "reward"][-1] == name
        assert compiled["name"] == f"{drill}_{name}"
