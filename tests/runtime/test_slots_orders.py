"""The weight slots' own code on a machine that reorders: every order of its steps, and mutants of it that must fail.

The writer's and the reader's steps are what `_publish` and `_read` of runtime/slots.py do: their source runs here as
plain Python, with atomics and arrays that note each load, store and fence. A reader's next step depends on what it has
loaded, so it runs again from its start with these values, up to the first one that is not there.

The model. One writer publishes some versions, each of two data words (the step and one weight); one reader looks two
or three times and keeps what it has. Every store goes to the end of its location's list of values; a load may return
any entry of the list that the loading thread has not already overtaken (views, as in the promise-free part of J. Kang
et al., "A promising semantics for relaxed-memory concurrency", POPL 2017). A thread's view says how far along each
list it is. A release store hands over the writer's view, and an acquire load of it takes the view over; a release
fence makes later relaxed stores hand over the view as it was at the fence, and an acquire fence takes over what
earlier relaxed loads were offered. Every reachable state is visited.

What a reader takes must be whole, rightly named, and newer than what it has.

The model does not catch loads made ahead of time by speculation (no promises), nor an order that is held twice: a first
look at `seq` without acquire passes, because `latest` was read with acquire and has handed over the same. That the
instructions are there is for `test_arm_code_holds_the_barriers_in_order` in test_slots.py.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dshq_widget.runtime import slots

Location = tuple[str, int]
View = tuple[tuple[Location, int], ...]
"""For each location that is known beyond its start the index of the newest store known."""
RELEASE, ACQUIRE, RELAXED = "release", "acquire", "relaxed"


@dataclasses.dataclass(frozen=True)
class Step:
    """One load, store or fence of a thread; a fence has no location, a load no value."""

    kind: str
    order: str
    location: Location | None = None
    value: int = 0


class Wanted(Exception):
    """The reader's next step: what it would load is not there yet."""

    def __init__(self, step: Step):
        self.step = step


class Words:
    """An array of slots whose items are loaded and stored by `load` and `store`, relaxed."""

    def __init__(self, name: str, load: Callable[..., int], store: Callable[..., None], first: int = 0):
        self.name, self.load, self.store, self.first = name, load, store, first

    def place(self, index: tuple[int, int]) -> Location:
        slot, k = index
        return f"{self.name} {k - self.first}", slot

    def __getitem__(self, index):
        return self.load(self.place(index), RELAXED)

    def __setitem__(self, index, value):
        self.store(self.place(index), int(value), RELAXED)


@dataclasses.dataclass(frozen=True)
class Protocol:
    """The source of runtime/slots.py with `changes` (old text, new text), and orders that are `weaker` than it asks."""

    changes: tuple[tuple[str, str], ...] = ()
    weaker: frozenset[str] = frozenset()
    slots: int = slots.N_SLOTS

    def run(self, function, load, store, fence, **arguments) -> Any:
        """The result of the plain Python of a compiled function, whose memory is `load`, `store` and `fence`."""
        source = inspect.getsource(function.py_func)
        for old, new in self.changes:
            source = source.replace(old, new)
        at = {slots.LATEST: ("latest", 0)} | {
            slots.SEQUENCES + slots.LINE * slot: ("seq", slot) for slot in range(slots.N_SLOTS)
        }
        names = {
            **vars(slots),
            "ATTEMPTS": 1,  # a look that fails is a look
            "N_SLOTS": self.slots,
            "njit": lambda **_: lambda plain: plain,
            "load_acquire": lambda address: load(at[address], ACQUIRE),
            "load_relaxed": lambda address: load(at[address], RELAXED),
            "store_relaxed": lambda address, value: store(at[address], value, RELAXED),
            "store_release": lambda address, value: store(at[address], value, RELEASE),
            "fence_acquire": lambda: fence(ACQUIRE),
            "fence_release": lambda: fence(RELEASE),
        }
        exec(source, names)
        words, floats = Words("word", load, store), Words("weight", load, store, slots.HEAD_FLOATS)
        return names[function.py_func.__name__](base=0, floats=floats, words=words, **arguments)

    def weakened(self, step: Step) -> Step:
        """A step in the order that this protocol asks of it."""
        place = step.location[0] if step.location else "fence"
        return dataclasses.replace(step, order=RELAXED) if f"{place} {step.order}" in self.weaker else step

    def publication(self, version: int) -> list[Step]:
        """The writer's steps for one version, whose step number is the version, too."""
        steps: list[Step] = []
        self.run(
            slots._publish,
            lambda place, order: steps.append(Step("load", order, place)),
            lambda place, value, order: steps.append(Step("store", order, place, value)),
            lambda order: steps.append(Step("fence", order)),
            version=version,
            step=version,
            blob=np.array([version], np.float32),
        )
        return [self.weakened(step) for step in steps]

    def look(self, have: int, loaded: tuple[int, ...]) -> Step | tuple[int, ...]:
        """The reader's next step after these values (0 for a fence), or what it took: (version, step, weight) or ()."""
        values = iter(loaded)

        def next_step(step: Step) -> int:
            value = next(values, None)
            if value is None:
                raise Wanted(self.weakened(step))
            return value

        out = np.zeros(1, np.float32)
        try:
            version, step = self.run(
                slots._read,
                lambda place, order: next_step(Step("load", order, place)),
                None,
                lambda order: next_step(Step("fence", order)),
                have=have,
                out=out,
            )
        except Wanted as wanted:
            return wanted.step
        return (version, step, int(out[0])) if version else ()


@dataclasses.dataclass(frozen=True)
class State:
    """Everything at one moment; hashable, so that no state is visited twice."""

    memory: tuple[tuple[Location, tuple[tuple[int, View], ...]], ...] = ()
    """Per location the stores so far: (value, view handed over to an acquire load of it)."""
    writer: View = ()
    fenced: View = ()
    """The writer's view at its last release fence."""
    done: int = 0
    """Steps of the writer."""
    reader: View = ()
    offered: View = ()
    """What the reader's relaxed loads would have handed over, taken at its next acquire fence."""
    loaded: tuple[int, ...] = ()
    """What the reader has loaded in this look."""
    have: int = 0
    looks: int = 0


def join(a: View, b: View) -> View:
    known = dict(a)
    for location, index in b:
        known[location] = max(known.get(location, 0), index)
    return tuple(sorted(known.items()))


def write(state: State, step: Step) -> State:
    """The writer's next step. A fence that orders nothing is a step, too."""
    if step.location is None:
        fenced = state.writer if step.order == RELEASE else state.fenced
        return dataclasses.replace(state, fenced=fenced, done=state.done + 1)
    memory = dict(state.memory)
    stores = memory.get(step.location, ((0, ()),))
    here = ((step.location, len(stores)),)
    view = join(state.writer, here)
    handed = view if step.order == RELEASE else join(state.fenced, here)
    memory[step.location] = (*stores, (step.value, handed))
    return dataclasses.replace(state, memory=tuple(sorted(memory.items())), writer=view, done=state.done + 1)


def read(state: State, step: Step) -> Iterator[State]:
    """Every state after the reader's next step: one for each value that it may load."""
    if step.location is None:
        view = join(state.reader, state.offered) if step.order == ACQUIRE else state.reader
        yield dataclasses.replace(state, reader=view, loaded=(*state.loaded, 0))
        return
    stores = dict(state.memory).get(step.location, ((0, ()),))
    for index in range(dict(state.reader).get(step.location, 0), len(stores)):
        value, handed = stores[index]
        view = join(state.reader, ((step.location, index),))
        yield dataclasses.replace(
            state,
            reader=join(view, handed) if step.order == ACQUIRE else view,
            offered=join(state.offered, handed),
            loaded=(*state.loaded, value),
        )


def complaint(taken: tuple[int, ...], have: int) -> str:
    """What is wrong with a (version, step, weight) that a reader of version `have` took, or ""."""
    version, *words = taken
    if len(set(words)) > 1:
        return f"torn: {words} as version {version}"
    if words[0] != version:
        return f"misnamed: {words[0]} as version {version}"
    return f"backwards: {version} after {have}" if version <= have else ""


def explore(protocol: Protocol, versions: int = 4, looks: int = 2) -> tuple[set[int], str]:
    """(versions that were taken, the first complaint or ""), over every order in which the two threads can step."""
    steps = [step for version in range(1, versions + 1) for step in protocol.publication(version)]
    look = functools.cache(protocol.look)
    taken: set[int] = set()
    seen, waiting = {State()}, [State()]
    while waiting:
        state = waiting.pop()
        following = [write(state, steps[state.done])] if state.done < len(steps) else []
        if state.looks < looks:
            found = look(state.have, state.loaded)
            if isinstance(found, Step):
                following += read(state, found)
            elif found and (wrong := complaint(found, state.have)):
                return taken, wrong
            else:
                taken.update(found[:1])
                have = found[0] if found else state.have
                following.append(dataclasses.replace(state, loaded=(), have=have, looks=state.looks + 1))
        for after in following:
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return taken, ""


SECOND_LOOK = ("if load_relaxed(sequence) == 2 * version:", "if True:")
MARK = ("store_relaxed(sequence, 2 * version - 1)", "pass")


def test_no_order_of_the_protocol_is_bad():
    assert explore(Protocol(), versions=5, looks=3) == ({1, 2, 3, 4, 5}, "")


def test_the_changes_change_the_code():
    for (old, _), function in [(SECOND_LOOK, slots._read), (MARK, slots._publish)]:
        assert inspect.getsource(function.py_func).count(old) == 1


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(Protocol(weaker=frozenset({"fence release"})), id="no release fence"),
        pytest.param(Protocol(weaker=frozenset({"fence acquire"})), id="no acquire fence"),
        pytest.param(Protocol(changes=(SECOND_LOOK,)), id="no second look"),
        pytest.param(Protocol(changes=(MARK,)), id="no mark"),
        pytest.param(Protocol(weaker=frozenset({"seq release", "latest release"})), id="no release"),
        pytest.param(Protocol(weaker=frozenset({"seq acquire", "latest acquire"})), id="no acquire"),
        pytest.param(Protocol(changes=(SECOND_LOOK,), slots=1), id="one slot without a second look"),
    ],
)
def test_a_reader_of_every_mutant_is_torn(mutant):
    assert "torn" in explore(mutant)[1]


@pytest.mark.parametrize(
    "mutant",
    [
        *(pytest.param(Protocol(weaker=frozenset({f"{place} {order}"})), id=f"{place} without {order}")
          for place in ("seq", "latest") for order in (RELEASE, ACQUIRE)),
        pytest.param(Protocol(slots=1), id="one slot"),
    ],
)  # fmt: skip
def test_what_the_model_finds_harmless(mutant):
    """An order that both `latest` and `seq` hold may lose one of the two; fewer slots cost repeats, not mistakes."""
    assert explore(mutant)[1] == ""
