"""The lower bounds of pyproject.toml: the oldest versions that they allow work together."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

from tools import install

ROOT = Path(__file__).parents[2]
EXTRAS = ("classroom", "dashboard", "lab", "onnx", "pettingzoo", "plots", "record")
"""Those whose packages are small; the core's requirements come with them."""
PROBE = """
import dshq_widget.classroom.store, dshq_widget.cli.main, dshq_widget.env.pettingzoo, dshq_widget.lessons.plots
from dshq_widget import DrillWidget, Trainer, drills
with Trainer("bandit") as trainer:
    trainer.train_for(seconds=3, progress=False)
    assert trainer.version > 0, trainer.status_text
widget = DrillWidget("bandit")
assert len(str(widget._esm)) > 10_000
widget.close()
"""


@pytest.mark.slow
def test_the_oldest_versions_that_are_allowed_train_and_show(tmp_path: Path):
    with install.uv() as uv:
        if uv is None:
            pytest.skip("uv, which can choose the oldest versions, is not to be had here")
        venv.create(tmp_path / "env", with_pip=False, symlinks=True)
        python = tmp_path / "env" / "bin" / "python"
        oldest = ["--quiet", "--resolution", "lowest-direct"]
        command = [uv, "pip", "install", "--python", python, *oldest, *install.requirements(EXTRAS)]
        subprocess.run(command, check=True, timeout=600)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    environment = os.environ | {"PYTHONPATH": paths, "DSHQ_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [python, "-c", PROBE], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr[-4000:]
