"""The CUDA form of the rules gives the bits of the CPU: in numba's simulator, and on a GPU where there is one."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.trace import trace
from tests.harness.simulator import simulated

TICKS = {"bandit": 20, "cartpole": 24, "maze": 6, "binpack": 2, "snake": 12, "territory": 2}
"""A simulated kernel is Python: a few ticks have to do."""

IN_THE_SIMULATOR = """
import json, sys
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.trace import trace
for name, ticks in json.loads(sys.argv[1]).items():
    print(json.dumps(trace(compile_drill(drills[name]), ticks, 3, "cuda")))
"""
COPIES = """
import numpy as np
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
drill = compile_drill(drills["cartpole"])
game, twin = drill.device_game("cuda"), drill.game()
state = game.new(32, seed=5)
assert np.array_equal(game.words(state), twin.words(twin.new(2, seed=5)))
try:
    type(game)("\\n".join(" " * k + "if True:" for k in range(120)) + " 0", drill.spec)
except ValueError as error:
    print(error)
"""


MANY = """
import numpy as np
from dshq_kernels.backends import threads
mask = np.zeros((1, 600, 2), np.uint8)
mask[:, 10:522, 0] = 1
threads.allow_some[1, 2](mask)
assert mask[0].sum(0, dtype=int).tolist() == [512, 600], "512 is 0 in eight bits"
actions = np.array([[2**23, 2**24 - 1]], np.int32)
threads.pick[1, 2](actions, mask)
assert actions.tolist() == [[10 + 256, 599]]
"""


@pytest.mark.parametrize("names", [["cartpole"], pytest.param(list(drills), marks=pytest.mark.slow)], ids=len)
def test_every_drill_in_the_simulator(names):
    wanted = {name: TICKS.get(name, 8) for name in names}
    found = [json.loads(line) for line in simulated(IN_THE_SIMULATOR, json.dumps(wanted)).splitlines()]
    for result in found:
        assert result | {"backend": "cpu"} == trace(compile_drill(drills[result["drill"]]), result["ticks"], 3, "cpu")
    assert [result["drill"] for result in found] == list(wanted)
    assert any(result["episodes"] for result in found), "new episodes begin, too"


def test_hundreds_of_allowed_actions_in_the_simulator():
    simulated(MANY)


def test_copies_and_mistakes_in_the_simulator():
    said = simulated(COPIES)
    assert "the rules of 'cartpole': this is nested too deeply for CUDA" in said


@pytest.fixture
def compiled_for_a_gpu(monkeypatch):
    """The PTX of a kernel, by a signature, for a GPU that need not be there."""
    from numba.cuda import dispatcher
    from numba.cuda.compiler import compile_ptx
    from numba.cuda.cudadrv.error import NvvmSupportError

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))

    def ptx(kernel, signature):
        try:
            return compile_ptx(kernel.py_func, signature, cc=(9, 0))[0]
        except NvvmSupportError as error:
            pytest.skip(f"NVIDIA's compiler library is not installed: {error}")

    return ptx


@pytest.mark.parametrize("name", [pytest.param("ball", marks=pytest.mark.slow), "cartpole"])
def test_machine_code_neither_fuses_nor_spills(name, compiled_for_a_gpu):
    """Compiled for a GPU that need not be there: no fused multiply-add, and the state stays in registers."""
    from numba import float32, int32, int64, uint8, uint32, void

    from dshq_kernels.backends.generated import load_module

    module = load_module(compile_drill(drills[name]).devices["cuda"])
    state, plane, cube, words = uint32[:, ::1], float32[:, ::1], float32[:, :, ::1], int32[:, ::1]
    for kernel, signature in (
        (module.tick, void(state, int64)),
        (module.turn, void(state, int64, cube, words)),
        (module.renew, void(state, uint8[::1], words, plane, cube)),
    ):
        ptx = compiled_for_a_gpu(kernel, signature)
        assert "mul.rn.f32" in ptx and "fma." not in ptx and "__local_depot" not in ptx, kernel.py_func.__name__


def test_kernels_beside_the_rules_compile(compiled_for_a_gpu):
    """Those that the simulator runs as Python: numba's compiler takes less than Python does."""
    from numba import float32, float64, int32, int64, types, uint8, uint32, void

    from dshq_kernels.backends import threads
    from dshq_kernels.play import gae_cuda, raster_cuda, settle_cuda
    from dshq_widget.gpu.cuda.bench import chains

    line, plane, cube, bits = float32[::1], float32[:, ::1], float32[:, :, ::1], uint8[:, ::1]
    block, frames = types.Array(uint8, 3, "C"), types.Array(uint8, 4, "C")
    state, words = uint32[:, ::1], int32[:, ::1]
    read = cube, words, int32[::1], line, uint8[::1], line, words
    updated = cube, cube, line, words, float64[:, ::1], int64[::1]
    written = plane, bits, bits, int64[:, ::1], uint8[::1], words
    for kernel, signature in (
        (gae_cuda.gae_kernel, void(plane, plane, line, plane, bits, bits, line, plane, plane)),
        (raster_cuda.draw_all, void(cube, int32[::1], uint8[::1], line, frames)),
        (settle_cuda.settle, void(int64, int64, int64, int64, *read, *updated, *written)),
        (settle_cuda.put, void(state, uint8[::1], line, line, state)),
        (threads.allow_some, void(block)),
        (threads.pick, void(int32[:, ::1], block)),
        (chains, void(line, int64)),
    ):
        ptx = compiled_for_a_gpu(kernel, signature)
        assert "__local_depot" not in ptx, kernel.py_func.__name__


def test_without_a_gpu_there_is_one_sentence():
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(RuntimeError, match=r"no usable CUDA device.* NUMBA_ENABLE_CUDASIM=1"):
        trace(compile_drill(drills["ball"]), 4, 0, "cuda")
    run = subprocess.run(
        [sys.executable, "-m", "dshq_widget.cli", "trace", "ball", "--ticks", "4", "--backend", "cuda"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and run.stderr.count("\n") == 1 and "no usable CUDA device" in run.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(drills))
def test_every_drill_on_a_gpu(name):
    drill = compile_drill(drills[name])
    assert trace(drill, 3000, 11, "cuda") | {"backend": "cpu"} == trace(drill, 3000, 11, "cpu")


@pytest.mark.gpu
def test_torch_shares_the_state():
    import torch

    game = compile_drill(drills["ball"]).device_game("cuda")
    state = game.new(1024, seed=1)
    shared = torch.as_tensor(state, device="cuda")
    assert shared.data_ptr() == state.__cuda_array_interface__["data"][0]
    assert np.array_equal(shared.cpu().numpy().T, game.words(state))
