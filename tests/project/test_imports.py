"""The import arrows between the rooms of both Python packages, from the source (docs/architecture.md)."""

import ast
import re
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.harness.scripts import printed

ROOT = Path(__file__).parents[2]
PACKAGES = {"dshq_widget": ROOT / "dshq_widget", "dshq_kernels": ROOT / "kernels" / "dshq_kernels"}

KERNELS = {
    "language": set(),
    "simd": set(),
    "backends": {"language", "simd"},
    "network": {"backends", "simd"},
    "play": {"backends", "network", "run", "simd"},
    "run": {"backends", "simd"},
    "search": {"backends", "network", "play", "simd"},
}
WIDGET = {
    "contract": {"dshq_kernels"},
    "drill": {"contract", "dshq_kernels"},
    "drills": {"drill"},
    "env": {"contract", "drill", "drills", "dshq_kernels"},
    "system": set(),
    "files": {"system"},
    "policy": {"contract", "drill", "drills", "files", "runtime", "system", "dshq_kernels"},
    "pixels": set(),
    "notebook": {"files"},
    "runtime": {"system", "dshq_kernels"},
    "gyms": {"contract", "policy", "runtime"},
    "gpu": {"contract", "drill", "policy", "runtime", "dshq_kernels"},
    "learning": {"contract", "drill", "files", "policy", "runtime", "dshq_kernels"},
    "algorithms": {
        *("contract", "drill", "env", "files", "gpu", "gyms", "learning"),
        *("pixels", "policy", "runtime", "system", "dshq_kernels"),
    },
    "extend": {"algorithms", "contract", "learning", "policy", "runtime", "dshq_kernels"},
    "training": {
        *("algorithms", "contract", "drill", "drills", "files", "gyms", "learning"),
        *("policy", "runtime", "system", "dshq_kernels"),
    },
    "classroom": {
        *("cli", "contract", "drill", "drills", "env", "files", "learning", "notebook", "policy", "runtime"),
        *("system", "dshq_kernels"),
    },
    "lessons": {
        *("algorithms", "cli", "contract", "drill", "drills", "env", "files", "learning", "notebook"),
        *("policy", "runtime", "system", "dshq_kernels"),
    },
    "widget": {
        *("contract", "drill", "drills", "env", "files", "gyms", "notebook", "policy", "runtime", "training"),
        "dshq_kernels",
    },
    "cli": {
        *("algorithms", "contract", "drill", "drills", "env", "files", "gpu", "learning"),
        *("notebook", "pixels", "policy", "runtime", "system", "training", "widget", "dshq_kernels"),
    },
}
ARROWS = {
    **{f"dshq_kernels.{room}": {f"dshq_kernels.{other}" for other in others} for room, others in KERNELS.items()},
    **{
        f"dshq_widget.{room}": {other if other in PACKAGES else f"dshq_widget.{other}" for other in others}
        for room, others in WIDGET.items()
    },
}

TORCH_FREE = {
    *KERNELS,
    *("contract", "drill", "drills", "env", "files", "gyms", "policy", "system", "notebook", "training", "widget"),
}
"""torch takes seconds to import and hundreds of MB: it stays out of the games, the kernel and the workers."""
MODULES_OF_TORCH = {f"dshq_widget.policy.{name}" for name in ("torch_module", "torch_fronts", "own_module")}
"""A policy as torch's own module, or a person's module as a policy: loaded where somebody asks for it."""


@cache
def modules() -> dict[str, Path]:
    """Every module of both packages by its dotted name; a package's own file is named like its folder."""
    return {
        ".".join([package, *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__"): path
        for package, root in PACKAGES.items()
        for path in sorted(root.rglob("*.py"))
    }


def room_of(module: str) -> str:
    """The room that a module lies in: its package and folder; the package itself for its own file."""
    return ".".join(module.split(".")[:2])


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, dotted name) of everything a file imports, also inside functions and for type checkers."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{path}:{node.lineno}: name the module whole"
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.append((node.lineno, whole if whole in modules() else node.module))
    return tuple(found)


@cache
def between(package: str) -> dict[str, set[str]]:
    """Which rooms each room of `package` imports in fact; the other package counts as one."""
    found: dict[str, set[str]] = {}
    for module, path in modules().items():
        here = room_of(module)
        if here.startswith(package + "."):
            rooms = {room_of(name) for _, name in imports(path) if name.split(".")[0] in PACKAGES}
            rooms = {room if room.startswith(package) else room.split(".")[0] for room in rooms}
            found.setdefault(here, set()).update(rooms - {here})
    return found


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_nothing_but_what_its_row_says(room: str):
    found = between(room.split(".")[0]).get(room, set())
    assert found - ARROWS[room] == set(), f"{room} may not import these"


@pytest.mark.parametrize("room", ARROWS)
def test_no_row_says_more(room: str):
    """In the whole tree: without a feature a room may need less (tools/without.py)."""
    rooms = between(room.split(".")[0])
    assert room in rooms, f"{room} is in the table and not in the tree: take its row out"
    assert ARROWS[room] - rooms[room] == set(), f"{room} imports these no more: take them out of its row"


def test_every_room_has_a_row_and_rooms_form_no_circle():
    rooms = {room for package in PACKAGES for room in between(package)}
    assert rooms == set(ARROWS), "give each room its arrows here and in docs/architecture.md"
    list(TopologicalSorter(ARROWS).static_order())


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle in `graph`; empty where there is none."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_one_another_in_a_circle():
    graph = {name: {other for _, other in imports(path) if other in modules()} for name, path in modules().items()}
    assert circle(graph) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != [], "a circle is found"


@pytest.mark.parametrize("module", modules())
def test_what_a_module_may_not_import(module: str):
    path, room = modules()[module], room_of(module).split(".")[-1]
    for line, name in imports(path):
        package = name.split(".")[0]
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        assert name != "dshq_widget", f"{where}: nothing inside imports the package's own names; name the module"
        free = room in TORCH_FREE and module not in MODULES_OF_TORCH
        assert not (free and package == "torch"), f"{where}: {room} has to stay free of torch"
        if module.startswith("dshq_kernels"):
            assert package in {"dshq_kernels", "numpy", "numba", "llvmlite"} | sys.stdlib_module_names, where


def test_tests_import_no_tests_and_neither_do_tools_and_benchmarks():
    """Only files that seem to are parsed: in some of them a string does."""
    statement = re.compile(r"from\s+tests\.(\w+\.)*test_\w+\s")
    files = [path for folder in ("tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    seem = [path for path in files if statement.search(path.read_text())]
    assert seem, "a child's code in a string, at least"
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in seem
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")
        if (node.module or "").split(".")[-1].startswith("test_")
    ]
    assert wrong == [], "what they share belongs into tests/harness"


def test_every_room_says_what_lives_there():
    rooms = [path for name, path in modules().items() if path.name == "__init__.py" and name.count(".") >= 1]
    assert [str(path) for path in rooms if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_importing_the_package_loads_no_torch_and_no_numba():
    probe = "import sys, dshq_widget; print([name for name in ('torch', 'numba', 'gymnasium') if name in sys.modules])"
    assert printed(probe) == "[]"


ALGORITHMS = "dshq_widget.algorithms"
ABOUT = {
    "ppo": {"lessons.ppo", "lessons.speed", "lessons.checks.ppo"},
    "gate": {"lessons.gate", "lessons.checks.gate"},
}
"""Algorithm -> the modules of the lessons that teach it."""
NAMED = {
    "ppo": {"contract.game_spec", "lessons.speed", "lessons.table"},
    "gate": {"contract.faces.gate", "drills.territory", "lessons.table"},
    "dreamer": {"drills.approach", "drills.ball", "drills.paddleball", "policy.checkpoint"},
}
"""Algorithm -> the modules that say its name: what trains a drill by default, drills that declare it, the name of its
section on the page, lessons, files of release 0.1."""


def algorithm_of(module: str) -> str:
    """The algorithm whose folder a module lies in, "" elsewhere."""
    folder = PACKAGES["dshq_widget"] / "algorithms"
    name = module.removeprefix(f"{ALGORITHMS}.").partition(".")[0]
    return name if module.startswith(f"{ALGORITHMS}.") and (folder / name).is_dir() else ""


@cache
def strings(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, text) of every text in a file."""
    nodes = ast.walk(ast.parse(path.read_text(), str(path)))
    return tuple((n.lineno, n.value) for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def test_nothing_outside_an_algorithm_imports_it_but_the_registry_and_its_lessons():
    """Nor does it name one of its modules in a string, as the place of a role does."""
    assert algorithm_of(f"{ALGORITHMS}.ppo.learners.fused") == "ppo" and algorithm_of(f"{ALGORITHMS}.algorithm") == ""
    wrong = []
    for module, path in modules().items():
        here, place = algorithm_of(module), module.removeprefix("dshq_widget.")
        for line, name in (*imports(path), *((line, text.partition(":")[0]) for line, text in strings(path))):
            there = algorithm_of(name)
            listed = module == ALGORITHMS and name == f"{ALGORITHMS}.{there}"
            if there not in ("", here) and not listed and place not in ABOUT.get(there, ()):
                wrong.append(f"{path.relative_to(ROOT)}:{line} names {name}")
    assert wrong == [], "let the algorithm declare it (dshq_widget/algorithms/algorithm.py)"


def test_nothing_outside_an_algorithm_asks_for_its_name():
    known = {algorithm_of(module) for module in modules()} - {""}
    assert "ppo" in known
    wrong = [
        f"{path.relative_to(ROOT)}:{line} says {text!r}"
        for module, path in modules().items()
        for line, text in strings(path)
        if text in known - {algorithm_of(module)} and module.removeprefix("dshq_widget.") not in NAMED.get(text, ())
    ]
    assert wrong == [], "let the algorithm declare what it needs (dshq_widget/algorithms/algorithm.py)"
