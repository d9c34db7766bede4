"""WebAssembly back end: a drill's verbs, from the LLVM code of its rules, or C functions of numba as one small module,
made on demand and cached on disk (docs/architecture.md, "WebAssembly form").

A module exports its functions by name, with the signatures that they have on the processor: addresses are i64, of which
32 bits count. It imports `env.memory`, `env.__stack_pointer` and `env.__indirect_function_table` from its host.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import llvmlite
import numba

from dshq_kernels.backends.cpu import verb_names
from dshq_kernels.backends.machine_code import optimised
from dshq_kernels.backends.own_python import own_python
from dshq_kernels.backends.spec import PlayedSpec
from dshq_kernels.backends.wasm_module import linked
from dshq_kernels.backends.wasm_target import TRIPLE, features, machine_for
from dshq_kernels.simd.folders import cache_dir, prune, used, write_whole
from dshq_kernels.simd.kept import SOURCES

DRILL_DATA, LEARNER_DATA, STACK_TOP = 1 << 10, 1 << 15, 1 << 20
"""Addresses: the constants of a drill's module, those of the learner's, and the end of the stack, which grows down to
64 KiB. The memory from there on is the host's to divide."""

QUIET = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
"""numba tries thousands of types for a call and writes an error for each that does not fit, in colours where `colorama`
is installed: a second of a processor, and nobody reads them."""

_one_at_a_time = threading.Lock()


def drill_module(source: str, spec: PlayedSpec, relaxed: bool = False) -> bytes:
    """The module of a drill's verbs, from the LLVM code of its rules. `relaxed`: may use relaxed SIMD.

    Raises RuntimeError if it cannot be made here.
    """
    names = verb_names(spec)
    path = _path([source, relaxed], names, DRILL_DATA)
    if not used(path):
        write_whole(path, linked(_object_of(source, names, relaxed), names, DRILL_DATA))
        prune(path.parent, "dshq_wasm_*.wasm")
    return path.read_bytes()


def compiled_module(functions: Mapping[str, str], data_at: int, relaxed: bool) -> bytes:
    """C functions of numba (name -> the dotted name of the module that has it) as a WebAssembly module, which exports
    them in this order; made together with the one of the other `relaxed`, which costs a tenth more.

    Raises RuntimeError if it cannot be made here.
    """
    names = list(functions)
    paths = [_path([numba.__version__, functions, kind], names, data_at) for kind in (False, True)]
    with _one_at_a_time:  # several pages may ask at once
        if not used(paths[relaxed]):
            for path, code in zip(paths, _object_files(functions), strict=True):
                write_whole(path, linked(code, names, data_at))
                prune(path.parent, "dshq_wasm_*.wasm")
    return paths[relaxed].read_bytes()


def _path(of: Sequence[Any], names: Sequence[str], data_at: int) -> Path:
    """Where the module of an object file is kept. What it depends on: `of`, this package and llvmlite."""
    key = json.dumps([SOURCES, of, list(names), data_at, llvmlite.__version__], sort_keys=True)
    return cache_dir() / "rules" / f"dshq_wasm_{hashlib.sha256(key.encode()).hexdigest()[:20]}.wasm"


def _object_of(source: str, names: Sequence[str], relaxed: bool) -> bytes:
    """An object file of LLVM code; only `names` can be called."""
    machine = machine_for(features(relaxed))
    return machine.emit_object(optimised(source, machine, TRIPLE, names, slp=True))


def _object_files(functions: Mapping[str, str]) -> list[bytes]:
    """What `wasm_numba` makes of these, in a process of its own: without and with relaxed SIMD."""
    run = subprocess.run(
        own_python("-m", "dshq_kernels.backends.wasm_numba"),
        input=json.dumps(dict(functions)).encode(),
        env=os.environ | QUIET,
        capture_output=True,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace").strip()[-2000:])
    return [base64.b64decode(code) for code in json.loads(run.stdout)]
