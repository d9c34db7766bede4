"""The package where `windows/sitecustomize.py` takes the names of POSIX away; the rest: docs/systems.md."""

import json
import os
import pickletools
import re
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from dshq_kernels.backends import machine_code
from dshq_kernels.network import update
from dshq_kernels.simd import kept
from dshq_kernels.simd.system_calls import YIELD_THREAD
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.bandit import Bandit

ROOT = Path(__file__).parents[2]
WINDOWS = ROOT / "tests" / "harness" / "processes" / "windows"
STEPS = ["watch", "train", "train_in_the_page", "export", "evaluate", "doctor"]
PATIENCE = 600.0
ELF = b"\x7fELF"
NUMBAS = re.compile(r"_?Py|_?NRT_|_?numba_|_ZN|\.numba")
"""What numba brings, on every system."""
BYTES = {"memcmp", "memcpy", "memmove", "memset"}
REALS = {
    *("acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor"),
    *("fma", "fmax", "fmin", "fmod", "log", "log10", "log1p", "log2", "pow", "rint", "round", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
}
"""Functions of C that every system's library has, these also for float32 under a name that ends with f."""


@pytest.fixture
def windows(tmp_path):
    """The environment of such a process. A temporary folder of its own: its locks are not those of other tests."""
    (tmp_path / "temporary").mkdir()
    return {**os.environ, "PYTHONPATH": str(WINDOWS), "TMPDIR": str(tmp_path / "temporary")}


def test_watching_training_exporting_evaluating_and_the_doctor(windows, tmp_path):
    command = [sys.executable, "-m", "tests.harness.processes.without_posix", tmp_path]
    run = subprocess.run(command, env=windows, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    done = [json.loads(line)["done"] for line in run.stdout.splitlines() if line.startswith('{"done"')]
    assert done == STEPS and run.returncode == 0, run.stdout + run.stderr
    assert list((tmp_path / "temporary").iterdir()) == [], "nothing is left behind"


def test_playing(windows, tmp_path):
    command = [sys.executable, "-m", "dshq_widget.cli", "play", "bandit", "--no-browser"]
    with subprocess.Popen(command, env=windows, cwd=ROOT, stdout=subprocess.PIPE, text=True) as playing:
        try:
            url = playing.stdout.readline().strip()
            with urllib.request.urlopen(url, timeout=PATIENCE) as page:
                assert 'src="play.js?token=' in page.read().decode()
        finally:
            playing.terminate()
        assert playing.wait(PATIENCE) == 0


def asked_for(code: bytes) -> set[str]:
    """Names that an object file refers to and does not define (ELF of 64 bits: System V ABI, chapter 4)."""
    (at,), (width, count) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, at + k * width) for k in range(count)]
    found = set()
    for _, kind, _, _, begin, size, link, _, _, step in sections:
        for symbol in range(begin, begin + size, step) if kind == 2 else ():
            name, _, _, section = struct.unpack_from("<IBBH", code, symbol)
            first = sections[link][4] + name
            if section == 0 and name:
                found.add(code[first : code.index(0, first)].decode())
    return found


def object_files(source: Path) -> list[bytes]:
    """What numba has kept of a file's functions."""
    return [
        word
        for path in kept.place(source).glob("*.nbc")
        for _, word, _ in pickletools.genops(path.read_bytes())
        if isinstance(word, bytes) and word.startswith(ELF)
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF, Linux's object files")
def test_machine_code_calls_by_name_only_what_every_system_has(tmp_path, monkeypatch):
    """Of all kernels that are compiled on this machine (`make compiled`), and of a drill's rules."""
    update._meet(np.zeros(1, np.int64).ctypes.data, 1, 1)
    kernels = [path for path in (ROOT / "kernels").rglob("*.py") if "@compiled" in path.read_text()]
    code = [each for path in kernels for each in object_files(path)]
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_code, "_loaded", {})
    compile_drill(Bandit).game()
    code += [path.read_bytes() for path in (tmp_path / "rules").glob("*.o")]
    names = {name for each in code for name in asked_for(each) if not NUMBAS.match(name)}
    assert YIELD_THREAD in names, "what is called is found"
    assert names <= {YIELD_THREAD} | BYTES | REALS | {f"{name}f" for name in REALS}
