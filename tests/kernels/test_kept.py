"""Machine code is kept by what it was made of: copies of the sources share it, an edit makes anew what it concerns."""

import ast
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dshq_kernels.simd import folders, kept

KERNELS = Path(kept.__file__).parents[1]
FORKS = """
import json, os, sys, traceback
import numba
from numba.core import event
compiled = []


class Listener(event.Listener):
    def on_start(self, seen):
        compiled.append(str(seen.data["dispatcher"].py_func.__name__))

    def on_end(self, seen):
        pass


def answer(folder, cache, version):
    os.environ["DSHQ_CACHE_DIR"] = cache
    sys.path.insert(0, folder)
    numba.__version__ = version or numba.__version__
    from dshq_kernels.network import caller, alone
    return [int(caller.caller(1)), int(alone.alone(1)), compiled, str(caller.caller._cache.cache_path)]


event.register("numba:compile", Listener())
for line in sys.stdin:
    if not os.fork():
        try:
            said = answer(*json.loads(line))
        except BaseException:
            said = traceback.format_exc()
        print(json.dumps(said), flush=True)
        os._exit(0)
    os.wait()
"""
FILES = {
    "called": "from dshq_kernels.simd.vector import compiled\n\n\n@compiled\ndef called(x):\n    return x + 1\n",
    "between": "from dshq_kernels.network.called import called\n",
    "caller": (
        "from dshq_kernels.network.between import called\nfrom dshq_kernels.simd.vector import compiled\n\n\n"
        "@compiled\ndef caller(x):\n    return called(x) * 10\n"
    ),
    "alone": "from dshq_kernels.simd.vector import compiled\n\n\n@compiled\ndef alone(x):\n    return x + 5\n",
}


def copied(folder: Path) -> Path:
    """The package's lowest room and four small files of another, as a package in `folder`."""
    shutil.copytree(KERNELS / "simd", folder / "dshq_kernels" / "simd", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "dshq_kernels" / "network").mkdir()
    for package in ("", "network"):
        (folder / "dshq_kernels" / package / "__init__.py").write_text("")
    for name, text in FILES.items():
        (folder / "dshq_kernels" / "network" / f"{name}.py").write_text(text)
    return folder


Child = Callable[..., tuple[list[int], list[str], Path]]


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """Calls `caller(1)` and `alone(1)` of a copy: results, what was compiled, the caller's folder."""
    kept_out = ("PYTHONPATH", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in kept_out}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", FORKS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:
        assert forks.stdin and forks.stdout
        ask_for, answers = forks.stdin, forks.stdout

        def ask(folder: Path, cache: Path, numba: str = "") -> tuple[list[int], list[str], Path]:
            ask_for.write(json.dumps([str(folder), str(cache), numba]) + "\n")
            ask_for.flush()
            said = json.loads(answers.readline())
            assert not isinstance(said, str), said
            *results, compiled, place = said
            return results, compiled, Path(place)

        yield ask


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two copies of the same sources in two folders, and a cache."""
    return copied(tmp_path / "one"), copied(tmp_path / "two"), tmp_path / "cache"


def test_what_killed_writers_left_is_removed_after_a_day_and_a_failed_one_leaves_nothing(tmp_path: Path, monkeypatch):
    old, new, other = (tmp_path / name for name in ("dshq-new-a.tmp", "dshq-new-b.tmp", "notes.tmp"))
    for path in (old, new, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (time.time() - 2 * folders.KEPT_SECONDS,) * 2)
    folders.write_whole(tmp_path / "a.py", b"whole")
    assert (tmp_path / "a.py").read_bytes() == b"whole"
    assert {path.name for path in tmp_path.iterdir()} == {"a.py", new.name, other.name}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        folders.write_whole(tmp_path / "a.py", b"newer")
    assert (tmp_path / "a.py").read_bytes() == b"whole"
    assert {path.name for path in tmp_path.iterdir()} == {"a.py", new.name, other.name}


def test_a_copy_compiles_nothing_and_an_edit_what_it_concerns(two, child):
    first, second, cache = two
    results, compiled, place = child(first, cache)
    assert results == [20, 6] and {"caller", "called", "alone"} <= set(compiled)
    assert place.is_relative_to(cache / "code")
    assert not list(first.rglob("*.nbi")), "nothing is kept beside the sources"
    os.utime(second / "dshq_kernels" / "network" / "caller.py", (1, 1))
    assert child(second, cache) == ([20, 6], [], place), "neither path nor time counts"

    called = second / "dshq_kernels" / "network" / "called.py"
    called.write_text(called.read_text().replace("x + 1", "x + 1 + 1"))
    results, compiled, other = child(second, cache)
    assert results == [30, 6], "a function that calls what was edited, through a third file, is not stale"
    assert "alone" not in compiled and other != place
    assert child(first, cache) == ([20, 6], [], place), "the first copy has its own still"


def test_a_newer_numba_keeps_its_code_its_own_way_apart_for_each_version_of_the_sources(two, child):
    first, _, cache = two
    results, compiled, place = child(first, cache, "0.99.1")
    assert results == [20, 6] and "caller" in compiled
    assert place.parent.parent == cache and place.parent.name.startswith("numba-")
    assert child(first, cache, "0.99.1") == ([20, 6], [], place)
    called = first / "dshq_kernels" / "network" / "called.py"
    called.write_text(called.read_text().replace("x + 1", "x + 1 + 1"))
    results, _, other = child(first, cache, "0.99.1")
    assert results == [30, 6] and other != place, "what calls an edited function is not stale"


def test_a_folder_that_cannot_be_written_is_begun_with(two, child, tmp_path):
    """An image's cache that its users may read. `place` is asked, since root may write everything."""
    first, _, cache = two
    _, _, place = child(first, cache)
    file = next(path for path in place.iterdir() if path.suffix == ".nbi")
    own = tmp_path / "own" / "code" / place.name
    own.mkdir(parents=True)
    os.environ["DSHQ_CACHE_DIR"], before = str(cache), os.environ.get("DSHQ_CACHE_DIR")
    try:
        kept._copy(own)
    finally:
        os.environ.pop("DSHQ_CACHE_DIR") if before is None else os.environ.update(DSHQ_CACHE_DIR=before)
    assert (own / file.name).read_bytes() == file.read_bytes()
    assert {path.name for path in own.iterdir()} == {path.name for path in place.iterdir()}


def test_what_is_imported_is_found_as_python_finds_it():
    """Every import of the kernels is in the hash of the files that import it."""
    every = set()
    for path in KERNELS.rglob("*.py"):
        wanted: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(kept.OWN):
                wanted |= {
                    str(node.module),
                    *(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*"),
                }
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, "imports name the package"
            elif isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names if alias.name.startswith(kept.OWN)}
        missing = wanted - kept.imported(path.read_text())
        assert not missing, f"{path}: {missing}"
        every |= wanted
    assert "dshq_kernels.play.loops" in every


def test_a_file_that_is_written_while_a_process_runs_is_not_taken_for_what_it_has_imported(monkeypatch):
    text = "from dshq_kernels.network import mlp\n"
    before = kept.fingerprint(text)
    assert kept.fingerprint(text) == before
    monkeypatch.setattr(kept, "BEGUN", 0.0)
    own = kept.fingerprint(text)
    assert own != before
    monkeypatch.setattr(kept, "ALONE", "another process")
    assert kept.fingerprint(text) not in (before, own)


def test_where_no_folder_can_be_made_numba_finds_one_of_its_own(tmp_path: Path, monkeypatch):
    """A disk that is full, or a file in the place of the folder: importing a function must not fail."""
    (tmp_path / "code").write_text("")
    monkeypatch.setattr(kept, "folder", lambda: tmp_path / "code")
    source = KERNELS / "network" / "mlp.py"
    with pytest.raises(OSError):
        kept.place(source)
    assert kept.Locator.from_function(lambda: None, str(source)) is None


def test_old_versions_go(tmp_path: Path):
    folder, week = tmp_path / "code", time.time() - 7 * kept.DAY
    names = [f"dshq_kernels.network.mlp-{k:020x}" for k in range(kept.KEPT + 3)]
    others = ["dshq_kernels.network.mlp_like-" + "0" * 20, "dshq_kernels.network.mlp", "mine"]
    for k, name in enumerate([*names, *others]):
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (week + k, week + k))
    os.utime(folder / names[0])
    kept._prune(folder / names[-1])
    left = {path.name for path in folder.iterdir()}
    assert left == {names[0], *names[4:], *others}, "the last ones, and what was used today"


def test_files_with_functions_on_disk_have_them_kept_there():
    """They import one that has said so. `pixels` knows no kernels: numba keeps its one function its own way."""
    root = KERNELS.parents[1]
    found = [
        path for top in (KERNELS, root / "dshq_widget") for path in top.rglob("*.py") if "pixels" not in path.parts
    ]
    marked = [path for path in found if "@compiled" in path.read_text() or "jit(cache=True" in path.read_text()]
    assert len(marked) > 10
    for path in marked:
        waiting, said = kept.imported(path.read_text()), set()
        while waiting:
            name = waiting.pop()
            said.add(name)
            file = kept._file(name)
            waiting |= (kept._read(file)[1] if file else set()) - said
        assert "dshq_kernels.simd.kept" in said, path


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users here")
def test_a_temporary_folder_must_be_ones_own(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("DSHQ_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    expected = tmp_path / f"dshq-{os.getuid()}"
    assert folders.cache_dir() == expected
    assert expected.stat().st_mode & 0o777 == 0o700
    expected.chmod(0o777)
    assert folders.cache_dir() != expected, "anyone may put code there"
    expected.chmod(0o700)
    expected.rename(tmp_path / "elsewhere")
    expected.symlink_to(tmp_path / "elsewhere")
    assert folders.cache_dir() != expected, "a link may be anyone's"


def test_a_chosen_folder_is_taken_as_it_is(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path / "chosen"))
    assert folders.cache_dir() == tmp_path / "chosen"


def test_without_any_folder_the_error_says_what_to_set(monkeypatch):
    def nowhere(**_: str) -> str:
        raise FileNotFoundError

    folders._of_this_process.cache_clear()
    monkeypatch.setenv("DSHQ_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    monkeypatch.setattr(tempfile, "mkdtemp", nowhere)
    with pytest.raises(RuntimeError, match="Set TMPDIR or DSHQ_CACHE_DIR"):
        folders.cache_dir()
