"""CPU, JavaScript and WebAssembly agree bit for bit on every registered drill, over thousands of ticks."""

import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.trace import trace

SEEDS = (0, 12345, 2**32 - 9, 1, 2, 3, 2**31, 10**12)
FEW = 1
SMALL = ("bandit", "cartpole")
"""Their modules are made within seconds."""


def some(name, seed):
    """All seeds of the Ball Drill; of the others the first, and the rest where slow tests run, too."""
    slow = name != "ball" and seed in SEEDS[FEW:]
    return pytest.param(name, seed, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "seed"), [some(name, seed) for name in sorted(drills) for seed in SEEDS])
def test_same_bits(name, seed):
    drill = compile_drill(drills[name])
    ticks = max(3000, drill.spec.time_limit)
    cpu, js = trace(drill, ticks, seed, "cpu"), trace(drill, ticks, seed, "js")
    assert {**cpu, "backend": ""} == {**js, "backend": ""}
    assert cpu["episodes"] >= 16


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SMALL else [pytest.mark.slow]) for name in sorted(drills)]
)
def test_same_bits_in_webassembly(name):
    drill = compile_drill(drills[name])
    ticks = max(1200, 2 * drill.spec.time_limit)
    cpu, wasm = trace(drill, ticks, 2**32 - 9, "cpu"), trace(drill, ticks, 2**32 - 9, "wasm")
    assert {**cpu, "backend": ""} == {**wasm, "backend": ""}
    assert cpu["episodes"] >= 16
    assert len(drill.wasm()) < 64_000


def test_wrong_requests_are_refused():
    drill = compile_drill(drills["ball"])
    with pytest.raises(ValueError, match="cpu, reference, js, wasm"):
        trace(drill, 1, 0, "gpu")
    with pytest.raises(ValueError, match="0 or more"):
        trace(drill, -1)
