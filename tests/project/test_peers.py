"""The comparison with other people's libraries (`benchmarks/peers`): its clock, its judge, what it runs."""

import argparse
import importlib.util
import sys
import time

import numpy as np
import pytest

from benchmarks.peers import judge
from benchmarks.peers.__main__ import game_rates, ratio, reached, times_to_skill, training_rates
from benchmarks.peers.library import LIBRARIES, OURS, Peer, find
from benchmarks.peers.progress import Progress
from benchmarks.peers.running import ScriptError, run
from benchmarks.peers.settings import EQUAL
from benchmarks.running import spread
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get

STANDING = [(np.array([[0.0, 0.0, 0.0, 0.0], [0.8, 2.0, 40.0, 20.0]]), np.zeros(2))]
"""Pushes towards where the pole falls."""
FALLING = [(np.zeros((2, 4)), np.zeros(2))]


def test_a_run_ends_once_a_hundred_episodes_are_good_enough():
    with Progress(60, solving=True) as progress:
        progress.episodes([500.0] * 99)
        progress.update(4000)
        progress.episodes([0.0])
        progress.update(5000)
        raise AssertionError("the mean was 495, and the run continued")
    found = progress.result()
    assert found["last_episodes"]["agent_steps"] == found["agent_steps"] == 5000
    assert found["fresh_episodes"] is None, "it showed no policies"


def test_a_run_that_is_not_good_enough_ends_by_the_clock():
    with Progress(0.05, solving=True) as progress:
        while True:
            progress.episodes([474.0] * 100)
            progress.update(1, lambda: FALLING)
            time.sleep(0.01)
    found = progress.result()
    assert found["last_episodes"] == {} and found["fresh_episodes"] == {}
    assert found["seconds"] >= 0.05 and "last_episodes" not in rates_alone()


def rates_alone():
    with Progress(0.0, solving=False) as progress:
        progress.update(1)
    return progress.result()


def test_preparation_is_not_training():
    with Progress(60, solving=False) as progress:
        time.sleep(0.2)
        progress.began_at(time.time())
        progress.update(1)
    assert progress.spent < 0.15 and progress.ready >= 0.19


def test_other_errors_leave_the_run():
    with pytest.raises(ValueError, match="not ours"), Progress(1, solving=False):
        raise ValueError("not ours")


def test_the_judge_tells_who_keeps_the_pole_up():
    assert judge.mean_return(STANDING) > 475
    assert judge.mean_return(FALLING) < 50
    assert judge.first_good([(0.5, 100, FALLING), (1.0, 200, STANDING), (1.5, 300, STANDING)]) == (1.0, 200)
    assert judge.first_good([(0.5, 100, FALLING)]) is None


def test_episodes_are_read_in_the_order_in_which_they_ended():
    ended = np.zeros((200, 2), bool)
    ended[:, 0] = True
    returns = np.where(ended, 500.0, 0.0)
    returns[:20, 0] = 100.0
    assert judge.good_after(ended, returns) == 114, "six episodes of 100 and 94 of 500 have a mean of 476"
    assert judge.good_after(ended, np.full((200, 2), 474.0)) is None
    assert judge.good_after(ended[:99], returns[:99]) is None


def test_the_memory_is_that_of_all_processes():
    child = "import time; held = bytearray(150_000_000); time.sleep(1.5)"
    code = f"import json, subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print(json.dumps(7))"
    found = run(sys.executable, "-c", code)
    assert found["value"] == 7 and found["megabytes"] > 150 and found["wall_seconds"] > 1.5


def test_an_error_of_a_script_is_told_in_its_own_words():
    with pytest.raises(ScriptError, match="nothing of this name"):
        run(sys.executable, "-c", "raise SystemExit('nothing of this name')")
    with pytest.raises(ScriptError, match="no_python cannot be started: No such file"):
        run("no_python", "-c", "")


def options(**given):
    empty = {"python": None, "python_of": [], "only": None, "cleanrl": None, "purejaxrl": None, "pufferlib": None}
    return argparse.Namespace(**empty | given)


def test_who_cannot_be_run_is_left_out_by_name():
    peers, left_out = find(options())
    assert peers == [] and set(left_out) == {library.title for library in LIBRARIES}
    peers, left_out = find(options(python="python3", python_of=["cleanrl=python2"], cleanrl="here"))
    assert {peer.library.script: peer.python for peer in peers}["cleanrl"] == "python2"
    assert set(left_out) == {"PureJaxRL", "PufferLib"} and all("CHECKOUT" in why for why in left_out.values())
    with pytest.raises(SystemExit, match="NAME=PATH"):
        find(options(python_of=["cleanrl"]))


def test_seeds_that_did_not_get_there_have_no_median():
    one = {"seconds": 2.0, "agent_steps": 10}
    assert reached([one, {}, {**one, "seconds": 4.0}]) == {
        "reached": 2,
        "seconds": [2.0, None, 4.0],
        "median_seconds": 4.0,
        "agent_steps": [10, None, 10],
        "median_agent_steps": 10,
    }
    none = reached([one, {}, {}])
    assert none["median_seconds"] is None and ratio(none, reached([one])) is None
    assert reached([None, one]) is None and ratio(reached([{**one, "seconds": 8.0}]), reached([one])) == 4
    assert spread([3.0, 1.0, 2.0])["median"] == 2


class Answering(Peer):
    """Says what it is told to say."""

    def __init__(self, library, rate):
        super().__init__(library, "python3", None)
        self.rate = rate

    def run(self, what, *arguments, one_core=False):
        costs = {"megabytes": 100.0, "ready_seconds": 1.0, "compile_seconds": 0.0, "wall_seconds": 3.0}
        if what == "steps":
            return {**costs, "steps_per_second": self.rate, "rules_per_second": 10 * self.rate}
        threads = float(arguments[arguments.index("--threads") + 1])
        reading = {"seconds": 1000 / self.rate, "agent_steps": 1000}
        return {**costs, "seconds": 2.0, "agent_steps": 2 * self.rate / threads} | {
            "last_episodes": reading,
            "fresh_episodes": None if self.library.script == "purejaxrl" else reading,
        }


def test_ours_and_theirs_are_compared_by_ratios_of_medians(capsys):
    of = {library.script: library for library in LIBRARIES}
    ours, theirs = Answering(OURS, 100.0), [Answering(of[name], 10.0) for name in ("cleanrl", "purejaxrl")]
    rows = training_rates([ours, *theirs], 2, 1.0)
    assert [(row["peer"], row["settings"], row["ratio_of_medians"]) for row in rows] == [
        ("ours", "own", 1.0),
        *((title, settings, 10.0) for title in ("CleanRL", "PureJaxRL") for settings in ("own", "equal")),
    ]
    assert rows[1]["threads"] == 1 and rows[1]["thread_trials"] == {"1": 10.0, "2": 5.0}, "one thread was faster"
    rows = times_to_skill([ours, *theirs], [0, 1, 2], 1.0)
    assert rows[1]["ratio_of_medians"] == {"last_episodes": 10.0, "fresh_episodes": 10.0}
    assert rows[3]["ratio_of_medians"] == {"last_episodes": 10.0, "fresh_episodes": None}
    (row,) = game_rates(ours, [Answering(of["envpool"], 5.0)], 3, 1.0)
    assert row["ratio_of_medians"] == 20 and row["ratio_of_medians_rules_alone"] == 200
    assert "not read by fresh ones" in capsys.readouterr().out


def test_the_equal_settings_are_the_drills():
    config = of_drill(compile_drill(get("cartpole")).spec)
    ours = {
        "games": config.num_envs,
        "steps": config.rollout_length,
        "epochs": config.epochs,
        "minibatch": config.minibatch_size,
        "learning_rate": config.learning_rate,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "clip": config.clip_epsilon,
        "entropy": config.entropy_coef,
        "value": config.value_coef,
        "gradient_norm": config.max_grad_norm,
        "agent_steps": config.total_agent_steps,
    }
    assert ours == EQUAL and config.lr_schedule == "linear" and config.separate_value_net
    assert config.hidden_sizes == (64, 64) and config.activation == "tanh"


@pytest.mark.peers
@pytest.mark.parametrize("library", ["stable_baselines3", "envpool", "vmas"])
def test_a_librarys_script_answers(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: `make test-peers` installs it")
    chosen = next(one for one in LIBRARIES if one.script == library)
    words = ("-m", f"benchmarks.peers.{library}")
    if not chosen.settings:
        found = run(sys.executable, *words, "steps", "--seconds", "0.5", "--game", chosen.game)
        assert found["steps_per_second"] > 0 and found["megabytes"] > 0
        return
    for settings in chosen.settings:
        found = run(sys.executable, *words, "rate", "--seconds", "0.5", "--settings", settings)
        assert found["agent_steps"] > 0 and found["seconds"] >= 0.5 and found["hyper"]
    found = run(sys.executable, *words, "solve", "--seconds", "2", "--settings", "equal")
    assert found["last_episodes"] == {} or found["last_episodes"]["seconds"] <= found["seconds"]
    assert found["fresh_episodes"] is not None, "its policies were judged"


@pytest.mark.slow
def test_ours_is_read_the_same_way():
    found = run(sys.executable, "-m", "benchmarks.peers.ours", "solve", "--seconds", "120")
    assert found["last_episodes"]["seconds"] <= found["seconds"] + 0.1 and found["fresh_episodes"]
    steps = run(sys.executable, "-m", "benchmarks.peers.ours", "steps", "--seconds", "0.2")
    assert steps["rules_per_second"] > steps["steps_per_second"] > 0
