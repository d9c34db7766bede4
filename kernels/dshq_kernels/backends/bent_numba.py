"""numba, bent in this process: it lowers every function for wasm32 instead of the processor, from types to memory
layout, keeps the LLVM code as it is, and neither runs nor caches anything.

The only file that reaches into numba's compiler (simd/kept.py and simd/shipped.py reach into its cache). Written for
the releases that simd/releases.py names.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import caching, codegen

from dshq_kernels.backends.wasm_target import FEATURES, TRIPLE, machine_for


class _Library(codegen.JITCodeLibrary):
    """A function and all that it calls, as LLVM code that is neither optimised nor turned into machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """All functions are optimised together, later."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Numba asks for it before it is done with a function; nobody calls it."""
        self._ensure_finalized()
        return 1


class _Codegen(codegen.JITCPUCodegen):
    """numba's code generator with a 32-bit WebAssembly machine in place of the processor."""

    _library_class = _Library

    def _init(self, llvm_module: Any) -> None:
        self._tm_features = FEATURES
        self._tm = machine_for(FEATURES)
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)
        self._loopvect, self._opt_level = False, 0

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = TRIPLE
        return module

    def set_env(self, env_name: str, env: object) -> None:
        """No function here has Python objects."""


def bend() -> None:
    """From here on numba compiles for WebAssembly. To be called before anything is marked `njit`."""
    codegen.JITCPUCodegen = _Codegen
    numba.config.CPU_FEATURES = FEATURES  # simd/target.py asks for them
    caching.Cache.load_overload = lambda self, sig, target_context: None
    caching.Cache.save_overload = lambda self, sig, data: None
