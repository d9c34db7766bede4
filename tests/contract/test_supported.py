"""One place says which releases of Python and numba are asked for and were tried."""

import tomllib
from pathlib import Path

import hatch_build
from dshq_kernels.simd.releases import series
from dshq_widget.contract.supported import NEWEST_TRIED, OLDEST, advice

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_project_and_the_build_say_the_same():
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, OLDEST["python"]))
    assert "numba>=" + ".".join(map(str, OLDEST["numba"])) in PROJECT["dependencies"]
    assert series(hatch_build.NUMBA) == NEWEST_TRIED["numba"]
    assert f"Programming Language :: Python :: {'.'.join(map(str, NEWEST_TRIED['python']))}" in PROJECT["classifiers"]


def test_an_older_release_is_refused_and_a_newer_one_only_mentioned():
    assert advice("python", "3.13.0") == "" and advice("numba", "0.68.1") == ""
    assert advice("python", "3.10.1") == "Install python 3.11 or newer."
    assert "Newer than 0.68" in advice("numba", "0.70.0") and "untried" in advice("python", "4.0.0")
