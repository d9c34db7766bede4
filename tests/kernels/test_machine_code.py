"""LLVM code as machine code: kept on disk, loaded once, and refused with a sentence where something is missing."""

import ctypes
import os
import threading
import time

import pytest

from dshq_kernels.backends import machine_code
from dshq_kernels.backends.machine_code import addresses
from dshq_kernels.simd import folders
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from tests.harness.games.toy_drills import Walk

DOUBLE = "define i64 @double(i64 %x) {{ %y = add i64 %x, %x ret i64 %y }}\n; {}"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))
    return tmp_path / "rules"


def test_it_is_made_once_and_kept(own_cache, monkeypatch):
    source = DOUBLE.format("kept")
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses(source, ["double"])["double"])
    assert call(21) == 42
    (file,) = own_cache.glob("*.o")
    monkeypatch.setattr(machine_code, "_loaded", {})
    monkeypatch.setattr(machine_code, "optimised", lambda *what: pytest.fail("it is compiled again"))
    again = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses(source, ["double"])["double"])
    assert again(4) == 8 and list(own_cache.glob("*.o")) == [file]


def test_code_that_nobody_uses_goes(own_cache, monkeypatch):
    """A hub's cache is everybody's, and each drill that somebody tries is a file."""
    monkeypatch.setattr(folders, "KEPT_FILES", 3)
    addresses(DOUBLE.format("first"), ["double"])
    (first,) = own_cache.glob("*.o")
    old = [own_cache / f"dshq_{k:024x}.o" for k in range(6)]
    other = own_cache / "mine.txt"
    for k, file in enumerate([*old, other, first]):
        file.write_bytes(file.read_bytes() if file == first else b"")
        os.utime(file, (time.time() - 7 * 86_400 + k,) * 2)
    monkeypatch.setattr(machine_code, "_loaded", {})
    addresses(DOUBLE.format("first"), ["double"])  # in use again
    addresses(DOUBLE.format("second"), ["double"])
    left = set(own_cache.glob("*.o"))
    assert len(left) == 3 and first in left and old[5] in left and other.exists()


def test_threads_share_one_copy(own_cache):
    """The copy that one of them dropped would be called by the other."""
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(addresses(DOUBLE.format("shared"), ["double"])["double"]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def test_what_is_missing_is_named(own_cache):
    with pytest.raises(RuntimeError, match="no function 'half'"):
        addresses(DOUBLE.format("missing"), ["double", "half"])
    with pytest.raises(RuntimeError, match="expected"):
        addresses("no LLVM code", ["double"])
    drill = compile_drill(Walk)
    bare = CompiledDrill.from_json({"spec": drill.spec.to_json()})
    with pytest.raises(RuntimeError, match="no function 'reset'"):
        bare.game()
