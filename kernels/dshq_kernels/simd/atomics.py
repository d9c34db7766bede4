"""Atomic loads, stores and fences on 8-byte words, for memory that several processes share.

Numba has no CPU atomics, so these are thin `@intrinsic`s over LLVM's `load atomic`, `store atomic` and `fence`. They
work inside `@njit` code only. An address is an int64, a multiple of 8, in mapped memory: nothing is checked. Orders
carry their C11 names; LLVM calls `relaxed` `monotonic` (LLVM Language Reference, "Atomic Memory Ordering
Constraints").
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORD = ir.IntType(64)
WORD_BYTES = 8

atomic: Any = intrinsic  # Any, because callers do not pass the typing context that a type checker sees below


def _load(order):
    def codegen(context, builder, signature, args):
        return builder.load_atomic(builder.inttoptr(args[0], WORD.as_pointer()), order, WORD_BYTES)

    return types.int64(types.int64), codegen


def _store(order):
    def codegen(context, builder, signature, args):
        builder.store_atomic(args[1], builder.inttoptr(args[0], WORD.as_pointer()), order, WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _fence(order):
    def codegen(context, builder, signature, args):
        builder.fence(order)
        return context.get_dummy_value()

    return types.void(), codegen


@atomic
def load_acquire(typing, address):
    """The int64 at `address`; what its writer stored before a matching `store_release` is visible afterwards."""
    return _load("acquire")


@atomic
def load_relaxed(typing, address):
    """The int64 at `address`, whole, with no order towards other memory."""
    return _load("monotonic")


@atomic
def store_release(typing, address, value):
    """Writes the int64 `value` to `address` after everything that this thread wrote before."""
    return _store("release")


@atomic
def store_relaxed(typing, address, value):
    """Writes the int64 `value` to `address`, whole, with no order towards other memory."""
    return _store("monotonic")


@atomic
def fence_acquire(typing):
    """No later access moves before an earlier load."""
    return _fence("acquire")


@atomic
def fence_release(typing):
    """No earlier access moves after a later store."""
    return _fence("release")
