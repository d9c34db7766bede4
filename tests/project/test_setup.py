"""The set-up: one version of all that the Makefile installs; no PyTorch, hub or tests for Lab alone."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import constraints, install

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OF_CUDA = re.compile(r"triton$|nvidia-|cuda-")
PINS = dict(line.split("==") for line in install.CONSTRAINTS.read_text().splitlines() if not line.startswith("#"))


def wanted(extras: tuple[str, ...]) -> list[Requirement]:
    return [Requirement(line) for line in install.requirements(extras)]


def test_the_makefile_installs_extras_that_have_pins():
    used = set(re.findall(r"^\t\$\(INSTALL\) ((?:[a-z]+ ?)+)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {extra for line in used for extra in line.split()} - {"triton"} | {"torch"} == set(install.EXTRAS)


def test_no_pin_keeps_a_build_of_pytorch_out():
    """PyPI's, for CUDA, requires Triton and NVIDIA's packages by versions of its own."""
    assert [name for name in PINS if OF_CUDA.match(name)] == []
    versions = [Requirement(line) for line in install.requirements(("triton",)) if line.startswith("triton")]
    assert [str(one.specifier)[:2] for one in versions] == ["=="], "pinned where it is asked for"


def test_every_requirement_has_a_pin_that_satisfies_it():
    for one in [*wanted(install.EXTRAS), *map(Requirement, (install.TORCH, install.NODE, *map(install.pinned, PINS)))]:
        pin = PINS.get(canonicalize_name(one.name))
        assert pin and one.specifier.contains(pin), f"{one} has the pin {pin}: run `make constraints`"
    assert PROJECT["optional-dependencies"]["torch"] == [install.TORCH]


def closure(names: list[Requirement]) -> dict[str, str]:
    """Name -> version of what is installed of these and of what they require here, directly or not."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        contexts = [default_environment() | {"extra": extra} for extra in one.extras or {""}]
        if one.marker is not None and not any(one.marker.evaluate(context) for context in contexts):
            continue
        try:
            about = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        known = name in found
        found[name] = about.version.partition("+")[0]
        if known and not one.extras:
            continue
        for line in about.requires or ():
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate(context) for context in contexts):
                further.marker = None
                if canonicalize_name(further.name) not in found:
                    waiting.append(further)
    return found


def test_what_is_installed_is_what_is_pinned():
    here = closure([*wanted(install.EXTRAS), Requirement(install.TORCH)])
    assert len(here) > 100, "the set-up is installed"
    own = {name: version for name, version in here.items() if not OF_CUDA.match(name)}
    differ = {name: (version, PINS.get(name)) for name, version in own.items() if PINS.get(name) != version}
    assert not differ, f"installed, pinned: {differ}. Run `make constraints`, or set .venv up anew"


def test_the_first_supported_python_takes_every_pin():
    """Debian 12 has Python 3.11.2."""
    first = PROJECT["requires-python"].removeprefix(">=")
    pinned = [one for one in importlib.metadata.distributions() if canonicalize_name(one.name) in PINS]
    assert len(pinned) > 100
    wanted = {one.name: one.metadata["Requires-Python"] or "" for one in pinned}
    assert not {name: spec for name, spec in wanted.items() if not SpecifierSet(spec).contains(first)}


def test_the_pins_are_names_and_versions():
    text = install.CONSTRAINTS.read_text()
    assert text == constraints.text(PINS)
    assert all(re.fullmatch(r"#.*|[a-z0-9.-]+==[0-9][\w.!]*", line) for line in text.splitlines())
    assert constraints.text({"A_b": "1.2+cpu"}).splitlines()[-1] == "a-b==1.2"


def test_lab_brings_neither_torch_nor_hub_nor_tests():
    names = {one.name for one in wanted(("lab",))}
    assert {"jupyterlab", "numba", "matplotlib"} <= names
    assert not names & {"torch", "triton", "jupyterhub", "pytest", "mypy", "onnx", "playwright"}
    steps = subprocess.run(["make", "-n", "lab"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert steps.returncode == 0, steps.stderr
    assert "tools.lab" in steps.stdout and "--torch" not in steps.stdout and "npm ci --log" not in steps.stdout


def stand_ins() -> dict[str, str]:
    """Files of a checkout in which nothing is installed and Lab only says where it is."""
    install_all = "import sys\nprint('installs', *sys.argv[1:])\n"
    return {
        "Makefile": (ROOT / "Makefile").read_text(),
        "tools/install.py": install_all,
        "tools/lab.py": "import sys\nprint('Lab of', sys.prefix)\n",
        **dict.fromkeys(("tools/node.sh", "tools/constraints.txt", "pyproject.toml", "hatch_build.py"), ""),
        **dict.fromkeys(("package.json", "package-lock.json", "js/a.ts"), ""),
        "dshq_widget/static/widget.js": "",
        "bin/npm": "#!/bin/sh\nmkdir -p node_modules\n",
    }


def test_a_folder_may_have_a_space_in_its_name_and_a_home_that_is_not_there_is_named(tmp_path: Path):
    folder = tmp_path / "my course \u00e9"
    for name, text in stand_ins().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bin" / "npm").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("HOST_PYTHON", "MAKEFLAGS")}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
    environment["HOME"] = str(tmp_path / "none")
    done = subprocess.run(["make", "lab"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "not found" not in done.stderr, done.stderr
    assert f"Lab of {folder / '.venv'}" in done.stdout and "installs --package" in done.stdout
    assert f"{tmp_path / 'none'}, cannot be written" in done.stderr


def test_without_pip_and_uv_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Debian's Python has neither pip nor what brings it, unless python3-venv is installed."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(install, "has", lambda python, module: False)
    with pytest.raises(SystemExit, match="python3-venv"):
        install.install(Path(sys.executable), ["numpy"])


def test_pip_finds_the_constraints_of_a_folder_with_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What builds a package reads them from a variable, of which a space begins the next name."""
    seen: dict[str, str] = {}
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    monkeypatch.setattr(install, "pip", lambda python, arguments, environment: seen.update(environment))
    install.install(Path(sys.executable), ["numpy"], tmp_path / "my course" / "constraints.txt")
    assert seen["PIP_CONSTRAINT"] == f"file://{tmp_path}/my%20course/constraints.txt"


@pytest.mark.slow
def test_without_uv_pip_installs(tmp_path, monkeypatch):
    """A package that is nothing but a file, from this machine."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n\n'
        '[project]\nname = "dshq-nothing"\nversion = "1"\n\n[tool.hatch.build.targets.wheel]\ninclude = ["x.py"]\n'
    )
    (source / "x.py").write_text("")
    venv.create(tmp_path / "env", with_pip=False, symlinks=True, system_site_packages=False)
    python = tmp_path / "env" / "bin" / "python"
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    subprocess.run([sys.executable, "-m", "build", "-nw", "-o", tmp_path, source], check=True, capture_output=True)
    install.install(python, ["--no-index", "--find-links", str(tmp_path), "dshq-nothing"])
    subprocess.run([python, "-c", "import x"], check=True, env={**os.environ, "PYTHONPATH": ""})
