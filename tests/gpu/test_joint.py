"""Two processes that learn together are one that learns from everything; one that is gone is noticed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from tests.harness.games.device_play import LENGTH, host, start
from tests.harness.games.toy_drills import Race


def test_two_are_one_and_the_survivor_says_so(tmp_path: Path):
    compiled, learner, play = start(Race, {"walker": 1.0}, 48)
    rollout = play.next()
    arrays = {name: np.asarray(value) for name, value in host(rollout).items()}
    np.savez(tmp_path / "rollout.npz", cut=32, layers=learner.spec.layers, **arrays)
    peers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.harness.processes.joint_peer", str(rank), str(tmp_path)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    alone = ResidentPPO(learner.spec, seed=0)
    before = alone.blob()
    hyper = Hyper(minibatch_size=384, epochs=2, minibatch_order="sequential", learning_rate=1e-3, target_kl=0.5)
    wanted = alone.update(rollout, np.arange(0), hyper)
    try:
        said = [peer.communicate(timeout=240) for peer in peers]
    finally:
        for peer in peers:
            peer.kill()
    assert [peer.returncode for peer in peers] == [0, 0], said
    first, second = (dict(np.load(tmp_path / f"learned{rank}.npz")) for rank in range(2))
    assert np.array_equal(first.pop("blob"), blob := second.pop("blob"))
    assert np.abs(blob - alone.blob()).max() < 1e-5 < 1e-3 < np.abs(blob - before).max()
    assert {name: float(value) for name, value in first.items()} == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    assert first == second and rollout.obs.shape[:2] == (LENGTH, 48)
    assert "one of the 2 joint learners has ended" in said[0][0] and said[0][0].count("\n") == 1
