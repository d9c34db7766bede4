"""Generated modules: compiled where they are wanted, or come with the package as machine code."""

import json
from pathlib import Path
from typing import Any

import pytest

from dshq_kernels.simd import kept, shipped
from dshq_kernels.simd.kept import SOURCES
from tests.harness.scripts import printed
from tools import machine_code

HEADER = "from numba import cfunc, njit\nfrom numba.core import types\nTWO = types.int64(types.int64)\n"
FUNCTIONS = [
    f"@cfunc(TWO, nopython=True, cache=True)\ndef f{k}(x):\n" + "    x = x * 3 + 1\n" * (k + 1) + "    return x\n"
    for k in range(7)
]
SOURCE = "\n".join([HEADER, *FUNCTIONS])
CHILD = """
import json, sys
from pathlib import Path
from dshq_kernels.simd import shipped
if sys.argv[2]:
    shipped.FOLDER = Path(sys.argv[2])
from dshq_kernels.backends.generated import load_module
module = load_module(Path(sys.argv[1]).read_text())
functions = [getattr(module, f"f{k}") for k in range(7)]
print(json.dumps([[f.ctypes(2) for f in functions], [f.cache_hits for f in functions], module.__file__]))
"""


def child(folder: Path, cache: str, machine: str = "", **environment: str) -> list[Any]:
    """Load SOURCE in a process with caches of its own: results, hits of the cache, and the module's file."""
    (folder / "source.py").write_text(SOURCE)
    caches = {"DSHQ_CACHE_DIR": str(folder / cache), "NUMBA_CACHE_DIR": str(folder / cache / "numba")}
    return json.loads(printed(CHILD, folder / "source.py", machine, **caches, **environment))


EXPECTED = [[2 * 3 ** (k + 1) + (3 ** (k + 1) - 1) // 2 for k in range(7)]]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of machine code for SOURCE, made as tools/machine_code.py makes it, for the last level of all."""
    made = machine_code.levels()
    if not made:
        pytest.skip("machine code is made for Linux on x86-64 only")
    level, folder = made[-1], tmp_path / "machine"
    features = ",".join(f"+{feature}" for feature in machine_code.LEVELS[level])
    results, hits, file = child(tmp_path, "made", NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES=features)
    assert [results] == EXPECTED and not any(hits)
    archives = machine_code.collect(tmp_path / "made" / "numba")
    assert len(archives[Path(file).stem]) == 2 * len(results), "an index and machine code for each function"
    (folder / level).mkdir(parents=True)
    (folder / level / f"{Path(file).stem}.tar.xz").write_bytes(machine_code.archive(archives[Path(file).stem]))
    manifest = shipped.conditions(SOURCES) | {"levels": {level: machine_code.LEVELS[level]}}
    (folder / shipped.MANIFEST).write_text(json.dumps(manifest))
    return folder


def test_machine_code_that_came_along_is_not_compiled_again(machine: Path, tmp_path: Path):
    for _ in range(2):
        results, hits, _ = child(tmp_path, "fresh", str(machine))
        assert [results] == EXPECTED and all(hits)
    path = next((tmp_path / "fresh").rglob("*f3*.nbi"))
    stamp = shipped.Index(path.read_bytes()).made_of[-1]
    assert stamp == kept.fingerprint(SOURCE)
    path.write_bytes(path.read_bytes().replace(stamp.encode(), b"0" * len(stamp)))
    next((tmp_path / "fresh").rglob("shipped-*")).unlink()
    results, hits, _ = child(tmp_path, "fresh", str(machine))
    assert [results] == EXPECTED and all(hits), "what an older version left does not stay"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("python", "cpython-27", "python cpython-27"),
        ("numba", "0.1", "numba 0.1"),
        ("sources", "0", "other files of this package"),
        ("levels", {"x86-64-v9": ["quantum"]}, "another processor"),
    ],
)
def test_machine_code_for_something_else_is_left_alone(
    key: str, value: object, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    manifest = shipped.conditions(SOURCES) | {"levels": {"x86-64-v1": []}}
    (tmp_path / shipped.MANIFEST).write_text(json.dumps(manifest))
    assert shipped.level.__wrapped__(SOURCES)[0] == "x86-64-v1"
    (tmp_path / shipped.MANIFEST).write_text(json.dumps(manifest | {key: value}))
    level, why = shipped.level.__wrapped__(SOURCES)
    assert level == "" and reason in why
