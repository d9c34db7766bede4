"""The lower bounds of pyproject.toml: the oldest versions that they allow work together."""

import os
import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

from dshq_kernels.simd import releases
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


def test_lower_bounds_that_hold_a_border_have_their_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    text = (ROOT / "docs" / "dependencies.md").read_text()
    bounds = dict(re.findall(r"(?m)^\| `(\w+)(>=[\d.]+)` \|", text))
    assert {"tornado", "jupyterhub", "nbgrader", "sqlalchemy", "pyyaml", "numba", "ray"} <= set(bounds)
    for name, bound in bounds.items():
        found = {one for one in asked if re.split(r"[\[<>=!~; ]", one)[0] == name}
        assert found == {name + bound}, name
    assert bounds["numba"] == f">={releases.text(releases.OLDEST)}"


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
