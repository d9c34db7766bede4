"""The command line as a person or a script uses it: real processes, JSON on the last line, one sentence and status 2
for wrong input.
"""

import json
import subprocess
import sys

import pytest

TIMEOUT = 300  # seconds; a machine that never compiled anything


def dshq(*arguments, expect=0):
    run = subprocess.run(
        [sys.executable, "-m", "dshq_widget.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert run.returncode == expect, run.stdout + run.stderr
    return run


def answer(*arguments):
    return json.loads(dshq(*arguments, "--json").stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A policy after four seconds of training, and what the command said about it."""
    path = tmp_path_factory.mktemp("cli") / "bot.dshq"
    return path, answer("train", "ball", "--seconds", 4, "--seed", 5, "--out", path)


def test_train_reports_what_it_did(trained):
    path, said = trained
    assert path.is_file()
    assert {
        "drill",
        "seed",
        "seconds",
        "agent_steps",
        "agent_steps_per_second",
        "updates",
        "version",
        "device",
        "workers",
        "metrics",
        "out",
    } <= set(said)
    assert said["drill"] == "ball" and said["seed"] == 5 and said["out"] == str(path)
    assert said["agent_steps"] > 10_000 and said["updates"] == said["version"] > 2
    assert 1 < said["seconds"] < 6
    assert said["device"] == "cpu" or said["device"].startswith("cuda")
    assert 0.5 < said["metrics"]["entropy"] < 3.5


def test_a_few_seconds_beat_random_play(trained):
    path, _ = trained
    said = answer("evaluate", path, "--against", "random", "--matches", 400)
    assert said["wins"] + said["draws"] + said["losses"] == said["matches"] == 400
    low, high = said["ci95"]
    assert low <= said["win_rate"] <= high
    assert said["win_rate"] > 0.6 and said["wins"] > said["losses"]


def test_evaluation_is_reproducible_and_takes_every_kind_of_opponent(trained):
    path, _ = trained
    first = answer("evaluate", path, "--against", "scripted", "--matches", 100, "--seed", 3)
    assert first == answer("evaluate", path, "--against", "scripted", "--matches", 100, "--seed", 3)
    itself = answer("evaluate", path, "--against", path, "--matches", 300)
    assert itself["ci95"][0] <= 0.5 <= itself["ci95"][1], "a policy is as strong as itself"
    assert answer("evaluate", path, "--against", "chaser", "--matches", 50, "--greedy")["greedy"] is True


def test_training_goes_on_from_a_file(trained, tmp_path):
    path, said = trained
    out = tmp_path / "more.dshq"
    more = answer("train", path, "--seconds", 1, "--out", out)
    assert more["agent_steps"] > said["agent_steps"] and more["version"] > said["version"]


def test_traces_agree_between_back_ends():
    cpu, js = (answer("trace", "ball", "--ticks", 600, "--seed", 1, "--backend", backend) for backend in ("cpu", "js"))
    assert cpu["sha256"] == js["sha256"] and len(cpu["sha256"]) == 64
    assert cpu["ticks"] == 600 and cpu["episodes"] == js["episodes"]


def test_doctor_names_every_check():
    checks = answer("doctor")["checks"]
    assert {"name", "ok", "value", "advice"} == set(checks[0])
    names = {check["name"] for check in checks}
    assert {"python", "torch", "processors", "memory", "shared memory", "GPU", "cache"} <= names
    assert all(check["ok"] or check["advice"] for check in checks)


@pytest.mark.slow
def test_bench_measures_ceilings_and_rates():
    said = answer("bench", "--seconds", 0.5)
    assert {"machine", "ceilings", "rates"} <= set(said)
    assert {"gemm_gflops_per_core", "copy_gb_per_second"} == set(said["ceilings"])
    rates = {
        "sim_ticks_per_second_per_core",
        "inferences_per_second_per_core",
        "update_samples_per_second",
        "agent_steps_per_second",
    }
    assert rates == set(said["rates"]) and all(value > 0 for value in said["rates"].values())


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["train", "bal"], "'ball'"),
        (["train", "ball", "--learning-rate", "fast"], "learning_rate must be a number"),
        (["train", "ball", "--learning-rate", "-1"], "learning_rate"),
        (["train", "ball", "--learnin-rates", "1"], "--help"),
        (["train", "ball", "--seconds", "0"], "more than 0"),
        (["train", "ball", "--out", "bot.txt"], ".dshq"),
        (["train", "ball", "--out", "no/such/folder/bot.dshq"], "does not exist"),
        (["train", "ball", "--config", "no_such.yaml"], "no_such.yaml"),
        (["evaluate", "no_such.dshq"], "no_such.dshq"),
        (["evaluate", __file__], ""),
        (["trace", "ball", "--backend", "gpu"], "cpu, js"),
        (["trace", "ball", "--ticks", "many"], "--ticks"),
        (["dance"], "VERB"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_2(arguments, words):
    run = dshq(*arguments, expect=2)
    assert run.stderr.startswith("dshq: ") and len(run.stderr.strip().splitlines()) == 1
    assert "Traceback" not in run.stderr and words in run.stderr


def test_configuration_file_and_flags_come_together(tmp_path):
    (tmp_path / "c.yaml").write_text("ppo_core:\n  num_steps: 16\n  lr: 0.001\n  num_envs: 64\n")
    said = answer("train", "ball", "--config", tmp_path / "c.yaml", "--lr", "0.002", "--seconds", "1")
    assert said["metrics"]["learning_rate"] < 0.002 * 1.001
    assert said["agent_steps"] // said["updates"] <= 64 * 16 * 2
