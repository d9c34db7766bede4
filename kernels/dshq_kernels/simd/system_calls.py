"""What machine code calls of the operating system, under one name on every system: no code depends on which it is."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding as llvm

YIELD_THREAD = "dshq_yield_thread"
"""An i32 function without arguments: lets another thread run on this core."""


def _yield_thread() -> Any:
    """POSIX sched_yield(2), or Windows' SwitchToThread, which its C runtime does not have."""
    if sys.platform == "win32":
        return ctypes.WinDLL("kernel32").SwitchToThread
    return ctypes.CDLL(None).sched_yield


llvm.add_symbol(YIELD_THREAD, ctypes.cast(_yield_thread(), ctypes.c_void_p).value)
