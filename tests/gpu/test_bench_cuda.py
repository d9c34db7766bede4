"""`dshq bench --device cuda`: every line of it in numba's simulator, and what it counts; without a GPU one sentence."""

import json

import pytest
import torch

from dshq_widget.cli.bench_cuda import bench_cuda
from dshq_widget.cli.main import main
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.gpu.cuda import costs
from dshq_widget.gpu.cuda.costs import Costs
from dshq_widget.policy.network import PolicySpec
from tests.harness.simulator import simulated

RATES = {"sim_ticks_per_second", "rollout_steps_per_second", "ppo_steps_per_second", "frames_per_second"}
IN_THE_SIMULATOR = """
import importlib.util, json
from dshq_widget.cli.bench_cuda import bench_cuda
sizes = {"sim_games": 16, "games": 16, "length": 2, "minibatch": 32, "frame_games": 1, "frame_steps": 1}
sizes |= {"copy_floats": 1 << 16, "matrix": 64, "chains": 16, "chain_steps": 4}
for kernels in (False, True) if importlib.util.find_spec("triton") else (False,):
    print(json.dumps(bench_cuda("bandit", 0.0, device="cpu", sizes=sizes, kernels=kernels)))
"""


@pytest.mark.slow
def test_every_line_in_the_simulator(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    results = [json.loads(line) for line in simulated(IN_THE_SIMULATOR).splitlines()]
    assert [said["kernels"] for said in results] == [False, True][: len(results)]
    for said in results:
        assert set(said["rates"]) == RATES and len(said["floors"]) == 2 * len(said["ratios"]) == 2 * len(RATES)
        assert all(value > 0 for value in (*said["rates"].values(), *said["ceilings"].values()))
        for name, found in said["rates"].items():
            floor = min(said["floors"][f"{name}_by_bytes"], said["floors"][f"{name}_by_operations"])
            assert said["ratios"][f"{name}_to_floor"] == pytest.approx(found / floor)


@pytest.mark.slow
def test_floors_count_what_cannot_be_left_out():
    kernel = """
def tick(s, n):
    t = cuda.grid(1)
    if t < s.shape[1]:
        x = real(s[3, t])
        for _ in range(n):
            x = add(x, multiply(x, x))
            for k_ in range(3, -1, -1):
                x = subtract(x, x)
            if x > 0:
                x = divide(add(x, x), x)
            else:
                x = add(x, x)
        s[3, t] = real_word(x)
"""
    assert costs.least(kernel, "tick", costs._operations, 5) == 5 * (2 + 4 + 1)
    assert costs.least(kernel, "tick", costs._words) == 2
    for name in drills:
        drill = compile_drill(drills[name])
        found, network = Costs(drill), PolicySpec.for_drill(drill.spec, (64, 64))
        assert all(moved > 0 for moved, _, _ in (found.tick, found.frame, found.step(network))), name
    ball = compile_drill(drills["ball"])
    found = Costs(ball)
    assert found.step(PolicySpec.for_drill(ball.spec, (64, 64)))[2] == 2 * (28 * 64 + 64 * 64 + 64 * 31)
    assert found.tick[1] > 50
    assert found.frame[0] > 72 * 20, "every byte is written"


def test_without_a_gpu_there_is_one_sentence(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert main(["bench", "--device", "cuda"]) == 1
    said = capsys.readouterr()
    assert not said.out and said.err.count("\n") == 1 and "device=cuda is set, but" in said.err


@pytest.mark.gpu
def test_a_short_round_on_a_gpu():
    said = bench_cuda("ball", 0.1, sizes={"sim_games": 1 << 19, "games": 1 << 12, "copy_floats": 1 << 27})
    assert all(0 < ratio < 1.5 for ratio in said["ratios"].values()), said
