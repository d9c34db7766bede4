"""Where the host must not wait for the device: `with hot_path():`. With DSHQ_DEBUG=1 a wait there is an error, at the
line that waits; without it nothing is watched, and nothing costs anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

WAITS = frozenset(
    {
        *("cpu", "numpy", "item", "tolist", "__array__", "__bool__", "__float__", "__int__", "__index__"),
        *("nonzero", "is_nonzero", "argwhere", "masked_select", "unique", "equal", "allclose"),
    }
)
"""What copies to the host, or has to know a number before it can continue."""


class HostWaits(RuntimeError):
    """A wait in the hot path."""


def debugging() -> bool:
    """Whether DSHQ_DEBUG=1 is set."""
    return os.environ.get("DSHQ_DEBUG") == "1"


@contextmanager
def hot_path() -> Iterator[None]:
    """In debug runs raises HostWaits at a call of `WAITS`, at an index of bools and at a copy to another device, and
    torch's own RuntimeError where CUDA would wait (`torch.cuda.set_sync_debug_mode`).
    """
    if not debugging():
        yield
        return
    on_gpu = torch.cuda.is_available()
    before = torch.cuda.get_sync_debug_mode() if on_gpu else 0
    if on_gpu:
        torch.cuda.set_sync_debug_mode("error")
    try:
        with _NoWaits():
            yield
    finally:
        if on_gpu:
            torch.cuda.set_sync_debug_mode(before)


class _NoWaits(TorchFunctionMode):
    """Looks at each of torch's calls; on a processor, too, where nothing would wait."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", str(func))
        if name in WAITS:
            raise HostWaits(_sentence(f"`{name}`"))
        if name in ("__getitem__", "__setitem__") and any(map(_is_mask, _indices(args[1]))):
            raise HostWaits(_sentence("an index of bools (use torch.where or masked_fill_)"))
        found = func(*args, **(kwargs or {}))
        given = args[0] if args else None
        if isinstance(given, Tensor) and isinstance(found, Tensor) and given.device != found.device:
            raise HostWaits(_sentence(f"`{name}`, from {given.device} to {found.device},"))
        return found


def _indices(index: Any) -> Sequence[Any]:
    return index if isinstance(index, tuple) else (index,)


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype == torch.bool


def _sentence(what: str) -> str:
    return (
        f"{what} waits for the device in the hot path between games and replay: keep the number in a tensor, or read "
        "it after the turn"
    )
