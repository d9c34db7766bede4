"""LLVM code as machine code: of this processor, kept on disk and loaded, or as an object file for WebAssembly."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numba

from dshq_kernels.simd.folders import cache_dir, prune, used, write_whole

OWN_TEXT = Path(__file__).read_text(encoding="utf-8")
"""Part of the name under which machine code is kept: how it is made stands in this file."""


def processor() -> tuple[str, str]:
    """LLVM's name of the processor that is compiled for, and its features: this one's, or what numba is told by
    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES.
    """
    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return name or llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten() if features is None else features


def _machine() -> llvm.TargetMachine:
    """This processor; a new one each time, since an execution engine owns the one that it is given."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    name, features = processor()
    place = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc=place, codemodel="jitdefault", jit=True
    )


def optimised(
    source: str, machine: llvm.TargetMachine, triple: str, names: Sequence[str] = (), slp: bool = False
) -> llvm.ModuleRef:
    """LLVM code, checked and optimised for a machine. `names`: the functions that are called from outside, if not all;
    `slp` also joins neighbouring operations into vectors. Raises RuntimeError with LLVM's words where it is no LLVM
    code.
    """
    module = llvm.parse_assembly(source)
    module.triple = triple
    module.data_layout = str(machine.target_data)
    module.verify()
    for function in module.functions:
        if names and not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization = True, slp
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _object_code(source: str) -> bytes:
    """The object file of LLVM code for this processor: from the cache, or made and kept there."""
    parts = (OWN_TEXT, llvmlite.__version__, *processor(), source)
    path = cache_dir() / "rules" / f"dshq_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:24]}.o"
    if used(path):
        return path.read_bytes()
    machine = _machine()
    code = machine.emit_object(optimised(source, machine, llvm.get_default_triple()))
    write_whole(path, code)
    prune(path.parent, "dshq_*.o")
    return code


_loaded: dict[str, tuple[llvm.ExecutionEngine, dict[str, int]]] = {}
"""Digest of LLVM code -> what keeps its machine code in memory, and the addresses of its functions."""
_turn = threading.Lock()
"""Two threads that loaded the same code would drop each other's."""


def addresses(source: str, names: Sequence[str]) -> Mapping[str, int]:
    """Where the functions `names` of LLVM code are, compiled for this processor; they stay there as long as the process
    lives. Raises RuntimeError if the code lacks one.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()
    with _turn:
        if digest not in _loaded:
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
            engine.add_object_file(llvm.ObjectFileRef.from_data(_object_code(source)))
            engine.finalize_object()
            _loaded[digest] = engine, {}
        engine, known = _loaded[digest]
        for name in names:
            known[name] = known.get(name) or engine.get_function_address(name)
            if not known[name]:
                raise RuntimeError(f"the LLVM code of these rules has no function {name!r}: compile the drill again")
        return known
