"""sin, cos, atan2, exp and small helpers in the rules' own language: only + - * / and selects, so every back end
gives the same bits.

Polynomials and argument splits are those of the Cephes library (S. Moshier: sinf.c, atanf.c, expf.c); errors measured
against float64 in tests/kernels/test_maths.py.
"""

from __future__ import annotations

from dshq_kernels.language.subset import rule

PI = 3.14159265358979323846
HALF_PI = 1.57079632679489661923
TWO_OVER_PI = 0.63661977236758134308


@rule
def clamp(x, low, high):
    return min(max(x, low), high)


@rule
def sign(x):
    """1 for x >= 0, else -1."""
    return 1.0 if x >= 0.0 else -1.0


@rule
def signum(x):
    """1 for x > 0, -1 for x < 0, else 0: `numpy.sign`."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@rule
def length(x, y):
    return sqrt(x * x + y * y)  # noqa: F821  (a built-in of the rules language)


@rule
def sin_cos(x):
    """(sin x, cos x) for |x| below about 8000; absolute error below 2e-7 for |x| < 100."""
    k = floor(x * TWO_OVER_PI + 0.5)  # noqa: F821
    r = ((x - k * 1.5703125) - k * 4.837512969970703125e-4) - k * 7.54978995489188216e-8
    z = r * r
    s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4))
    c = 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5))
    quadrant = int(k) & 3
    swap = (quadrant & 1) == 1
    a = c if swap else s
    b = s if swap else c
    return (-a if quadrant >= 2 else a), (-b if quadrant == 1 or quadrant == 2 else b)


@rule
def sin(x):
    s, c = sin_cos(x)
    return s


@rule
def cos(x):
    s, c = sin_cos(x)
    return c


@rule
def atan2(y, x):
    """Angle of (x, y) in [-pi, pi]; atan2(0, 0) = 0; error below 3e-7."""
    ax = abs(x)
    ay = abs(y)
    t = min(ax, ay) / max(max(ax, ay), 1e-30)
    far = t > 0.41421356237
    t = (t - 1.0) / (t + 1.0) if far else t
    z = t * t
    p = (((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * t + t
    p = p + 0.78539816339 if far else p
    p = HALF_PI - p if ay > ax else p
    p = PI - p if x < 0.0 else p
    return -p if y < 0.0 else p


@rule
def exp(x):
    """e^x, x clamped to [-87, 88]; relative error below 3e-7."""
    x = clamp(x, -87.0, 88.0)
    k = floor(x * 1.44269504088896341 + 0.5)  # noqa: F821
    r = (x - k * 0.693359375) + k * 2.12194440e-4
    p = (
        (((1.9875691500e-4 * r + 1.3981999507e-3) * r + 8.3334519073e-3) * r + 4.1665795894e-2) * r + 1.6666665459e-1
    ) * r
    p = (p + 5.0000001201e-1) * r * r + r + 1.0
    n = int(abs(k))
    scale = 2.0 if (n & 1) == 1 else 1.0
    scale = scale * 4.0 if (n & 2) == 2 else scale
    scale = scale * 16.0 if (n & 4) == 4 else scale
    scale = scale * 256.0 if (n & 8) == 8 else scale
    scale = scale * 65536.0 if (n & 16) == 16 else scale
    scale = scale * 4294967296.0 if (n & 32) == 32 else scale
    scale = scale * 18446744073709551616.0 if (n & 64) == 64 else scale
    return p / scale if k < 0.0 else p * scale
