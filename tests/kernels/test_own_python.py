"""A process of the project's own imports nothing from the folder that one works in."""

import subprocess
from pathlib import Path

import pytest

from dshq_kernels.backends import wasm
from dshq_kernels.backends.own_python import own_python

ROOT = Path(__file__).parents[2]
STARTERS = ("kernels/dshq_kernels/backends/own_python.py", "dshq_widget/system/")
"""Files that may name the interpreter. Those of `system` start what the supervisor gives them, which begins with -P."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What somebody has handed in: a policy, for example, and files whose names are those of modules."""
    for name in ("numpy", "json"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\nraise SystemExit('a stranger runs')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_lies_beside_a_file_is_not_imported(folder: Path):
    subprocess.run(own_python("-c", "import json; json.dumps"), check=True)
    subprocess.run(own_python("-m", "json.tool"), input=b"{}", check=True, stdout=subprocess.DEVNULL)
    assert not (folder / "ran").exists()


def test_nor_while_a_module_for_pages_is_made_for_the_first_time(folder: Path):
    with pytest.raises(RuntimeError, match="no_such_module"):
        wasm._object_files({"forward": "no_such_module"})
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("package", ["dshq_kernels", "dshq_widget"])
def test_nor_does_numba_read_settings_there(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str):
    """They may say where machine code is kept, which is run."""
    (folder / ".numba_config.yaml").write_text("cache_dir: theirs\nnum_threads: 1\n")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    code = f"import {package}, numba.core.config as c; print([c.CACHE_DIR]); c.reload_config(); print([c.CACHE_DIR])"
    ran = subprocess.run(own_python("-W", "error", "-c", code), check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["['']", "['']"], "one's own NUMBA_CACHE_DIR counts, as every variable does"
    assert not ran.stderr


def test_every_process_is_started_so():
    found = [
        str(path.relative_to(ROOT))
        for top in ("dshq_widget", "kernels")
        for path in (ROOT / top).rglob("*.py")
        if "sys.executable" in path.read_text(encoding="utf-8")
    ]
    assert [name for name in found if not name.startswith(STARTERS)] == [], "take own_python"
    assert '["-P", "-m"' in (ROOT / "dshq_widget/runtime/supervisor.py").read_text(encoding="utf-8")
