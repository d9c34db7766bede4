"""Elementary functions of 16 lanes: exp and log for compiled Python, activations as LLVM that the multiplying block
emits."""

from __future__ import annotations

from llvmlite import ir
from numba import njit

from dshq_kernels.simd import vector
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import f32x16, fma, maximum, minimum, select

VECTOR = f32x16.llvm

TANH_LIMIT = 8.0
TANH_P = (0.9999990463256836, 0.12699781358242035, 0.0026844951789826155, 7.083449418132659e-06, -6.019992060402046e-09)
TANH_Q = (1.0, 0.46032774448394775, 0.022797390818595886, 0.00019529907149262726)
"""tanh(x) = x P(x^2) / Q(x^2) for |x| <= 8, constant beyond: fitted for this file by reweighted least squares; the
largest error against the true tanh is 5e-7, rounding included (measured over 2 million points in -12..12)."""

ROUNDER = 1.5 * 2.0**23
"""Adding this to a small number rounds it to a whole number, which is then in the lowest bits of the sum."""


def constant(value):
    return ir.Constant(VECTOR, [value] * LANES)


def emit_tanh(builder, x):
    fused = lambda a, b, c: vector._library(builder, "fma", a, b, c)  # noqa: E731
    x = vector._library(
        builder, "minnum", vector._library(builder, "maxnum", x, constant(-TANH_LIMIT)), constant(TANH_LIMIT)
    )
    square = builder.fmul(x, x)
    parts = []
    for coefficients in (TANH_P, TANH_Q):
        value = constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = fused(value, square, constant(coefficient))
        parts.append(value)
    return builder.fdiv(builder.fmul(x, parts[0]), parts[1])


def emit_relu(builder, x):
    return vector._library(builder, "maxnum", x, constant(0.0))


def emit_tanh_slope(builder, slope, y):
    return builder.fmul(slope, vector._library(builder, "fma", builder.fneg(y), y, constant(1.0)))


def emit_relu_slope(builder, slope, y):
    return builder.select(builder.fcmp_ordered(">", y, constant(0.0)), slope, constant(0.0))


@njit(inline="always")
def exp(x):
    """e^x of a f32x16, relative error 2e-7 (measured) in -87..87, clamped beyond: 2^n times the Taylor series on |r|
    <= ln(2)/2."""
    x = minimum(maximum(x, -87.0), 87.0)
    shifted = fma(x, 1.4426950408889634, ROUNDER)
    n = shifted - ROUNDER
    r = fma(n, -0.693359375, x)
    r = fma(n, 2.12194440e-4, r)  # ln 2 in two parts (Cody and Waite, 1980), so that n ln 2 loses nothing
    y = fma(r, 1 / 720, 1 / 120)
    y = fma(y, r, 1 / 24)
    y = fma(y, r, 1 / 6)
    y = fma(y, r, 0.5)
    y = fma(y, r, 1.0)
    y = fma(y, r, 1.0)
    return vector.bits_to_f32(vector.bits_to_u32(y) + (vector.bits_to_u32(shifted) << 23))


@njit(inline="always")
def tanh(x):
    """tanh of a f32x16, as the activations have it."""
    x = minimum(maximum(x, -TANH_LIMIT), TANH_LIMIT)
    square = x * x
    above = fma(square, TANH_P[4], TANH_P[3])
    above = fma(fma(fma(above, square, TANH_P[2]), square, TANH_P[1]), square, TANH_P[0])
    below = fma(fma(fma(square, TANH_Q[3], TANH_Q[2]), square, TANH_Q[1]), square, TANH_Q[0])
    return x * above / below


@njit(inline="always")
def sigmoid(x):
    """1 / (1 + e^-x) of a f32x16, by tanh(x / 2)."""
    return fma(tanh(x * 0.5), 0.5, 0.5)


@njit(inline="always")
def log(x):
    """Natural logarithm of a positive, normal f32x16, error 2e-7 (measured): 2 artanh((m - 1) / (m + 1)) with m in
    0.7..1.4."""
    bits = vector.bits_to_u32(x)
    exponent = vector.to_f32((bits >> 23) & 255) - 127.0
    m = vector.bits_to_f32((bits & 0x7FFFFF) | 0x3F800000)
    large = m > 1.4142135
    m = select(large, m * 0.5, m)
    exponent = select(large, exponent + 1.0, exponent)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = fma(fma(fma(fma(q, 1 / 9, 1 / 7), q, 1 / 5), q, 1 / 3), q, 1.0)
    return fma(exponent, 0.6931471805599453, s * series * 2.0)
