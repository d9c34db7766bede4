"""What a verb looks at in the folder where it is called: what its command names, and nothing else. A library may look
there for settings, modules and machine code, and in somebody else's folder those are a stranger's.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dshq_widget.training.trainer import Trainer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: it sees what is opened"),
]
DSHQ = Path(sys.executable).with_name("dshq")
ASIDE = re.compile(r"^\d+ +(<|getcwd|readlink|execve\(\"/)|O_DIRECTORY")
"""What asks where the folder is, opens it to see that a file which was written stays, runs a program elsewhere, or
answers a call that was seen before.
"""
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
"""A path, after the folder that it is relative to (without one: the working folder)."""
HARMLESS = {
    ".numba_config.yaml": "numba asks whether it is there; what it says is not read (tests/kernels/test_own_python.py)",
    "_classes.py": "the name of a module of torch that has no file: only its time is asked for",
    "_ops.py": "the same",
    "libcuda.so": "numba asks whether it is there, to say what went wrong; no library is loaded from there",
    "libcuda.so.1": "the same",
}
RESULTS = (".dshq", ".json", ".onnx", ".html", ".gif", ".swept")
VERBS = {
    "evaluate": "evaluate bot.dshq --matches 2",
    "evaluate an environment": "evaluate pole.dshq --matches 2",
    "export": "export bot.dshq --to-json out.json --onnx out.onnx --html out.html",
    "record": "record bot.dshq --gif out.gif --matches 2 --seconds 1",
    "train": "train bandit --updates 3 --quiet --out out.dshq",
    "train an environment": "train gym:CartPole-v1 --updates 2 --quiet --out out.dshq",
    "train an Atari game": "train gym:ALE/Pong-v5 --updates 1 --quiet --out out.dshq",
    "train with spo": "train bandit --algorithm spo --updates 1 --quiet --out out.dshq",
    "train with dreamer": "train approach --algorithm dreamer --updates 2 --quiet --out out.dshq",
    "train the gate": "train territory --algorithm gate --updates 1 --quiet --out out.dshq",
    "sweep": "sweep bandit --set gamma=.9,.99 --fix evaluate_seconds=.1 --seeds 1 --updates 40 --out out.swept",
    "trace": "trace bandit --ticks 20",
    "trace as JavaScript": "trace bandit --ticks 20 --backend js",
    "check": "check bandit",
    "bench": "bench bandit --seconds 0.1",
    "doctor": "doctor",
    "info": "info bandit",
    "config": "config --template dreamer",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for drill, name in (("bandit", "bot"), ("gym:CartPole-v1", "pole")):
        with Trainer(drill) as trainer:
            trainer.save(folder / f"{name}.dshq")
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_looks_at_nothing_that_it_was_not_told(verb: str, files: Path, tmp_path: Path):
    if "gym:ALE" in VERBS[verb]:
        pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    folder = tmp_path / "somebodys"
    shutil.copytree(files, folder)
    command = [str(DSHQ), *VERBS[verb].split()]
    seen = tmp_path / "seen"
    strace = ["strace", "-f", "-y", "-qq", "-e", "trace=%file", "-e", "signal=none", "-s", "500", "-o", str(seen)]
    done = subprocess.run([*strace, *command], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 or verb == "doctor", done.stderr
    named = tuple(part.split(".")[0] for part in command if part.endswith(RESULTS) and "/" not in part)
    looked = {
        name
        for line in seen.read_text(errors="replace").splitlines()
        if not ASIDE.search(line)
        for name in in_folder(line, folder)
        if not re.sub(r"^\.", "", name).startswith(named)
    }
    assert not looked - set(HARMLESS)


def in_folder(line: str, folder: Path) -> list[str]:
    """The names below a folder in a line of strace, paths that are relative included."""
    paths = [os.path.normpath(os.path.join(base or folder, path)) for base, path in PATH.findall(line)]
    return [os.path.relpath(path, folder) for path in paths if path.startswith(f"{folder}{os.sep}")]
