"""The import arrows of docs/architecture.md, read from the source."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"dshq_widget": ROOT / "dshq_widget", "dshq_kernels": ROOT / "kernels" / "dshq_kernels"}

GAMES = {"dshq_kernels", "drill", "drills", "config", "protocol", "version"}
PLAYERS = GAMES | {"env", "parallel", "policy", "trace", "trunk"}
TRAINING = PLAYERS | {"gpu", "gyms", "runtime", "learners", "training", "ladder", "presets"}

# A room is a top-level module or folder of dshq_widget (dshq_kernels is one room). It may import itself and these.
PYTHON_ARROWS = {
    "dshq_kernels": set(),
    "version": set(),
    "config": {"version"},
    "protocol": {"version", "dshq_kernels"},
    "page": {"config", "protocol"},
    "presets": {"config"},
    "cells": set(),
    "palette": set(),
    "picture": {"palette"},
    "ladder": set(),
    "declarations": {"dshq_kernels"},
    "drill": {"dshq_kernels", "declarations"},
    "drills": {"dshq_kernels", "drill"},
    "trace": GAMES,
    "replay": GAMES,
    "env": GAMES | {"policy", "parallel"},  # make_parallel, beside its sisters; parallel.py needs an extra
    "parallel": GAMES | {"env"},
    "snapshots": GAMES | {"env"},
    "policy": GAMES | {"trunk"},
    "trunk": set(),
    "gyms": {"policy", "trunk", "runtime"},
    "runtime": PLAYERS,
    "gpu": GAMES | {"policy"},
    "learners": PLAYERS | {"gpu", "gyms"},
    "screen": TRAINING,
    "training": TRAINING,
    "pixels": GAMES,
    "export_html": set(),
    "record": TRAINING | {"picture"},
    "rivals": TRAINING | {"page"},
    "outbox": {"page"},
    "inbox": TRAINING | {"page", "outbox", "rivals"},
    "commands": TRAINING | {"classroom", "page", "outbox", "screen"},
    "lab": set(),
    "lessons": TRAINING | {"classroom", "palette", "replay"},
    "widget": TRAINING
    | {"classroom", "screen", "page", "export_html", "cells", "lessons", "rivals", "outbox", "inbox", "commands"},
    "play_comm": set(),
    "play_server": {"play_comm", "widget"},
    "play": {"play_server", "widget"},
    "naive": GAMES,
    "bench": PLAYERS | {"naive", "runtime", "learners"},
    "bench_cuda": PLAYERS | {"gpu", "learners", "pixels"},
    "doctor": TRAINING,
    "check": PLAYERS | {"palette"},
    "classroom": TRAINING | {"replay", "cells", "lab"},
    "arguments": {"config", "version"},
    "given": TRAINING | {"arguments"},
    "cli": TRAINING
    | {"arguments", "bench", "bench_cuda", "check", "classroom", "doctor", "given", "lab", "play", "record", "widget"},
    "__init__": TRAINING | {"widget"},
    "__main__": {"cli"},
}

# torch takes seconds to import and hundreds of MB: it stays out of the kernel, the games and the workers.
TORCH_FREE = {"dshq_kernels", "version", "config", "protocol", "drill", "drills", "env", "page", "widget", "__init__"}
TORCH_FREE |= {"trunk", "gyms", "screen", "outbox", "inbox", "commands", "play", "play_comm", "play_server"}

# A room of js/ is a folder or file below it. Helpers import helpers only; every room may import them, itself and these.
# `import type` draws no arrow: it is gone before the page runs.
JS_HELPERS = {
    "protocol",
    "tables",
    "random",
    "events",
    "dom",
    "format",
    "theme",
    "history",
    "keys",
    "sides",
    "handles",
    "recording",
    "scores",
    "pace",
    "python",
}
JS_ARROWS = {
    "grid": set(),
    "pairs": set(),
    "layers": {"grid", "pairs"},
    "policy": {"layers", "pairs"},
    "rules": set(),
    "renderer": {"rules"},
    "replay": {"rules"},
    "senses": {"policy", "rules"},
    "deciders": {"policy", "rules", "senses"},
    "show": {"deciders", "policy", "rules", "renderer", "senses"},
    "mind": {"policy", "rules", "senses"},
    "value_map": {"mind", "policy", "rules"},
    "inspector": {"policy", "rules", "renderer", "senses", "show", "mind", "value_map"},
    "grips": {"renderer", "show"},
    "archive": {"layers"},
    "ghost": {"archive"},
    "frames": set(),
    "worker": {"film", "frames", "ghost", "grips", "inspector", "policy", "rules", "renderer", "show"},
    "players": set(),
    "journal": {"players"},
    "model": set(),
    "kernel": {"model"},
    "registry": {"renderer"},
    "screen": {"registry"},
    "session": {"model", "kernel", "registry", "journal", "screen"},
    "input": set(),
    "gamepad": {"input"},
    "touch_pad": {"input"},
    "hints": {"input"},
    "plotter": set(),
    "panels": {"players", "plotter"},
    "legend": set(),
    "standalone": {"model", "widget"},
    "socket_model": {"model"},
    "play": {"socket_model", "widget"},
    "match_replay": {"renderer", "replay", "rules"},
    "policy_files": {"model", "session"},
    "webm": set(),
    "film": {"renderer", "replay", "rules", "webm"},
    "filming": {"film"},
    "share": {"filming", "policy_files", "panels", "session"},
    "picking": set(),
    "controls": {"panels"},
    "stage": {"players", "share", "legend", "picking", "input", "hints", "gamepad", "touch_pad"},
    "widget": {"model", "session", "registry", "controls", "stage"},
}


def python_files() -> list[Path]:
    return [path for root in PACKAGES.values() for path in sorted(root.rglob("*.py"))]


def dotted(path: Path) -> list[str]:
    """The module's name in parts; a package's own file ends in `__init__`."""
    for package, root in PACKAGES.items():
        if path.is_relative_to(root):
            return [package, *path.relative_to(root).with_suffix("").parts]
    raise ValueError(f"{path} is in neither package")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything a file imports, also inside functions; relative imports made absolute."""
    parts = dotted(path)
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = parts[: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for name in node.names:
                yield node.lineno, f"{module}.{name.name}"


def room(parts: list[str]) -> str:
    return parts[0] if parts[0] == "dshq_kernels" else parts[1]


def imported_room(name: str) -> str | None:
    """The room that `name` lies in; "root" for the package's own face; None for other people's packages."""
    parts = name.split(".")
    if parts[0] == "dshq_kernels":
        return "dshq_kernels"
    if parts[0] != "dshq_widget":
        return None
    package = PACKAGES["dshq_widget"]
    exists = len(parts) > 1 and ((package / f"{parts[1]}.py").exists() or (package / parts[1]).is_dir())
    return parts[1] if exists else "root"


@pytest.mark.parametrize("path", python_files(), ids=lambda path: ".".join(dotted(path)))
def test_python_imports_point_down(path: Path):
    here = room(dotted(path))
    assert here in PYTHON_ARROWS, f"{path.name}: a new room; give it its arrows here and in docs/architecture.md"
    for line, name in imported(path):
        there = imported_room(name)
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        if there is None:
            package = name.split(".")[0]
            assert not (here in TORCH_FREE and package == "torch"), f"{where}: {here} has to stay free of torch"
            if here == "dshq_kernels":
                assert package in {"numpy", "numba", "llvmlite"} | sys.stdlib_module_names, where
        else:
            assert there != "root", f"{where}: nothing inside imports the package root; name the module"
            assert there == here or there in PYTHON_ARROWS[here], f"{where}: {here} may not import {there}"


def test_importing_the_package_loads_no_torch_and_no_numba():
    probe = "import sys, dshq_widget; print([name for name in ('torch', 'numba', 'gymnasium') if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=120, check=True)
    assert answer.stdout.strip() == "[]"


def typescript_files() -> list[Path]:
    files = sorted((ROOT / "js").rglob("*.ts"))
    return [p for p in files if not p.name.endswith((".test.ts", ".d.ts")) and not {"tests", "testing"} & set(p.parts)]


IMPORT = re.compile(r"""^\s*(?:import|export)\b(?!\s+type\b)[^"';]*?(?:from\s*)?["'](\.[^"']+)["']""", re.M)


@pytest.mark.parametrize("path", typescript_files(), ids=lambda path: str(path.relative_to(ROOT / "js")))
def test_typescript_imports_point_down(path: Path):
    def js_room(file: Path) -> str:
        return file.relative_to(ROOT / "js").parts[0].removesuffix(".ts")

    here = js_room(path)
    assert here in JS_ARROWS or here in JS_HELPERS, f"{path.name}: a new room; give it its arrows here"
    allowed = JS_HELPERS | {here} | JS_ARROWS.get(here, set())
    rooms = {name: js_room((path.parent / name).resolve()) for name in IMPORT.findall(path.read_text())}
    assert {name: there for name, there in rooms.items() if there not in allowed} == {}
