"""Light to install: drills train without torch, a policy is sent without SQLAlchemy, nothing needs a writable home."""

import json
import os
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from dshq_widget import lessons
from dshq_widget.contract import torch_needed
from dshq_widget.training.trainer import Trainer
from tests.harness.scripts import printed

ROOT = Path(__file__).parents[2]
BLOCKER = """
import sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Missing())
"""


COMMANDS = """
import contextlib, io, json, sys
from dshq_widget.cli.main import main
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(command)
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def without(tmp_path):
    """Runs commands of `dshq`, in one process and processes of that, where some packages cannot be imported."""

    def run(missing, *commands, **variables):
        (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(missing=missing))
        path = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "kernels")])
        given = json.dumps([list(map(str, command)) for command in commands])
        out = printed(COMMANDS, given, cwd=tmp_path, **{"PYTHONPATH": path, **variables})
        return [Ended(*json.loads(line)) for line in out.splitlines()]

    return run


def test_a_drill_trains_and_plays_without_torch_and_what_needs_it_says_how_to_install_it(without, tmp_path):
    out, small = tmp_path / "bot.dshq", ("--num-envs", 64, "--rollout-length", 8, "--updates", 2)
    trained, played, checked, *refused = without(
        {"torch"},
        ("train", "bandit", *small, "--out", out, "--json"),
        ("evaluate", out, "--matches", 20, "--json"),
        ("train", "bandit", *small, "--validate-every", 1),
        ("train", "bandit", *small, "--algorithm", "dreamer"),
        ("train", "gym:CartPole-v1", "--seconds", 2),
        ("ingest", "bandit"),
    )
    assert trained.status == played.status == 0, trained.err + played.err
    assert json.loads(trained.out.splitlines()[-1])["updates"] == 2
    assert checked.status == 0 and [end.status for end in refused] == [1] * 3
    for end in (checked, *refused):
        assert "Traceback" not in end.err
        assert f"needs PyTorch, which is not installed. Run `{torch_needed.INSTALL_TORCH}`" in end.err + end.out


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
@pytest.mark.parametrize("missing", [{"nothing"}, {"torch"}], ids=["torch", "no torch"])
def test_cuda_without_a_gpu_is_a_sentence(without, missing):
    commands = [(verb, "bandit", "--seconds", 1, "--device", "cuda") for verb in ("train", "bench")]
    for end in without(missing, *commands, PATH="/nowhere"):
        assert end.status == 1 and "no NVIDIA GPU" in end.err.splitlines()[-1] and "Traceback" not in end.err


def test_a_policy_is_sent_without_a_database(without):
    (end,) = without({"sqlalchemy", "torch"}, ("submit", "ball:bronze", "--to", "http://127.0.0.1:9", "--token", "x"))
    assert end.status == 2 and "no answer from" in end.err


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
    finally:
        InteractiveShell.clear_instance()
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
