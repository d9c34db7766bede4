"""Warnings about low memory and low /dev/shm on this server."""

from __future__ import annotations

from dshq_widget.runtime.budget import LEARNER_BYTES, memory_available, memory_limit
from dshq_widget.system.paths import room_in

SPARE_BYTES = 80e6
"""With less free memory the system may kill a process (assumed)."""
SHM_BYTES = 8e6
"""Room that the processes of a Gymnasium environment need there; Docker's default is 64 MB (assumed)."""


def shortage(*, starting: bool, environment: bool) -> str:
    """A sentence about what is low, "" if nothing is. `starting`: a learner is about to allocate its memory;
    `environment`: processes of a Gymnasium environment share frames in /dev/shm.
    """
    free, limit = memory_available(), memory_limit()
    wanted = LEARNER_BYTES if starting else SPARE_BYTES
    if free < wanted:
        what = "training needs about" if starting else "the system kills processes below"
        return (
            f"Memory is low: {_megabytes(free)} of {_megabytes(limit)} are free, and {what} {_megabytes(wanted)}. "
            "Shut down notebooks that you do not use (Running Terminals and Kernels), or use fewer games "
            "(num_envs)."
        )
    room = room_in("/dev/shm")
    if environment and room < SHM_BYTES:
        return (
            f"/dev/shm is low: {_megabytes(room)} are free, and environments share their frames there. Ask for a "
            "larger one, or use fewer environments (num_envs)."
        )
    return ""


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.0f} MB"
