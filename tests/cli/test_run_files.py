"""A run is repeated by the YAML file that it wrote, alone; flags go before the file, the file before defaults."""

import dataclasses
import hashlib
import json
import shlex
from pathlib import Path

import pytest

from dshq_widget import algorithms
from dshq_widget.algorithms.algorithm import FEATURES
from dshq_widget.cli import arguments, main, run_plan
from dshq_widget.contract import run_file
from dshq_widget.policy import checkpoint
from dshq_widget.training.trainer import Trainer
from tests.harness.command import process
from tests.harness.games.drill_page import LESSON

SMALL = ["--num-envs", "64", "--rollout-length", "8", "--hidden-sizes", "16", "--deterministic", "true"]


def dshq(folder, *arguments):
    return json.loads(process("train", *arguments, "--json", cwd=folder).stdout.splitlines()[-1])


def digest(path):
    return hashlib.sha256(checkpoint.load(path).weights.tobytes()).hexdigest()


@pytest.mark.slow
def test_a_run_from_its_own_file_gives_the_same_weights(tmp_path):
    """In lock-step; the file of another place, with a drill of one's own, and from another folder."""
    folder, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "mark.py").write_text(LESSON)
    first = dshq(folder, "../mark.py", "--updates", 15, "--seed", 3, "--out", "bot.dshq", "--log-dir", "logs", *SMALL)
    assert first["updates"] == 15 and first["algorithm"] == "ppo"
    before = digest(folder / "bot.dshq")
    (folder / "bot.dshq").unlink()
    tmp_path.rename(moved := tmp_path.with_name(tmp_path.name + "-moved"))
    moved.joinpath("elsewhere").mkdir()
    again = dshq(moved / "elsewhere", "--config", moved / "runs" / "bot.yaml", "--trust-config")
    assert again["updates"] == 15 and digest(moved / "runs" / "bot.dshq") == before
    logged = ["--config", moved / "runs" / "logs" / "run.yaml", "--trust-config"]
    other = dshq(moved / "elsewhere", *logged, "--out", "x.dshq")
    assert other["updates"] == 15 and digest(moved / "elsewhere" / "x.dshq") == before
    mine = ["--config", "x.yaml", "--trust-config"]
    changed = dshq(moved / "elsewhere", *mine, "--seed", 4, "--updates", 5, "--out", "y.dshq")
    assert changed["seed"] == 4 and changed["updates"] == 5 and digest(moved / "elsewhere" / "y.dshq") != before
    assert not elsewhere.exists()


REACHING = {
    "drill: mine.py": ("runs the Python code of", "mine.py"),
    "drill: bot.dshq\n  drill_file: mine.py": ("runs the Python code of", "--drill"),
    "drill: gym:mine:Easy-v0": ("runs the Python code of gym:mine:Easy-v0", "gym:mine:Easy-v0"),
    "drill: ball\n  engine: ray\n  ray_address: far:1": ("joins the Ray cluster at far:1", "--ray-address far:1"),
    "drill: ball\n  engine: ray": ("plays elsewhere, on the engine ray", "--engine ray"),
    "drill: ball\n  track: mlflow:http://ada:secret@far": ("sends metrics to mlflow:http://far", "--track WHERE"),
    "drill: ball\n  out: ../bot.dshq": ("writes to", "--out"),
    "drill: ball\n  log_dir: /etc/dshq": ("writes to /etc/dshq, outside its folder", "--log-dir /etc/dshq"),
}


@pytest.mark.parametrize("run", REACHING)
def test_a_file_reaches_nothing_that_was_not_asked_for(run, tmp_path, monkeypatch, capsys):
    """A run.yaml beside a policy looks like data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("open('ran', 'w').close()\n")
    (tmp_path / "run.yaml").write_text(f"run:\n  {run}\n  updates: 1\n")
    assert main.main(["train", "--config", "run.yaml"]) == 2
    said = capsys.readouterr().err
    assert all(part in said for part in (*REACHING[run], "--trust-config")) and "secret" not in said
    assert not (tmp_path / "ran").exists() and not (tmp_path / "run.dshq").exists()


@pytest.mark.parametrize("key", [key for key, about in run_file.RUN_KEYS.items() if about["kind"] == "text"])
def test_a_file_drives_no_terminal(key, tmp_path, capsys):
    """What a file names is printed where a person is asked to trust it; it could wipe that out."""
    names = {"drill": "ball", key: "\x1b[2J\x1b]0;x\x07mine:A.py"}
    (tmp_path / "run.yaml").write_text(json.dumps({"run": {**names, "updates": 1}}))
    assert main.main(["train", "--config", str(tmp_path / "run.yaml")]) == 2
    said = capsys.readouterr().err
    assert f"run.{key} must be" in said and said.strip().isprintable()


def test_a_command_that_is_advised_is_one_command(tmp_path, monkeypatch, capsys):
    """A person copies it into a shell."""
    monkeypatch.chdir(tmp_path)
    name = "x; touch ran; .py"
    for run, said in (({"drill": name}, shlex.quote(name)), ({"drill": "ball", "algorithm": "a:B;id"}, "'a:B;id'")):
        (tmp_path / "run.yaml").write_text(json.dumps({"run": {**run, "updates": 1}}))
        assert main.main(["train", "--config", "run.yaml"]) == 2
        assert said in capsys.readouterr().err
    saved = checkpoint.load(Path(__file__).parents[1] / "formats" / "0.1.0" / "bot.dshq")
    checkpoint.save("bot.dshq", dataclasses.replace(saved, drill="x; touch ran; "))
    assert main.main(["evaluate", "bot.dshq"]) == 2
    assert f"add `--drill {shlex.quote(name)}`" in capsys.readouterr().err


def test_what_a_person_gives_or_trusts_is_followed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("raise RuntimeError('it ran')\n")
    (tmp_path / "run.yaml").write_text("run: {drill: mine.py, track: 'mlflow:http://far', updates: 1}\n")
    for flags in (["--trust-config", "--track", ""], ["mine.py", "--track", ""]):
        assert main.main(["train", "--config", "run.yaml", *flags]) == 2
        assert "it ran" in capsys.readouterr().err


def test_a_persons_own_file_is_not_replaced_by_the_settings_of_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mine = "# why gamma is what it is\nrun: {drill: bandit, updates: 1, out: bot.dshq}\n"
    (tmp_path / "bot.yaml").write_text(mine)
    (tmp_path / "run.yaml").write_text(mine)
    for flags, place in ((["--config", "bot.yaml"], "bot.yaml"), (["bandit", "--log-dir", "."], "run.yaml")):
        assert main.main(["train", *flags, "--updates", "1"]) == 2
        said = capsys.readouterr().err
        assert f"the settings of the run go to {place!r}, which is there and not written by dshq train" in said
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"bot.yaml": mine, "run.yaml": mine}
    (tmp_path / "x.yaml").mkdir()
    assert main.main(["train", "bandit", "--updates", "1", "--out", "x.dshq"]) == 2
    assert "--out: cannot write 'x.yaml': it is a folder" in capsys.readouterr().err
    assert not run_file.is_a_persons(Path(__file__).parents[1] / "formats" / "0.1.0" / "bot.yaml")


def test_a_file_of_aliases_is_refused_at_once(tmp_path, capsys):
    """Nine lines that stand for a billion values."""
    lines = [f"  x{k}: &x{k} [{', '.join([f'*x{k - 1}' if k else '1'] * 10)}]" for k in range(9)]
    for place in ("training_core: {lr: *x8}", "training_core: {clip_value: *x8}", "run: {drill: *x8}", "gate: *x8"):
        (tmp_path / "run.yaml").write_text("\n".join(["spo:", *lines, place]))
        assert main.main(["train", "--config", str(tmp_path / "run.yaml")]) == 2
        assert len(capsys.readouterr().err) < 1000


def test_a_file_names_its_algorithm_and_an_old_file_is_ppos(tmp_path):
    with Trainer("bandit", hidden_sizes=(8,)) as t:
        saved = checkpoint.load(t.save(tmp_path / "new.dshq"))
        assert saved.algorithm == t.algorithm == "ppo" and saved.algorithm_settings == {}
    content = checkpoint.encode(saved)
    old = checkpoint.load("ball:gold")  # a file of version 0.1
    assert b'"algorithm"' in content and old.algorithm == "ppo"
    with pytest.raises(checkpoint.CheckpointError, match="algorithm"):
        checkpoint.encode(checkpoint.Checkpoint(**{**vars(saved), "algorithm": "PPO; rm"}))
    with pytest.raises(ValueError, match="algorithm_settings must be like"):
        Trainer("bandit", algorithm_settings={"floor": 0.1})
    with pytest.raises(ValueError, match="ppo has no settings of its own, got 'floor'"):
        Trainer("bandit", algorithm_settings={"ppo": {"floor": 0.1}})
    with Trainer("bandit", algorithm_settings={"gate": {"floor": 0.1}}) as t:
        assert t.algorithm_settings == {}, "another algorithm's section is ignored"


@pytest.mark.parametrize(
    ("drill", "core", "flags", "size"),
    [
        ("bandit", "{num_minibatches: 4}", [], 64 * 32 // 4),
        ("ball", "{num_minibatches: 4}", [], 1024 * 32 // 4),
        ("bandit", "{num_minibatches: 4, T: 16}", ["--num-envs", "128"], 128 * 16 // 4),
        ("bandit", "{num_minibatches: 4}", ["--minibatch-size", "64"], 64),
        ("bandit", "{minibatch_size: 64}", ["--num-minibatches", "2"], 64 * 32 // 2),
        ("MINE", "{num_minibatches: 4}", [], 128 * 64 // 4),
    ],
)
def test_minibatches_divide_the_rollout_that_is_played(tmp_path, drill, core, flags, size):
    """The drill's, a saved run's or the flags', and not that of the defaults."""
    if drill == "MINE":
        with Trainer("bandit", num_envs=128, rollout_length=64) as t:
            drill = t.save(tmp_path / "mine.dshq")
    (tmp_path / "run.yaml").write_text(f"run: {{drill: {drill}}}\ntraining_core: {core}\n")
    asked = ["train", "--config", str(tmp_path / "run.yaml"), *flags]
    plan = run_plan.of(arguments.parser(main.VERBS).parse_args(asked))
    with Trainer(plan.start, **plan.hyper) as t:
        assert t.config.minibatch_size == size
        t._run.config.fit(gentle=False)
        assert t.config.minibatch_size == size and t.config.num_envs * t.config.rollout_length // size in (2, 4, 32)


def test_what_to_train_has_to_be_named(capsys, tmp_path):
    assert main.main(["train"]) == 2
    assert "name what to train" in capsys.readouterr().err
    (tmp_path / "run.yaml").write_text("training_core: {lr: 0.1}")
    assert main.main(["train", "--config", str(tmp_path / "run.yaml")]) == 2
    assert main.main(["train", "ball", "--algorithm", "pp0"]) == 2
    assert "no algorithm 'pp0'" in capsys.readouterr().err


def test_help_has_defaults_and_ranges(capsys):
    assert main.main(["train", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(default 0.003; 0 to 1)" in said and "(default linear; constant or linear or cosine)" in said
    assert "(default 1024; 16 to 65536 games, multiple of 16)" in said


ASKED = {
    "two sides": ["train", "ball"],
    "gym": ["train", "gym:CartPole-v1"],
    "recurrent": ["train", "bandit", "--memory", "8"],
    "cuda": ["train", "bandit", "--device", "cuda"],
    "page": ["train", "bandit", "--engine", "page"],
    "onnx": ["export", "POLICY", "--onnx", "bot.onnx"],
    "html": ["export", "POLICY", "--html", "bot.html"],
    "joint": ["train", "bandit", "--joint", "true"],
    "league": ["train", "ball", "--opponents", "self=.5,pool=.5"],
}
"""Feature -> a command that needs it."""


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("name", algorithms.algorithms)
def test_what_an_algorithm_lacks_is_refused_with_the_sentence_of_the_table(
    name, feature, capsys, tmp_path, monkeypatch
):
    sentence = algorithms.get(name).refuses.get(feature)
    if sentence is None:
        pytest.skip("it works; other tests show it")
    monkeypatch.chdir(tmp_path)
    drill = "territory" if name == "gate" else "bandit"
    with Trainer(drill, algorithm=name) as t:
        t.save("bot.dshq")
    command = [{"POLICY": "bot.dshq", "bandit": drill}.get(word, word) for word in ASKED[feature]]
    command += ["--algorithm", name] if command[0] == "train" else []
    assert main.main(command) == 2
    assert capsys.readouterr().err == f"dshq: {sentence}\n"


def test_every_refusal_is_of_a_known_feature():
    assert set(ASKED) == set(FEATURES)
    for each in algorithms.algorithms.values():
        assert set(each.refuses) <= set(FEATURES)
        assert all(sentence.startswith(f"{each.name} ") and ": " in sentence for sentence in each.refuses.values())


def test_sections_of_algorithms_are_their_names():
    own = {name for name, each in algorithms.algorithms.items() if each.settings is not None}
    assert not own & {run_file.RUN, *run_file.SECTIONS}
