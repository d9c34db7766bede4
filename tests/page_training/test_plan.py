"""The page's plan of a network beside Python's: sizes, places of the weights, scratch memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.layers import Grid, work
from dshq_kernels.network.mlp import ACTIVATIONS, ITEMS, MEAN, MEMORY, make_plan, pack, plan_floats, play_scratch
from dshq_kernels.network.pairs import ENTRIES
from dshq_widget.contract import settings
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills, get
from dshq_widget.policy.network import PolicySpec
from dshq_widget.widget.in_page import parts
from tests.harness.run_kernels import run_module
from tests.harness.typescript import run

SOURCE = """
import { untrained } from "./js/trainer/ppo/network";
import { makePlan } from "./js/trainer/ppo/plan";
import { Draws } from "./js/trainer/draws";
import { kernelsOf } from "./js/tests/harness/run_kernels";

export function main({ module, networks }: { module: string; networks: [number[], boolean][] }) {
  const kernels = kernelsOf(module);
  const draws = Draws.seeded(kernels, 5, 1);
  return networks.map(([layers, separate]) => {
    try {
      const { at, ...plan } = makePlan(kernels, layers, "relu", separate, 20);
      const weights = [...untrained(layers, separate, draws)];
      return { ...plan, numbers: new BigInt64Array(kernels.heap.wasm.buffer, at, plan.rows * 27), weights };
    } catch (error) {
      return { error: (error as Error).message };
    }
  });
}
"""
GRID, PAIRS = (-5, -5, -2, -4, -6), (-2, -3, -4, -5, -8, -16)
NETWORKS = {
    "one layer": ((5, 4), False),
    "dense": ((28, 64, 40, 31), False),
    "two side by side": ((9, 128, 128, 4), True),
    "a grid": ((80, *GRID, 16, 5), False),
    "a memory": ((5, 12, 40, -33, 7), False),
    "pairs": ((31, *PAIRS, 32, 48, 9), False),
    "pairs and nothing else": ((26, *PAIRS, 9), False),
}
EVERY = [*NETWORKS, *drills]
REFUSED = {
    "a grid and two networks": (((80, *GRID, 16, 5), True), "separate_value_net works only with dense networks"),
    "outputs that do not fit": (((26, *PAIRS, 8), False), "These layers are not those of a network: 26, -2, -3"),
}


def network(name):
    """Layers, and whether they are two networks: one of these, or that of a drill with its own settings."""
    if name in NETWORKS:
        return NETWORKS[name]
    drill = compile_drill(get(name))
    shape = PolicySpec.for_config(drill.spec, settings.of_drill(drill.spec))
    return shape.layers, shape.separate


@pytest.fixture(scope="module")
def page():
    """What the page makes of each network, by its name."""
    asked = {name: network(name) for name in EVERY} | {name: given for name, (given, _) in REFUSED.items()}
    return dict(zip(asked, run(SOURCE, {"module": run_module(), "networks": list(asked.values())}), strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_page_asks_for_pythons_plan(page, name):
    """Both call the same function; what they tell it of a network comes from two parsers of layers."""
    plan, found = make_plan(*NETWORKS[name]), page[name]
    if plan[0, ITEMS]:
        plan[0, MEAN:MEMORY] = 1 + np.arange(len(ENTRIES))  # of the function table
    assert [*map(int, found["numbers"])] == plan.ravel().tolist()
    assert (found["rows"], found["floats"], found["activation"]) == (len(plan), plan_floats(plan), ACTIVATIONS["relu"])
    assert (found["playScratch"], found["learnScratch"]) == (play_scratch(plan), learn_scratch(plan, 20))
    numbers = np.arange(len(found["places"]), dtype=np.float32)
    assert (pack(plan, numbers)[found["places"]] == numbers).all()


@pytest.mark.parametrize("name", EVERY)
def test_fresh_weights_are_as_large_as_pythons(page, name):
    """Each layer, and each output of the last; the weights of a grid are drawn one by one, and only nearly so large."""
    layers, separate = network(name)
    shape = PolicySpec(layers, "relu", separate)
    weights, wanted = np.array(page[name]["weights"], np.float32), shape.untrained(3)
    assert shape.fits(weights)
    for k, ((mine, bias), (its, its_bias)) in enumerate(zip(shape.split(weights), shape.split(wanted), strict=True)):
        if k == 0 and isinstance(shape.front, Grid):
            np.testing.assert_allclose(mine.std(), its.std(), rtol=0.7)
            continue
        np.testing.assert_allclose(np.linalg.norm(mine), np.linalg.norm(its), rtol=1e-5)
        assert not bias.any() and not its_bias.any()
    last, its_last = shape.split(weights)[-1][0], shape.split(wanted)[-1][0]
    if len(last) >= last.shape[1] - 1:
        np.testing.assert_allclose(np.linalg.norm(last, axis=0), np.linalg.norm(its_last, axis=0), rtol=1e-5)


@pytest.mark.parametrize("name", drills)
def test_every_drill_is_trained_in_its_page(name):
    drill = compile_drill(get(name))
    assert parts.why_not(SimpleNamespace(drill=drill, lacks=lambda feature: "")) == ""


WORK = """
import { asNetwork, workOf } from "./js/trainer/layers";
export const main = (all) => all.map((layers) => workOf(asNetwork(layers)));
"""


def test_what_a_decision_costs_is_the_same_number():
    """By it both refuse files that cost too much."""
    networks = [network(name)[0] for name in drills]
    networks += [(28, 32, -16, 12), (15, -10, -12, -5, -3, -16, -6, -2, 16, 241)]  # a memory; places in front
    found = run(WORK, networks)
    assert found == [work(layers) for layers in networks]
    assert min(found) > 0 and any(min(layers) < 0 for layers in networks[:-2])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_network_is_refused(page, name):
    assert page[name]["error"].startswith(REFUSED[name][1])
