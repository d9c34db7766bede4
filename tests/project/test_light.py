"""Light to install: drills train without torch, a policy is sent without SQLAlchemy, nothing needs a writable home."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dshq_widget import lessons
from dshq_widget.contract import torch_needed
from dshq_widget.training.trainer import Trainer

ROOT = Path(__file__).parents[2]
BLOCKER = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Missing())
"""


@pytest.fixture
def without(tmp_path):
    """Runs `dshq` in a process, and processes of that, where some packages cannot be imported."""

    def run(missing, *arguments, **variables):
        (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(missing=missing))
        path = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "kernels")])
        command = [sys.executable, "-m", "dshq_widget.cli", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": path, **variables}
        return subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=tmp_path)

    return run


def test_a_drill_trains_and_plays_without_torch(without, tmp_path):
    done = without({"torch"}, "train", "bandit", "--seconds", 2, "--out", tmp_path / "bot.dshq", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["updates"] > 0
    done = without({"torch"}, "evaluate", tmp_path / "bot.dshq", "--matches", 20, "--json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "gym:CartPole-v1", "--seconds", 2),
        ("train", "bandit", "--seconds", 2, "--validate-every", 1),
        ("train", "bandit", "--seconds", 2, "--algorithm", "dreamer"),
        ("ingest", "bandit"),
    ],
    ids=["gym", "reference", "dreamer", "ingest"],
)
def test_what_needs_torch_says_how_to_install_it(without, arguments):
    done = without({"torch"}, *arguments)
    assert f"needs PyTorch, which is not installed. Run `{torch_needed.INSTALL_TORCH}`" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if "--validate-every" in arguments else 1)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
@pytest.mark.parametrize("missing", [set(), {"torch"}], ids=["torch", "no torch"])
def test_cuda_without_a_gpu_is_a_sentence(without, missing):
    for verb in ("train", "bench"):
        done = without(missing or {"nothing"}, verb, "bandit", "--seconds", 1, "--device", "cuda", PATH="/nowhere")
        assert done.returncode == 1 and "no NVIDIA GPU" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_a_policy_is_sent_without_a_database(without):
    done = without({"sqlalchemy", "torch"}, "submit", "ball:bronze", "--to", "http://127.0.0.1:9", "--token", "x")
    assert done.returncode == 2 and "no answer from" in done.stderr


def test_torch_is_an_extra_by_its_exact_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [name for name in project["dependencies"] if name.startswith("torch")]
    (wanted,) = project["optional-dependencies"]["torch"]
    assert wanted == "torch==2.13.0"
    assert "dshq-widget[torch]" in project["optional-dependencies"]["test"]


def test_scripts_of_an_environment_beside_the_page_are_not_taken_for_modules():
    """JupyterLab's are CommonJS, and `.venv` lies below the checkout's package.json."""
    assert "type" not in json.loads((ROOT / "package.json").read_text())
    assert json.loads((ROOT / "js" / "package.json").read_text()) == {"type": "module"}


def test_a_lesson_that_needs_torch_says_so_and_shows_no_traceback(monkeypatch):
    """In a notebook: IPython asks the error what to show. The other lessons' checks do not ask for torch."""
    monkeypatch.setattr(torch_needed.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError) as raised:
        lessons.need_torch("This lesson")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shown = []
    monkeypatch.setattr(shell, "_showtraceback", lambda kind, value, lines: shown.extend(lines))
    try:
        raise raised.value
    except RuntimeError:
        shell.showtraceback()
    assert shown == [f"This lesson needs PyTorch, which is not installed. Run `{torch_needed.INSTALL_TORCH}`"]


@pytest.mark.parametrize(
    "what", [("gym:CartPole-v1", {}), ("bandit", {"algorithm": "dreamer"})], ids=["gym", "dreamer"]
)
def test_train_without_torch_ends_in_a_sentence_on_the_page(what, monkeypatch):
    drill, settings = what
    monkeypatch.setattr(torch_needed.importlib.util, "find_spec", lambda name, package=None: None)
    trainer = Trainer(drill, **settings)
    with trainer:
        try:
            trainer.start()
            trainer.join(60)
        except RuntimeError as error:
            assert "needs PyTorch" in str(error) and torch_needed.INSTALL_TORCH in str(error)
        else:
            assert trainer.status == "error"
            assert "needs PyTorch" in trainer.status_text and torch_needed.INSTALL_TORCH in trainer.status_text
