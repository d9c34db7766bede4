"""Verifies that a loop on a GPU copies nothing to or from the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

FORBIDDEN = ("memcpy htod", "memcpy dtoh", "memcpyhtod", "memcpydtoh")


@contextmanager
def assert_no_host_memcpy() -> Iterator[None]:
    """`with assert_no_host_memcpy(): loop()`; warm the loop up first, for compiling copies, too.

    Raises AssertionError, naming the copies, for any between host and device, and RuntimeError without a GPU: there
    would be nothing to see.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("torch found no usable CUDA device: there are no copies to count")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        yield
        torch.cuda.synchronize()
    copies = host_copies([event.name for event in profile.events()])
    if copies:
        raise AssertionError(f"{len(copies)} copies between host and device: {', '.join(sorted(set(copies)))}")


def host_copies(names: list[str]) -> list[str]:
    """Which of a profiler's events are copies between host and device."""
    return [name for name in names if any(part in name.lower() for part in FORBIDDEN)]
