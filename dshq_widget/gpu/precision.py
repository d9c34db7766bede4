"""The precision of torch's matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def products(precision: str) -> Iterator[None]:
    """Matrix products of float32 numbers in this precision; torch has one such setting for the process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
