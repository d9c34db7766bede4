"""Joint learning as a person starts it: two processes of torchrun over gloo, one network, one file, one answer."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.joint import follow
from dshq_widget.algorithms.ppo.joint import orders as orders_module
from dshq_widget.algorithms.ppo.joint.orders import Orders
from dshq_widget.algorithms.ppo.joint.run import Rests
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.cli import main
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from tests.harness.games.device_play import LENGTH, host, start
from tests.harness.games.toy_drills import Race
from tests.harness.ports import free_port
from tests.harness.processes.faults import until

ROOT = Path(__file__).parents[2]
PATIENCE = 400  # seconds
SMALL = ["--num-envs", "64", "--rollout-length", "16", "--minibatch-size", "512", "--hidden-sizes", "16"]
TORCHRUN = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": "test"}


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command, environ = [sys.executable, "-m", *arguments], {**os.environ, **environment}
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def torchrun(*arguments: str) -> dict:
    """What rank 0 of two processes answers, as JSON."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    run = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr[-4000:]
    lines = run.stdout.splitlines()
    assert len(lines) == 1, "rank 0 alone prints"
    return json.loads(lines[0])


@pytest.mark.slow
def test_two_processes_learn_one_network_and_go_on_from_its_file(tmp_path: Path):
    first, second = tmp_path / "first.dshq", tmp_path / "second.dshq"
    train = ["train", "cartpole", "--joint", "true", "--updates", "6", "--out", str(first), "--json", *SMALL]
    found = torchrun("tests.harness.processes.joint_ranks", str(tmp_path), *train)
    assert (found["updates"], found["version"], found["device"]) == (6, 6, "cpu")
    assert found["agent_steps"] == 6 * 2 * 64 * 16, "of both"
    saved = checkpoint.load(first)
    assert np.array_equal(saved.weights, np.load(tmp_path / "rank1.npy"))
    assert not (tmp_path / "rank0.npy").exists() and saved.state["adam_step"] == 6 * 4

    again = ["train", str(first), "--joint", "true", "--updates", "4", "--out", str(second), "--json"]
    found = torchrun("dshq_widget.cli", *again)
    assert (found["updates"], found["agent_steps"]) == (10, 10 * 2 * 64 * 16)
    assert checkpoint.load(second).state["adam_step"] == 10 * 4, "with its own moments"


class Given(Orders):
    """Orders that nobody hears."""

    def __init__(self) -> None:
        self.given, self.kinds = time.monotonic(), []

    def _told(self, box: list) -> list:
        self.kinds.append(box[0]["kind"])
        return box


def test_the_others_hear_from_a_leader_that_rests():
    """They wait ten minutes at most: a slow pace, or a pause, would end the run."""
    orders = Given()
    rests = Rests(orders)
    for seconds in (0.0, orders_module.REST / 2, 0.0, orders_module.REST, 0.0, 0.0):
        orders.given -= seconds
        rests.resting(None)
    assert orders.kinds == ["WAIT"]
    assert orders_module.REST < orders_module.LONGEST / 2


def test_every_process_and_every_start_has_games_of_its_own(monkeypatch):
    monkeypatch.setattr(follow, "JointPPO", lambda *_, **options: SimpleNamespace(**options))
    monkeypatch.setattr(follow, "ResidentGames", lambda drill, config, learner: config.seed)
    drill, config = compiled("cartpole"), TrainConfig(seed=3)
    made = {
        (rank, version): follow.parts(Place(rank, 3, rank), drill, config, version)
        for rank in range(3)
        for version in (0, 40)
    }
    assert {learner.seed for learner, _ in made.values()} == {3}, "one network"
    assert made[0, 0][1] == made[0, 40][1] == 3, "the file has rank 0's games"
    assert len({seed for _, seed in made.values()}) == 5


@pytest.mark.slow
def test_a_process_that_dies_is_a_sentence(tmp_path: Path):
    port = str(free_port())
    train = ["train", "cartpole", "--joint", "true", "--seconds", "300", "--log-dir", str(tmp_path), "--quiet", *SMALL]
    ranks = [
        started("dshq_widget.cli", *train, **TORCHRUN, RANK=rank, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        for rank in ("0", "1")
    ]
    try:
        until(lambda: (tmp_path / "metrics.csv").exists() or ranks[0].poll() is not None, "the first metrics")
        assert ranks[0].poll() is None, ranks[0].communicate()
        ranks[1].send_signal(signal.SIGKILL)
        said = ranks[0].communicate(timeout=PATIENCE)[1]
    finally:
        for rank in ranks:
            rank.kill()
    assert ranks[0].returncode == 1 and "one of the 2 joint learners has ended" in said and "Traceback" not in said


def test_without_torchrun_it_says_how_to_start(capsys):
    assert main.main(["train", "cartpole", "--joint", "true"]) == 1
    assert "torchrun --nproc-per-node 2 --no-python dshq train" in capsys.readouterr().err


def test_torchrun_without_joint_would_train_twice(capsys, monkeypatch):
    for name, value in {**TORCHRUN, "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert Place.of() == Place(0, 2, 0)
    assert main.main(["train", "cartpole", "--seconds", "1"]) == 2
    assert "add --joint true" in capsys.readouterr().err


@pytest.mark.parametrize(
    "rank, arguments, says",
    [
        ("0", ["gym:CartPole-v1"], "not for environments of Gymnasium"),
        ("0", ["lamp", "--memory", "16"], "not for networks with a memory"),
        ("0", ["cartpole", "--algorithm", "spo"], "spo searches in one process"),
        ("1", ["cartpole", "--algorithm", "spo"], "spo searches in one process"),
        ("1", ["territory"], "gate learns in one process"),
    ],
)
def test_what_cannot_be_joint_says_so(rank, arguments, says, capsys, monkeypatch):
    """The others, too: they would wait for the first for ten minutes."""
    for name, value in {**TORCHRUN, "RANK": rank}.items():
        monkeypatch.setenv(name, value)
    assert main.main(["train", *arguments, "--joint", "true", "--seconds", "1", "--quiet"]) in (1, 2)
    assert says in capsys.readouterr().err


def test_two_are_one_and_the_survivor_says_so(tmp_path: Path):
    compiled, learner, play = start(Race, {"walker": 1.0}, 48)
    rollout = play.next()
    arrays = {name: np.asarray(value) for name, value in host(rollout).items()}
    np.savez(tmp_path / "rollout.npz", cut=32, layers=learner.spec.layers, **arrays)
    peers = [started("tests.harness.processes.joint_peer", rank, str(tmp_path)) for rank in ("0", "1")]
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
