"""WebAssembly back end: the C functions of the CPU back end as one small module, made on demand and cached on disk
(docs/architecture.md, "WebAssembly form").

A module exports its functions by name, with the signatures that they have on the processor: addresses are i64, of which
32 bits count. It imports `env.memory`, `env.__stack_pointer` and `env.__indirect_function_table` from its host.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite
import numba

from dshq_kernels.backends.cpu import VERB_NAMES
from dshq_kernels.backends.wasm_module import linked
from dshq_kernels.simd.folders import cache_dir, write_whole
from dshq_kernels.simd.kept import SOURCES

DRILL_DATA, LEARNER_DATA, STACK_TOP = 1 << 10, 1 << 15, 1 << 20
"""Addresses: the constants of a drill's module, those of the learner's, and the end of the stack, which grows down to
64 KiB. The memory from there on is the host's to divide."""
STACK_BOTTOM = 1 << 16


def verb_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """A drill's C functions in the order of `CpuGame.verbs`."""
    baselines = tuple(f"baseline_{name}" for name in spec["baselines"])
    return (*VERB_NAMES, *baselines, *(("mask",) if spec.get("masked") else ()))


def drill_module(source: str, spec: Mapping[str, Any], relaxed: bool = False) -> bytes:
    """The module of a drill's verbs, from the source of the CPU back end. `relaxed`: may use relaxed SIMD.

    Raises RuntimeError if it cannot be made here.
    """
    return compiled_module({"source": source}, verb_names(spec), DRILL_DATA, relaxed)


def compiled_module(what: Mapping[str, str], names: Sequence[str], data_at: int, relaxed: bool) -> bytes:
    """C functions `names` of `{"source": text}` or `{"module": dotted name}` as a module, once made, from the cache.

    The key: the source and this package's, numba, llvmlite, and the target.
    """
    work = {**what, "names": list(names), "relaxed": relaxed}
    key = json.dumps([SOURCES, work, data_at, numba.__version__, llvmlite.__version__], sort_keys=True)
    path = cache_dir() / "rules" / f"dshq_wasm_{hashlib.sha256(key.encode()).hexdigest()[:20]}.wasm"
    if not path.exists():
        write_whole(path, linked(_object_file(work), names, data_at))
    return path.read_bytes()


def _object_file(work: Mapping[str, Any]) -> bytes:
    """What `wasm_numba` makes of `work`, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "dshq_kernels.backends.wasm_numba"],
        input=json.dumps(work).encode(),
        capture_output=True,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace").strip()[-2000:])
    return run.stdout
