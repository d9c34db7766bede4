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

const plan = (draws: Draws, [layers, separate]: [number[], boolean]) => {
  try {
    const { numbers, places, learnScratch, ...rest } = makePlan(layers, "relu", separate);
    const weights = [...untrained(layers, separate, draws)];
    return { ...rest, learnScratch: [1, 20].map(learnScratch), numbers: [...numbers], places: [...places], weights };
  } catch (error) {
    return { error: (error as Error).message };
  }
};
export function main({ module, networks }: { module: string; networks: [number[], boolean][] }) {
  const draws = Draws.seeded(kernelsOf(module), 5, 1);
  return networks.map((network) => plan(draws, network));
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


@pytest.mark.parametrize("name", EVERY)
def test_plans_are_pythons(page, name):
    layers, separate = network(name)
    plan, found = make_plan(layers, separate), page[name]
    if plan[0, ITEMS]:
        plan[0, MEAN:MEMORY] = 1 + np.arange(len(ENTRIES))  # of the function table
    assert (found["rows"], found["numbers"]) == (len(plan), plan.ravel().tolist())
    block = pack(plan, np.arange(len(found["places"]), dtype=np.float32))
    assert block[found["places"]].tolist() == list(range(len(found["places"])))
    assert found["floats"] == plan_floats(plan)
    assert found["playScratch"] == play_scratch(plan)
    assert found["learnScratch"] == [learn_scratch(plan, length) for length in (1, 20)]
    assert found["activation"] == ACTIVATIONS["relu"]


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
