"""Environments in processes of their own: no names of theirs outlive a killed run, and no process does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.making import described
from tests.harness.processes.faults import ROOT, Family, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm and the parent-death signal are Linux's")
EASY = "gym:tests.harness.games.gym_worlds:Easy-v0"
SCRIPT = """
import time
if __name__ == "__main__":
    from tests.gyms.test_processes import two
    games = two("{name}")
    print("up", flush=True)
    if {hang}:
        games.vector.step_async([3, 4])
    time.sleep(600)
"""


def two(name: str) -> GymGames:
    """Two environments in processes of their own: fewer than a run has, since each one imports for a second."""
    config = TrainConfig()
    object.__setattr__(config, "num_envs", 2)
    return GymGames(described(name), config, apart=True)


def semaphores() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("sem.mp-")}


def test_no_semaphore_has_a_name_once_the_games_are_there():
    before = semaphores()
    games = two(EASY)
    try:
        assert not semaphores() - before
        games.vector.step([3, 4])  # they work all the same
    finally:
        games.close()
    assert not semaphores() - before


KILLS = [
    pytest.param(True, os.kill, id="the run, in a step without end"),
    pytest.param(True, os.killpg, id="the group, in a step without end", marks=pytest.mark.slow),
    pytest.param(False, os.kill, id="the run", marks=pytest.mark.slow),
    pytest.param(False, os.killpg, id="the group", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("hang", "kill"), KILLS)
def test_a_kill_leaves_nothing(hang: bool, kill: Callable[[int, int], None]):
    before, family = semaphores(), Family()
    name = "gym:tests.harness.games.gym_worlds:Endless-v0" if hang else EASY
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(name=name, hang=hang)],
        cwd=ROOT,
        env=family.environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "up\n"
            assert len(family.members()) >= 4, "the run, the server of processes, and two environments"
            time.sleep(0.2)
            kill(process.pid, signal.SIGKILL)
            until(lambda: not family.members(), "the end of all its processes")
        finally:
            family.kill()
    assert not semaphores() - before
