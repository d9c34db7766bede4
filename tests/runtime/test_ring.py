"""Rings: every committed record arrives once, whole and in order, whoever is killed; a full lane drops and counts."""

import time
from collections import deque

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane, layout_hash
from tests.harness.counts import times
from tests.harness.processes.runtime_writers import CROWD, RECORD, pattern, writers

FIELDS = {"obs": ("float32", (3, 5)), "done": ("uint8", (7,)), "boot": ("float32", ())}


def lane_of(fields, capacity, offset=0):
    block = SharedBlock.create(offset + Lane.nbytes_for(fields, capacity))
    return block, Lane.create(block, fields, capacity, offset)


def test_bytes_lie_where_the_documentation_says():
    block, lane = lane_of(FIELDS, 2, offset=64)
    for value in (1, 2):
        chunk = lane.reserve()
        for array in chunk.arrays.values():
            array[...] = value
        lane.commit(10 * value)
    lane.release()
    assert lane.reserve() is not None
    memory = block.array(np.uint8, Lane.nbytes_for(FIELDS, 2), 64)
    stride = 64 + 64 + 64 + 64
    assert memory[:8].tobytes() == b"DSHQRING"
    assert memory[8:40].view(np.int64).tolist() == [1, layout_hash(FIELDS), 2, stride]
    assert [memory[at : at + 8].view(np.int64)[0] for at in (64, 128, 192)] == [2, 1, 0]
    second = memory[256 + stride :]
    assert second[:16].view(np.int64).tolist() == [20, 1]
    assert (second[64:124].view(np.float32) == 2).all()
    assert (second[128:135] == 2).all()
    assert second[192:196].view(np.float32) == 2


def test_chunks_are_views_of_the_block():
    block, lane = lane_of(FIELDS, 1)
    array = lane.reserve().arrays["obs"]
    assert block.address < array.ctypes.data < block.address + block.nbytes
    assert array.ctypes.data % 64 == block.address % 64 == 0


def test_misuse_is_refused():
    block, lane = lane_of(FIELDS, 2)
    with pytest.raises(RuntimeError, match="nothing is reserved"):
        lane.commit(1)
    with pytest.raises(RuntimeError, match="lane is empty"):
        lane.release()
    with pytest.raises(ValueError, match="other fields"):
        Lane.attach(block, {**FIELDS, "obs": ("float32", (5, 3))})
    with pytest.raises(ValueError, match="other fields"):
        Lane.attach(block, dict(reversed(FIELDS.items())))
    with pytest.raises(ValueError, match="multiple of 64"):
        Lane.create(block, FIELDS, 2, offset=4)
    with pytest.raises(ValueError, match="does not fit"):
        Lane.create(block, FIELDS, 3)
    with pytest.raises(ValueError, match="create it first"):
        Lane.attach(SharedBlock.create(4096), FIELDS)


class LaneIsAList(RuleBasedStateMachine):
    """A lane behaves as a bounded list, with producers and consumers that may be replaced at any time."""

    @initialize(capacity=st.integers(1, 5))
    def begin(self, capacity):
        self.capacity = capacity
        self.block, self.producer = lane_of(FIELDS, capacity)
        self.consumer = Lane.attach(self.block, FIELDS)
        self.model = deque()  # (policy version, sequence, value)
        self.made = self.dropped = 0

    @rule(version=st.integers(0, 2**62), value=st.integers(0, 255), scribble=st.booleans())
    def produce(self, version, value, scribble):
        chunk = self.producer.reserve()
        if len(self.model) == self.capacity:
            assert chunk is None
            self.dropped += 1
        else:
            if scribble:  # Reserved, written to, and never committed: as if the producer was killed.
                chunk.arrays["obs"][:] = -1
                self.producer = Lane.attach(self.block, FIELDS)
                chunk = self.producer.reserve()
            for array in chunk.arrays.values():
                array[...] = value
            self.producer.commit(version)
            self.model.append((version, self.made, value))
        self.made += 1

    @precondition(lambda self: self.model)
    @rule(release=st.booleans(), replace=st.booleans())
    def consume(self, release, replace):
        chunk = self.consumer.peek()
        version, sequence, value = self.model[0]
        assert (chunk.policy_version, chunk.sequence) == (version, sequence)
        assert all((array == value).all() for array in chunk.arrays.values())
        if replace:
            self.consumer = Lane.attach(self.block, FIELDS)
        if release:
            self.consumer.release()
            self.model.popleft()

    @precondition(lambda self: not self.model)
    @rule()
    def starve(self):
        assert self.consumer.peek() is None

    @invariant()
    def counts_agree(self):
        if hasattr(self, "model"):
            assert self.producer.waiting == self.consumer.waiting == len(self.model)
            assert self.producer.has_room == (len(self.model) < self.capacity)
            assert self.consumer.dropped == self.dropped


TestLaneIsAList = LaneIsAList.TestCase
TestLaneIsAList.settings = settings(
    max_examples=times(500, 60), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_producers_tear_lose_and_double_nothing(kills):
    block, lane = lane_of(RECORD, 3)
    random = np.random.default_rng(1)
    expected = 0

    def take():
        nonlocal expected
        if (chunk := lane.peek()) is None:
            return False
        assert chunk.sequence == expected
        assert chunk.policy_version == 3 * expected
        assert chunk.arrays["number"] == expected
        assert (chunk.arrays["data"] == expected).all()
        assert (chunk.arrays["flags"] == expected % 256).all()
        lane.release()
        expected += 1
        return True

    for _ in range(kills):
        with writers("records", block) as producer:
            try:
                goal, enough = expected + random.integers(3, 100), time.monotonic() + 300
                while expected < goal:
                    assert producer.poll() is None and time.monotonic() < enough
                    take()
            finally:
                producer.kill()
    while take():
        pass
    assert expected > 3 * kills
    assert lane.dropped == 0


@pytest.mark.parametrize(("records", "kills"), [(20_000, 2), pytest.param(10_000_000, 20, marks=pytest.mark.slow)])
def test_a_crowd_of_records_survives_killed_producers_and_what_is_lost_is_counted(records, kills):
    """The producers do not wait for room, so most is dropped and counted; what arrives is right to the last bit."""
    block, lane = lane_of(CROWD, 4)
    random = np.random.default_rng(2)
    goals = np.sort(random.integers(0, records, kills))  # records after which the producer is killed
    taken, sequences = 0, []
    for goal in [*goals, records]:
        with writers("crowd", block) as producer:
            try:
                enough = time.monotonic() + 300
                while taken <= goal:
                    assert producer.poll() is None and time.monotonic() < enough
                    if (chunk := lane.peek()) is None:
                        continue
                    assert chunk.policy_version == 3 * chunk.sequence
                    assert np.array_equal(chunk.arrays["data"], pattern(chunk.sequence))
                    sequences.append(chunk.sequence)
                    lane.release()
                    taken += len(chunk.arrays["data"])
            finally:
                producer.kill()
    while (chunk := lane.peek()) is not None:
        assert np.array_equal(chunk.arrays["data"], pattern(chunk.sequence))
        sequences.append(chunk.sequence)
        lane.release()
    steps = np.diff([-1, *sequences])
    assert taken >= records and (steps >= 1).all(), "none twice, none out of order"
    lost = int((steps - 1).sum())
    final = lane.reserve().sequence - sequences[-1] - 1  # dropped after the last that arrived
    assert lane.dropped == lost + final
