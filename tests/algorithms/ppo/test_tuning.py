"""Who computes and how much at once: chosen from made-up machines and rates, then from a real quota."""

import contextlib
import dataclasses
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from dshq_widget.algorithms.ppo import doctor, processes, tuning
from dshq_widget.algorithms.ppo.processes import Shares, share_out
from dshq_widget.algorithms.ppo.tuning import Allocation, Rates, choose, report
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning import fitting
from dshq_widget.learning.fitting import fitted
from dshq_widget.runtime.budget import MOST_THREADS
from dshq_widget.runtime.machine import Machine
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import PATIENCE, until

GB = 1e9
BALL = compiled("ball").spec
EVEN = Rates(threads=8, play_one=10e6, play_all=80e6, learn_one=4e6, learn_all=32e6)
"""Nobody waits for anybody: eight threads are eight times as fast as one."""
CROWDED = dataclasses.replace(EVEN, play_one=6e6, play_all=6e6)
"""Threads that play hinder one another."""


def test_the_defaults_are_those_of_two_processors():
    base = of_drill(BALL)
    assert fitted(base, BALL, (), Machine(2, 8 * GB)) == base


@pytest.mark.parametrize(
    ("cpu", "games"), [(0.1, 256), (0.5, 512), (1, 1024), (2, 1024), (7, 1024), (8, 2048), (16, 2048), (256, 4096)]
)
def test_games_and_minibatches_scale_together(cpu, games):
    base = of_drill(BALL)
    config = fitted(base, BALL, (), Machine(cpu, 64 * GB))
    assert (config.num_envs, config.minibatch_size) == (games, 4 * games)
    assert config == base.replace({"num_envs": games, "minibatch_size": 4 * games})


def test_what_somebody_named_is_kept():
    machine = Machine(0.5, GB)
    config = fitted(of_drill(BALL).replace({"num_envs": 4096}), BALL, {"num_envs"}, machine)
    assert (config.num_envs, config.minibatch_size) == (4096, 4096)
    named = of_drill(BALL).replace({"minibatch_size": 1024})
    assert fitted(named, BALL, {"minibatch_size"}, machine).minibatch_size == 1024
    cartpole = compiled("cartpole").spec
    assert fitted(of_drill(cartpole), cartpole, (), machine) == of_drill(cartpole)
    lockstep = of_drill(BALL).replace({"deterministic": True})
    assert fitted(lockstep, BALL, (), machine) == lockstep


def test_fitting_twice_changes_nothing():
    for cpu in (0.5, 2, 16):
        once = fitted(of_drill(BALL), BALL, (), Machine(cpu, 8 * GB))
        assert fitted(once, BALL, (), Machine(cpu, 8 * GB)) == once


@pytest.mark.parametrize("memory", [0.03 * GB, 0.1 * GB, GB, 64 * GB])
@pytest.mark.parametrize("n_obs", [28, 4000])
def test_samples_fit_into_the_memory(memory, n_obs):
    spec = dataclasses.replace(BALL, n_obs=n_obs)
    config = fitted(of_drill(spec), spec, (), Machine(64, memory))
    room = memory * fitting.SAMPLE_SHARE
    assert config.rollout_length == 1 or fitting.sample_bytes(spec, config.num_envs, config.rollout_length) <= room


def test_rates_decide_between_threads_and_processes():
    config = TrainConfig()
    assert choose(config, Machine(9, 64 * GB), EVEN).workers == 0, "alone is as fast, and its samples are fresh"
    crowded = choose(config, Machine(9, 64 * GB), CROWDED)
    assert crowded.workers >= 1 and crowded.workers + crowded.threads <= 8
    near = Rates(threads=8, play_one=10e6, play_all=30e6, learn_one=10e6, learn_all=30e6)
    assert choose(config, Machine(9, 64 * GB), near).workers == 0, "fewer steps of fresh samples teach as much"
    why = report(config, Machine(9, 64 * GB), near, Allocation(0, 8))["why"]
    assert "faster, but need up to 40% more steps" in why
    assert choose(config, Machine(9, 0.6 * GB), CROWDED).workers == 0, "no room for another process"
    assert choose(config, Machine(9, 64 * GB), None).workers == 0, "nothing was measured"
    assert choose(config, Machine(2, 64 * GB, gentle=True), CROWDED) == Allocation(0, 1)
    busy = dataclasses.replace(CROWDED, busy=0.3)
    assert choose(config, Machine(9, 64 * GB), busy).workers == 0, "rates of a machine that others use say nothing"
    assert "30%" in report(config, Machine(9, 64 * GB), busy, Allocation(0, 8))["why"]


def test_doctor_says_in_a_sentence_when_processes_help(monkeypatch):
    for cpu, advised in ((8, True), (1, False)):
        monkeypatch.setattr(Machine, "this", classmethod(lambda cls, cpu=cpu: cls(cpu, 64 * GB)))
        fine, value, advice = doctor.training()
        assert fine and "0 rollout processes" in value and bool(advice) is advised
        assert not advised or (advice.count(".") == 2 and "1.4 times" in advice and "workers=N" in advice)


@pytest.mark.parametrize("rates", [None, EVEN, CROWDED])
@pytest.mark.parametrize("memory", [0.25 * GB, GB, 500 * GB])
@pytest.mark.parametrize("cpu", [0.1, 0.5, 1, 2, 3, 3.5, 4, 7, 8, 16, 64, 256])
def test_nobody_takes_more_than_there_is(cpu, memory, rates):
    for gentle in (False, True):
        machine = Machine(cpu, memory, gentle)
        team = choose(TrainConfig(), machine, rates)
        assert team.workers >= 0 and 1 <= team.threads <= MOST_THREADS
        assert team.workers + team.threads <= max(1, cpu)
        assert team.workers == 0 or 350e6 + team.workers * 130e6 <= min(memory / 2, GB)
        found = report(TrainConfig(), machine, rates, team)
        assert found["threads"] == team.threads and found["why"]
        shares = share_out(TrainConfig(), cpu, memory, rates, gentle)
        assert (len(shares.games), shares.threads) == (team.workers, team.threads)


def test_threads_between_the_measured_ones_follow_amdahl():
    half_shared = Rates(threads=2, play_one=1.0, play_all=4 / 3, learn_one=1.0, learn_all=2.0)
    assert half_shared.play(1) == 1.0 and half_shared.play(2) == pytest.approx(0.75)
    assert half_shared.play(4) == pytest.approx(0.625)
    assert half_shared.learn(4) == pytest.approx(0.25)
    assert dataclasses.replace(half_shared, learn_all=5.0).learn(2) == pytest.approx(0.5), "no more than all of it"
    assert dataclasses.replace(half_shared, learn_all=0.5).learn(2) == pytest.approx(1.0), "slower counts as no gain"


def test_rates_are_kept_by_machine_version_and_rules(tmp_path, monkeypatch):
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))
    config, machine = TrainConfig(), Machine(4, 8 * GB)
    assert tuning.recall(BALL, config, machine) is None
    tuning.remember(EVEN, BALL, config, machine)
    assert tuning.recall(BALL, config, machine) == EVEN
    assert tuning.recall(dataclasses.replace(BALL, rules_hash="other"), config, machine) is None
    assert tuning.recall(BALL, config.replace({"num_envs": 2048}), machine) is None
    assert tuning.recall(BALL, config, Machine(8, 8 * GB)) is None
    tuning.remember(dataclasses.replace(CROWDED, busy=0.5), BALL, config, machine)
    assert tuning.recall(BALL, config, machine) == EVEN
    (kept,) = (tmp_path / "tuning").iterdir()
    kept.write_text('{"threads": 2')
    assert tuning.recall(BALL, config, machine) is None


def with_code_of(cache, folder):
    """Give a cache folder the generated modules and the machine code of another one."""
    for name in ("rules", "code"):
        (cache / name).mkdir(exist_ok=True)
        (folder / name).symlink_to(cache / name)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor leaves nothing to choose")
def test_the_first_training_measures_and_says_so(tmp_path, monkeypatch):
    """In a cache of its own, but with the machine code that the other tests have left."""
    with_code_of(tuning.cache_dir(), tmp_path)
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))
    said, known = [], False
    with Trainer("ball") as t:
        t.on_change(lambda: said.append(t.status_text))
        for again in (False, True):
            said.clear()
            t.start()
            assert t.wait(seconds=0, progress=False)
            assert t.tuning["workers"] == t.workers and t.tuning["num_envs"] == t.config.num_envs
            assert t.tuning["rates"]["learn_one"] > 0 and "measured:" in t.tuning["why"]
            assert t.tuning["why"] in t.status_text
            measured = any("measuring" in text for text in said)
            assert measured is not (again and known), "the second time it is known"
            known = any((tmp_path / "tuning").glob("*.json"))  # not where others used this machine meanwhile
            t.stop()
            assert t.join(PATIENCE)
    with Trainer("ball", deterministic=True) as t:
        t.start()
        assert t.wait(updates=1, progress=False)
        assert (t.tuning["workers"], t.tuning["threads"], t.tuning["rates"]) == (0, 1, None)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor leaves nothing to choose")
@pytest.mark.slow
def test_another_team_takes_over_and_knows_what_the_first_was_told(tmp_path, monkeypatch):
    """The first one is made of one thread, which the learner finds wrong once it has measured."""
    with_code_of(tuning.cache_dir(), tmp_path)
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))
    teams = []

    def begin_with_one_thread(*arguments):
        teams.append(share_out(*arguments) if teams else Shares((), 1))
        return teams[-1]

    monkeypatch.setattr(processes, "share_out", begin_with_one_thread)
    with Trainer("ball", lr_schedule="constant") as t:
        t.start()
        t.set_hyper(learning_rate=1.25e-3)  # heard by the first team, or by none yet
        assert t.wait(updates=2, progress=False)
        assert len(teams) == 2 and teams[1] != teams[0], "two threads, or a process beside one where that is faster"
        assert (len(teams[1].games), teams[1].threads) == (t.tuning["workers"], t.tuning["threads"])
        assert t.metrics["learning_rate"] == pytest.approx(1.25e-3)
        t.stop()
        assert t.join(PATIENCE)


SAY = "from dshq_widget.cli.main import main; main(['train', 'ball', '--seconds', '0.5', '--json'])"


def test_a_learner_under_a_real_quota_of_half_a_processor():
    """In a control group of its own, where one can be made; version 1, whose groups need no delegation."""
    group = Path("/sys/fs/cgroup/cpu") / f"dshq-test-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("50000")
    except OSError as error:
        group.exists() and group.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    try:
        join = f"open({str(group / 'cgroup.procs')!r}, 'w').write('0')\n"
        run = subprocess.run([sys.executable, "-c", join + SAY], capture_output=True, text=True, timeout=10 * PATIENCE)
        assert run.returncode == 0, run.stderr
        assert '"processors": 0.5' in run.stdout and '"num_envs": 512' in run.stdout
        assert '"workers": 0, "threads": 1' in run.stdout
    finally:
        until(lambda: removed(group), "the end of the last process in the group")


def removed(group: Path) -> bool:
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()
