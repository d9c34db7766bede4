"""The processor that numba compiles for: this one, unless NUMBA_CPU_FEATURES names another one's features."""

from __future__ import annotations

import llvmlite.binding as llvm
import numba


def has(feature: str) -> bool:
    """Whether compiled code may use `feature`, by LLVM's name for it ("avx512f")."""
    chosen = numba.config.CPU_FEATURES
    return f"+{feature}" in chosen.split(",") if chosen is not None else bool(llvm.get_host_cpu_features().get(feature))
