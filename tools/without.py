"""Proves that a feature is cut out whole: `python -m tools.without spo`.

Copies the tree, removes the feature's folders and its lines in the lists, removes the tests and benchmarks that import
what is gone, writes the generated tables again, and runs linters, type checkers and the quick tests of what is left.
Product code that still names the feature fails there. Ends with status 0 if all of that passes.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_TESTS = ("tests/", "benchmarks/", "docs/", "notebooks/")
"""Files here that import what is gone are tests of it, or stories about it."""


@dataclasses.dataclass(frozen=True)
class Feature:
    """What a feature is: its own files, and its lines in the lists that name features."""

    paths: Sequence[str]
    lines: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """List -> a regular expression; every line that it matches belongs to the feature."""


FEATURES = {
    "spo": Feature(
        ["dshq_widget/algorithms/spo"],
        {"dshq_widget/algorithms/__init__.py": r"\bSPO\b"},
    ),
    "ray": Feature(
        ["dshq_widget/algorithms/ppo/cluster", "docs/ray.md"],
        {"dshq_widget/algorithms/ppo/__init__.py": r"\bRAY\b"},
    ),
}


def copy(target: Path) -> None:
    """The files that git knows, as they are in this checkout; packages of Node are borrowed."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "node_modules").symlink_to(ROOT / "node_modules")


def cut(target: Path, feature: Feature) -> list[str]:
    """Remove the feature from a copy. Returns the tests and benchmarks that went with it. Raises ValueError for a path
    or a list that has nothing to remove: then the table above is wrong.
    """
    gone = set()
    for name in feature.paths:
        path = target / name
        if not path.exists():
            raise ValueError(f"wanted to remove {name}, and it is not there: mend FEATURES in tools/without.py")
        modules = [path, *path.rglob("*.py")] if path.is_dir() else [path]
        gone |= {_module(one.relative_to(target)) for one in modules if one.is_dir() or one.suffix == ".py"}
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, pattern in feature.lines.items():
        lines = (target / name).read_text().splitlines()
        kept = [line for line in lines if not re.search(pattern, line)]
        if len(kept) == len(lines):
            raise ValueError(f"no line of {name} has {pattern}: mend FEATURES in tools/without.py")
        (target / name).write_text("\n".join(kept) + "\n")
    dropped: list[str] = []
    while found := [path for path in target.rglob("*.py") if _goes(path.relative_to(target), _imported(path), gone)]:
        names = [path.relative_to(target) for path in found]
        for path in found:
            path.unlink()
        dropped += [name.as_posix() for name in names]
        gone |= {_module(name) for name in names}
    return sorted(dropped)


def _goes(name: Path, imported: set[str], gone: set[str]) -> bool:
    return name.as_posix().startswith(OF_TESTS) and not gone.isdisjoint(imported)


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "kernels" else parts).removesuffix(".__init__")


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def checks() -> dict[str, list[str]]:
    """What must pass in the copy."""
    return {
        "tables": [sys.executable, "-m", "tools.tables"],
        "ruff": ["ruff", "check", "."],
        "mypy": ["mypy"],
        "quick tests": [sys.executable, "-m", "pytest", "--quick", "-q", "-p", "no:cacheprovider"],
        "TypeScript": ["npx", "tsc", "--noEmit"],
        "tests of the page": ["npx", "vitest", "run"],
    }


def prove(name: str) -> bool:
    """Whether the tree without `name` passes; prints what was removed and what failed."""
    with tempfile.TemporaryDirectory(prefix="dshq-without-") as folder:
        target = Path(folder)
        copy(target)
        dropped = cut(target, FEATURES[name])
        print(f"without {name}: removed {', '.join(FEATURES[name].paths)}, and {len(dropped)} tests and benchmarks")
        places = os.pathsep.join([str(target), str(target / "kernels")])
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        passed = True
        for what, command in checks().items():
            done = subprocess.run(
                command,
                cwd=target,
                env={**os.environ, "PYTHONPATH": places, "PATH": path},
                capture_output=True,
                text=True,
            )
            print(f"  {what}: {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
            if done.returncode:
                passed = False
                print("\n".join((done.stdout + done.stderr).splitlines()[-60:]))
        return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("features", nargs="+", choices=FEATURES, metavar="FEATURE", help=", ".join(FEATURES))
    passed = [prove(name) for name in parser.parse_args().features]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
