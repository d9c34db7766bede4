"""Who may import whom in js/: arrows between its folders, and no circles between its files. Type-only imports count."""

import os.path
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

JS = Path(__file__).parent.parent.parent / "js"

# A room is a folder of js/, or a file that stands there itself (an entry of build.mjs). It may import itself and these.
ARROWS: dict[str, set[str]] = {
    "contract": set(),
    "ui": {"contract"},
    "input": {"contract", "ui"},
    "compute": {"contract"},
    "match": {"contract"},
    "renderer": {"contract", "match"},
    "mind": {"contract", "match", "renderer"},
    "worker": {"contract", "features", "match", "mind", "renderer"},
    "trainer": {"compute", "contract"},
    "session": {"contract", "match", "renderer"},
    "panels": {"contract", "match", "session", "ui"},
    "features": {"contract", "match", "mind", "panels", "renderer", "session", "ui"},
    "show_worker": {"contract", "features", "worker"},
    "view": {"contract", "features", "input", "panels", "session", "ui"},
    "page": {"contract", "features", "input", "session", "ui", "view"},
    "widget": {"page", "session"},
    "play": {"session", "ui", "widget"},
    "standalone": {"contract", "page", "session"},
    "match_replay": {"contract", "match", "renderer", "ui"},
}

IMPORT = re.compile(r"""(?:^\s*(?:import|export)\b[^"';]*?(?:\bfrom\s*)?|\bimport\()["'](\.[^"']+)["']""", re.M)


@cache
def files() -> list[Path]:
    """Every source file but the tests and the declarations of what others bring."""
    sources = [path for path in sorted(JS.rglob("*.ts")) if not path.name.endswith(".d.ts")]
    return [path for path in sources if "tests" not in path.relative_to(JS).parts]


def room(path: Path) -> str:
    return path.relative_to(JS).parts[0].removesuffix(".ts")


@cache
def imported(path: Path) -> list[Path]:
    """The files that a file imports from js/."""
    found = []
    for name in IMPORT.findall(path.read_text()):
        base = os.path.normpath(path.parent / name)
        paths = [Path(f"{base}.ts"), Path(base) / "index.ts", Path(base)]
        there = next((other for other in paths if other.is_file()), None)
        assert there, f"{path.relative_to(JS)} imports {name}, which is not there"
        if there.suffix == ".ts":
            found.append(there)
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(JS)))
def test_imports_point_down(path: Path):
    here = room(path)
    assert here in ARROWS, f"{here}: a new room; give it its arrows here and in docs/architecture.md"
    wrong = [str(other.relative_to(JS)) for other in imported(path) if room(other) not in ARROWS[here] | {here}]
    assert wrong == []


def test_no_row_says_more():
    """In the whole tree: without a feature a room may need less (tools/without.py)."""
    assert set(ARROWS) == {room(path) for path in files()}, "rooms that are gone have no row"
    used: dict[str, set[str]] = {name: set() for name in ARROWS}
    for path in files():
        used[room(path)] |= {room(other) for other in imported(path)} - {room(path)}
    unused = {name: others - used[name] for name, others in ARROWS.items()}
    assert {name: others for name, others in unused.items() if others} == {}


def test_rooms_make_no_circle():
    list(TopologicalSorter(ARROWS).static_order())


def test_files_make_no_circle():
    arrows = {str(path.relative_to(JS)): {str(other.relative_to(JS)) for other in imported(path)} for path in files()}
    list(TopologicalSorter(arrows).static_order())
