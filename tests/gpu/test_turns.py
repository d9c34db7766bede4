"""What follows a decision: CUDA kernels and torch do the same, in numba's simulator over the same games."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from dshq_widget.drills.approach import Approach
from dshq_widget.drills.ball import Ball
from dshq_widget.drills.cartpole import CartPole
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.gpu.cuda.turns import KernelTurns
from dshq_widget.gpu.play import Play
from dshq_widget.gpu.turns import Turns
from tests.harness.games import device_play
from tests.harness.games.toy_drills import Barred, Climb, Race
from tests.harness.simulator import simulated


class ShortBall(Ball):
    """Three decisions an episode."""

    time_limit = 12


class ShortApproach(Approach):
    """Four decisions an episode."""

    time_limit = 16


class ShortRace(Race):
    """Five decisions an episode."""

    time_limit = 10


CASES = {  # drill, shares, games, length, whether scenes are practised, what has to happen
    "both sides": (ShortBall, {"self": 1.0}, 16, 5, False, ("truncated", "late twice")),
    "one side": (ShortApproach, {"self": 1.0}, 16, 10, False, ("truncated", "late twice")),
    "balanced": (CartPole, {"self": 1.0}, 32, 20, False, ("terminated",)),
    "opponents": (
        ShortRace,
        {"self": 0.25, "walker": 0.25, "random": 0.25, -16: 0.25},
        64,
        6,
        False,
        ("truncated", "late twice"),
    ),
    "masked scenes": (Barred, {"self": 0.5, "random": 0.5}, 32, 7, True, ("truncated",)),
    "scenes without potentials": (Climb, {"self": 1.0}, 32, 12, True, ("terminated", "truncated")),
}


def start(case: str, kernels: bool) -> Play:
    """Play in the simulator, with torch between the decisions or with kernels."""
    drill, shares, games, length, scenes, _ = CASES[case]
    device_play.make_games = CudaGames
    _, learner, play = device_play.start(drill, shares, games, length=length)
    assert isinstance(play.turns, KernelTurns)
    if not kernels:
        play.turns = Turns(play.games, play.rollout, play.rows)
        play.settings(device_play.GAMMA, device_play.LAMBDA)
    play.set_opponents([learner.blob()])
    if scenes:
        play.practise(play.games.words()[:3], 0.5)
    return play


def results(case: str, kernels: bool) -> list[dict[str, np.ndarray]]:
    """Everything that two rollouts write."""
    play, found = start(case, kernels), []
    for _ in range(2):
        rollout, turns = play.next(), play.turns
        kept = {"running": turns.running, "late": turns.late, "slots": turns.late_slot, "finished": turns.finished}
        kept["returns"] = turns.returns
        kept |= {field.name: getattr(rollout, field.name) for field in dataclasses.fields(rollout)}
        found.append({name: value.numpy().copy() for name, value in kept.items()} | {"words": play.games.words()})
    return found


def compare(case: str) -> None:
    """Runs in the simulator: every array of both has the same bits."""
    kernels, twin = results(case, True), results(case, False)
    for one, other in zip(kernels, twin, strict=True):
        for name in one:
            assert np.array_equal(one[name], other[name]), name
    happened = {name for name in ("terminated", "truncated") if any(found[name].any() for found in kernels)}
    happened |= {"late twice" for found in kernels if found["slots"].any()}
    assert happened >= set(CASES[case][-1])


class Operations(TorchDispatchMode):
    """Counts what torch is asked to do."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def launches(case: str) -> None:
    """Runs in the simulator: how often a kernel is started between two decisions, and that torch does nothing."""
    play = start(case, True)
    play.next()
    games: Any = play.games
    game, count = games.game, []
    launch = game.launch
    game.launch = lambda *arguments: (count.append(arguments[0]), launch(*arguments))
    with Operations() as operations:
        play.turns.take(0)
    assert not operations.names
    print(len(count))


def called(call: str) -> str:
    return simulated(f"from tests.gpu import test_turns; test_turns.{call}")


@pytest.mark.parametrize(
    "case", [case if case == "masked scenes" else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_kernels_write_what_torch_writes(case):
    called(f"compare({case!r})")


@pytest.mark.slow
def test_a_few_launches_and_nothing_of_torch_follow_a_decision():
    assert called("launches('opponents')") == "3"
    assert called("launches('masked scenes')") == "5"
