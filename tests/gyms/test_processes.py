"""Environments in processes of their own: no names of theirs outlive a killed run, and no process does."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.making import described
from dshq_widget.policy.action_spaces import GymError
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


def named(pids: Iterable[int]) -> set[str]:
    """The semaphores that processes have open and that have a name still (proc(5), maps)."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    opened = [line.split(maxsplit=5)[5] for line in lines if "/dev/shm/sem." in line]
    assert opened, "they have some"
    return {name for name in opened if not name.endswith(" (deleted)")}


def test_no_semaphore_has_a_name_once_the_games_are_there():
    games = two(EASY)
    try:
        assert named([os.getpid(), *(process.pid for process in games.vector.processes)]) == set()
        games.vector.step([3, 4])  # they work all the same
    finally:
        games.close()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Leaving", "RuntimeError: SystemExit: no licence"),
        pytest.param("Crashing", "RuntimeError: a process of its environments", marks=pytest.mark.slow),
    ],
)
def test_one_that_ends_its_process_is_named(name: str, why: str):
    games = two(EASY.replace("Easy", name))
    try:
        with pytest.raises(GymError, match=f"{name}-v0 failed in step: {why}"):
            games._call("step", [3, 4])
    finally:
        games.close()


KILLS = [
    pytest.param(True, os.kill, id="the run, in a step without end"),
    pytest.param(True, os.killpg, id="the group, in a step without end", marks=pytest.mark.slow),
    pytest.param(False, os.kill, id="the run", marks=pytest.mark.slow),
    pytest.param(False, os.killpg, id="the group", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("hang", "kill"), KILLS)
def test_a_kill_leaves_nothing(hang: bool, kill: Callable[[int, int], None]):
    family = Family()
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
            assert named(family.members()) == set(), "a name would outlive them all"
            kill(process.pid, signal.SIGKILL)
            until(lambda: not family.members(), "the end of all its processes")
        finally:
            family.kill()


def test_nor_does_one_while_they_begin():
    """They were tied to nobody yet, and stayed for good where an environment never came to be."""
    family, name = Family(), EASY.replace("Easy", "Opening")
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(name=name, hang=False)],
        cwd=ROOT,
        env=family.environment,
        start_new_session=True,
    ) as process:
        try:
            until(lambda: len(family.members()) >= 5, "the run, the server, what cleans up, and two environments")
            process.kill()
            until(lambda: not family.members(), "the end of all its processes")
        finally:
            family.kill()
