"""Rollouts on a Ray cluster, without Ray: what is refused, who is asked, and what is learned from."""

import importlib.metadata
import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.cluster import connection, crew, games, requirements
from dshq_widget.algorithms.ppo.cluster.connection import connected
from dshq_widget.algorithms.ppo.cluster.player import MOST_HALF, Weights, packed
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.ring_games import STALE_ROLLOUTS
from dshq_widget.cli import arguments, run_plan
from dshq_widget.cli.train import train
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.policy.network import PolicySpec
from dshq_widget.system.form import PORTABLE
from dshq_widget.training.trainer import Trainer
from tests.harness.local_ray import LocalRay
from tests.harness.ports import free_port

BANDIT = compiled("bandit")
CONFIG = TrainConfig(num_envs=32, rollout_length=4, hidden_sizes=(8,))
WEIGHTS = Weights(PolicySpec.for_config(BANDIT.spec, CONFIG).untrained(0))


@pytest.fixture
def installed(monkeypatch):
    """Ray 2.60, as far as anybody asks."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.60.0")


def refusal(environ, config=CONFIG, drill=BANDIT):
    with pytest.raises(RuntimeError) as refused:
        requirements.check(drill, config, environ)
    return str(refused.value)


def test_a_missing_or_old_ray_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal({}) == 'engine=ray needs Ray, which is not installed: pip install "dshq-widget[ray]"'
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.9.3")
    assert "needs Ray 2.52 or newer, got 2.9.3" in refusal({})


def test_without_a_token_nothing_starts(installed, tmp_path):
    home = {"HOME": str(tmp_path)}
    assert "needs a token" in refusal(home) and "ray get-auth-token --generate" in refusal(home)
    assert "needs a token" in refusal({"HOME": "~nobody-of-this-name"})
    assert "RAY_AUTH_MODE=disabled" in refusal({**home, "RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "t"})
    empty = tmp_path / "empty"
    empty.write_text(" \n")
    assert repr(str(empty)) in refusal({**home, "RAY_AUTH_TOKEN_PATH": str(empty)})
    requirements.check(BANDIT, CONFIG, {"RAY_AUTH_TOKEN": "t"})
    empty.write_text("t")
    requirements.check(BANDIT, CONFIG, {"RAY_AUTH_TOKEN_PATH": str(empty)})
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("t")
    requirements.check(BANDIT, CONFIG, home)


def test_runs_that_cannot_be_on_a_cluster_are_refused(installed):
    token = {"RAY_AUTH_TOKEN": "t"}
    assert "can be repeated exactly" in refusal(token, CONFIG.replace({"deterministic": True}))
    assert "leave out one" in refusal(token, CONFIG.replace({"joint": True}))

    world = SimpleNamespace(name="gym:CartPole-v1")
    assert "plays drills only, and gym:CartPole-v1 is an environment" in refusal(token, drill=world)


def test_a_file_may_name_the_engine_and_flags_override_it(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("run: {drill: bandit, engine: ray, ray_address: 'head:6379'}")

    def plan(*flags):
        return run_plan.of(arguments.parser([train]).parse_args(["train", "--config", str(file), *flags]))

    assert (plan("--trust-config").engine, plan("--trust-config").ray_address) == ("ray", "head:6379")
    other = plan("--engine", "local", "--ray-address", "b:1")
    assert (other.engine, other.ray_address) == ("local", "b:1")


def test_the_engine_and_its_address_are_checked_before_anything_starts():
    with pytest.raises(ConfigError, match="engine must be local or page or ray, got 'rai'; did you mean 'ray'"):
        Trainer("bandit", engine="rai")
    with pytest.raises(ConfigError, match="ray_address='a:1' is only for engine=ray"):
        Trainer("bandit", ray_address="a:1")
    with pytest.raises(ValueError, match="spo does not run on the engine ray: leave out --engine ray"):
        Trainer("bandit", algorithm="spo", engine="ray")


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "head:port"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(ConnectionError, match="must be HOST:PORT"), connected(address):
        pass


def test_an_address_where_nobody_listens_is_named():
    port = free_port()
    with (
        pytest.raises(ConnectionError, match=f"at 127.0.0.1:{port}, .*refused; start one with"),
        connected(f"127.0.0.1:{port}"),
    ):
        pass


def test_a_token_that_others_can_read_is_refused(tmp_path, monkeypatch):
    token = tmp_path / "auth_token"
    token.write_text("t")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    for mode, says in (
        (0o644, "nobody else can read.*chmod 600"),
        (0o640, "nobody else can read"),
        (0o600, "HOST:PORT"),
    ):
        token.chmod(mode)
        with pytest.raises(ConnectionError, match=says), connected("nowhere"):
            pass


def test_a_cluster_that_does_not_answer_a_stranger_is_refused_in_a_sentence(monkeypatch):
    def slow(command, *, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(connection.subprocess, "run", slow)
    with pytest.raises(ConnectionError, match="did not answer within 60 s somebody who has no token"):
        connection._asks_for_a_token("10.0.0.5:6379")


@pytest.fixture
def asked(monkeypatch):
    """What is asked, in its order, of a cluster that listens, and serves whoever asks."""
    said = []
    ray = ModuleType("ray")
    ray.init = lambda address, **_: said.append(("token", address, os.getcwd()))
    ray.shutdown = lambda: None
    ray.exceptions = SimpleNamespace(RayError=OSError)
    monkeypatch.setitem(sys.modules, "ray", ray)

    def probed(command, *, env, **_):
        assert not any(name.startswith("RAY_AUTH_TOKEN") for name in env)
        said.append(("stranger", command[-1]))
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(connection.subprocess, "run", probed)
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_ENABLE_UV_RUN_RUNTIME_ENV"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    return said


def test_no_module_that_lies_in_the_working_folder_is_imported_on_the_nodes(asked, tmp_path, monkeypatch):
    """Ray's workers look first where `ray.init` was called: so `dshq_kernels.py` beside a policy ran there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connection, "_asks_for_a_token", lambda address: None)
    where = []
    monkeypatch.setattr(sys.modules["ray"], "init", lambda *_, **__: where.append(Path.cwd()))
    with socket.create_server(("127.0.0.1", 0)) as head, connected(f"127.0.0.1:{head.getsockname()[1]}"):
        assert Path.cwd() == tmp_path and where == [Path(tmp_path.anchor)]
        assert os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"


@pytest.mark.parametrize("how", ["argument", "variable", "here"])
def test_a_cluster_is_asked_whether_it_takes_strangers_before_it_gets_the_token(how, asked, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = f"127.0.0.1:{head.getsockname()[1]}"
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(address)
        if how == "variable":
            monkeypatch.setenv("RAY_ADDRESS", address)
        given = address if how == "argument" else ""
        with pytest.raises(ConnectionError, match="serves everybody"), connected(given):
            pass
        assert asked == [("stranger", address)]
        monkeypatch.setattr(connection, "_asks_for_a_token", lambda address: asked.append(("again", address)))
        with connected(given):
            assert (
                asked[1:] == [("again", address), ("token", address, os.sep)] and os.environ["RAY_ADDRESS"] == address
            )


@pytest.mark.parametrize("place", ["ray", "ray/ray_current_cluster"])
def test_a_cluster_that_another_user_names_gets_no_token(place, asked, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(ConnectionError, match="cannot read .*ray_current_cluster .*; start one"), connected(""):
        pass
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("10.0.0.1:6379")
    os.chown(tmp_path / place, 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConnectionError, match="is another user's"), connected(""):
        pass
    assert asked == []


@pytest.mark.skipif(PORTABLE, reason="Windows has other links")
def test_a_link_in_the_place_of_a_clusters_address_is_not_followed(asked, tmp_path, monkeypatch):
    """Its owner would be that of what it names while it is asked for, and something else while it is read."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    (tmp_path / "own").write_text("10.0.0.1:6379")
    (tmp_path / "ray" / "ray_current_cluster").symlink_to(tmp_path / "own")
    with pytest.raises(ConnectionError, match="cannot read .*ray_current_cluster"), connected(""):
        pass
    assert asked == []


@pytest.fixture
def now(monkeypatch):
    """Every look is a look."""
    monkeypatch.setattr(crew, "LOOK_SECONDS", 0.0)


def team(ray, config=CONFIG):
    said = []
    return games.ClusterGames(ray, BANDIT, crew.Crew(ray, BANDIT, config, said.append), config), said


def test_only_as_many_rollouts_are_asked_for_as_the_learner_can_use(now):
    ray = LocalRay("a", "b", "c")
    source, said = team(ray)
    assert source.next(WEIGHTS, CONFIG, 1) is None, "nobody is ready yet"
    fast = [source.next(WEIGHTS, CONFIG, version) for version in range(1, 8)]
    assert [each.lag for each in fast] == [0] * 7, "they are here when they are wanted"
    ray.instant = False
    slow = [source.next(WEIGHTS, CONFIG, version) for version in range(8, 30)]
    lags = [each.lag for each in slow]
    assert lags == sorted(lags) and lags[-1] == 1, "all nodes play all the time"
    ray.instant = True
    again = [source.next(WEIGHTS, CONFIG, version) for version in range(30, 50)]
    assert again[-1].lag == 0 and said == []
    assert all(each.agent_steps == 3 * 32 * 4 for each in fast + slow + again), "one rollout of each node"
    assert all(np.isfinite(each.samples.advantage).all() for each in again)
    assert source.memory_mb > 0


def test_samples_stay_fresh_on_many_slow_nodes(now):
    """Eight nodes, for whose rollouts the learner always waits; in the end one of them is ten times as slow."""
    ray = LocalRay(*"abcdefgh")
    source, said = team(ray)
    source.next(WEIGHTS, CONFIG, 1)
    source.crew.look(1)
    ray.instant = False
    found = [source.next(WEIGHTS, CONFIG, version) for version in range(1, 101)]
    assert max(each.lag for each in found) <= games.MOST_LAG and source.dropped == 0
    assert {each.agent_steps for each in found} == {8 * 32 * 4}
    ray.late["a"] = 10
    found = [source.next(WEIGHTS, CONFIG, version) for version in range(101, 131)]
    assert max(each.lag for each in found if each) <= STALE_ROLLOUTS and 0 < source.dropped < 5
    assert len([each for each in found if each]) > 25, "the others do not wait for it"
    assert len(said) == 1 and said[0].startswith("node a is much slower than the others: a rollout came")


def test_players_remember_and_their_sequences_stay_whole(now):
    """The learner finds nothing else than what was played."""
    config = CONFIG.replace({"memory": 4})
    source, _ = team(LocalRay("a", "b"), config)
    learner = FusedPPO(PolicySpec.for_config(BANDIT.spec, config))
    source.next(learner, config, 1)
    for _ in range(3):
        played = source.next(learner, config, 1)
    assert played.samples.states.any() and played.samples.length == config.rollout_length
    _, parts = learner.gradient(played.samples, played.units, Hyper())
    assert parts["approx_kl"] < 1e-9


def test_a_node_that_fails_is_let_go_and_one_that_joins_is_used(now):
    ray = LocalRay("a", "b")
    source, said = team(ray)
    source.next(WEIGHTS, CONFIG, 1)
    ray.machines.remove("a")
    ray.failing["a"] = "the machine is gone"
    for version in range(1, 6):
        source.next(WEIGHTS, CONFIG, version)
    assert [member.node for member in source.crew.members] == ["b"]
    assert said == ["the player on node a is lost, and 1 continue: the machine is gone"]
    ray.machines.append("c")
    for version in range(6, 12):
        assert source.next(WEIGHTS, CONFIG, version) is not None
    assert {member.node for member in source.crew.ready} == {"b", "c"}


def test_a_player_that_dies_is_replaced_and_three_times_is_enough(now):
    ray = LocalRay("a", "b")
    source, said = team(ray)
    source.next(WEIGHTS, CONFIG, 1)
    ray.failing["a"] = "killed"
    source.next(WEIGHTS, CONFIG, 1)
    del ray.failing["a"]
    for version in range(1, 9):
        source.next(WEIGHTS, CONFIG, version)
    assert len(source.crew.ready) == 2 and said == ["the player on node a is lost, and 1 continue: killed"]
    ray.failing["a"] = "no module named numba"
    for version in range(9, 20):
        source.next(WEIGHTS, CONFIG, version)
    assert [member.node for member in source.crew.members] == ["b"]
    assert said[-1] == "the player on node a is lost, and it is left out: no module named numba"
    ray.failing["b"] = "no module named numba"
    with pytest.raises(RuntimeError, match="no node of the Ray cluster can play; .* no module named numba"):
        for version in range(20, 40):
            source.next(WEIGHTS, CONFIG, version)


def test_old_rollouts_are_discarded_and_counted(now):
    ray = LocalRay("a")
    source, _ = team(ray)
    source.next(WEIGHTS, CONFIG, 1)
    source.crew.look(1)
    ray.instant = False
    assert [source.next(WEIGHTS, CONFIG, 1).lag for _ in range(2)] == [0, 0]  # one of version 1 is on its way
    assert source.next(WEIGHTS, CONFIG, 2 + STALE_ROLLOUTS) is None and source.dropped == 1
    assert source.next(WEIGHTS, CONFIG, 2 + STALE_ROLLOUTS).lag == 0
    source.forget_before(100)
    assert source.next(WEIGHTS, CONFIG, 99) is None and source.dropped == 2


def test_an_update_learns_from_all_rollouts_of_its_nodes(now):
    source, _ = team(LocalRay("a", "b", "c"))
    source.next(WEIGHTS, CONFIG, 1)
    found = source.next(WEIGHTS, CONFIG, 1)
    assert found.agent_steps == 3 * 32 * 4 and len(found.units) == len(set(found.units))
    parts = found.samples.action.reshape(3, -1)
    assert (parts[0] != parts[1]).any() and (parts[1] != parts[2]).any()


def test_observations_travel_as_halves_where_that_is_precise():
    seen = np.linspace(-MOST_HALF, MOST_HALF, 4096, dtype=np.float32).reshape(-1, 1, 16)
    half = packed(seen)
    assert half.dtype == np.float16 and 2 * half.nbytes == seen.nbytes
    assert np.abs(half.astype(np.float32) - seen).max() <= 2**-11 * MOST_HALF
    for beyond in (1.01 * MOST_HALF, np.inf, np.nan):
        seen[5, 0, 3] = beyond
        assert packed(seen) is seen


@pytest.mark.parametrize("nodes", ["a", "ab"])
def test_the_learner_gets_whole_floats(now, nodes):
    source, _ = team(LocalRay(*nodes))
    source.next(WEIGHTS, CONFIG, 1)
    samples = source.next(WEIGHTS, CONFIG, 1).samples
    assert samples.obs.dtype == np.float32 and samples.obs.any()
    assert np.array_equal(samples.obs, samples.obs.astype(np.float16))
    assert samples.log_prob.flags.writeable and samples.advantage.flags.writeable


def test_a_node_with_another_version_of_the_package_says_so(now, monkeypatch):
    monkeypatch.setattr(crew, "__version__", "9.9")
    source, said = team(LocalRay("a"))
    with pytest.raises(RuntimeError, match="and the learner has 9.9: install 9.9 on it"):
        for _ in range(9):
            source.next(WEIGHTS, CONFIG, 1)
    assert "it is left out" in said[-1]


def test_nodes_without_processors_play_nothing(now):
    source, said = team(LocalRay("head", cpus=0))
    assert source.next(WEIGHTS, CONFIG, 1) is None and source.crew.members == [] and said == []
