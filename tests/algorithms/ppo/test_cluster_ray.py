"""Runs on a real Ray cluster of several nodes on this machine; `make test-peers` installs Ray."""

import importlib.util
import itertools
import os
import signal
from pathlib import Path

import pytest

from dshq_widget.cli import main
from dshq_widget.training.trainer import Trainer
from tests.harness.games.toy_drills import Race
from tests.harness.processes.faults import until
from tests.harness.processes.ray_cluster import RayCluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.peers,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-peers"),
]
SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "pace": 0}


@pytest.fixture(scope="module")
def cluster():
    """Three nodes that play. Afterwards nothing is left: no process, no file and no shared memory."""
    before = shared_memory()
    with RayCluster(nodes=3) as made, pytest.MonkeyPatch.context() as patched:
        for name, value in made.environment.items():
            patched.setenv(name, value)
        yield made
    until(lambda: not made.left(), "the end of all processes")
    assert not Path(made.environment["RAY_TMPDIR"]).exists()
    assert shared_memory() - before == set()


def shared_memory() -> set[str]:
    """What Ray leaves in shared memory, if anything."""
    return {name for name in os.listdir("/dev/shm") if "plasma" in name or "ray" in name}


def trainer(drill, cluster, **how):
    return Trainer(drill, engine="ray", ray_address=cluster.address, **{**SMALL, **how})


def reaches(training, metric, value):
    """Wait until a metric has a value; the run must not fail on the way."""

    def there():
        assert training.error == "", training.error
        return training.metrics.get(metric) == value

    until(there, f"{metric}={value}")


def test_nodes_that_die_cost_their_rollouts_only_and_nodes_that_join_are_used(cluster, caplog):
    with trainer("bandit", cluster) as training:
        training.start()
        reaches(training, "nodes", 3)
        assert training.workers > 0 and "Ray cluster" in training.tuning["why"]
        until(lambda: len(cluster.players()) == 3, "three players")
        versions = [training.version]

        victim = cluster.players()[0]
        victim.send_signal(signal.SIGKILL)
        until(
            lambda: victim.pid not in {p.pid for p in cluster.players()} and len(cluster.players()) == 3, "a new player"
        )
        reaches(training, "nodes", 3)
        versions.append(training.version)

        cluster.kill(cluster.nodes[0])
        reaches(training, "nodes", 2)
        versions.append(training.version)
        steps = training.metrics["agent_steps"]

        cluster.add()
        reaches(training, "nodes", 3)
        assert training.wait(updates=training.metrics["updates"] + 100, progress=False)
        versions.append(training.version)
        assert versions == sorted(set(versions)), "versions rise"
        assert training.metrics["agent_steps"] > steps
        until(lambda: training.metrics.get("solved") == 1, "a bandit that is learned")
        rows = training.history
        assert all(a["version"] <= b["version"] for a, b in itertools.pairwise(rows))
        assert {row["policy_lag"] for row in rows} != {0}
        training.stop()
        assert training.join(60) and training.error == ""
        until(lambda: not cluster.players(), "the end of the players")
    assert sum("is lost" in record.message for record in caplog.records) >= 2


def test_a_run_is_saved_and_resumed(cluster, tmp_path):
    with trainer("bandit", cluster) as training:
        assert training.train_for(updates=20, progress=False)
        version, steps = training.version, training.metrics["agent_steps"]
        file = training.save(tmp_path / "run.dshq")
    with Trainer(file, engine="ray", ray_address=cluster.address) as training:
        assert training.version == version
        assert training.train_for(updates=10, progress=False)
        assert training.version == version + 10 and training.metrics["updates"] == 30
        assert training.metrics["agent_steps"] > steps, "by how much depends on when the nodes join"


def test_a_drill_of_ones_own_travels_to_the_nodes_with_its_opponents_and_scenes(cluster):
    with trainer(Race, cluster, opponents={"self": 0.5, "pool": 0.5}, snapshot_every=2000) as training:
        training.start()
        reaches(training, "nodes", 3)
        game = training.drill.game()
        training.add_scene(game.new(1).view("u4").reshape(-1, 16)[:, 0].tobytes())
        training.set_hyper(scene_share=0.5)
        assert training.wait(updates=training.metrics["updates"] + 50, progress=False)
        until(lambda: len(training.league) > 2, "snapshots that play")
        assert training.error == ""


def test_a_learner_that_is_killed_continues_from_its_last_version(cluster):
    with trainer("bandit", cluster) as training:
        training.start()
        reaches(training, "nodes", 3)
        version = training.version
        os.kill(training._run.control.processes.learner.pid, signal.SIGKILL)
        until(lambda: training.status == "training" and training.version > version + 20, "more versions")
        assert training.error == "" and len(cluster.players()) <= 3


def test_the_command_trains_on_the_cluster_of_this_machine(cluster, tmp_path, capsys):
    """Without an address; its file repeats the run."""
    out = tmp_path / "bot.dshq"
    assert main.main(["train", "bandit", "--engine", "ray", "--updates", "20", "--out", str(out), "--quiet"]) == 0
    assert "on each node of a Ray cluster" in capsys.readouterr().out
    assert "engine: ray" in out.with_suffix(".yaml").read_text()


def test_no_module_that_lies_in_the_working_folder_runs_on_the_nodes(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dshq_kernels.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with trainer("bandit", cluster) as training:
        assert training.train_for(updates=5, progress=False)
    assert not (tmp_path / "ran").exists()


def refusal(capsys, *arguments):
    assert main.main(["train", "bandit", "--engine", "ray", "--quiet", *arguments]) == 1
    return capsys.readouterr().err


def test_a_wrong_token_is_refused(cluster, monkeypatch, capsys):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong" * 6)
    said = refusal(capsys, "--ray-address", cluster.address)
    assert f"wanted a Ray cluster at {cluster.address}, and could not connect: it refuses this token" in said


def test_a_cluster_that_serves_everybody_is_refused(monkeypatch, capsys):
    with RayCluster(token=False) as open_one:
        for name, value in {**open_one.environment, "RAY_AUTH_MODE": "token"}.items():
            monkeypatch.setenv(name, value)
        assert "serves everybody; set RAY_AUTH_MODE=token" in refusal(capsys, "--ray-address", open_one.address)
    until(lambda: not open_one.left(), "the end of all processes")
