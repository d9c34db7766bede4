"""What generated CUDA rules are written with: words of the state as numbers, and operations that round to float32 once
and are never fused.

`fadd_rn` and its like are PTX's `add.rn`, `mul.rn`, ...: the assembler may not contract them to a fused multiply-add,
so every thread gives the bits of the other back ends (CUDA C++ Programming Guide, "Intrinsic Functions"). In numba's
simulator (NUMBA_ENABLE_CUDASIM=1 before numba is imported) the same names are NumPy's scalars.
"""

from __future__ import annotations

import operator

import numpy as np
from numba import config, cuda
from numba.extending import register_jitable

from dshq_kernels.backends import lanes

SIMULATED = bool(config.ENABLE_CUDASIM)
u32, i32, f32 = np.uint32, np.int32, np.float32

if SIMULATED:

    def select(test, a, b):
        return a if test else b

    def real(word):
        return u32(word).view(f32)

    def real_word(x):
        return f32(x).view(u32)

    add, subtract, multiply, divide = operator.add, operator.sub, operator.mul, operator.truediv
    square_root, floor, absolute = np.sqrt, np.floor, np.abs
else:
    from numba.cuda import libdevice

    select = lanes.select
    add, subtract, multiply, divide = libdevice.fadd_rn, libdevice.fsub_rn, libdevice.fmul_rn, libdevice.fdiv_rn
    square_root, floor, absolute = libdevice.fsqrt_rn, libdevice.floorf, libdevice.fabsf

    @register_jitable
    def real(word):
        return libdevice.int_as_float(i32(word))

    @register_jitable
    def real_word(x):
        return u32(libdevice.float_as_int(x))


@register_jitable
def mix(x):
    x = u32(u32(x ^ u32(x >> u32(16))) * u32(0x7FEB352D))
    x = u32(u32(x ^ u32(x >> u32(15))) * u32(0x846CA68B))
    return u32(x ^ u32(x >> u32(16)))


@register_jitable
def hash32(key, count):
    """The generator's word for (key, count): see rng.py. u32, u32 -> u32."""
    first = mix(u32(u32(count * u32(0x9E3779B9)) + key))
    return mix(u32(first ^ u32(u32(key * u32(0x85EBCA6B)) + u32(0x27D4EB2F))))


@register_jitable
def emit(out, count, t, kind, colour, x, y, a, b, c, d, e, alpha, tag, spare):
    """Append a shape to game t's of f32 `[scene_max, 12, n]` if there is room; returns the new count."""
    if count < out.shape[0]:
        shape = out[count]
        shape[0, t], shape[1, t], shape[2, t], shape[3, t], shape[4, t], shape[5, t] = kind, colour, x, y, a, b
        shape[6, t], shape[7, t], shape[8, t], shape[9, t], shape[10, t], shape[11, t] = c, d, e, alpha, tag, spare
        count += 1
    return count


@cuda.jit
def allow_some(mask):
    """Where u8 `[sides, n_actions, n]` allows a game's side nothing, it then allows everything."""
    t = cuda.grid(1)
    if t < mask.shape[2]:
        for side in range(mask.shape[0]):
            count = 0
            for k in range(mask.shape[1]):
                count += 1 if mask[side, k, t] != 0 else 0  # a sum of u8 would wrap beyond 255
            if count == 0:
                for k in range(mask.shape[1]):
                    mask[side, k, t] = 1


@cuda.jit
def pick(actions, mask):
    """Turns 24 random bits in i32 `[sides, n]` into one of the actions that the mask allows, as `random_int` would."""
    t = cuda.grid(1)
    if t < mask.shape[2]:
        for side in range(mask.shape[0]):
            count = 0
            for k in range(mask.shape[1]):
                count += 1 if mask[side, k, t] != 0 else 0  # a sum of u8 would wrap beyond 255
            share = multiply(multiply(f32(actions[side, t]), f32(2.0**-24)), f32(count))
            left = int(share)
            left = left if left < count else count - 1
            for k in range(mask.shape[1]):
                if mask[side, k, t] != 0:
                    if left == 0:
                        actions[side, t] = k
                    left -= 1
