"""The command line as a person or a script uses it: JSON on the last line, one sentence for wrong input."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from dshq_widget.cli import drill_argument, main, outputs
from dshq_widget.cli.arguments import whole
from dshq_widget.drills.bandit import Bandit
from dshq_widget.env.batch import compiled
from dshq_widget.env.check_subject import Finding
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.evaluate import evaluate_alone, opponent, references
from dshq_widget.policy.loading import load_policy
from dshq_widget.training.trainer import Trainer
from tests.harness.command import PATIENCE, answer, dshq, process
from tests.harness.games.drill_page import LESSON
from tests.harness.ports import free_port

UPDATES = 8  # of training
ENOUGH_STEPS = 5_000_000  # agent steps: a few seconds of an idle machine
TRIED = ("bandit", "--set", "gamma=0.9", "--updates", "1", "--out", ".")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A policy after some updates, and what the command said about it."""
    path = tmp_path_factory.mktemp("cli") / "bot.dshq"
    # Whatever this machine's measurement chooses, whoever was champion by then, and few games.
    how = ("--workers", 0, "--latest", "--num-envs", 256)
    run = process("train", "ball", "--updates", UPDATES, "--seed", 5, *how, "--out", path, "--json")
    return path, json.loads(run.stdout.splitlines()[-1])


def test_an_error_of_the_system_is_a_sentence(monkeypatch, capsys):
    def full(options):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(main, "VERBS", tuple(full if verb.__name__ == "doctor" else verb for verb in main.VERBS))
    full.__name__ = "doctor"
    full.__doc__ = "Fails."
    assert main.main(["doctor"]) == 1
    assert capsys.readouterr().err == "dshq: [Errno 28] No space left on device: 'somewhere'\n"


def test_an_error_drives_no_terminal(monkeypatch, capsys):
    def fails(path):
        raise checkpoint.CheckpointError("it has \x1b[2J\x1b]0;x\x07 in\ntwo lines")

    monkeypatch.setattr(checkpoint, "load", fails)
    assert main.main(["evaluate", "bot.dshq"]) == 2
    assert capsys.readouterr().err == "dshq: it has  [2J ]0;x  in\ntwo lines\n"


def test_a_result_is_json_also_where_a_number_is_none(monkeypatch, capsys):
    def doctor(options):
        """Rewards of one's own drill may be anything."""
        return {"return_mean": float("nan"), "ci95": (float("-inf"), 1.5), "all": [{"wins": 3}]}

    monkeypatch.setattr(main, "VERBS", (doctor, *(verb for verb in main.VERBS if verb.__name__ != "doctor")))
    assert main.main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == {"return_mean": None, "ci95": [None, 1.5], "all": [{"wins": 3}]}


def test_train_reports_what_it_did(trained):
    path, said = trained
    assert path.is_file()
    assert {"agent_steps_per_second", "workers"} <= set(said)
    assert said["drill"] == "ball" and said["seed"] == 5 and said["out"] == str(path)
    assert said["agent_steps"] > 10_000 and said["updates"] == said["version"] == UPDATES
    assert 0 < said["seconds"] < PATIENCE
    assert said["device"] == "cpu" or said["device"].startswith("cuda")
    assert 0.5 < said["metrics"]["entropy"] < 3.5


@pytest.mark.slow
def test_what_was_trained_beats_random_play(trained, tmp_path):
    """One run of its steps, however long a busy machine takes for them."""
    path, _ = trained
    longer = tmp_path / "longer.dshq"
    assert answer("train", path, "--agent-steps", ENOUGH_STEPS, "--out", longer)["agent_steps"] >= ENOUGH_STEPS
    said = answer("evaluate", longer, "--against", "random", "--matches", 400)
    assert said["wins"] + said["draws"] + said["losses"] == said["matches"] == 400
    low, high = said["ci95"]
    assert low <= said["win_rate"] <= high
    assert said["win_rate"] > 0.6 and said["wins"] > said["losses"]


def test_evaluation_is_reproducible_and_takes_every_kind_of_opponent(trained):
    path, _ = trained
    command = ("evaluate", path, "--against", "scripted", "--matches", 100, "--seed", 3)
    first = json.loads(process(*command, "--json").stdout)
    assert first == answer(*command)
    itself = answer("evaluate", path, "--against", path, "--matches", 1000)
    difference, decided = itself["wins"] - itself["losses"], itself["wins"] + itself["losses"]
    assert abs(difference) <= 5 * decided**0.5, "a policy is as strong as itself, to five standard errors"
    assert answer("evaluate", path, "--against", "chaser", "--matches", 50, "--greedy")["greedy"] is True


def test_training_goes_on_from_a_file(trained, tmp_path):
    path, said = trained
    out = tmp_path / "more.dshq"
    more = answer("train", path, "--updates", 1, "--latest", "--out", out)
    assert more["agent_steps"] > said["agent_steps"] and more["version"] > said["version"]


def test_training_goes_on_from_a_policy_of_the_ladder(tmp_path, capsys):
    more = answer("train", "ball:bronze", "--updates", 1, "--out", tmp_path / "more.dshq")
    bronze = checkpoint.load(ladder.path("ball", "bronze"))
    assert more["version"] > bronze.version and more["updates"] == bronze.metrics["updates"] + 1
    assert main.main(["train", "sumo:gold"]) == 2
    assert "has no policy 'gold'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_drill_of_ones_own_is_trained_and_judged_by_its_file(tmp_path):
    file, out = tmp_path / "mark.py", tmp_path / "mark.dshq"
    file.write_text(LESSON)
    assert answer("train", file, "--seconds", 2, "--out", out)["drill"] == "mark"
    said = answer("evaluate", out, "--drill", file, "--matches", 100)
    assert said["drill"] == "mark" and said["return_mean"] > 1, "it holds the mark for a while"
    assert answer("trace", file, "--ticks", 60)["drill"] == "mark"
    file.write_text(LESSON + "\n\nclass Another(Mark):\n    name = 'another'\n")
    assert "defines 2 drills (Mark, Another)" in dshq("train", file, expect=2).stderr
    file.write_text(LESSON + "\n\nSame = Mark\n")
    assert drill_argument.drill(str(file)).__name__ == "Mark"


@pytest.fixture(scope="module")
def mark_drill(tmp_path_factory):
    """A drill's file, and an untrained policy of that drill."""
    folder = tmp_path_factory.mktemp("own")
    file = folder / "mark.py"
    file.write_text(LESSON)
    with Trainer(drill_argument.drill(str(file)), hidden_sizes=(8,)) as trainer:
        return file, trainer.save(folder / "bot.dshq")


def refused(capsys, *arguments):
    """What a command says of wrong input, without a process of its own."""
    assert main.main([str(one) for one in arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dshq: ") and len(said.splitlines()) == 1
    return said


def test_a_policy_of_ones_own_drill_asks_for_its_file(mark_drill, capsys, tmp_path):
    file, bot = mark_drill
    for more in (
        ["evaluate", bot],
        ["record", bot, "--gif", tmp_path / "x.gif"],
        ["export", bot, "--html", tmp_path / "x.html"],
        ["train", bot],
    ):
        said = refused(capsys, *more)
        assert "'bot.dshq'" in said and "'mark', which is not a built-in drill: add `--drill mark.py`" in said
    assert "leave it out" in refused(capsys, "train", file, "--drill", file)
    assert not list(tmp_path.iterdir())


def test_every_verb_takes_the_file_beside_the_policy(mark_drill, capsys, tmp_path):
    pytest.importorskip("PIL.Image")
    file, bot = map(str, mark_drill)
    gif, page, more = (str(tmp_path / name) for name in ("x.gif", "x.html", "more.dshq"))
    assert main.main(["record", bot, "--gif", gif, "--drill", file, "--matches", "2", "--seconds", "1"]) == 0
    assert main.main(["export", bot, "--html", page, "--drill", file]) == 0
    assert "mark, version 0, as one web page" in capsys.readouterr().out
    assert answer("train", bot, "--drill", file, "--updates", 1, "--out", more)["drill"] == "mark"
    assert load_policy(more).spec.layers[1:-1] == (8,), "it continued from that file"


def test_what_takes_long_says_what_it_waits_for(capsys):
    with outputs.said_if_slow("never said", 3600.0):
        pass
    with outputs.said_if_slow("the learner is made", 0.0):
        said = ""
        while "the learner is made" not in said:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert "never said" not in said


def test_evaluation_of_one_side_stands_beside_random_play_and_the_script(mark_drill, capsys):
    file, bot = map(str, mark_drill)
    command = ["evaluate", bot, "--drill", file, "--matches", "200", "--seed", "3"]
    assert main.main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["return_mean_scripted"] > said["return_mean_random"] + 0.5, "its script follows the mark"
    drill = compiled(drill_argument.drill(file))
    again = evaluate_alone(drill, opponent("random", drill), 200, seed=3)
    assert said["return_mean_random"] == again["return_mean"]
    assert main.main(command) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    means = f"{said['return_mean_random']:.2f} by random play, {said['return_mean_scripted']:.2f} by "
    assert line.startswith(f"on the same seeds: {means}{drill.spec.baselines[0]}")


def test_a_drill_without_a_script_has_random_play_to_compare_with():
    class Bare(Bandit):
        name = "bare"
        baselines = ()

    found = references(compiled(Bare), 32)
    assert found["return_mean_scripted"] is None and 0 < found["return_mean_random"] < 100


@pytest.mark.parametrize("verb", ["train", "trace", "check", "bench"])
def test_a_file_that_is_not_there_is_named(verb, capsys):
    assert "no file 'nothing.py'" in refused(capsys, verb, "nothing.py")


def test_a_check_is_named_while_it_is_made(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    findings = [Finding("rules", True, "fine"), Finding("reset", True, "fine")]
    names = ("rules", "reset", "scene")
    assert list(main._announced(iter(findings), names, quiet=True)) == findings and not screen.getvalue()
    assert list(main._announced(iter(findings), names, quiet=False)) == findings
    shown = screen.getvalue().split("\r\x1b[K")
    assert [line.split()[1:] for line in shown] == [[name, str(k + 1), "of", "3"] for k, name in enumerate(names)] + [
        []
    ]


def test_traces_agree_between_back_ends():
    cpu, js = (answer("trace", "ball", "--ticks", 600, "--seed", 1, "--backend", backend) for backend in ("cpu", "js"))
    assert cpu["sha256"] == js["sha256"] and len(cpu["sha256"]) == 64
    assert cpu["ticks"] == 600 and cpu["episodes"] == js["episodes"]
    for seed in (-1, 10**30):
        cpu, js = (answer("trace", "bandit", "--ticks", 8, "--seed", seed, "--backend", name) for name in ("cpu", "js"))
        assert cpu["sha256"] == js["sha256"] and cpu["seed"] == seed


def test_export_writes_a_page_and_onnx_at_once(tmp_path):
    pytest.importorskip("onnx")
    said = answer("export", "ball:bronze", "--html", tmp_path / "match.html", "--onnx", tmp_path / "bot.onnx")
    assert {"html": str(tmp_path / "match.html"), "onnx": str(tmp_path / "bot.onnx")}.items() <= said.items()
    page = (tmp_path / "match.html").read_text()
    assert page.startswith("<!doctype html>") and "Ball Drill" in page
    assert (tmp_path / "bot.onnx").stat().st_size > 10_000


@pytest.mark.parametrize("option", ["--to-json", "--onnx", "--html"])
def test_an_export_does_not_take_the_place_of_what_it_reads(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.dshq").write_bytes(b"not read before")
    (tmp_path / "link").symlink_to("bot.dshq")
    for written in ("./bot.dshq", "link"):
        assert "is what is read" in dshq("export", "bot.dshq", option, written, expect=2).stderr
    assert "is what is read" in dshq("export", "bot.dshq", "--drill", "own.py", option, "own.py", expect=2).stderr
    assert (tmp_path / "bot.dshq").read_bytes() == b"not read before"


def test_an_export_writes_nothing_where_one_of_its_files_cannot_be_written(tmp_path):
    json_file = tmp_path / "bot.json"
    said = dshq("export", "ball:bronze", "--to-json", json_file, "--html", tmp_path / "no" / "match.html", expect=2)
    assert said.stderr.startswith("dshq: --html: cannot write") and not any(tmp_path.iterdir())


def test_an_export_prepares_no_training(tmp_path, monkeypatch):
    """A page never calls what a kernel trains with: half of an export's work on a fresh machine."""
    prepared = []
    monkeypatch.setattr(Trainer, "prepare", lambda self: prepared.append(self.drill.name))
    answer("export", "ball:bronze", "--html", tmp_path / "match.html")
    assert prepared == []


def test_record_films_the_best_goal(tmp_path):
    image = pytest.importorskip("PIL.Image")
    said = answer(
        "record", "ball:gold", "--gif", tmp_path / "goal.gif", "--matches", 16, "--seconds", 3, "--width", 160
    )
    assert 0 < said["wins"] <= said["matches"] == 16 and said["drill"] == "ball"
    assert 16 > said["seed"] >= 0 and 10 < said["pictures"] <= 60
    with image.open(tmp_path / "goal.gif") as gif:
        assert gif.size[0] == 160 and 1 < gif.n_frames <= said["pictures"]


def test_lab_serves_the_notebooks_and_keeps_what_was_changed(tmp_path):
    pytest.importorskip("jupyterlab")
    folder = tmp_path / "lessons"
    folder.mkdir()
    (folder / "01_watch_it_learn.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    mine = (folder / "01_watch_it_learn.ipynb").read_bytes()
    command = [sys.executable, "-m", "dshq_widget.cli", "lab", folder, "--no-browser", "--port", free_port(), "--json"]
    environment = {
        **os.environ,
        **{f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "RUNTIME")},
    }
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as lab:
        try:
            said = json.loads(lab.stdout.readline())
            assert said["folder"] == str(folder) and said["notebook"] == str(folder / "01_watch_it_learn.ipynb")
            address, token = said["url"].split("/lab/tree/01_watch_it_learn.ipynb?token=")
            files = f"{address}/api/contents/?token={token}"
            with urllib.request.urlopen(files, timeout=300) as listing:
                names = {entry["name"] for entry in json.load(listing)["content"]}
            assert "01_watch_it_learn.ipynb" in names
            assert (folder / "01_watch_it_learn.ipynb").read_bytes() == mine
        finally:
            lab.send_signal(signal.SIGTERM)
            assert lab.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    "verb", ["train", "sweep", "evaluate", "export", "record", "trace", "check", "bench", "doctor", "lab"]
)
def test_every_verb_explains_itself_and_speaks_json(verb):
    text = dshq(verb, "--help").stdout
    assert text.startswith(f"usage: dshq {verb} ") and "--json" in text
    summary = text.split("\n\n")[1]
    assert summary[0].isupper() and summary.rstrip().endswith((".", "games")) and verb in dshq("--help").stdout


def test_doctor_names_every_check():
    checks = answer("doctor")["checks"]
    assert {"name", "ok", "value", "advice"} == set(checks[0])
    names = {check["name"] for check in checks}
    assert {"python", "torch", "processors", "memory", "shared memory", "GPU", "cache"} <= names
    assert all(check["ok"] or check["advice"] for check in checks)


def test_bench_measures_ceilings_and_rates():
    said = answer("bench", "bandit", "--seconds", 0.05)
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
        (["train", "ball", "--learnin-rates", "1"], "--learnin-rates 1; see `dshq train --help`"),
        (["train", "ball", "--seconds", "0"], "more than 0"),
        (["train", "ball", "--updates", "-" + "9" * 400], "--updates must be more than 0, got a whole number of"),
        (["train", "ball", "--updates", "1e13"], "--updates must be a whole number from 1 to 1e+12 updates, got"),
        (
            ["train", "ball", "--agent-steps", "1.5"],
            "--agent-steps: wanted a whole number such as 200 or 1e6, got '1.5'",
        ),
        (["train", "ball", "--seconds", "1e12"], "--seconds must be a number from 0.001 to 1,000,000,000 s, got"),
        (["train", "ball", "--log-dir", ""], "--log-dir must be the name of a folder"),
        (["train", "ball", "--out", "bot.txt"], ".dshq"),
        (["train", "ball", "--out", "~nobody-of-this-name/bot.dshq"], "does not exist"),
        (["check", "~nobody-of-this-name/mine.py"], "no file"),
        (["train", "ball", "--out", "no/such/folder/bot.dshq"], "does not exist"),
        (["train", "ball", "--config", "no_such.yaml"], "no_such.yaml"),
        (["evaluate", "no_such.dshq"], "no_such.dshq"),
        (["evaluate", __file__], ""),
        (["trace", "ball", "--backend", "gpu"], "cpu, reference, js"),
        (["trace", "ball", "--ticks", "many"], "--ticks"),
        (["evaluate", "ball:bronze", "--against", "nobody"], "chaser"),
        (["evaluate", "ball:bronze", "--against", "ball:tin"], "ball:tin"),
        (["evaluate", "ball:bronze", "--matches", "1000001"], "1,000,000 at most"),
        (["export", "ball:bronze"], "--html"),
        (["export", "ball:bronze", "--to-json", "bot.json", "--drill", "bal"], "did you mean 'ball'"),
        (["export", "ball:bronze", "--to-json", "bot.json", "--drill", "maze"], "reads 28 observations"),
        (["export", "ball:bronze", "--html", "no/such/folder/match.html"], "cannot write"),
        (["export", "ball:bronze", "--html", "match", "--to-json", "match"], "--to-json already"),
        (["record", "ball:bronze", "--gif", "goal.png"], ".gif"),
        (["record", "ball:bronze", "--gif", "goal.gif", "--seconds", "inf"], "--seconds must be a finite number"),
        (["record", "ball:bronze", "--gif", "no/such/folder/goal.gif"], "does not exist"),
        (["record", "ball:bronze", "--gif", "goal.gif", "--against", ""], "chaser"),
        (["record", "ball:bronze", "--gif", "goal.gif", "--matches", "0"], "--matches"),
        (["record", "ball:bronze", "--gif", "goal.gif", "--width", "9"], "64 to 1920"),
        (["record", "ball:bronze", "--gif", "goal.gif", "--theme", "sepia"], "--theme"),
        (["record", __file__, "--gif", "goal.gif"], "test_cli"),
        (["sweep", "bandit", "--set", "gama=0.9", "--updates", "1", "--out", "."], "did you mean 'gamma'"),
        (["sweep", "bandit", "--set", "gamma=0.9", "--fix", "epochs", "--updates", "1", "--out", "."], "NAME=VALUE"),
        (["sweep", *TRIED, "--fix", "epochs=1", "--fix", "epochs=2"], "--fix names a setting twice: epochs=1"),
        (["sweep", *TRIED, "--fix", "lr=0.1", "--fix", "learning-rate=0.2"], "learning_rate is given twice"),
        (["sweep", *TRIED, "--fix", "gae-lambda=1", "--set", "lambda=1,0.9"], "gae_lambda varies and is fixed"),
        (["sweep", *TRIED, "--fix", "agent-steps=9"], "no setting of a run: --agent-steps says it"),
        (["sweep", *TRIED, "--seeds", "1000000000000"], "seeds must be a number of at least 1, 10,000 at most"),
        (["lab", __file__], "cannot create the folder"),
        (["lab", "--port", "70000"], "1 to 65535"),
        (["dance"], "VERB"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_2(arguments, words):
    run = dshq(*arguments, expect=2)
    assert run.stderr.startswith("dshq: ") and len(run.stderr.strip().splitlines()) == 1
    assert "Traceback" not in run.stderr and words in run.stderr


@pytest.mark.parametrize(("text", "number"), [("1e6", 10**6), ("-3", -3), ("2.0", 2), ("1_000", 1000)])
def test_whole_numbers_are_read_as_in_a_file(text, number):
    assert whole(text) == number


def test_wrong_input_of_a_real_process():
    run = process("train", "bal", expect=2)
    assert run.stderr.startswith("dshq: ") and len(run.stderr.strip().splitlines()) == 1 and not run.stdout


def test_configuration_file_and_flags_come_together(tmp_path):
    (tmp_path / "c.yaml").write_text("ppo_core:\n  num_steps: 16\n  lr: 0.001\n  num_envs: 64\n")
    flags = ("--lr", "0.002", "--updates", 4, "--opponents", "self=1", "--workers", 0)
    said = answer("train", "ball", "--config", tmp_path / "c.yaml", *flags)
    assert 0.0019 < said["metrics"]["learning_rate"] <= 0.002, "of the flag, and hardly annealed"
    assert (said["updates"], said["agent_steps"]) == (4, 4 * 64 * 16 * 2), "of the file"


def test_play_trains_by_the_files_algorithm_or_the_one_named(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("dshq_widget.cli.play.play", lambda drill, **how: asked.append(how["algorithm"]))
    bot = str(tmp_path / "bot.dshq")
    with Trainer("bandit", algorithm="spo") as trainer:
        trainer.save(bot)
    for arguments in (["bandit"], [bot], [bot, "--algorithm", "ppo"], ["bandit", "--algorithm", "spo"]):
        assert main.main(["play", *arguments]) == 0
    assert asked == [None, "spo", "ppo", "spo"]
