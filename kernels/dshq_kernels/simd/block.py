"""The matrix multiplication kernel: a block of 8 x 32 outputs, held in registers (whole or in parts) while it loops
over the depth.

The register blocking of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008; on one
AVX-512 core it reaches 220 of 256 GFLOP/s (measured on 28-64-64-31 without activations).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from dshq_kernels.simd import target, vector
from dshq_kernels.simd.elementary import VECTOR, constant, emit_relu, emit_relu_slope, emit_tanh, emit_tanh_slope

_F32, _I64 = ir.FloatType(), ir.IntType(64)
_ROWS, _COLUMNS = 8, 2
_PART = (8, 2) if target.has("avx512f") else (4, 1)
"""Rows and columns (of 16) whose sums are in registers at once: 16 of AVX-512's 32, 8 of AVX2's 16, 16 of NEON's 32."""


def _make_block(doc: str, *, rows_adjacent: bool, start: str, finish: str) -> Any:
    """An intrinsic `block(a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation)`.

    c[r, n] = finish(start + sum over k < depth of a[r, k] b[k, n]) for 8 rows r and 32 columns n, the columns as two
    vectors `half` bytes apart. Addresses and strides in bytes. `a_stride` steps k if `rows_adjacent` (neighbouring
    rows are neighbouring floats), else it steps r. `start`: "row bias" / "column bias" (8 or 32 floats at `extra`),
    "zero" or "c" (adds to c). `finish`: "activate", "slope" (times the activation's derivative, where its outputs lie
    at `extra` as c lies at c), "keep".
    """

    @vector.intrinsic
    def block(typingctx, a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation):
        def lower(context, builder, sig, args):
            a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation = args
            whole = lambda value: ir.Constant(_I64, value)  # noqa: E731

            def vector_at(address):
                value = builder.load(builder.inttoptr(address, VECTOR.as_pointer()))
                value.align = 4
                return value

            def spread_at(address):
                return vector._splat(builder, builder.load(builder.inttoptr(address, _F32.as_pointer())), VECTOR)

            def place(base, row, column):
                column_offset = c_half if column else whole(0)
                return builder.add(builder.add(base, builder.mul(whole(row), c_stride)), column_offset)

            def first(row, column):
                if start == "zero":
                    return constant(0.0)
                if start == "c":
                    return vector_at(place(c, row, column))
                if start == "row bias":
                    return spread_at(builder.add(extra, whole(4 * row)))
                return vector_at(builder.add(extra, whole(64 * column)))

            def part(rows, columns):
                cells = [(row, column) for row in rows for column in columns]
                sums = {cell: cgutils.alloca_once(builder, VECTOR) for cell in cells}
                for cell in cells:
                    builder.store(first(*cell), sums[cell])
                a_rows = {
                    r: builder.add(a, whole(4 * r) if rows_adjacent else builder.mul(whole(r), a_stride)) for r in rows
                }
                with cgutils.for_range(builder, depth) as loop:
                    a_step = builder.mul(loop.index, a_stride if rows_adjacent else whole(4))
                    b_row = builder.add(b, builder.mul(loop.index, b_stride))
                    right = {n: vector_at(builder.add(b_row, b_half) if n else b_row) for n in columns}
                    for row in rows:
                        factor = spread_at(builder.add(a_rows[row], a_step))
                        for column in columns:
                            cell = sums[row, column]
                            builder.store(
                                vector._library(builder, "fma", factor, right[column], builder.load(cell)), cell
                            )
                for code, emit in emitters[finish]:
                    with builder.if_then(builder.icmp_signed("==", activation, whole(code))):
                        for cell in cells:
                            known = [vector_at(place(extra, *cell))] if finish == "slope" else []
                            builder.store(emit(builder, builder.load(sums[cell]), *known), sums[cell])
                for cell in cells:
                    builder.store(
                        builder.load(sums[cell]), builder.inttoptr(place(c, *cell), VECTOR.as_pointer())
                    ).align = 4

            emitters: dict[str, tuple[tuple[int, Callable[..., Any]], ...]] = {
                "activate": ((1, emit_tanh), (2, emit_relu)),
                "slope": ((1, emit_tanh_slope), (2, emit_relu_slope)),
                "keep": (),
            }
            for row in range(0, _ROWS, _PART[0]):
                for column in range(0, _COLUMNS, _PART[1]):
                    part(range(row, row + _PART[0]), range(column, column + _PART[1]))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 11), lower

    block.__doc__ = doc
    return block


play_block = _make_block(
    "outputs as rows, 32 games as columns", rows_adjacent=True, start="row bias", finish="activate"
)
forward_block = _make_block(
    "samples as rows, outputs as columns", rows_adjacent=False, start="column bias", finish="activate"
)
input_slope_block = _make_block("samples as rows, inputs as columns", rows_adjacent=False, start="zero", finish="slope")
weight_slope_block = _make_block("inputs as rows, outputs as columns", rows_adjacent=True, start="c", finish="keep")
add_block = _make_block("samples as rows, added to outputs as columns", rows_adjacent=False, start="c", finish="keep")
