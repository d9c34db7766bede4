"""WebAssembly as LLVM's target: what modules may use, and the machine that writes their object files."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext,+mutable-globals"
RELAXED = "+relaxed-simd"


class Refused(RuntimeError):
    """A sentence for whoever asked."""


def features(relaxed: bool) -> str:
    """LLVM's names of what the module may use: 128-bit vectors, or also the relaxed ones."""
    return f"{FEATURES},{RELAXED}" if relaxed else FEATURES


def machine_for(features: str) -> Any:
    """LLVM's WebAssembly machine. Raises Refused if this llvmlite has none."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise Refused(f"this llvmlite ({llvm.llvm_version_info}) cannot write WebAssembly: {error}") from error
    return target.create_target_machine(cpu="generic", features=features, opt=3, reloc="static", codemodel="default")
