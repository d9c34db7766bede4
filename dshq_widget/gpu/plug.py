"""What a device with code of its own brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Work = tuple[float, float, float]
"""What a task takes at least: bytes that move, single operations, operations of matrix products."""


@dataclass(frozen=True)
class Device:
    """A kind of torch's devices, by the name that torch calls it by. Texts are places, "module:name", which are
    imported when they are used: with some of them torch and numba's compilers come.
    """

    check: Callable[[], None]
    """Raises RuntimeError with one sentence if there plainly is none here. Imports no torch."""
    found: Callable[[bool], bool]
    """Whether torch finds one; `found(True)`: somebody asked for it, and it raises RuntimeError if there is none."""
    join: Callable[[str], str]
    """Make a device, "cuda:1", the one of this process. Returns the back ends of torch's process group for it."""
    why_no_rules: str
    """`() -> str`: why a drill's rules cannot run on it, "" if they can."""
    games: str
    """`(drill, n, device) -> DeviceGames`"""
    captured: str
    """`(work, kept)`: the work recorded, to be repeated by `replay()`. The tensors `kept` are as they were."""
    network: str
    """`(spec, weights, precision, wanted)`: a network's passes and Adam as few launches, or None; `wanted` None: on
    this device, where it fits.
    """
