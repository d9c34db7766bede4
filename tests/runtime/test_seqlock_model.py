"""The weight slots' protocol against a machine that reorders: every order of a small model, and mutants that must fail.

The model. One writer publishes versions 1 to 7 into three slots of two data words each (1 to 4 for the mutants); one
reader looks three times (or twice) and keeps what it has. Every store goes to the end of its location's list of values;
a load may return any entry of the list that the loading thread has not already overtaken (views, as in the promise-free
part of J. Kang et al., "A promising semantics for relaxed-memory concurrency", POPL 2017). A thread's view says how far
along each list it is. A release store hands over the writer's view, and an acquire load of it takes the view over; a
release fence makes later relaxed stores hand over the view as it was at the fence, and an acquire fence takes over what
earlier relaxed loads were offered. So without release and acquire between them a reader may see a later store and miss
an earlier one. The explorer visits every reachable state.

What a reader takes must be whole (all words of one version), rightly named, and never older than what it has.

What it does not catch: loads made ahead of time by speculation (no promises), and an order that is held twice. The
mutant that first looks at `seq` without acquire passes, because `latest` was read with acquire and has handed over the
same; so do the others of `test_what_the_model_finds_harmless`. That the instructions are really there is for
`test_arm_code_holds_the_barriers_in_order` in test_runtime_slots.py.
"""

import dataclasses
from collections.abc import Iterator

import pytest

N_SLOTS, WORDS = 3, 2
LATEST = 0
SEQ = 1  # then one per slot
DATA = SEQ + N_SLOTS  # then WORDS per slot
LOCATIONS = DATA + N_SLOTS * WORDS
START = (0,) * LOCATIONS

View = tuple[int, ...]
"""For each location the index of the newest store known."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """The protocol of runtime/slots.py, or a mutant of it."""

    fence_release: bool = True
    seq_release: bool = True
    latest_release: bool = True
    latest_acquire: bool = True
    seq_acquire: bool = True
    fence_acquire: bool = True
    second_look: bool = True
    marks_first: bool = True
    """The writer marks the slot as being written before it touches the data."""
    slots: int = N_SLOTS

    def publication(self, version: int) -> list[tuple]:
        """The writer's steps for one version."""
        slot = version % self.slots
        words = [("store", DATA + slot * WORDS + k, version, False) for k in range(WORDS)]
        mark = [("store", SEQ + slot, 2 * version - 1, False)] if self.marks_first else []
        fence = [("fence_release",)] if self.fence_release else []
        sealed = [("store", SEQ + slot, 2 * version, self.seq_release), ("store", LATEST, version, self.latest_release)]
        return [*mark, *fence, *words, *sealed]


@dataclasses.dataclass(frozen=True)
class State:
    """Everything at one moment; hashable, so that no state is visited twice."""

    memory: tuple[tuple[tuple[int, View], ...], ...]
    """Per location the stores so far: (value, view handed over to whoever acquires it)."""
    writer: View = START
    fenced: View = START
    """The writer's view at its last release fence."""
    done: int = 0
    """Steps of the writer."""
    reader: View = START
    offered: View = START
    """What the reader's relaxed loads would have handed over, taken at its next acquire fence."""
    step: int = 0
    have: int = 0
    version: int = 0
    words: tuple[int, ...] = ()
    reads: int = 0


def join(a: View, b: View) -> View:
    return tuple(map(max, a, b))


def moved(view: View, location: int, index: int) -> View:
    return (*view[:location], max(view[location], index), *view[location + 1 :])


def write(state: State, step: tuple) -> State:
    """The writer's next step."""
    if step[0] == "fence_release":
        return dataclasses.replace(state, fenced=state.writer, done=state.done + 1)
    _, location, value, release = step
    index = len(state.memory[location])
    view = moved(state.writer, location, index)
    handed = view if release else moved(state.fenced, location, index)
    memory = list(state.memory)
    memory[location] = (*memory[location], (value, handed))
    return dataclasses.replace(state, memory=tuple(memory), writer=view, done=state.done + 1)


def load(state: State, location: int, acquire: bool) -> Iterator[tuple[int, State]]:
    """Every value that the reader may get, each with the state after it."""
    for index in range(state.reader[location], len(state.memory[location])):
        value, handed = state.memory[location][index]
        view = moved(state.reader, location, index)
        if acquire:
            view = join(view, handed)
        yield value, dataclasses.replace(state, reader=view, offered=join(state.offered, handed))


def read(state: State, protocol: Protocol) -> Iterator[tuple[State, str]]:
    """Every next state of the reader, with what is wrong in it, or "". Steps: latest, seq, the words, seq again."""
    slot = state.version % protocol.slots
    if state.step == 0:
        for version, after in load(state, LATEST, protocol.latest_acquire):
            if version <= state.have:  # nothing new: this look is over
                yield dataclasses.replace(after, reads=state.reads + 1), ""
            else:
                yield dataclasses.replace(after, step=1, version=version), ""
    elif state.step == 1:
        for sequence, after in load(state, SEQ + slot, protocol.seq_acquire):
            good = sequence == 2 * state.version
            yield dataclasses.replace(after, step=2) if good else again(after), ""
    elif state.step < 2 + WORDS:
        for word, after in load(state, DATA + slot * WORDS + state.step - 2, False):
            yield dataclasses.replace(after, step=state.step + 1, words=(*state.words, word)), ""
    else:
        looking = state
        if protocol.fence_acquire:
            looking = dataclasses.replace(state, reader=join(state.reader, state.offered))
        if not protocol.second_look:
            yield taken(looking)
            return
        for sequence, after in load(looking, SEQ + slot, False):
            yield taken(after) if sequence == 2 * state.version else (again(after), "")


def again(state: State) -> State:
    """A look that failed."""
    return dataclasses.replace(state, step=0, version=0, words=(), reads=state.reads + 1)


def taken(state: State) -> tuple[State, str]:
    """A look that succeeded, and what is wrong with what it took."""
    complaint = ""
    if len(set(state.words)) > 1:
        complaint = f"torn: {state.words} as version {state.version}"
    elif state.words[0] != state.version:
        complaint = f"misnamed: {state.words[0]} as version {state.version}"
    elif state.version <= state.have:
        complaint = f"backwards: {state.version} after {state.have}"
    return dataclasses.replace(again(state), have=state.version), complaint


def explore(protocol: Protocol, versions: int = 4, reads: int = 2) -> tuple[int, str]:
    """(states visited, the first bad state found or ""), over every order in which the two threads can step."""
    steps = [step for version in range(1, versions + 1) for step in protocol.publication(version)]
    first = State(memory=tuple(((0, START),) for _ in range(LOCATIONS)))
    seen, waiting = {first}, [first]
    while waiting:
        state = waiting.pop()
        following = [(write(state, steps[state.done]), "")] if state.done < len(steps) else []
        if state.reads < reads:
            following += read(state, protocol)
        for after, complaint in following:
            if complaint:
                return len(seen), complaint
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen), ""


def test_no_order_of_the_protocol_is_bad():
    states, complaint = explore(Protocol(), versions=7, reads=3)
    assert complaint == "" and states > 10_000


@pytest.mark.parametrize(
    ("mutant", "complaint"),
    [
        (Protocol(fence_release=False), "torn"),
        (Protocol(fence_acquire=False), "torn"),
        (Protocol(second_look=False), "torn"),
        (Protocol(marks_first=False), "torn"),
        (Protocol(seq_release=False, latest_release=False), "torn"),
        (Protocol(seq_acquire=False, latest_acquire=False), "torn"),
        (Protocol(slots=1, second_look=False), "torn"),
    ],
    ids=["no release fence", "no acquire fence", "no second look", "no mark", "no release", "no acquire", "one slot"],
)
def test_every_mutant_is_caught(mutant, complaint):
    _, found = explore(mutant)
    assert complaint in found


@pytest.mark.parametrize(
    "mutant",
    [
        Protocol(seq_acquire=False),
        Protocol(seq_release=False),
        Protocol(latest_acquire=False),
        Protocol(latest_release=False),
        Protocol(slots=1),
    ],
)
def test_what_the_model_finds_harmless(mutant):
    """An order that both `latest` and `seq` hold may lose one of the two; fewer slots cost repeats, not mistakes."""
    assert explore(mutant)[1] == ""
