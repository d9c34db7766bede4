"""numba, bent in this process: it lowers every function for wasm32 instead of the processor, from types to memory
layout, keeps the LLVM code as it is, and neither links nor runs nor caches anything.

The only file that reaches into numba's compiler (simd/kept.py and simd/shipped.py reach into its cache). Written for
the releases that simd/releases.py names.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numba
from numba.core import bytecode, caching, codegen
from numba.core.dispatcher import Dispatcher

from dshq_kernels.backends.wasm_target import FEATURES, TRIPLE, machine_for

FIRST, OWN = 1 << 32, 1 << 48
"""Numbers that numba's names of functions have: of what this process alone knows, from `FIRST * (1 + share)` on; of a
module's functions, from `OWN` on."""


class _Library(codegen.JITCodeLibrary):
    """One function as LLVM code that is neither optimised nor turned into machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """numba links all that a function calls into it, and that again into its callers; `with_callees` is enough."""
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


def with_callees(function: Any, seen: set[Any]) -> Iterator[tuple[Any, str]]:
    """The LLVM module of a C function (numba's `cfunc`) and those of all that it calls, each once, without those that
    are among `seen`, which grows.
    """
    waiting = [function._library]
    while waiting:
        library = waiting.pop()
        if library not in seen:
            seen.add(library)
            yield library._final_module
            waiting += reversed(library._linking_libraries)


def _identity(cls: Any, function: Any) -> Any:
    """Who a function is. Even the same one has another number in numba's names in another process; a compiled function
    of a module gets the number of its name, so that what several processes have lowered fits together. A function that
    Python calls, too (`register_jitable`), may be compiled several times in one process, and keeps its numbers.
    """
    self = _from_function(cls, function)
    found = getattr(self.module, self.func_qualname, None)
    if isinstance(found, Dispatcher) and found.py_func is self.func:
        name = f"{self.modname}.{self.func_qualname}"
        self.unique_id = OWN + int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
        self.unique_name = f"{self.func_qualname}${self.unique_id}"
    return self


_from_function = bytecode.FunctionIdentity.from_function.__func__


def bend(share: int = 0) -> None:
    """From here on numba compiles for WebAssembly. To be called before anything is marked `njit`. `share`: which of the
    processes this is that share the work.
    """
    codegen.JITCPUCodegen = _Codegen
    bytecode.FunctionIdentity._unique_ids = itertools.count(FIRST * (1 + share))
    bytecode.FunctionIdentity.from_function = classmethod(_identity)
    numba.config.CPU_FEATURES = FEATURES  # simd/target.py asks for them
    caching.Cache.load_overload = lambda self, sig, target_context: None
    caching.Cache.save_overload = lambda self, sig, data: None
