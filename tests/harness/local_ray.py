"""What the cluster's code uses of Ray, in this process and in turn."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """Any of Ray's errors."""


class Reference:
    """What a call will return, or what was put."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work, self.done, self.value, self.error = work, False, None, None
        self.waits = 0  # before it is there

    def look(self) -> None:
        if self.done:
            return
        self.done = True
        try:
            self.value = pickle.loads(pickle.dumps(self.work()))  # a copy, as from another machine
        except Exception as error:  # as Ray does: the error is the result
            self.error = RayError(str(error))


class LocalRay:
    """Stands in for the module `ray`."""

    exceptions = SimpleNamespace(RayError=RayError)
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(
            NodeAffinitySchedulingStrategy=lambda node, soft: SimpleNamespace(node=node)
        )
    )

    def __init__(self, *nodes: str, cpus: int = 1) -> None:
        self.cpus, self.machines = cpus, list(nodes)
        self.failing: dict[str, str] = {}  # node -> why its players die
        self.killed: list[Any] = []
        self.instant = True
        self.late: dict[str, int] = {}

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": node, "NodeManagerAddress": node, "Alive": True, "Resources": {"CPU": float(self.cpus)}}
            for node in self.machines
        ]

    def put(self, value: Any) -> Reference:
        return Reference(lambda: value)

    def get(self, reference: Reference, timeout: float | None = None) -> Any:
        reference.look()
        if reference.error:
            raise reference.error
        return reference.value

    def wait(
        self, references: list[Reference], num_returns: int = 1, timeout: float | None = None
    ) -> tuple[list, list]:
        count = num_returns if self.instant or timeout else 0
        here = [reference for reference in references if not reference.waits][:count]
        for reference in references:
            reference.waits = max(reference.waits - bool(timeout), 0)
        return here, [reference for reference in references if reference not in here]

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)

    def remote(self, **limits: int) -> Callable[[type], Any]:
        return lambda kind: SimpleNamespace(options=lambda **options: _Maker(self, kind, options))


class _Maker:
    def __init__(self, ray: LocalRay, kind: type, options: dict[str, Any]) -> None:
        self.ray, self.kind, self.node = ray, kind, options["scheduling_strategy"].node

    def remote(self, *arguments: Any) -> _Actor:
        return _Actor(self, [_value(self.ray, argument) for argument in arguments])


class _Actor:
    def __init__(self, maker: _Maker, arguments: list[Any]) -> None:
        self._maker, self._arguments, self._made = maker, arguments, None

    def __getattr__(self, method: str) -> Any:
        ray, node = self._maker.ray, self._maker.node

        def work(given: tuple[Any, ...]) -> Any:
            if node in ray.failing:
                raise RuntimeError(ray.failing[node])
            self._made = self._made or self._maker.kind(*self._arguments)
            return getattr(self._made, method)(*[_value(ray, argument) for argument in given])

        def remote(*given: Any) -> Reference:
            reference = Reference(lambda: work(given))
            reference.waits = ray.late.get(node, 0)
            return reference

        return SimpleNamespace(remote=remote)


def _value(ray: LocalRay, argument: Any) -> Any:
    return ray.get(argument) if isinstance(argument, Reference) else argument
