"""How fast frames reach the replay ring, beside copying as many bytes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.sizes import suits
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.pixels import transfer_guard
from dshq_widget.pixels.ring import ReplayRing

GAMES, CAPACITY = 64, 1024
"""Games at once, and steps of each that the ring holds: 94 MB."""
GUARDED = 16
"""Steps in which copies are counted."""
VERIFIED = "frames were drawn where they stay, and no slot moved"
UNCOUNTED = f"there is no CUDA device here, so nothing was counted; {VERIFIED}"


def ingest(drill: CompiledDrill, seconds: float, guard: bool = False, seed: int = 0) -> dict[str, Any]:
    """Games of random play drawn into a ring for `seconds`, then the same bytes copied there for a tenth of that.

    `guard` verifies that each frame was drawn where it stays and that the ring keeps its promises, and counts the
    copies between host and device of `GUARDED` steps; without a CUDA device nothing is counted, and `host_copies` is
    None. Raises ValueError for a drill without a scene, and RuntimeError where the guard finds something.
    """
    suits(drill.spec)
    ring = ReplayRing(CAPACITY, GAMES)
    actor = Actor(FrameGames(drill, GAMES, seed), ring, seed)
    address = ring.obs.data_ptr()
    for _ in range(16):
        actor.step(actor.random)
    begin, first = time.perf_counter(), ring.total
    while (spent := time.perf_counter() - begin) < seconds:
        actor.step(actor.random)
    frames = (ring.total - first) * GAMES
    copies = _verify(actor, address) if guard else None
    nbytes = ring.obs[0, 0].numel()
    return {
        "drill": drill.name,
        "games": GAMES,
        "seconds": spent,
        "frames": frames,
        "frames_per_second": frames / spent,
        "bytes_per_frame": nbytes,
        "bytes_per_second": frames * nbytes / spent,
        "memcpy_bytes_per_second": _memcpy(ring, max(seconds / 10, 0.05)),
        "host_copies": copies,
        "device": "cpu",
        "guard": (UNCOUNTED if copies is None else f"in {GUARDED} steps; {VERIFIED}") if guard else None,
    }


def _verify(actor: Actor, address: int) -> int | None:
    """Copies between host and device in `GUARDED` steps, None where they cannot be counted. Raises RuntimeError unless
    slots are the ring's own memory, where they were, and the next frames land there.
    """
    ring = actor.ring
    t = ring.total
    ring.obs_slot().fill_(0xFF)
    actor.step(actor.random)
    place = address + t % ring.capacity * ring.obs[0].numel()
    if ring.obs_slot(t).data_ptr() != place or bool((ring.obs_slot(t) == 0xFF).flatten(1).all(1).any()):
        raise RuntimeError("guard: frames were not drawn into the ring's own memory")
    try:
        ring.check_invariants()
    except ValueError as error:
        raise RuntimeError(f"guard: {error}") from error
    if not transfer_guard.counts():
        return None
    with transfer_guard.counted() as copies:
        for _ in range(GUARDED):
            actor.step(actor.random)
    return len(copies)


def _memcpy(ring: ReplayRing, seconds: float) -> float:
    """Bytes per second of copying frames that are ready into slot after slot."""
    ready = np.ones(ring.obs.shape[1:], np.uint8)
    slots = ring.obs.numpy()
    for slot in slots:
        np.copyto(slot, ready)
    begin, steps = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < seconds:
        for slot in slots:
            np.copyto(slot, ready)
        steps += len(slots)
    return steps * ready.nbytes / spent
