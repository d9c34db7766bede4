"""How fast frames reach the replay ring, beside copying as many bytes."""

from __future__ import annotations

import time
from typing import Any

import torch

from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.device_actor import make_actor
from dshq_widget.algorithms.dreamer.model.sizes import suits
from dshq_widget.contract.settings import DEVICES
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.pixels import transfer_guard

SIZES = {"cpu": (64, 1024), "cuda": (4096, 256)}
"""Games at once, and steps of each that the ring holds: 94 MB and 1.5 GB (assumed)."""
BURST = 16
"""Rows between two looks at the clock, and rows in which copies are counted."""
VERIFIED = "frames were drawn where they stay, and no slot moved"
UNCOUNTED = f"frames were drawn by the processor, so there was nothing to count; {VERIFIED}"


def ingest(
    drill: CompiledDrill, seconds: float, guard: bool = False, seed: int = 0, device: str = "cpu"
) -> dict[str, Any]:
    """Games of random play drawn into a ring for `seconds`, then the same bytes copied there for a tenth of that, on
    "cpu" or "cuda".

    `guard` verifies that each frame was drawn where it stays and that the ring keeps its promises. On a GPU it also
    counts the copies between host and device of `BURST` rows and a sample; on a processor `host_copies` is None. Raises
    ValueError for a drill without a scene, and RuntimeError where the guard finds something.
    """
    suits(drill.spec)
    games, capacity = SIZES[device]
    return {"drill": drill.name} | measure(make_actor(drill, games, capacity, device, seed), seconds, guard)


def measure(actor: Actor, seconds: float, guard: bool) -> dict[str, Any]:
    """See `ingest`."""
    ring = actor.ring
    address, games, nbytes = ring.obs.data_ptr(), ring.num_envs, ring.obs[0, 0].numel()
    _burst(actor)
    begin, first = time.perf_counter(), ring.total
    while (spent := time.perf_counter() - begin) < seconds:
        _burst(actor)
    frames = (ring.total - first) * games
    copies = _verify(actor, address) if guard else None
    return {
        "games": games,
        "seconds": spent,
        "frames": frames,
        "frames_per_second": frames / spent,
        "bytes_per_frame": nbytes,
        "bytes_per_second": frames * nbytes / spent,
        "memcpy_bytes_per_second": _memcpy(actor, max(seconds / 10, 0.05)),
        "host_copies": copies,
        "device": ring.device.type,
        "guard": (UNCOUNTED if copies is None else f"in {BURST} steps; {VERIFIED}") if guard else None,
    }


def _burst(actor: Actor) -> None:
    """`BURST` rows of random play, and nothing left to do."""
    with actor.turn():
        for _ in range(BURST):
            actor.step(actor.random)
    _wait(actor)


def _wait(actor: Actor) -> None:
    if actor.ring.device.type == "cuda":
        torch.cuda.synchronize()


def _verify(actor: Actor, address: int) -> int | None:
    """Copies between host and device in a burst, None on a processor. Raises RuntimeError unless slots are the ring's
    own memory, where they were, and the next frames land there.
    """
    ring = actor.ring
    t = ring.total
    ring.obs_slot().fill_(0xFF)
    with actor.turn():
        actor.step(actor.random)
    place = address + t % ring.capacity * ring.obs[0].numel()
    if ring.obs_slot(t).data_ptr() != place or bool((ring.obs_slot(t) == 0xFF).flatten(1).all(1).any()):
        raise RuntimeError("guard: frames were not drawn into the ring's own memory")
    try:
        ring.check_invariants()
    except ValueError as error:
        raise RuntimeError(f"guard: {error}") from error
    return host_copies(actor) if ring.device.type in DEVICES else None


def host_copies(actor: Actor) -> int:
    """Copies between host and device in a burst and a sample, counted by torch's profiler."""
    chance = torch.Generator(actor.ring.device).manual_seed(0)
    actor.sample(16, 16, chance)  # what is made once is made now
    with transfer_guard.counted() as copies:
        _burst(actor)
        actor.sample(16, 16, chance)
    return len(copies)


def _memcpy(actor: Actor, seconds: float) -> float:
    """Bytes per second of copying frames that are ready into slot after slot. On a processor NumPy copies, on one
    thread, as frames are drawn: threads of torch wait for one another beside other work.
    """
    obs = actor.ring.obs
    slots: Any = obs if obs.device.type in DEVICES else obs.numpy()
    ready = slots[0] | 1
    for slot in slots:
        slot[...] = ready
    _wait(actor)
    begin, steps = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < seconds:
        for slot in slots:
            slot[...] = ready
        _wait(actor)
        steps += len(slots)
    return float(steps * ready.nbytes / spent)
