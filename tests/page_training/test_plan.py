"""The page's plan of a network beside Python's: sizes, places of the weights, scratch memory."""

import numpy as np
import pytest

from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.mlp import ACTIVATIONS, ITEMS, MEAN, _places, make_plan, plan_floats, play_scratch
from dshq_kernels.network.pairs import ENTRIES
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.policy.network import PolicySpec
from tests.harness.typescript import run

SOURCE = """
import { untrained } from "./js/trainer/ppo/network";
import { makePlan } from "./js/trainer/ppo/plan";
import { Generator } from "./js/trainer/numpy/random";

const plan = ([layers, separate]: [number[], boolean]) => {
  try {
    const { numbers, places, ...rest } = makePlan(layers, "relu", separate);
    const weights = [...untrained(layers, separate, Generator.seeded(5, 1))];
    return { ...rest, numbers: [...numbers], places: [...places], weights };
  } catch (error) {
    return { error: (error as Error).message };
  }
};
export const main = (networks: [number[], boolean][]) => networks.map(plan);
"""
GRID, PAIRS = (-5, -5, -2, -4, -6), (-2, -3, -4, -5, -8, -16)
NETWORKS = {
    "one layer": ((5, 4), False),
    "dense": ((28, 64, 40, 31), False),
    "two side by side": ((9, 128, 128, 4), True),
    "a grid": ((80, *GRID, 16, 5), False),
    "pairs": ((31, *PAIRS, 32, 48, 9), False),
    "pairs and nothing else": ((26, *PAIRS, 9), False),
}
REFUSED = {
    "a grid and two networks": (((80, *GRID, 16, 5), True), "separate_value_net works only with dense networks"),
    "outputs that do not fit": (((26, *PAIRS, 8), False), "These layers are not those of a network: 26, -2, -3"),
}


@pytest.fixture(scope="module")
def page():
    """What the page makes of each network, by its name."""
    asked = NETWORKS | {name: network for name, (network, _) in REFUSED.items()} | {"bin pack": bin_pack()}
    return dict(zip(asked, run(SOURCE, list(asked.values())), strict=True))


def bin_pack():
    return PolicySpec.for_drill(compile_drill(get("binpack")).spec, (64, 64)).layers, False


@pytest.mark.parametrize("name", [*NETWORKS, "bin pack"])
def test_plans_are_pythons(page, name):
    layers, separate = NETWORKS.get(name) or bin_pack()
    plan, found = make_plan(layers, separate), page[name]
    if plan[0, ITEMS]:
        plan[0, MEAN:] = 1 + np.arange(len(ENTRIES))  # of the function table
    assert (found["rows"], found["numbers"]) == (len(plan), plan.ravel().tolist())
    assert found["places"] == _places(plan.tobytes()).tolist()
    assert found["floats"] == plan_floats(plan)
    assert (found["playScratch"], found["learnScratch"]) == (play_scratch(plan), learn_scratch(plan))
    assert found["activation"] == ACTIVATIONS["relu"]


@pytest.mark.parametrize("name", [*NETWORKS, "bin pack"])
def test_fresh_weights_are_distributed_as_pythons(page, name):
    """Layer by layer the same size, and zero where Python's are; orthonormal columns or rows have no other freedom."""
    layers, separate = NETWORKS.get(name) or bin_pack()
    shape = PolicySpec(layers, "relu", separate)
    weights = np.array(page[name]["weights"], np.float32)
    assert shape.fits(weights)
    for (mine, bias), (wanted, none) in zip(shape.split(weights), shape.split(shape.untrained(3)), strict=True):
        loose = shape.front is not None and name == "a grid" and mine.shape == (2, 8)  # drawn one by one
        np.testing.assert_allclose(np.linalg.norm(mine), np.linalg.norm(wanted), rtol=0.5 if loose else 1e-5)
        assert loose or bias.tobytes() == none.tobytes()
    front = 5 if len(layers) > 6 and name != "a grid" else 0
    last, other = shape.split(weights)[-1][0], shape.split(shape.untrained(3))[-1][0]
    np.testing.assert_allclose(np.linalg.norm(last, axis=0), np.linalg.norm(other, axis=0), rtol=1e-5)
    if front:
        weigh = shape.split(weights)[4][0]
        np.testing.assert_allclose(np.linalg.norm(weigh), 0.01, rtol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_network_is_refused(page, name):
    assert page[name]["error"].startswith(REFUSED[name][1])
