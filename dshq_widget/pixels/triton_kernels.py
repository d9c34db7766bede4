"""Triton kernels; importing this needs Triton."""

import triton
import triton.language as tl


@triton.jit
def unpack_kernel(source, target, n, block: tl.constexpr):
    """Pixel k of `target` from byte k // 4 of `source`; `n` pixels."""
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    inside = pixel < n
    byte = tl.load(source + pixel // 4, mask=inside, other=0).to(tl.uint32)
    tl.store(target + pixel, ((byte >> ((pixel % 4) * 2)) & 3).to(tl.uint8), mask=inside)
