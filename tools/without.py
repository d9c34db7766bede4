"""Proves that a feature is cut out whole: `python -m tools.without spo`.

Copies the tree, removes the feature's folders and its lines in the lists, removes the tests, benchmarks and documents
that import what is gone, writes the generated tables again, and runs linters, type checkers and the quick tests of what
is left. Product code that still names the feature fails there. Ends with status 0 if all of that passes.
`--only imports mypy` makes some of the checks, for the minutes in which one is cutting.
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
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.harness.quick import QUICK

ROOT = Path(__file__).parents[1]
EXACT = (
    "tests/project/test_imports.py::test_no_row_says_more",
    "tests/project/test_typescript_imports.py::test_no_row_says_more",
)
"""They hold in the whole tree alone: without a feature a room may need less."""
OF_TESTS = ("tests/", "benchmarks/", "docs/", "notebooks/", "js/tests/")
"""Files here that import what is gone are tests of it, or stories about it."""
PLACE = re.compile(r"(dshq_\w+(?:\.\w+)+):\w+")
"""A module that a string names: "dshq_widget.algorithms.spo.run:run"."""
TYPESCRIPT = re.compile(r"""(?:^(?:import|export)\b[^"';()]*?|\bimport\()["'](\.[^"']+)["']""", re.M)


@dataclasses.dataclass(frozen=True)
class Feature:
    """What a feature is: its own files, and its lines in the lists that name features."""

    paths: Sequence[str]
    """Files and folders."""
    lines: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """List -> a regular expression. Each match goes, with its whole line and what that line's brackets enclose."""


def lesson(stem: str, module: str, checks: str = "dshq_widget/lessons/checks") -> list[str]:
    """The files of a lesson. `checks`: the folder of its checks, "" where the feature's own has them."""
    folders = filter(None, (checks, "tests/lessons/answers", "tests/lessons/attempts"))
    own = [f"notebooks/{stem}.ipynb", f"notebooks/source/{stem}.md", f"docs/images/lessons/{stem[:2]}.png"]
    return [*own, *(f"{folder}/{module}.py" for folder in folders)]


PACKAGED = "dshq_widget/algorithms/__init__.py"
LESSONS = "dshq_widget/lessons/table.py"
FACES = "dshq_widget/contract/faces/__init__.py"
CODE = "tools/machine_code.py"
FEATURES = {
    "gate": Feature(
        [
            *("dshq_widget/algorithms/gate", "dshq_widget/contract/faces/gate.py", "js/features/gate"),
            *("dshq_widget/lessons/gate.py", *lesson("19_the_gate", "gate")),
        ],
        {
            PACKAGED: r"\bGATE\b",
            FACES: r"\bGATE\b",
            LESSONS: r'Lesson\(\s*"\d\d",\s*"gate"',
            "dshq_widget/drills/territory.py": 'algorithm = "gate"',
            CODE: '"gate": ',
            "js/features/page.ts": r"\bgate\b",
            "js/features/worker.ts": r"\bgate\b",
            "docs/lessons.md": "19_the_gate",
            "docs/reference/glossary.md": "19_the_gate",
        },
    ),
    "cuda": Feature(
        [
            *("dshq_widget/gpu/cuda", "dshq_widget/env/trace_cuda.py", "docs/howto/gpu.md"),
            *("dshq_widget/algorithms/ppo/bench_cuda.py", "dshq_widget/cli/bench_cuda.py"),
            "dshq_widget/cli/doctor_gpu.py",
            *(f"kernels/dshq_kernels/backends/{name}.py" for name in ("cuda", "threads")),
            *(f"kernels/dshq_kernels/play/{name}_cuda.py" for name in ("gae", "raster", "settle")),
        ],
        {
            "dshq_widget/contract/settings.py": '"cuda": ',
            "dshq_widget/contract/presets.py": '"gpu": Preset',
            "tests/contract/test_settings.py": r"\bcuda\b",
            "dshq_widget/gpu/device.py": r"\bCUDA\b",
            "dshq_widget/drill/devices.py": "(?i)cuda",
            "dshq_widget/env/trace.py": '"cuda": ',
            "dshq_widget/cli/arguments.py": '"cuda": ',
            "dshq_widget/cli/doctor.py": r"\bgpu\b",
            "dshq_widget/algorithms/algorithm.py": '"cuda": ',
            **{f"dshq_widget/algorithms/{name}/__init__.py": '"cuda": ' for name in ("ppo", "spo", "gate")},
        },
    ),
    "dreamer": Feature(
        [
            *("dshq_widget/algorithms/dreamer", "dshq_widget/contract/faces/dream.py"),
            *("docs/explain/dreamer.md", "tests/algorithms/dreamer/test_dreamer_proofs.py", "js/features/dream"),
            *lesson("18_world_models", "world_models"),
        ],
        {
            PACKAGED: r"\bDREAMER\b",
            FACES: r"\bDREAM\b",
            LESSONS: r'Lesson\(\s*"\d\d",\s*"world-models"',
            "dshq_widget/drills/approach.py": "algorithm_settings = ",
            "dshq_widget/drills/ball.py": "algorithm_settings = ",
            "dshq_widget/drills/paddleball.py": "algorithm_settings = ",
            "js/features/page.ts": r"\bdream\b",
            "js/features/worker.ts": r"\bdream\b",
            "docs/lessons.md": "18_world_models",
            "docs/reference/glossary.md": "18_world_models",
        },
    ),
    "spo": Feature(
        ["dshq_widget/algorithms/spo"],
        {PACKAGED: r"\bSPO\b", CODE: '"spo": '},
    ),
    "ray": Feature(
        ["dshq_widget/algorithms/ppo/cluster", "docs/howto/ray.md", "docs/explain/ray.md"],
        {"dshq_widget/algorithms/ppo/__init__.py": r"\bRAY\b"},
    ),
    "league": Feature(
        [
            *("dshq_widget/learning/league", "dshq_widget/contract/faces/league.py"),
            *("js/features/league", "js/trainer/league"),
            *lesson("10_self_play_and_elo", "self_play"),
        ],
        {
            "dshq_widget/learning/opponents/competitions.py": r"\bLEAGUE\b",
            "dshq_widget/drills/ball.py": '"pool": ',
            FACES: r"\bLEAGUE\b",
            "tools/trainer_tables.py": r'learning\.league|"(?:GUARD|FALL|LEAGUE)": ',
            LESSONS: r'Lesson\(\s*"\d\d",\s*"self-play"|^ {16}"league",$',
            "js/features/page.ts": r"\bleague\b",
            "js/trainer/competitions.ts": r"^import .*\bleague\b|^  league,$",
            "docs/lessons.md": "10_self_play_and_elo",
            "docs/reference/glossary.md": "10_self_play_and_elo",
        },
    ),
    "page": Feature(
        [
            *("dshq_widget/widget/in_page", "dshq_widget/contract/faces/in_page.py", "js/features/in_page"),
            *("js/trainer", "js/contract/training.ts", "tools/trainer_tables.py", "tools/released_page.py"),
            *(f"kernels/dshq_kernels/{room}/{name}.py" for room in ("play", "run") for name in ("exported", "records")),
            *(f"kernels/dshq_kernels/play/{name}.py" for name in ("exported_learn", "plans")),
        ],
        {
            "dshq_widget/widget/parts.py": r"\bInPage\b",
            FACES: r"\bIN_PAGE\b",
            PACKAGED: r'^    "page": \(',
            "dshq_widget/algorithms/algorithm.py": '"page": ',
            **{f"dshq_widget/algorithms/{name}/__init__.py": '"page": ' for name in ("spo", "gate")},
            "js/features/page.ts": r"\binPage\b",
            "js/build.mjs": r'"trainer", "worker\.ts"|^    trainer,$|The trainer\'s worker',
            "tools/tables.py": r"\btrainer_ts\b",
            "tools/released.py": r"\breleased_page\b",
            "tools/compile_ahead.py": r"\blearner_module\b",
            "hatch_build.py": r"static/trainer\.js",
            "tests/cli/test_run_files.py": '"page": ',
        },
    ),
    "coach": Feature(
        ["dshq_widget/contract/faces/coach.py", "js/features/coach"],
        {FACES: r"\bCOACH\b", "js/features/page.ts": r"\bcoach\b"},
    ),
    "classroom": Feature(
        [
            *("dshq_widget/classroom", "tests/classroom", "docs/classroom", "js/match_replay.ts"),
            *("tools/released.py", *lesson("23_run_a_class_league", "league", "")),
        ],
        {
            "pyproject.toml": r"dshq_widget\.classroom",
            LESSONS: r'Lesson\(\s*"\d\d",\s*"league"',
            "docs/lessons.md": "23_run_a_class_league",
            "docs/reference/glossary.md": "23_run_a_class_league",
            "js/build.mjs": "match_replay.ts",
            "tests/harness/costs/table.py": '"classroom"',
            "tests/project/test_imports.py": r'^    "classroom": \{',
        },
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


def cut(target: Path, feature: Feature) -> tuple[list[str], dict[str, list[str]]]:
    """Remove the feature from a copy. Returns the tests and benchmarks that went with it, and the product's files that
    still name it, see `missing`. Raises ValueError for a path or a list that has nothing to remove: then the table
    above is wrong.
    """
    known = missing(target)
    for name in feature.paths:
        path = target / name
        if not path.exists():
            raise ValueError(f"wanted to remove {name}, and it is not there: mend FEATURES in tools/without.py")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, pattern in feature.lines.items():
        text = (target / name).read_text()
        kept = without_lines(text, pattern)
        if kept == text:
            raise ValueError(f"no line of {name} has {pattern}: mend FEATURES in tools/without.py")
        (target / name).write_text(kept)
    dropped: list[str] = []
    while found := [name for name in missing(target, known) if name.startswith(OF_TESTS)]:
        for name in found:
            (target / name).unlink()
        dropped += found
    return sorted(dropped), missing(target, known)


def without_lines(text: str, pattern: str) -> str:
    """The text without the lines of each match, and without those that follow until their brackets are closed."""
    lines = text.splitlines(keepends=True)
    gone: set[int] = set()
    for match in re.finditer(pattern, text, re.M):
        first = text.count("\n", 0, match.start())
        last = text.count("\n", 0, match.end())
        while _open("".join(lines[first : last + 1])) > 0:
            last += 1
        gone |= {*range(first, last + 1)}
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def _open(text: str) -> int:
    return sum(text.count(bracket) for bracket in "([{") - sum(text.count(bracket) for bracket in ")]}")


def missing(target: Path, known: Mapping[str, Sequence[str]] | None = None) -> dict[str, list[str]]:
    """File -> what of the project it imports, or names as "module:function", and is not there. What is `known` to be
    missing is left out: tests name such things on purpose.
    """
    found: dict[str, list[str]] = {}
    for path in _sources(target):
        if path.suffix == ".py":
            lost = [name for name in _imported(path) if not _is_there(target, name)]
        else:
            names = TYPESCRIPT.findall(path.read_text())
            lost = [name for name in names if not any(map(Path.is_file, _files(path.parent / name)))]
        file = path.relative_to(target).as_posix()
        lost = [name for name in lost if name not in (known or {}).get(file, ())]
        if lost:
            found[file] = lost
    return found


def _sources(target: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(target):
        below[:] = [name for name in below if name not in ("node_modules", "static") and not name.startswith(".")]
        yield from (Path(folder, name) for name in names if name.endswith((".py", ".ts")))


def _files(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}.ts"), path / "index.ts", path]


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {match[1] for match in [PLACE.fullmatch(node.value)] if match}
    return found


def _is_there(target: Path, name: str) -> bool:
    """Whether a module of the project is, or something in a module. True for a module of others."""
    package, *inside = name.split(".")
    path = target / ("kernels" if package == "dshq_kernels" else "") / package
    if not path.is_dir():
        return True
    for part in inside:
        if not (path / part).is_dir():
            return (path / f"{part}.py").is_file() or (part == inside[-1] and _defines(path, part))
        path /= part
    return True


def _defines(package: Path, name: str) -> bool:
    """Whether a package's own file has this name; what its sentences say does not count."""
    file = package / "__init__.py"
    fields = ("name", "asname", "id", "value")
    tree = ast.walk(ast.parse(file.read_text())) if file.is_file() else ()
    return any(getattr(node, field, None) == name for node in tree for field in fields)


def declare(target: Path) -> None:
    """Write the entry points of the copy beside it, so that those of the installed package do not count there."""
    project = tomllib.loads((target / "pyproject.toml").read_text())["project"]
    info = target / f"{project['name'].replace('-', '_')}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in of.items()) for group, of in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


DESELECTED = [f"--deselect={test}" for test in EXACT]
CHECKS: dict[str, list[str]] = {
    "imports": [],
    "tables": [sys.executable, "-m", "tools.tables"],
    "ruff": ["ruff", "check", "."],
    "mypy": ["mypy", "--cache-dir", str(ROOT / ".mypy_cache" / "without")],
    "tests": [
        sys.executable,
        "-m",
        "pytest",
        "--quick",
        "-q",
        "-p",
        "no:cacheprovider",
        *map("--deselect={}".format, EXACT),
    ],
    "typescript": ["npx", "tsc", "--noEmit"],
    "vitest": ["npx", "vitest", "run"],
}
"""What must pass in the copy."""


def prove(name: str, only: Sequence[str] = tuple(CHECKS)) -> bool:
    """Whether the tree without `name` passes; prints what was removed and what failed."""
    with tempfile.TemporaryDirectory(prefix="dshq-without-") as folder:
        target = Path(folder)
        copy(target)
        dropped, named = cut(target, FEATURES[name])
        declare(target)
        print(f"without {name}: removed {', '.join(FEATURES[name].paths)}, and what imports them: {', '.join(dropped)}")
        lost = "\n".join(f"{file} names {', '.join(what)}" for file, what in named.items())
        failures = [_said("imports", bool(lost), lost)] if "imports" in only else []
        failures += [_failed(target, check) for check in CHECKS if check in only and CHECKS[check]]
        return not any(failures)


def _failed(target: Path, check: str) -> bool:
    places = os.pathsep.join([str(target), str(target / "kernels")])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    quick = [f"tests/{name}" for name in QUICK if (target / "tests" / name).exists()]
    command = [*CHECKS[check], *(quick if check == "tests" else [])]
    env = {**os.environ, "PYTHONPATH": places, "PATH": path}
    done = subprocess.run(command, cwd=target, env=env, capture_output=True, text=True)
    return _said(check, done.returncode != 0, done.stdout + done.stderr)


def _said(check: str, failed: bool, text: str) -> bool:
    """Whether a check failed, printed with the end of what it said."""
    print(f"  {check}: {'FAILED' if failed else 'passed'}", flush=True)
    if failed:
        print("\n".join(text.splitlines()[-60:]))
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("features", nargs="+", choices=FEATURES, metavar="FEATURE", help=", ".join(FEATURES))
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=tuple(CHECKS), metavar="CHECK")
    given = parser.parse_args()
    passed = [prove(name, given.only) for name in given.features]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
