"""Counts what a loop copies between a GPU and the host, and verifies that it is nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

FORBIDDEN = ("memcpy htod", "memcpy dtoh", "memcpyhtod", "memcpydtoh")


def counts() -> bool:
    """Whether copies can be counted here: without a CUDA device there are none to see."""
    return torch.cuda.is_available()


@contextmanager
def counted() -> Iterator[list[str]]:
    """`with counted() as copies: loop()`: afterwards `copies` names each copy between host and device. Raises
    RuntimeError without a GPU.
    """
    if not counts():
        raise RuntimeError("torch found no usable CUDA device: there are no copies to count")
    copies: list[str] = []
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        yield copies
        torch.cuda.synchronize()
    copies += host_copies([event.name for event in profile.events()])


@contextmanager
def assert_no_host_memcpy() -> Iterator[None]:
    """`with assert_no_host_memcpy(): loop()`; warm the loop up first, for compiling copies, too.

    Raises AssertionError, naming the copies, for any between host and device, and RuntimeError without a GPU.
    """
    with counted() as copies:
        yield
    if copies:
        raise AssertionError(f"{len(copies)} copies between host and device: {', '.join(sorted(set(copies)))}")


def host_copies(names: list[str]) -> list[str]:
    """Which of a profiler's events are copies between host and device."""
    return [name for name in names if any(part in name.lower() for part in FORBIDDEN)]
