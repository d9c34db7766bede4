"""How far a ring may be read: steps are released a stride at a time, on a GPU with events, without waiting for the
host.
"""

from __future__ import annotations

from typing import Any

import torch

EVENTS = 4
"""How many strides may be under way before an event is used again."""


class CommitManager:
    """Steps are counted from 0 for ever. The actor calls `mark_written(t)` after step t is enqueued; whoever reads
    calls `wait_for_commit(t)` on its own stream first, and reads no step after `committed_t - margin`.
    """

    def __init__(self, stride: int = 8, margin: int = 16, device: str | torch.device = "cpu"):
        """`margin` steps at the end stay unread. Raises ValueError for a stride below 1 or a margin below 0."""
        if stride < 1 or margin < 0:
            raise ValueError(f"expected a stride of 1 or more and a margin of 0 or more, got {stride} and {margin}")
        self.stride, self.margin = stride, margin
        self.write_t = self.committed_t = -1
        on_gpu = torch.device(device).type == "cuda"
        self._events: list[Any] = [torch.cuda.Event() for _ in range(EVENTS)] if on_gpu else []

    def mark_written(self, t: int, stream: Any = None) -> bool:
        """Step t has been enqueued on `stream` (the current one by default). -> whether that closed a stride.

        Raises ValueError for steps out of turn.
        """
        if t != self.write_t + 1:
            raise ValueError(f"steps are written in turn: expected {self.write_t + 1}, got {t}")
        self.write_t = t
        if (t + 1) % self.stride:
            return False
        self.committed_t = t
        if self._events:
            self._event(t).record(stream or torch.cuda.current_stream())
        return True

    def wait_for_commit(self, target: int, stream: Any = None) -> None:
        """What `stream` does from now on sees step `target`. Raises ValueError for a step that is not committed."""
        if target > self.committed_t:
            raise ValueError(f"step {target} is not committed, the newest that is: {self.committed_t}")
        if self._events and self.committed_t >= 0:
            (stream or torch.cuda.current_stream()).wait_event(self._event(self.committed_t))

    def continue_after(self, total: int) -> None:
        """`total` steps are there already, each of them finished: whole strides of them are committed."""
        self.write_t, self.committed_t = total - 1, total // self.stride * self.stride - 1
        if self._events and self.committed_t >= 0:
            self._event(self.committed_t).record(torch.cuda.current_stream())

    def _event(self, t: int) -> Any:
        return self._events[t // self.stride % EVENTS]
