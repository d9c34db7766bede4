"""Lock-step runs, whether two of them are the same, and whether one continues from its file to the bit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.lockstep import hashes

GAMES, LENGTH = 64, 8
PACE = GAMES * LENGTH * 2 * 35
"""About 40 updates a second: slow enough to see nearly every version."""
SMALL = {"num_envs": GAMES, "rollout_length": LENGTH, "minibatch_size": 256, "hidden_sizes": (16,)}
SMALL |= {"total_agent_steps": 100_000, "pace": PACE}
LOCKSTEP = str(Path(__file__).with_name("lockstep.py"))


def assert_same(one: dict[int, str], other: dict[int, str], beyond: int) -> None:
    """Equal where both were seen, and both were seen often enough, also after version `beyond`."""
    both = sorted(one.keys() & other.keys())
    assert len(both) >= 5 and both[-1] > beyond, (sorted(one), sorted(other))
    differing = [version for version in both if one[version] != other[version]]
    assert differing == [], f"first at version {differing[0]} of {both}"


def assert_goes_on(trainer: Trainer, path: Path, more: int = 30, beyond: int = 15) -> Checkpoint:
    """A new process continues from a file of this run, which it returns, as the run itself does, to the bit."""
    hashes(trainer, 12)
    saved = checkpoint.load(trainer.save(path))
    last = saved.version + more
    ahead = hashes(trainer, last, saved.version)
    command = [sys.executable, str(LOCKSTEP), str(path), str(last)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    after = {int(version): digest for version, digest in json.loads(answer.stdout).items()}
    assert_same(ahead, after, saved.version + beyond)
    return saved


def whole_and_in_halves(
    drill: str, folder: Path, updates: int, **how: Any
) -> tuple[Checkpoint, Checkpoint, Checkpoint]:
    """The files of a run of twice the updates, of its first half, and of one that continued from that, to the bit."""
    with Trainer(drill, **how) as whole:
        assert whole.train_for(updates=2 * updates, progress=False)
        ahead = checkpoint.load(whole.save(folder / "whole.dshq"))
    with Trainer(drill, **how) as first:
        first.train_for(updates=updates, progress=False)
        half = checkpoint.load(first.save(folder / "half.dshq"))
    with Trainer(folder / "half.dshq") as second:
        assert (second.algorithm, second.version) == (half.algorithm, updates)
        second.train_for(updates=updates, progress=False)
        after = checkpoint.load(second.save(folder / "second.dshq"))
    assert after.version == ahead.version == 2 * updates and np.array_equal(after.weights, ahead.weights)
    return ahead, half, after
