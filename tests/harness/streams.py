"""Streams of CUDA without CUDA: work runs at once, but what may run at the same time on a GPU is a race, and raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Race(AssertionError):
    """Two streams use the same memory, one of them writes, and nothing orders them."""


class Stream:
    """As `torch.cuda.Stream`, of what is used here."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock: dict[str, int] = {}

    def tick(self) -> int:
        self.clock[self.name] = self.clock.get(self.name, 0) + 1
        return self.clock[self.name]

    def after(self, clock: dict[str, int]) -> None:
        self.clock = {name: max(self.clock.get(name, 0), clock.get(name, 0)) for name in {*self.clock, *clock}}

    def wait_event(self, event: Event) -> None:
        self.after(event.clock)

    def wait_stream(self, other: Stream) -> None:
        self.after(other.clock)


class Event:
    """As `torch.cuda.Event`."""

    def __init__(self) -> None:
        self.clock: dict[str, int] = {}

    def record(self, stream: Stream) -> None:
        self.clock = dict(stream.clock)


@dataclass
class Memory:
    """Watched memory in equal parts, and for each the last write and the reads since: stream -> its clock."""

    name: str
    begin: int
    part_bytes: int
    writes: list[dict[str, int]]
    reads: list[dict[str, int]]


@dataclass(eq=False)
class Streams(TorchDispatchMode):
    """`with Streams() as streams:` patches torch's streams; `watch` says which memory counts."""

    memories: list[Memory] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.stack = [Stream("learner")]

    def watch(self, name: str, tensor: Tensor, parts: int = 1) -> None:
        """`parts`: of the first dimension, each of which is written by itself."""
        nbytes = tensor.numel() * tensor.element_size() // parts
        self.memories.append(
            Memory(name, tensor.data_ptr(), nbytes, [{} for _ in range(parts)], [{} for _ in range(parts)])
        )

    def current(self) -> Stream:
        return self.stack[-1]

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        self.stack.append(stream)
        yield
        self.stack.pop()

    def patch(self, monkeypatch: Any) -> None:
        """torch.cuda's functions are these from now on."""
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "current_stream", self.current)
        monkeypatch.setattr(torch.cuda, "stream", self.on)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not func.is_view:
            arguments = func._schema.arguments
            written = {each.name for each in arguments if each.alias_info is not None and each.alias_info.is_write}
            named = {each.name: value for each, value in zip(arguments, args, strict=False)} | kwargs
            for name, value in named.items():
                gathers = func is torch.ops.aten.index.Tensor and name == "self"
                for tensor in filter(lambda leaf: isinstance(leaf, Tensor), tree_leaves(value)):
                    self._touch(tensor, name in written, args[1][0] if gathers else None)
        return func(*args, **kwargs)

    def _touch(self, tensor: Tensor, writes: bool, rows: Tensor | None) -> None:
        for memory in self.memories:
            first, last = tensor.data_ptr(), tensor.data_ptr() + _extent(tensor)
            if first >= memory.begin + memory.part_bytes * len(memory.writes) or last <= memory.begin:
                continue
            low = max(first - memory.begin, 0) // memory.part_bytes
            high = min((last - memory.begin - 1) // memory.part_bytes, len(memory.writes) - 1)
            parts = range(low, high + 1) if rows is None else sorted(set(rows.flatten().tolist()))
            self._use(memory, parts, writes)

    def _use(self, memory: Memory, parts: Any, writes: bool) -> None:
        stream = self.current()
        now = stream.tick()
        for part in parts:
            before = memory.writes[part] | (memory.reads[part] if writes else {})
            for other, when in before.items():
                if other != stream.name and stream.clock.get(other, 0) < when:
                    verb = "writes" if writes else "reads"
                    raise Race(f"{stream.name} {verb} part {part} of {memory.name}, which {other} may be using")
            if writes:
                memory.writes[part], memory.reads[part] = {stream.name: now}, {}
            else:
                memory.reads[part][stream.name] = now


def _extent(tensor: Tensor) -> int:
    """Bytes from the first element to the last."""
    if not tensor.numel():
        return 0
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (steps + 1) * tensor.element_size()
