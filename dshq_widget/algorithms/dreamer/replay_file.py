"""The replay ring as rows of a policy file. Frames are mostly one shade, so that they shrink to a few per cent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_widget.learning.saved.compressed import compress, pieces
from dshq_widget.learning.saved.saved_state import LARGEST, MOST
from dshq_widget.pixels.ring import FIELDS, UNKNOWN, ReplayRing

PREFIX = "train.dreamer.ring."


def packed(ring: ReplayRing) -> dict[str, NDArray[Any]]:
    """What the ring holds: frames compressed u8 `[bytes]`, each field `[slots, games]`, the count of steps, and the
    memory u8 `[slots, games, bytes]` of a ring that keeps one.
    """
    slots = min(ring.total, ring.capacity)
    rows = {name: row[:slots].cpu().numpy().copy() for name, row in ring.rows.items()}
    rows["is_first"] = rows["is_first"].view(np.uint8)
    rows |= {name: row[:slots].view(torch.uint8).cpu().numpy().copy() for name, row in ring.remembered.items()}
    shape = np.array([ring.total, ring.capacity, ring.num_envs], np.int64)
    return {
        PREFIX + "obs": compress(ring.obs[:slots].cpu().numpy()),
        PREFIX + "shape": shape,
        **{PREFIX + name: row for name, row in rows.items()},
    }


def unpack(state: Mapping[str, NDArray[Any]], ring: ReplayRing, n_actions: int) -> bool:
    """Fill the ring with what `packed` returned; False, and nothing changes, where its shape is another one. Raises
    ValueError, and changes nothing, for frames that are not as many as the file says, and for what no game of so many
    actions gives. A memory that the file does not have, or has in another shape, is unknown.
    """
    total, capacity, games = (int(n) for n in state[PREFIX + "shape"])
    if (capacity, games) != (ring.capacity, ring.num_envs):
        return False
    if not 0 <= total <= MOST:
        raise ValueError(f"the file's replay ring cannot have been given {total:,} steps")
    slots = min(total, capacity)
    kept, frames = state[PREFIX + "obs"], ring.obs[:slots].view(-1)
    try:
        for _ in pieces(kept, frames.numel()):
            pass  # all of them are there, before the first is taken over
    except ValueError as error:
        raise ValueError(f"the file's replay ring has other frames than the {slots * games:,} that it names") from error
    rows = {name: _row(state, name, (slots, games), dtype, n_actions) for name, dtype in FIELDS.items()}
    for at, piece in pieces(kept, frames.numel()):
        frames[at : at + len(piece)].copy_(torch.frombuffer(bytearray(piece), dtype=torch.uint8))
    for name, row in rows.items():
        ring.rows[name][:slots].copy_(row)
    if ring.remembered:
        _remember(state, ring, slots)
    ring.holds(total)
    return True


def _row(
    state: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int], dtype: torch.dtype, n_actions: int
) -> torch.Tensor:
    """A field as the ring has it. Raises ValueError: an action is an index, and a number that is none never leaves."""
    found = state.get(PREFIX + name)
    limits = {"action": (0, n_actions - 1), "is_first": (0, 1), "continues": (0, 1)}
    lowest, highest = limits.get(name, (-LARGEST, LARGEST))
    if found is None or found.shape != shape or not ((found >= lowest) & (found <= highest)).all():
        raise ValueError(f"the file's replay ring has a field {name!r} that no game gives")
    return torch.from_numpy(found.copy()).to(dtype)


def _remember(state: Mapping[str, NDArray[Any]], ring: ReplayRing, slots: int) -> None:
    rows = [(row[:slots].view(torch.uint8), state.get(PREFIX + name)) for name, row in ring.remembered.items()]
    ring.remembered["z"].fill_(UNKNOWN)
    if all(found is not None and found.dtype == np.uint8 and found.shape == row.shape for row, found in rows):
        for row, found in rows:
            row.copy_(torch.from_numpy(np.array(found)))
        ring.remembered["h"].nan_to_num_()
