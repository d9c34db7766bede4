"""Tensors as rows of a policy file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def to_arrays(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Copies, each under its name after `prefix`."""
    return {prefix + name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def from_arrays(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """The tensors among `arrays` whose names begin with `prefix`; empty if there are none."""
    return {
        name.removeprefix(prefix): torch.from_numpy(np.array(array))
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


LEFT, NEXT, WORDS = slice(8, 12), slice(16, 24), 624
"""Where torch's state of a processor's generator says how many of its words are left, one more, and which is the next
one (ATen/CPUGeneratorImpl.cpp).
"""


def continue_chance(generator: torch.Generator, state: Tensor) -> None:
    """Continue with random numbers where `state` (u8) was read. That of another kind of device does not fit: then the
    generator stays as it is. Raises ValueError for a state of which torch would read more words than it has.
    """
    if state.shape != generator.get_state().shape:
        return
    found = state.cpu()
    if generator.device.type == "cpu":
        left, following = (int.from_bytes(found[part].numpy().tobytes(), "little") for part in (LEFT, NEXT))
        if left + following > WORDS + 1:
            raise ValueError(f"a generator has {WORDS} words, and this one stands at {following} with {left} left")
    generator.set_state(found)
