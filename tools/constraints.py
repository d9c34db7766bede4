"""Writes tools/constraints.txt: one version of every package that the Makefile's verbs install.

    python -m tools.constraints

Installs all of it without constraints into an environment of its own, in a temporary folder (gigabytes, minutes), and
notes what came, older versions of what needs a newer Python than the first of the supported ones (Debian's 3.11.2 is
one). `make test` shows whether it works.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from tools import install

HEAD = """\
# Versions that the Makefile installs, so that this checkout stays as it was tested. Written by `make constraints`.
"""
HELD_TO = ("fit",)
"""Extras of other verbs that are held to these versions, too: one of them took an older package than the others."""
LIST = """
import importlib.metadata, json, sys
from packaging.specifiers import SpecifierSet
takes = lambda one: SpecifierSet(one.metadata["Requires-Python"] or "").contains(sys.argv[1])
print(json.dumps({one.name: (one.version, takes(one)) for one in importlib.metadata.distributions()}))
"""


def newest(folder: Path) -> dict[str, str]:
    """Name -> version of what is installed where nothing is held back but PyTorch and what the first supported Python
    does not take, in an environment in `folder`.
    """
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    install.torch_wheel(python, folder / "wheels")
    install.torch(python, folder / "wheels", None)
    everything = [*install.requirements((*install.EXTRAS, *HELD_TO)), *install.ALSO, install.TORCH]
    limits = folder / "limits.txt"
    limits.touch()
    project = tomllib.loads((install.ROOT / "pyproject.toml").read_text())["project"]
    ask = [python, "-c", LIST, project["requires-python"].removeprefix(">=")]
    while True:
        install.install(python, ["--upgrade", *everything], limits)
        found = json.loads(subprocess.run(ask, check=True, capture_output=True, text=True).stdout)
        late = [f"{name}!={version}\n" for name, (version, takes) in found.items() if not takes]
        if not late:
            return {name: version for name, (version, _) in found.items() if name != "triton"}
        with limits.open("a") as file:
            file.writelines(late)


def text(versions: dict[str, str]) -> str:
    """The file. A local version ("+cpu") says which build it is: another machine may have another one."""
    lines = {f"{name.lower().replace('_', '-')}=={version.partition('+')[0]}" for name, version in versions.items()}
    return HEAD + "\n".join(sorted(lines)) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        install.CONSTRAINTS.write_text(text(newest(Path(folder))))
    print(
        f"{install.CONSTRAINTS.relative_to(install.ROOT)} is new: `make test` comes before its commit", file=sys.stderr
    )


if __name__ == "__main__":
    main()
