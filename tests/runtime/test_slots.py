"""Weight slots: no reader ever sees a torn, mislabelled or older policy, whatever happens to the writer."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from llvmlite import binding as llvm
from numba import njit, types

from dshq_kernels.simd.atomics import load_acquire
from dshq_widget.runtime import slots as layout
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots, _publish, _read
from tests.harness.processes.runtime_writers import writers

N = 8_031  # weights of a 28-64-64-31 network
DAWDLE = 300_000  # looks at the version: about a millisecond
PATTERN = 1 << 20  # float32 holds these whole numbers exactly


@pytest.fixture
def block():
    block = SharedBlock.create(WeightSlots.nbytes_for(N))
    yield block
    block.close()


def filled(value, n=N):
    return np.full(n, value, np.float32)


def test_a_publication_arrives_whole_and_once(block):
    writer = WeightSlots.create(block, N)
    reader = WeightSlots.attach(block, N)
    assert reader.read() is None
    assert reader.latest == 0
    for version in range(1, 8):
        writer.publish(version, 100 * version, filled(version))
        assert reader.latest == version
        assert reader.read(version) is None
        got, step, blob = reader.read(version - 1)
        assert (got, step) == (version, 100 * version)
        assert np.array_equal(blob, filled(version))


def test_what_was_read_stays_when_more_is_published(block):
    slots = WeightSlots.create(block, N)
    slots.publish(1, 1, filled(1))
    _, _, blob = slots.read()
    for version in range(2, 9):
        slots.publish(version, version, filled(version))
    assert np.array_equal(blob, filled(1))


def test_bytes_lie_where_the_documentation_says():
    n, offset = 5, 128
    block = SharedBlock.create(offset + WeightSlots.nbytes_for(n))
    slots = WeightSlots.create(block, n, offset)
    slots.publish(41, 7, np.arange(5, dtype=np.float32))
    memory = block.array(np.uint8, WeightSlots.nbytes_for(n), offset)
    assert memory[:8].tobytes() == b"DSHQWGTS"
    assert memory[8:32].view(np.int64).tolist() == [1, 5, 128]
    assert memory[64:72].view(np.int64) == 41
    assert [memory[at : at + 8].view(np.int64)[0] for at in (128, 192, 256)] == [0, 0, 82]
    slot = memory[320 + 2 * 128 :]
    assert slot[:16].view(np.int64).tolist() == [7, 41]
    assert slot[64:84].view(np.float32).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "version, blob, complaint",
    [
        (3, filled(1), "the next one is 4, not 3"),
        (2, filled(1), "published last"),
        (5, filled(1), "published last"),
        (4, filled(1, N - 1), r"shape \(8031,\)"),
        (4, filled(1).astype(np.float64), "got float64"),
        (4, filled(1).reshape(1, N), r"shape \(1, 8031\)"),
        (
            4,
            np.where(np.arange(N) == 17, np.nan, filled(1)).astype(np.float32),
            "1 of 8031 weights are not finite.*index 17",
        ),
        (4, np.where(np.arange(N) > 8028, np.inf, filled(1)).astype(np.float32), "2 of 8031 weights are not finite"),
    ],
)
def test_a_bad_publication_is_refused_and_changes_nothing(block, version, blob, complaint):
    slots = WeightSlots.create(block, N)
    slots.publish(3, 30, filled(3))
    before = block.array(np.uint8, block.nbytes).copy()
    with pytest.raises(ValueError, match=complaint):
        slots.publish(version, 40, blob)
    assert np.array_equal(before, block.array(np.uint8, block.nbytes))


def test_the_first_version_must_be_positive(block):
    with pytest.raises(ValueError, match="the next one is 1, not 0"):
        WeightSlots.create(block, N).publish(0, 0, filled(1))


def test_foreign_memory_is_refused(block):
    with pytest.raises(ValueError, match="create them first"):
        WeightSlots.attach(block)
    WeightSlots.create(block, N)
    with pytest.raises(ValueError, match="expected slots for 10 weights, found slots for 8031"):
        WeightSlots.attach(block, 10)
    with pytest.raises(ValueError, match="multiple of 64"):
        WeightSlots.create(block, 10, offset=8)
    with pytest.raises(ValueError, match="does not fit"):
        WeightSlots.create(block, 2 * N)
    block.array(np.int64, 2)[1] = 99
    with pytest.raises(ValueError, match="layout 99"):
        WeightSlots.attach(block)


@njit(nogil=True)
def write_many(base, last, blob, floats, words):
    for version in range(1, last + 1):
        blob[:] = version % PATTERN
        _publish(base, version, 7 * version, blob, floats, words)


@njit(nogil=True)
def read_many(read, base, last, floats, words, out):
    """(taken, torn, wrong version or step, backwards) until version `last` was taken."""
    have, taken, torn, wrong, backwards = 0, 0, 0, 0, 0
    while have < last:
        version, step = read(base, have, floats, words, out)
        if version == 0:
            continue
        taken += 1
        mixed = 0
        for k in range(out.size):
            mixed |= out[k] != out[0]
        torn += mixed
        wrong += mixed == 0 and (out[0] != version % PATTERN or step != 7 * version)
        backwards += version <= have
        have = version
    return taken, torn, wrong, backwards


@njit(nogil=True)
def careless_read(base, have, floats, words, out):
    """`_read` without its second look. It waits in mid-copy until the writer is three versions on, to be overtaken."""
    version = load_acquire(base + layout.LATEST)
    if version <= have:
        return 0, 0
    slot = version % layout.N_SLOTS
    step = words[slot, 0]
    for k in range(out.size):
        if k == out.size // 2:
            for _ in range(DAWDLE):
                if load_acquire(base + layout.LATEST) >= version + 3:
                    break
        out[k] = floats[slot, layout.HEAD_FLOATS + k]
    return version, step


def stress(read, publishes, readers=4):
    """Sum of `read_many` over `readers` threads, none of which holds the interpreter lock."""
    block = SharedBlock.create(WeightSlots.nbytes_for(N))
    slots = WeightSlots.create(block, N)
    memory = (slots._floats, slots._words)
    write_many(slots._base, 0, filled(0), *memory)
    read_many(read, slots._base, 0, *memory, filled(0))
    with ThreadPoolExecutor(readers + 1) as pool:
        counts = [pool.submit(read_many, read, slots._base, publishes, *memory, filled(0)) for _ in range(readers)]
        pool.submit(write_many, slots._base, publishes, filled(0), *memory).result()
        return np.sum([count.result() for count in counts], axis=0)


@pytest.mark.parametrize("publishes", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_no_reader_sees_a_torn_or_wrong_policy(publishes):
    taken = 0
    while taken < publishes // 100:  # A busy machine may hardly let the readers run.
        counts = stress(_read, publishes)
        taken += counts[0]
        assert counts[1:].tolist() == [0, 0, 0]  # torn, wrong, backwards


def test_control_the_same_test_finds_tearing_without_the_second_look():
    for _ in range(50):
        _, torn, wrong, _ = stress(careless_read, 10_000)
        if torn + wrong:
            return
    pytest.fail("a reader without the second look was never caught, so the test above proves nothing")


def die_at(block, step, version):
    """Leaves the memory as a writer leaves it that is killed after `step` of its stores for `version`."""
    slot = version % 3
    stride = layout._stride(N)
    sequence = block.array(np.int64, 1, 128 + 64 * slot)
    data = block.array(np.float32, N, 320 + stride * slot + 64)
    stores = [
        lambda: sequence.fill(2 * version - 1),
        lambda: block.array(np.int64, 2, 320 + stride * slot).__setitem__(slice(None), (-1, version)),
        lambda: data[: N // 2].fill(-1),
        lambda: data.fill(-1),
        lambda: sequence.fill(2 * version),
    ]
    for store in stores[:step]:
        store()


@pytest.mark.parametrize("published", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("step", range(6))
def test_readers_keep_the_last_complete_version_when_the_writer_dies(block, step, published):
    slots = WeightSlots.create(block, N)
    for version in range(1, published + 1):
        slots.publish(version, version, filled(version))
    die_at(block, step, published + 1)
    reader = WeightSlots.attach(block)
    assert reader.latest == published
    found = reader.read()
    if published:
        assert found[:2] == (published, published)
        assert np.array_equal(found[2], filled(published))
    else:
        assert found is None
    successor = WeightSlots.attach(block)
    for version in range(successor.latest + 1, successor.latest + 5):
        successor.publish(version, version, filled(version))
        assert np.array_equal(reader.read(version - 1)[2], filled(version))


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_writers_are_succeeded_without_a_tear_or_a_step_back(block, kills):
    reader = WeightSlots.create(block, N)
    random = np.random.default_rng(0)
    have = 0
    for _ in range(kills):
        with writers("weights", block) as writer:
            try:
                goal, enough = have + random.integers(5, 200), time.monotonic() + 300
                while have < goal:
                    assert writer.poll() is None and time.monotonic() < enough
                    if (found := reader.read(have)) is not None:
                        version, step, blob = found
                        assert version > have
                        assert step == 7 * version
                        assert np.array_equal(blob, filled(version))
                        have = version
            finally:
                writer.kill()


def aarch64(function, *signature):
    """The ordered loads, stores and barriers of a compiled function, once translated for a 64-bit ARM processor."""
    compiled = njit(function.py_func, nogil=True)
    compiled.compile(signature)
    code = compiled.inspect_llvm(compiled.signatures[0])
    own = compiled.overloads[compiled.signatures[0]].fndesc.llvm_func_name
    others = re.compile(r"^define (?!.*" + re.escape(own) + r").*?^}\n", re.MULTILINE | re.DOTALL)
    code = others.sub("", code)  # wrappers for Python and reference counting, full of x86
    code += "".join(f"declare void @{name}(ptr)\n" for name in sorted(set(re.findall(r"@(NRT_(?:in|de)cref)\(", code))))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine()
    code = re.sub(r'target triple = ".*"', f'target triple = "{machine.triple}"', code)
    code = re.sub(r'target datalayout = ".*"', f'target datalayout = "{machine.target_data}"', code)
    assembly = machine.emit_assembly(llvm.parse_assembly(code))
    return [word.split()[-1] for word in re.findall(r"\b(?:ldar|stlr|dmb\s+ish\w*)\b", assembly)]


def test_arm_code_holds_the_barriers_in_order():
    floats, words, blob = types.float32[:, ::1], types.int64[:, ::1], types.float32[::1]
    write = aarch64(_publish, types.int64, types.int64, types.int64, blob, floats, words)
    read = aarch64(_read, types.int64, types.int64, floats, words, blob)
    assert write == ["ish", "stlr", "stlr"]
    assert read[:3] == ["ldar", "ldar", "ishld"]  # the first attempt; the others are copies of it
    assert set(read) == {"ldar", "ishld"}
