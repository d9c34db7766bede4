"""Vectors of 16 lanes, memory and calls by address, and atomics, as words of numba's compiled Python.

`f32x16`, `u32x16` and `mask16` are values inside `@njit` functions: they add, multiply and compare with each other
and with scalars, and LLVM turns them into whatever the machine has (AVX-512, AVX2, NEON). They live in local
variables only; numpy never sees them. Addresses are plain int64 bytes, so that one compiled function, cached on disk,
serves every drill and every network shape. Nothing here checks a bound: callers own their memory.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit
from numba.core import cgutils, types
from numba.core.types.containers import Tuple, UniTuple
from numba.core.types.misc import unliteral
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from dshq_kernels.simd import kept, shipped
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.system_calls import YIELD_THREAD

kept.register()
intrinsic: Any = extending.intrinsic  # Any: callers do not pass the typing context that a type checker sees


def compiled(function: Callable[..., Any]) -> Any:
    """`@njit` without the GIL, kept on disk (simd/kept.py), and compiled once for all callers: see `plain`."""
    made = njit(nogil=True, error_model="numpy", cache=True)(function)
    template = made.get_call_template
    made.get_call_template = lambda args, kws: template([plain(kind) for kind in args], kws)
    return made


def plain(kind: Any) -> Any:
    """The numba type that a compiled function takes for an argument: a constant's is that of any other number, and an
    address is an int64. numba would compile the function again for a caller that passes 0, or an array's address.
    """
    kind = unliteral(kind)
    if isinstance(kind, (Tuple, UniTuple)):  # a named tuple keeps its names
        return Tuple([plain(part) for part in kind])
    return types.int64 if kind == types.uint64 else kind


_I1, _I32, _I64, _F32 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.FloatType()
_V_F32, _V_U32, _V_MASK = (ir.VectorType(element, LANES) for element in (_F32, _I32, _I1))


class LanesType(types.Type):
    """The numba type of a vector of 16 `element`s."""

    def __init__(self, element: str, llvm: ir.VectorType):
        self.element, self.llvm = element, llvm
        super().__init__(name=f"{element}x{LANES}")


f32x16 = LanesType("f32", _V_F32)
u32x16 = LanesType("u32", _V_U32)
mask16 = LanesType("mask", _V_MASK)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.llvm)


def _splat(builder, scalar, llvm):
    one = builder.insert_element(ir.Constant(llvm, ir.Undefined), scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(llvm, ir.Undefined), zeros)


def _lanes(context, builder, value, source, target):
    """`value` as a vector of numba type `target`: itself, or a scalar spread over the lanes."""
    if isinstance(source, LanesType):
        return value
    scalar = context.cast(builder, value, source, types.float32 if target is f32x16 else types.uint32)
    return _splat(builder, scalar, target.llvm)


def _library(builder, name, *args):
    """Calls the LLVM intrinsic `llvm.NAME.v16f32` on vectors."""
    kind = ir.FunctionType(_V_F32, [_V_F32] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v16f32"), args)


def _compare(builder, symbol, a, b):
    return builder.fcmp_ordered(symbol, a, b) if a.type == _V_F32 else builder.icmp_unsigned(symbol, a, b)


_ARITHMETIC = {
    operator.add: {f32x16: "fadd", u32x16: "add"},
    operator.sub: {f32x16: "fsub", u32x16: "sub"},
    operator.mul: {f32x16: "fmul", u32x16: "mul"},
    operator.truediv: {f32x16: "fdiv"},
    operator.xor: {u32x16: "xor", mask16: "xor"},
    operator.and_: {u32x16: "and_", mask16: "and_"},
    operator.or_: {u32x16: "or_", mask16: "or_"},
    operator.lshift: {u32x16: "shl"},
    operator.rshift: {u32x16: "lshr"},
}
_COMPARISONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _register(function, kinds, result, emit):
    """Register `function(a, b)` with numba if one or both are one of `kinds` and the other may be a scalar."""

    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            vectors = {arg for arg in args if isinstance(arg, LanesType)}
            if len(args) != 2 or len(vectors) != 1 or not vectors <= set(kinds):
                return None
            kind = vectors.pop()
            if not all(arg is kind or (isinstance(arg, types.Number) and kind is not mask16) for arg in args):
                return None
            return signature(result or kind, *args)

    def lower(context, builder, sig, args):
        kind = next(arg for arg in sig.args if isinstance(arg, LanesType))
        return emit(builder, kind, *(_lanes(context, builder, v, t, kind) for v, t in zip(args, sig.args, strict=True)))

    for pair in ((LanesType, LanesType), (LanesType, types.Number), (types.Number, LanesType)):
        lower_builtin(function, *pair)(lower)


for _function, _methods in _ARITHMETIC.items():
    _register(
        _function,
        tuple(_methods),
        None,
        lambda builder, kind, a, b, methods=_methods: getattr(builder, methods[kind])(a, b),
    )
for _function, _symbol in _COMPARISONS.items():
    _register(
        _function, (f32x16, u32x16), mask16, lambda builder, kind, a, b, symbol=_symbol: _compare(builder, symbol, a, b)
    )


@intrinsic
def splat(typingctx, x):
    """f32x16 with the scalar `x` in every lane."""
    return f32x16(x), lambda context, builder, sig, args: _lanes(context, builder, args[0], sig.args[0], f32x16)


@intrinsic
def splat_u32(typingctx, x):
    """u32x16 with the scalar `x` in every lane."""
    return u32x16(x), lambda context, builder, sig, args: _lanes(context, builder, args[0], sig.args[0], u32x16)


@intrinsic
def lane_numbers(typingctx):
    """u32x16 of 0, 1, ... 15."""
    return u32x16(), lambda context, builder, sig, args: ir.Constant(_V_U32, list(range(LANES)))


@intrinsic
def fma(typingctx, a, b, c):
    """a * b + c with one rounding, lane by lane; scalars are spread."""

    def lower(context, builder, sig, args):
        return _library(
            builder, "fma", *(_lanes(context, builder, v, t, f32x16) for v, t in zip(args, sig.args, strict=True))
        )

    return f32x16(a, b, c), lower


def _two(name, doc):
    @intrinsic
    def function(typingctx, a, b):
        def lower(context, builder, sig, args):
            return _library(
                builder, name, *(_lanes(context, builder, v, t, f32x16) for v, t in zip(args, sig.args, strict=True))
            )

        return f32x16(a, b), lower

    function.__doc__ = doc
    return function


def _one(name, doc):
    @intrinsic
    def function(typingctx, a):
        return f32x16(a), lambda context, builder, sig, args: _library(builder, name, args[0])

    function.__doc__ = doc
    return function


minimum = _two("minnum", "The smaller of a and b in each lane (the other one if one is NaN).")
maximum = _two("maxnum", "The larger of a and b in each lane (the other one if one is NaN).")
sqrt = _one("sqrt", "Square root in each lane.")
absolute = _one("fabs", "Magnitude in each lane.")


@intrinsic
def select(typingctx, mask, a, b):
    """`a` where `mask`, else `b`; a scalar is spread to the other's kind, two scalars make a f32x16."""
    kind = next((value for value in (a, b) if isinstance(value, LanesType)), f32x16)

    def lower(context, builder, sig, args):
        return builder.select(
            args[0],
            _lanes(context, builder, args[1], sig.args[1], kind),
            _lanes(context, builder, args[2], sig.args[2], kind),
        )

    return kind(mask, a, b), lower


@intrinsic
def any_lane(typingctx, mask):
    """Whether any lane of a mask16 is set."""

    def lower(context, builder, sig, args):
        word = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))

    return types.boolean(mask), lower


@intrinsic
def to_f32(typingctx, a):
    """u32x16 below 2^31 as f32x16, by value."""
    return f32x16(a), lambda context, builder, sig, args: builder.sitofp(args[0], _V_F32)


@intrinsic
def bits_to_f32(typingctx, a):
    """u32x16 read as IEEE 754 bits."""
    return f32x16(a), lambda context, builder, sig, args: builder.bitcast(args[0], _V_F32)


@intrinsic
def bits_to_u32(typingctx, a):
    """The IEEE 754 bits of a f32x16."""
    return u32x16(a), lambda context, builder, sig, args: builder.bitcast(args[0], _V_U32)


@intrinsic
def lane_sum(typingctx, a):
    """Sum of the 16 lanes of a f32x16, as float32, by halves: the same order on every machine."""

    def lower(context, builder, sig, args):
        value, width = args[0], LANES
        while width > 1:
            width //= 2
            pick = [ir.Constant(ir.VectorType(_I32, width), list(range(start, start + width))) for start in (0, width)]
            value = builder.fadd(
                *(builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), p) for p in pick)
            )
        return builder.extract_element(value, ir.Constant(_I32, 0))

    return types.float32(a), lower


def _at(builder, address, llvm):
    return builder.inttoptr(address, llvm.as_pointer())


def _vector_memory(kind):
    @intrinsic
    def load(typingctx, address):
        def lower(context, builder, sig, args):
            value = builder.load(_at(builder, args[0], kind.llvm))
            value.align = 4
            return value

        return kind(types.int64), lower

    @intrinsic
    def store(typingctx, address, value):
        def lower(context, builder, sig, args):
            builder.store(
                _lanes(context, builder, args[1], sig.args[1], kind), _at(builder, args[0], kind.llvm)
            ).align = 4
            return context.get_dummy_value()

        return types.void(types.int64, value), lower

    return load, store


load, store = _vector_memory(f32x16)
load_u32, store_u32 = _vector_memory(u32x16)


def _scalar_memory(kind, llvm):
    @intrinsic
    def load(typingctx, address):
        def lower(context, builder, sig, args):
            value = builder.load(_at(builder, args[0], llvm))
            value.align = 4
            return value

        return kind(types.int64), lower

    @intrinsic
    def store(typingctx, address, value):
        def lower(context, builder, sig, args):
            builder.store(context.cast(builder, args[1], sig.args[1], kind), _at(builder, args[0], llvm)).align = 4
            return context.get_dummy_value()

        return types.void(types.int64, value), lower

    return load, store


peek_f32, poke_f32 = _scalar_memory(types.float32, _F32)
peek_i32, poke_i32 = _scalar_memory(types.int32, _I32)
peek_i64, _ = _scalar_memory(types.int64, _I64)


@intrinsic
def copy_bytes(typingctx, target, source, count):
    """memcpy of `count` bytes between two addresses that do not overlap."""

    def lower(context, builder, sig, args):
        byte = ir.IntType(8)
        cgutils.raw_memcpy(builder, _at(builder, args[0], byte), _at(builder, args[1], byte), args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), lower


@intrinsic
def call(typingctx, function, a):
    """Calls the C function `void(i64)` at an address."""

    def lower(context, builder, sig, args):
        builder.call(_at(builder, args[0], ir.FunctionType(ir.VoidType(), [_I64])), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), lower


@intrinsic
def call2(typingctx, function, a, b):
    """Calls the C function `void(i64, i64)` at an address."""

    def lower(context, builder, sig, args):
        builder.call(_at(builder, args[0], ir.FunctionType(ir.VoidType(), [_I64, _I64])), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), lower


@intrinsic
def call_with(typingctx, function, arguments):
    """Calls the C function at an address with a tuple of integers, each as an i64."""
    kinds = list(arguments)

    def lower(context, builder, sig, args):
        values = cgutils.unpack_tuple(builder, args[1], len(kinds))
        words = [context.cast(builder, *pair, types.int64) for pair in zip(values, kinds, strict=True)]
        builder.call(_at(builder, args[0], ir.FunctionType(ir.VoidType(), [_I64] * len(words))), words)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), lower


@intrinsic
def transpose(typingctx, source, source_stride, target, target_stride, rows):
    """Writes the transpose of a 16 x 16 block of float32; strides in bytes; of the source only `rows` (0..16) are
    read, the rest counts as zero."""

    def lower(context, builder, sig, args):
        source, source_stride, target, target_stride, rows = args
        nothing = cgutils.alloca_once_value(builder, ir.Constant(_V_F32, [0.0] * LANES))
        block = []
        for row in range(LANES):
            number = ir.Constant(_I64, row)
            place = builder.add(source, builder.mul(number, source_stride))
            inside = builder.icmp_signed("<", number, rows)
            block.append(builder.load(builder.select(inside, _at(builder, place, _V_F32), nothing)))
            block[-1].align = 4
        step = LANES // 2
        while step:
            for row in (r for r in range(LANES) if not r & step):
                a, b = block[row], block[row + step]
                low = [LANES + lane - step if lane & step else lane for lane in range(LANES)]
                high = [LANES + lane if lane & step else lane + step for lane in range(LANES)]
                block[row], block[row + step] = (
                    builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, LANES), pick)) for pick in (low, high)
                )
            step //= 2
        for row in range(LANES):
            place = builder.add(target, builder.mul(ir.Constant(_I64, row), target_stride))
            builder.store(block[row], _at(builder, place, _V_F32)).align = 4
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), lower


@intrinsic
def atomic_add(typingctx, address, amount):
    """Adds to the int64 at an address in one step; the value before."""

    def lower(context, builder, sig, args):
        return builder.atomic_rmw("add", _at(builder, args[0], _I64), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), lower


@intrinsic
def prefetch(typingctx, address):
    """Prefetch the cache line at `address`; it does not wait, and any address is harmless."""

    def lower(context, builder, sig, args):
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        read, keep, data = ir.Constant(_I32, 0), ir.Constant(_I32, 3), ir.Constant(_I32, 1)
        builder.call(function, [builder.inttoptr(args[0], byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(types.int64), lower


@intrinsic
def yield_thread(typingctx):
    """Lets another thread run on this core."""

    def lower(context, builder, sig, args):
        yields = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_I32, []), YIELD_THREAD)
        builder.call(yields, [])
        return context.get_dummy_value()

    return types.void(), lower


def aligned(shape, dtype=np.float32) -> np.ndarray:
    """A zeroed C-contiguous array aligned to 64 bytes, so that no vector straddles two cache lines."""
    dtype = np.dtype(dtype)
    count = math.prod(shape) if isinstance(shape, tuple) else int(shape)
    raw = np.zeros(count * dtype.itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


shipped.unpack(shipped.KERNELS, Path(__file__), kept.SOURCES)
