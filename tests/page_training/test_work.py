"""What a decision costs is the same number in Python and on the page, which refuse files that cost too much."""

from dshq_kernels.network.layers import work
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.policy.network import PolicySpec
from tests.harness.typescript import run

MODULE = """
import { asNetwork, workOf } from "./js/trainer/layers";
export const main = (all) => all.map((layers) => workOf(asNetwork(layers)));
"""


def test_work_is_the_same_for_every_drills_network():
    specs = [compile_drill(drill).spec for drill in drills.values()]
    networks = [PolicySpec.for_config(spec, of_drill(spec)).layers for spec in specs]
    networks += [(28, 32, -16, 12), (15, -10, -12, -5, -3, -16, -6, -2, 16, 241)]  # a memory; places in front
    found = run(MODULE, networks)
    assert found == [work(layers) for layers in networks]
    assert min(found) > 0 and any(min(layers) < 0 for layers in networks[:-2])
