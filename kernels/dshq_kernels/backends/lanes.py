"""What compiled loops need of a drill's rules: calls of their C functions by address, raw addresses as records, the
generator's word, and states between rows and tiles.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import call2

u32 = np.uint32
ONE = types.void(types.int64)
"""The type of a C function that takes a record's address."""
OPTIONS = {"nopython": True, "error_model": "numpy", "cache": True}
"""numba's, for such a function."""


@intrinsic
def select(typingctx, test, a, b):
    """`a if test else b` as one instruction, where numba's ternary becomes a branch; a and b have one type."""
    if a != b:
        raise TypeError(f"select wants two values of one type, got {a} and {b}")

    def codegen(context, builder, signature, args):
        flag = context.cast(builder, args[0], test, types.boolean)
        return builder.select(builder.trunc(flag, ir.IntType(1)) if flag.type.width > 1 else flag, args[1], args[2])

    return a(test, a, b), codegen


@intrinsic
def record_at(typingctx, address, dtype):
    """The record of NumPy dtype `dtype` that lies at an address."""
    record = dtype.dtype

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(record))

    return record(types.int64, dtype), codegen


@njit(forceinline=True)
def mix(x):
    x = u32(u32(x ^ u32(x >> u32(16))) * u32(0x7FEB352D))
    x = u32(u32(x ^ u32(x >> u32(15))) * u32(0x846CA68B))
    return u32(x ^ u32(x >> u32(16)))


@njit(forceinline=True)
def hash32(key, count):
    """The generator's word for (key, count): see rng.py. u32, u32 -> u32."""
    first = mix(u32(u32(count * u32(0x9E3779B9)) + key))
    return mix(u32(first ^ u32(u32(key * u32(0x85EBCA6B)) + u32(0x27D4EB2F))))


@intrinsic
def pointer(typingctx, address):
    """A `void *` from an address."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), codegen


@intrinsic(prefer_literal=True)
def stack_words(typingctx, count):
    """The address of `count` (a constant) words of the caller's stack, which hold anything until they are written."""
    words = count.literal_value

    def codegen(context, builder, signature, args):
        place = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(32), words))
        return builder.ptrtoint(place, ir.IntType(64))

    return types.int64(count), codegen


@njit(cache=True, nogil=True)
def each_tile(function, tiles, stride, n_tiles, results, result_stride):
    """Call a verb on every tile; tile k's second argument is `results + k * result_stride`. Verbs of one argument
    ignore the second: both are integer registers.
    """
    for k in range(n_tiles):
        call2(function, tiles + k * stride, results + k * result_stride)


@njit(cache=True, nogil=True)
def each_lane(function, tiles, stride, chosen):
    """Call a verb on (tile, lane) wherever `chosen[tile, lane]` is not zero."""
    for k in range(chosen.shape[0]):
        for lane in range(chosen.shape[1]):
            if chosen[k, lane] != 0:
                call2(function, tiles + k * stride, lane)


@njit(cache=True, nogil=True)
def to_lanes(states, rows, tiles):
    """Lane k of u32 `[n_tiles, words, 16]`, counted over all tiles, becomes row `rows[k]` of u32 `[n, words]`."""
    for tile in range(tiles.shape[0]):
        lanes = tiles[tile]
        source = rows[tile * LANES : (tile + 1) * LANES]
        if (source == source[0]).all():
            state = states[source[0]]
            for word in range(lanes.shape[0]):
                lanes[word, :] = state[word]
        else:
            for word in range(lanes.shape[0]):
                for lane in range(LANES):
                    lanes[word, lane] = states[source[lane], word]


@njit(cache=True, nogil=True)
def to_rows(tiles, states, rows):
    """Row `rows[k]` of u32 `[n, words]` becomes lane k of u32 `[n_tiles, words, 16]`; spare lanes are left."""
    for k in range(rows.shape[0]):
        state, lanes = states[rows[k]], tiles[k // LANES]
        for word in range(lanes.shape[0]):
            state[word] = lanes[word, k % LANES]
