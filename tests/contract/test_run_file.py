"""Files of runs: strict sections, other spellings, and what is written is what was run."""

import os
import re

import pytest

from dshq_widget.contract import run_file
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig


def read(tmp_path, text):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return run_file.read(path, ("spo", "gate", "dreamer"))


def test_precedence(tmp_path):
    core = read(tmp_path, "ppo_core:\n  lr: 1e-3\n  gamma: 0.9\n  epochs: 2\n").core
    got = TrainConfig.from_values(core, {"gamma": "0.8", "epochs": "3"}, {"epochs": 4})
    assert (got.learning_rate, got.gamma, got.epochs, got.num_envs) == (1e-3, 0.8, 4, 1024)


def test_every_section_and_the_other_spellings(tmp_path):
    file = read(
        tmp_path,
        """
        run: {task_id: BinPack-v0, algorithm: spo, out: bot.dshq, log_dir: logs, autosave_seconds: 5}
        training_core: {num_updates: 20, clip_eps: 0.3, ent_coef: 0.01, vf_coef: 1, hidden_dim: 32, num_minibatches: 4}
        spo: {num_particles: 16}
        """,
    )
    assert file.run == {
        "drill": "binpack",
        "algorithm": "spo",
        "out": str(tmp_path / "bot.dshq"),
        "log_dir": str(tmp_path / "logs"),
        "updates": 20,
    }
    assert file.core["clip_epsilon"] == 0.3 and file.core["hidden_sizes"] == (32, 32)
    assert file.core["autosave_seconds"] == 5 and file.core["num_minibatches"] == 4
    assert TrainConfig.from_values(file.core).minibatch_size == 1024 * 32 // 4
    assert file.algorithms == {"spo": {"num_particles": 16}}


def test_an_environment_in_place_of_a_drills_file_is_no_path(tmp_path):
    run = {"drill": "bot.dshq", "drill_file": "gym:mine:Mine-v0", "out": "bot.dshq"}
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "run.yaml"
    path.write_text(run_file.text(path, run, TrainConfig(), 1))
    assert run_file.read(path, ()).run["drill_file"] == "gym:mine:Mine-v0"


@pytest.mark.parametrize("sides", [1, 2])
def test_what_is_written_is_read_back(tmp_path, sides):
    config = TrainConfig(hidden_sizes=(32, 16), reward_weights={"goal": 2.0}, opponents={"self": 1.0}, seed=7)
    run = {
        "drill": str(tmp_path / "my_drill.py"),
        "updates": 3,
        "out": str(tmp_path / "b" / "bot.dshq"),
        "seconds": None,
    }
    path = tmp_path / "b" / "bot.yaml"
    path.parent.mkdir()
    path.write_text(run_file.text(path, run, config, sides, "gate", {"floor": 0.1}))
    assert "../my_drill.py" in path.read_text() and str(tmp_path) not in path.read_text()
    file = run_file.read(path, ("spo", "gate", "dreamer"))
    assert file.run == {key: value for key, value in run.items() if value is not None}
    assert TrainConfig.from_values(file.core, {"opponents": "self=1"} if sides == 1 else {}) == config
    assert ("opponents" in file.core) is (sides == 2) and file.algorithms == {"gate": {"floor": 0.1}}


def test_a_drill_on_another_drive_is_named_in_full(tmp_path, monkeypatch):
    """Of Windows: there no relative path leads from one to the other."""

    def relpath(path, start):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    path = tmp_path / "run.yaml"
    run = {"drill": str(tmp_path / "my_drill.py"), "updates": 1}
    monkeypatch.setattr(os.path, "relpath", relpath)
    path.write_text(run_file.text(path, run, TrainConfig(), 1))
    assert run_file.read(path).run["drill"] == run["drill"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("trainig_core: {lr: 1}", "did you mean 'training_core'?"),
        ("training_core: {lr: 1}\nppo_core: {lr: 1}", "has training_core and its alias ppo_core: leave one out"),
        ("training_core: 3", "must contain settings"),
        ("run: {secnds: 3}", "unknown key 'secnds' in section run; did you mean 'seconds'?"),
        ("run: {gamma: 0.9}", "unknown key 'gamma' in section run; it belongs in training_core"),
        ("run: {xyzzy: 1}", "its keys are drill"),
        ("run: {drill: 3}", "run.drill must be a name or a path, got 3"),
        ("run: {updates: 1, seconds: 2}", "run has one budget, got seconds and updates"),
        ("run: {updates: 1}\ntraining_core: {num_updates: 2}", "updates is given twice"),
        ("run: {autosave_seconds: 1}\ntraining_core: {autosave_seconds: 2}", "is given in run and in training_core"),
        ("training_core: {clip_epz: 1}", "unknown setting 'clip_epz'; did you mean 'clip_eps'?"),
        ("- 1", "section training_core"),
        ("run: {drill: ball}\ntraining_core: {}\nrun: {drill: maze}", "run is given twice in"),
        ("training_core:\n  gamma: 0.9\n  lr: 1\n  gamma: 0.99", "line 4: remove one"),
        ("run: {num-updates: 0}", "run.updates must be a whole number from 1 to"),
        ("format: yes", "got True in"),
        ("format: yes", "leave the line out"),
        ("a:\n  " + "[" * 3000, "line 2: more than 16 brackets inside one another"),
        ("a: {? [" * 1000, "line 1: more than 16 brackets inside one another"),
        ("a: &a {x: 1}\nb: {<<: [*a, *a]}", "line 2: merge one mapping with <<, not several"),
        ("a: &a {x: 1}\nb: &b {<<: *a, <<: *a}\n<<: *b", "line 2: merge one mapping with <<, not several"),
        ("a: {" + ", ".join(f"k{n}: 1" for n in range(1025)) + "}", "1,025 settings in one section, more than 1,024"),
        ("run: {seconds: " + "59:" * 400 + "59.0}", "not valid YAML"),
        ("# " + "x" * (1 << 16), "has more than 65,536 bytes"),
        ("a: [", "not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']", "not valid YAML"),
    ],
)
def test_errors_name_the_nearest_key(tmp_path, text, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        read(tmp_path, text)


def test_settings_of_another_section_may_be_merged_and_overridden(tmp_path):
    found = read(tmp_path, "spo: &base {gamma: 0.9, epochs: 3}\ntraining_core:\n  <<: *base\n  epochs: 4")
    assert found.core == {"gamma": 0.9, "epochs": 4}


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        run_file.read(tmp_path / "none.yaml")


def test_no_password_is_written_beside_a_policy(tmp_path):
    track = "mlflow:http://ada:se:cret@far:5000/x?token=secret,wandb:mine"
    text = run_file.text(tmp_path / "run.yaml", {"drill": "ball", "track": track}, TrainConfig(), 2)
    assert "track: mlflow:http://far:5000/x,wandb:mine" in text and "cret" not in text
