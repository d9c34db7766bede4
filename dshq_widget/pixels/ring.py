"""The replay ring: the last `capacity` steps of `num_envs` games, time first, frames packed four pixels to a byte.

A row holds what *arrives* with its frame: the reward and the end that the step before brought, whether an episode
begins here, and the action that is taken here. A game that ended gets a row with its last frame, and the next row is
the first of its next episode (`is_first`, reward 0), so that all games move in lock-step. Training reads the action
before by shifting. A ring may also keep what the policy remembered after each frame, so that a sequence need not begin
with an empty memory.

The games' renderer writes into `obs_slot()`, which is a part of the ring itself: no frame is copied. On a GPU nothing
here waits for the device; what may be read is a matter of the host's counters and `commits.CommitManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dshq_widget.pixels.packing import PACKED

ALIGNMENT = 256
"""Bytes. Every slot begins at a multiple where `num_envs` is one of 8: a frame has 1,440 bytes."""
FIELDS: dict[str, torch.dtype] = {
    "action": torch.int32,
    "reward": torch.float32,
    "is_first": torch.bool,
    "continues": torch.float32,
    "episode_id": torch.int32,
}
"""`continues` is 0 where an episode was terminated, else 1, time-outs included; `episode_id` rises by 1 at each
`is_first`.
"""
UNKNOWN = 255
"""Of z: nobody remembered anything at that step."""


class ReplayRing:
    """`obs` u8 `[capacity, num_envs, 1, 72, 20]`, the others `[capacity, num_envs]`; their addresses never change.

    With `memory`, the lengths of h and z, `remembered` has h f16 `[capacity, num_envs, deter]` and z u8
    `[capacity, num_envs, stoch]`, indices of classes; else it is empty.
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        device: str | torch.device = "cpu",
        memory: tuple[int, int] | None = None,
    ):
        """Raises ValueError for sizes below 2 and 1, and torch's own error where the memory does not suffice."""
        if capacity < 2 or num_envs < 1:
            raise ValueError(
                f"expected a capacity of 2 or more steps and 1 or more games, got {capacity} and {num_envs}"
            )
        self.capacity, self.num_envs, self.device = capacity, num_envs, torch.device(device)
        self.obs = _aligned((capacity, num_envs, *PACKED), torch.uint8, self.device)
        rows = {name: _aligned((capacity, num_envs), dtype, self.device) for name, dtype in FIELDS.items()}
        self.action, self.reward, self.is_first, self.continues, self.episode_id = rows.values()
        self.rows = rows
        self.remembered: dict[str, Tensor] = {}
        if memory is not None:
            for name, length, dtype in zip("hz", memory, (torch.float16, torch.uint8), strict=True):
                self.remembered[name] = _aligned((capacity, num_envs, length), dtype, self.device)
            self.remembered["z"].fill_(UNKNOWN)
        self.total = 0
        """Steps that were ever pushed."""

    def holds(self, total: int) -> None:
        """Its slots are those of the first `total` steps of a run; 0: it is empty."""
        self.total = total

    @property
    def first_t(self) -> int:
        """The oldest step that is still there; the slot of the next one does not count, it may be half written."""
        return max(0, self.total - self.capacity + 1)

    def obs_slot(self, t: int | None = None) -> Tensor:
        """u8 `[num_envs, 1, 72, 20]`: the frames of step t, by default of the next one, to be written in place.

        Raises IndexError for a step that is gone or not there yet.
        """
        t = self.total if t is None else t
        if not self.first_t <= t <= self.total:
            raise IndexError(f"step {t} is not in the ring: it holds {self.first_t} to {self.total}")
        return self.obs[t % self.capacity]

    def remember(self, memory: tuple[Tensor, Tensor] | None) -> None:
        """What is remembered after the frames of the next step, before it is pushed: h `[num_envs, deter]` and z u8
        `[num_envs, stoch]`; None: nothing. A ring that keeps no memory forgets it.
        """
        if not self.remembered:
            return
        slot = self.total % self.capacity
        if memory is None:
            self.remembered["z"][slot].fill_(UNKNOWN)
        else:
            for row, value in zip(self.remembered.values(), memory, strict=True):
                row[slot].copy_(value)

    def refresh(self, batch: Mapping[str, Tensor], memory: tuple[Tensor, Tensor]) -> None:
        """What a newer model remembers after each step of a `batch` that was sampled here, `[length, batch, ...]`. The
        actor must not have continued in between.
        """
        for row, value in zip(self.remembered.values(), memory, strict=True):
            row[batch["row"], batch["game"]] = value.to(row.dtype)

    def push_step(
        self,
        action: Tensor,
        reward: Tensor,
        is_first: Tensor,
        continues: Tensor,
        episode_id: Tensor,
    ) -> int:
        """Everything of the next step but its frames, each `[num_envs]` on the ring's device. -> the step's number.

        Raises ValueError for another shape, type or device.
        """
        given = (action, reward, is_first, continues, episode_id)
        for (name, row), value in zip(self.rows.items(), given, strict=True):
            if value.shape != (self.num_envs,) or value.dtype != row.dtype or value.device != row.device:
                raise ValueError(
                    f"{name}: expected {row.dtype} of shape ({self.num_envs},) on {row.device}, "
                    f"got {value.dtype} of shape {tuple(value.shape)} on {value.device}"
                )
            row[self.total % self.capacity].copy_(value)
        self.total += 1
        return self.total - 1

    def sample_sequences(
        self, batch: int, length: int, generator: torch.Generator, committed_t: int | None = None, margin: int = 0
    ) -> dict[str, Tensor] | None:
        """`batch` windows of `length` steps, games and beginnings uniform: `[length, batch, ...]` of every field and of
        `obs`. None while there are too few steps. A ring with a memory adds the step before each window,
        `[batch, ...]`: `h`, `z` and the `action_before`; and, for `refresh`, `row` `[length, batch]` and `game`
        `[batch]`.

        The last `margin` steps up to `committed_t` (by default all that were pushed) are left out, and so are the
        oldest `margin`, which the actor may overwrite while they are read. Windows may cross episodes. Raises
        ValueError for sizes below 1 and steps that were not pushed.
        """
        newest = self.total - 1 if committed_t is None else committed_t
        if batch < 1 or length < 1 or margin < 0 or newest >= self.total:
            raise ValueError(
                f"expected a batch and a length of 1 or more, a margin of 0 or more and a step that was pushed, "
                f"got {batch}, {length}, {margin} and {newest} of {self.total}"
            )
        full = self.total >= self.capacity
        first, last = self.first_t + margin * full + bool(self.remembered), newest - margin - length + 1
        if last < first:
            return None
        start = torch.randint(first, last + 1, (batch,), generator=generator, device=self.device)
        game = torch.randint(self.num_envs, (batch,), generator=generator, device=self.device)
        step = (start + torch.arange(length, device=self.device)[:, None]) % self.capacity
        found = {"obs": self.obs[step, game], **{name: row[step, game] for name, row in self.rows.items()}}
        if self.remembered:
            before = (start - 1) % self.capacity
            found |= {name: row[before, game] for name, row in self.remembered.items()}
            found |= {"action_before": self.action[before, game], "row": step, "game": game}
        return found

    def check_invariants(self) -> None:
        """Raises ValueError at the first step that breaks what the fields promise; reads from the device."""
        kept = [t % self.capacity for t in range(self.first_t, self.total)]
        first, episode, continues = (row[kept].cpu() for row in (self.is_first, self.episode_id, self.continues))
        rises = episode[1:] - episode[:-1]
        for what, bad in (
            ("an episode's number rises by 1 where one begins, and only there", rises != first[1:].int()),
            ("continues is 0 or 1", (continues != 0) & (continues != 1)),
            ("what follows an end is a beginning", (continues[:-1] == 0) & ~first[1:]),
        ):
            if bad.any():
                step, game = (int(k) for k in bad.nonzero()[0])
                raise ValueError(f"{what}: broken near step {self.first_t + step} of game {game}")

    def assert_alignment(self) -> None:
        """Raises ValueError where the frames do not begin at a multiple of `ALIGNMENT` bytes."""
        if self.obs.data_ptr() % ALIGNMENT:
            raise ValueError(f"expected frames at a multiple of {ALIGNMENT} bytes, got {self.obs.data_ptr():#x}")


class ReplayRingCUDA(ReplayRing):
    """The same on a GPU."""

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        device: str | torch.device = "cuda",
        memory: tuple[int, int] | None = None,
    ):
        if torch.device(device).type != "cuda" or not torch.cuda.is_available():
            raise ValueError(f"expected a CUDA device that torch can use, got {str(device)!r}: use ReplayRing instead")
        super().__init__(capacity, num_envs, device, memory)


def _aligned(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Any:
    """Zeros that begin at a multiple of `ALIGNMENT` bytes; torch promises 64 on a processor."""
    size = torch.empty((), dtype=dtype).element_size() * int(torch.Size(shape).numel())
    raw = torch.zeros(size + ALIGNMENT, dtype=torch.uint8, device=device)
    begin = -raw.data_ptr() % ALIGNMENT
    return raw[begin : begin + size].view(dtype).view(shape)
