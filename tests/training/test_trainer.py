"""The trainer: its pure parts alone, and the whole of it with a real learner process."""

import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.processes import LEARNER, share_out
from dshq_widget.contract import protocol, settings
from dshq_widget.contract.metrics import metric_named
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.policy import checkpoint, loading
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.runtime import process
from dshq_widget.training.history import History, Progress, clean
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.rivals import Rivals
from tests.harness.games.toy_drills import Race, Walk
from tests.harness.processes.faults import PATIENCE, SMALL, until


def test_history_is_bounded_even_and_ends_with_the_newest():
    history = History(limit=100)
    for k in range(10_001):
        history.append({"updates": k, "loss_policy": float("nan"), "text": "x"})
    rows = history.rows()
    assert len(rows) <= 102 and rows[0] == {"updates": 0} and rows[-1] == {"updates": 10_000}
    assert len(set(np.diff([row["updates"] for row in rows[:-1]]))) == 1
    rows[0]["updates"] = -1
    assert history.rows()[0] == {"updates": 0}, "rows are copies"
    history.clear()
    assert history.rows() == []


def test_history_from_several_threads():
    history = History(limit=64)

    def write() -> None:
        for k in range(500):
            history.append({"a": k})
            history.rows()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(history.rows()) <= 65


def test_clean_keeps_what_json_and_charts_can_hold():
    assert clean({"a": 1, "b": 0.5, "c": float("inf"), "d": True, "e": "x", "f": None}) == {"a": 1, "b": 0.5}


def test_progress_draws_one_line(capsys):
    bar = Progress()
    bar.show(0.0, "starting")
    bar.show(1.0, "training")
    bar.note("done")
    shown = capsys.readouterr().err
    assert shown.count("\n") == 2 and "100% training" in shown and shown.endswith("done\n")
    long = "training on 1 thread (measured: rollout processes would be 12% slower)"
    bar.show(1.0, long)
    assert long in capsys.readouterr().err, "a file takes all of it"
    quiet = Progress(enabled=False)
    quiet.show(0.5, "x")
    quiet.note("y")
    assert capsys.readouterr().err == ""


def test_progress_fits_a_terminal_and_ends_with_a_whole_word(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    Progress().show(1.0, "training on 1 thread (measured: rollout processes would be 12% slower)")
    shown = sys.stderr.getvalue().strip("\r")
    assert len(shown) < 80 and shown.endswith("training on 1 thread (measured: rollout …")


def test_progress_goes_to_a_stream_that_can_little(monkeypatch):
    """As those that people put in the place of sys.stderr, to write to two places for example."""
    said = []

    class Tee:
        def write(self, text):
            said.append(text)

        def flush(self):
            pass

        def isatty(self):
            return False

    monkeypatch.setattr(sys, "stderr", Tee())
    Progress().show(1.0, "training " * 30)
    assert "100% training" in "".join(said)


@pytest.mark.parametrize(
    ("cpu", "workers", "expected"), [(0.5, -1, 0), (2, -1, 0), (2, 1, 1), (8, 0, 0), (16, 3, 3), (64, 200, 64)]
)
def test_games_are_shared_out_in_whole_tiles(cpu, workers, expected):
    shares = share_out(TrainConfig(workers=workers), cpu, 64e9)
    assert len(shares.games) == expected and shares.threads >= 1
    assert all(games % 16 == 0 and games > 0 for games in shares.games)
    assert sum(shares.games) == (1024 if expected else 0)


def test_an_untrained_policy_is_there_at_once():
    with Trainer("ball", seed=4) as t, Trainer(Ball, seed=4) as same, Trainer(compile_drill(Ball), seed=5) as other:
        assert (t.status, t.version, t.error, t.metrics, t.history) == ("idle", 0, "", {}, [])
        first = t.latest_policy()
        assert first.weights.shape == (protocol.blob_floats(first.layers),) and not first.weights.flags.writeable
        assert np.array_equal(first.weights, same.latest_policy().weights)
        assert not np.array_equal(first.weights, other.latest_policy().weights)


def test_bad_input_says_how_to_mend_it():
    with pytest.raises(ValueError, match="did you mean 'ball'"):
        Trainer("boll")
    with pytest.raises(TypeError, match=r"a name, a Drill subclass or a \.dshq path"):
        Trainer(3)
    with pytest.raises(ConfigError, match="did you mean 'chaser'"):
        Trainer("ball", opponents="chasr=1")
    with pytest.raises(CheckpointError, match="No such file"):
        Trainer("none.dshq")
    with Trainer(Walk) as t:
        assert t.config.opponents == {"self": 1.0}
        with pytest.raises(RuntimeError, match="call train"):
            t.wait(seconds=1)
        with pytest.raises(ValueError, match="seconds="):
            t.wait()
        with pytest.raises(ConfigError):
            t.set_hyper(lr=0.1, gamma=7)
        assert t.config.learning_rate == TrainConfig().learning_rate, "all or nothing"


def test_save_and_resume_without_training(tmp_path):
    with Trainer(Walk, seed=2, hidden_sizes=(8, 8), lr=0.01) as t:
        path = t.save(tmp_path / "walk.dshq")
        weights = t.latest_policy().weights
    with Trainer(Walk, resume=path, gamma=0.9) as again:
        assert np.array_equal(again.latest_policy().weights, weights)
        assert (again.config.hidden_sizes, again.config.learning_rate, again.config.gamma) == ((8, 8), 0.01, 0.9)
    with pytest.raises(ValueError, match="'walk', which is not a built-in drill: pass its class"):
        Trainer(path)
    with pytest.raises(CheckpointError, match="choose a file for this drill"):
        Trainer("ball", resume=path)
    with pytest.raises(CheckpointError, match="choose a file for this drill"):
        Trainer(Walk, resume=path, hidden_sizes=(4,))


def test_a_home_of_nobody_is_a_folder_of_that_name(tmp_path, monkeypatch):
    """As in a shell. Where there is no such folder, the sentence is that of any missing file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~nobody-of-this-name").mkdir()
    name = "~nobody-of-this-name/walk.dshq"
    with Trainer(Walk) as t:
        assert t.save(name) == tmp_path / name
    with Trainer(Walk, resume=name) as t:
        assert t._run.files.to_resume() == str(tmp_path / name)
        t.resume_from(name)
    for missing in ("~nobody-of-this-name/none.dshq", "~nobody-else/walk.dshq"):
        with pytest.raises(CheckpointError, match="cannot read the policy file .*No such file"):
            Trainer(Walk, resume=missing)


def test_a_setting_leaves_a_policy_that_was_made_elsewhere(tmp_path):
    """As one that PyTorch has trained: its file counts no steps."""
    with Trainer(Walk, seed=2, hidden_sizes=(8, 8)) as t:
        path = t.save(tmp_path / "made.dshq")
        made = t.latest_policy().weights
    with Trainer(Walk, seed=3, hidden_sizes=(8, 8)) as t:
        t.load(path)
        t.set_hyper(lr=0.02)
        assert np.array_equal(t.latest_policy().weights, made)


def test_closing_twice_is_fine_and_reading_goes_on(tmp_path):
    t = Trainer(Walk)
    t.close()
    t.close()
    assert t.version == 0 and t.save(tmp_path / "walk.dshq").exists()
    for act in (t.start, t.reset_training, lambda: t.set_hyper(lr=0.1)):
        with pytest.raises(RuntimeError, match="closed"):
            act()
    t.stop()


def test_history_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with Trainer(Walk) as t:
        assert isinstance(t.history_frame(), pandas.DataFrame)


def test_without_pandas_history_frame_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with Trainer(Walk) as t, pytest.raises(ImportError, match=r"pip install pandas, or use \.history, a list of dicts"):
        t.history_frame()


def test_a_trainer_loads_no_torch():
    probe = "import sys; from dshq_widget import Trainer; Trainer('ball').close(); print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=300, check=True)
    assert answer.stdout.strip() == "False"


@pytest.fixture(scope="module")
def trained() -> Iterator[Trainer]:
    """A trainer in training, fifty updates a second; tests may stop it, and start it again."""
    with Trainer(Walk, seed=1, pace=50.0 * SMALL["num_envs"] * SMALL["rollout_length"], **SMALL) as t:
        t.start()
        assert t.wait(updates=3, progress=False)
        yield t


def running(t: Trainer) -> Trainer:
    t.start()
    assert t.wait(seconds=0, progress=False)
    return t


def test_start_returns_at_once_and_versions_rise(trained):
    t = running(trained)
    assert t.status == "training" and t.error == "" and t.device in ("cpu", "cuda")
    before = t.version
    until(lambda: t.version > before)
    policy = t.latest_policy()
    assert policy.version > 0 and policy.step > 0 and np.isfinite(policy.weights).all()
    assert not policy.weights.flags.writeable


def test_metrics_are_those_of_the_table(trained):
    t = running(trained)
    until(lambda: t.metrics.get("updates"))
    unknown = [name for name in t.metrics if metric_named(name) is None]
    assert unknown == [] and {"version", "agent_steps", "loss_policy", "reward_far"} <= set(t.metrics)
    t.stop()
    assert t.join(PATIENCE), "from then on no more arrive"
    assert t.history[-1]["updates"] == t.metrics["updates"] > 0


def test_the_weights_in_use_are_the_published_ones(trained, tmp_path):
    t = running(trained)
    path = t.save(tmp_path / "walk.dshq")
    saved = checkpoint.load(path)
    assert saved.drill == "walk" and saved.version > 0 and saved.step > 0 and {"adam_m", "adam_v"} <= set(saved.state)
    assert loading.load_policy(path).probabilities(np.zeros((1, 1), np.float32)).shape == (1, 2)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_settings_change_while_it_trains(trained):
    t = running(trained)
    t.set_hyper(lr=0.123, lr_schedule="constant")
    until(lambda: t.metrics.get("learning_rate") == 0.123)
    t.set_hyper(num_envs=128)
    assert t.config.num_envs == 128 and "num_envs will take effect at the next start" in t.status_text
    t.set_hyper(num_envs=SMALL["num_envs"])


def test_stop_and_go_on(trained):
    t = running(trained)
    t.stop()
    assert t.status == "stopping"
    assert t.join(PATIENCE) and t.status == "stopped"
    stopped = t.latest_policy()
    assert "stopped at version" in t.status_text
    time.sleep(0.3)
    assert t.version == stopped.version, "nobody trains any more"
    running(t)
    until(lambda: t.version > stopped.version)
    assert t.latest_policy().step > stopped.step


def test_start_while_it_stops(trained):
    t = running(trained)
    t.stop()
    t.start()
    until(lambda: t.status == "training")


def test_a_killed_learner_is_replaced_and_versions_never_fall(trained):
    t = running(trained)
    until(lambda: t.version > 0)
    seen = t.version
    victim = t._run.control.processes.learner.pid
    os.kill(victim, signal.SIGKILL)
    newest = seen
    deadline = time.monotonic() + PATIENCE
    while (
        t._run.control.processes is None
        or t._run.control.processes.learner.pid in (victim, None)
        or t.version <= seen + 2
    ):
        version = t.version
        assert version >= newest and time.monotonic() < deadline
        newest = version
        time.sleep(0.01)
    assert t.status in ("starting", "training") and t.error == ""


def test_ctrl_c_ends_the_waiting_and_not_the_training(trained, capsys):
    t = running(trained)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the processes of pytest-xdist ignore it
    try:
        timer.start()
        assert t.wait(seconds=PATIENCE) is False
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert t.status == "training"
    assert "training continues" in capsys.readouterr().err


def test_reset_goes_back_to_version_0(trained):
    t = running(trained)
    until(lambda: t.version > 0 and t.history)
    t.reset_training()
    assert (t.status, t.version, t.metrics, t.history) == ("idle", 0, {}, [])
    with Trainer(Walk, seed=1, **SMALL) as fresh:
        assert np.array_equal(t.latest_policy().weights, fresh.latest_policy().weights)
    running(t)
    until(lambda: t.version > 0)


def test_another_network_starts_from_version_0_and_the_old_run_stays_a_file(trained):
    t = running(trained)
    t.set_hyper(hidden_sizes=(8,))
    assert "need a new network; version" in t.status_text
    t.stop()
    assert t.join(PATIENCE)
    version, before = t.version, t.latest_policy().weights
    t.start()
    assert t.latest_policy().layers == (1, 8, 3)
    assert t.kept[-1].name == f"version-{version}.dshq"
    assert np.array_equal(checkpoint.load(t.kept[-1]).weights, before)
    rivals = Rivals(t.drill)
    assert rivals.offer(t.kept)[f"version-{version}"] is None and rivals.offer(t.kept) is rivals.known
    rivals.load(f"version-{version}")
    assert rivals.known[f"version-{version}"]["version"] == version
    assert t.wait(seconds=0, progress=False)
    until(lambda: t.version > 0)
    assert t.latest_policy().layers == (1, 8, 3)


@pytest.mark.usefixtures("learners_in_threads")
def test_the_kernel_acts_and_steers_while_an_update_is_going_on(monkeypatch):
    inside, go_on, update, calls = threading.Event(), threading.Event(), FusedPPO.update, itertools.count()

    def held(*given):
        if next(calls) >= 4:  # warming up learns, too
            inside.set()
            assert go_on.wait(PATIENCE)
        return update(*given)

    monkeypatch.setattr(FusedPPO, "update", held)
    with Trainer("bandit", **SMALL) as trainer:
        trainer.start()
        assert inside.wait(PATIENCE)

        def act():
            newest = trainer.latest_policy()
            trainer.set_hyper(learning_rate=1e-3)
            return newest.version, trainer.config.learning_rate, trainer.metrics

        try:
            version, rate, _ = ThreadPoolExecutor(1).submit(act).result(PATIENCE)
        finally:
            go_on.set()
        assert version > 0 and rate == 1e-3
        trainer.stop()
        assert trainer.join(PATIENCE)


@pytest.mark.usefixtures("learners_in_threads")
def test_other_rewards_are_another_aim_to_the_guards(tmp_path):
    with Trainer("ball", **SMALL) as t:
        t.train_for(updates=2, progress=False)
        before = checkpoint.load(t.save(tmp_path / "before.dshq"))
        t.start()
        assert t.wait(updates=1, progress=False)
        t.set_hyper(reward_weights={"goal": 2.0})
        assert t.wait(updates=3, progress=False)
        after = checkpoint.load(t.save(tmp_path / "after.dshq"))
    _, updates, _ = after.state["train.guard"]
    assert before.state["train.guard"][1] == 2 and updates < after.metrics["updates"], "it has begun to count anew"


def stopped_at_once():
    """A trainer whose learner was told to stop before its first update. On a busy machine one may be quicker."""
    for _ in range(20):
        t = Trainer(Walk, **SMALL)
        t.start()
        t.stop()
        assert t.join(PATIENCE)
        if t.version == 0:
            return t
        t.close()
    raise AssertionError("every learner made an update before it was told to stop")


@pytest.mark.usefixtures("learners_in_threads")
def test_another_network_after_a_start_that_published_nothing():
    with stopped_at_once() as t:
        t.start(hidden_sizes=(24, 24))
        assert t.wait(updates=1, progress=False) and t.latest_policy().layers == (1, 24, 24, 3)


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="it can work here")
def test_a_learner_that_cannot_work_is_one_sentence():
    with Trainer(Walk, device="cuda", **SMALL) as t:
        t.start()
        with pytest.raises(RuntimeError, match="device=cuda"):
            t.wait(updates=1, progress=False)
        assert t.status == "error" and "device=cuda" in t.error and "\n" not in t.error
        with pytest.raises(RuntimeError, match="cuda"):
            t.wait(seconds=1)


def test_close_leaves_no_process():
    t = Trainer(Walk, **SMALL)
    running(t)
    pid, processes = t._run.control.processes.learner.pid, t._run.control.processes
    t.close()
    assert processes.learner.join(PATIENCE)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.usefixtures("learners_in_threads")
def test_every_setting_of_the_table_reaches_the_learner(monkeypatch):
    """One value of each that is not its default; a memory wants a run of its own, and joint learning torchrun."""
    jobs = Queue()
    monkeypatch.setattr(process, "resolve", lambda role: lambda channel, job, blocks: jobs.put((role, job)))
    usual, given = TrainConfig().to_json(), {}
    for name, spec in settings.FIELDS.items():
        if spec["kind"] == "bool":
            given[name] = not usual[name]
        elif spec["kind"] == "choice":
            given[name] = next(each for each in spec["choices"] if each != usual[name])
        elif spec["kind"] in ("int", "float"):
            some = (16, 1, 0.5, 1000, 0)
            given[name] = next(each for each in some if each != usual[name] and spec["min"] <= each <= spec["max"])
    given |= {"hidden_sizes": [24, 8], "opponents": {"self": 0.75, "random": 0.25}, "reward_weights": {"effort": 2.0}}
    assert [name for name in usual if given[name] == usual[name]] == []
    del given["joint"]
    for values in (given, {"memory": given.pop("memory"), "opponents": {"self": 1.0}}):
        with Trainer(Race, **values) as t:
            t.start()
            role = ""
            while role != LEARNER:
                role, job = jobs.get(timeout=PATIENCE)
            assert TrainConfig.from_values(job["hyper"]).to_json() == usual | values
