"""Shared blocks: zero-filled, whole, nameless, and an exception instead of a SIGBUS when there is no room."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.system.form import PORTABLE
from tests.harness.processes.descriptors import open_files, opened_since
from tests.harness.processes.faults import until
from tests.harness.processes.in_threads import again

IN_SMALL_SHM = """
import sys
from dshq_widget.runtime.memory import SharedBlock
block = SharedBlock.create(16 << 20)          # the size of /dev/shm does not matter
block.array("u1", 16 << 20)[:] = 1
SharedBlock.create(4 << 20, "/dev/shm").array("u1", 4 << 20)[:] = 1
try:
    SharedBlock.create(16 << 20, "/dev/shm")  # a file on 8 MB
except MemoryError as error:
    print(error)
"""
LIMITED = """
import resource
from dshq_widget.runtime.memory import SharedBlock
resource.setrlimit(resource.{limit}, ({most}, {most}))
try:
    SharedBlock.create(2 * {most})
except MemoryError as error:
    print(error)
"""


@pytest.mark.parametrize("directory", [None, "/tmp"], ids=["anonymous", "file"])
def test_two_mappings_share_one_memory(directory):
    first = SharedBlock.create(1000, directory)
    second = again(first)
    numbers = first.array(np.float32, (5, 4), offset=64)
    assert not numbers.any()
    numbers[:] = np.arange(20).reshape(5, 4)
    assert np.array_equal(second.array(np.float32, 20, offset=64), np.arange(20))
    assert first.address % 64 == 0
    assert first.address != second.address


def test_arrays_outlive_close_and_the_rest_is_let_go():
    before = open_files()
    block = SharedBlock.create(4096)
    array = block.array(np.uint8, 4096)
    block.close()
    block.close()
    array[:] = 3
    assert array.sum() == 3 * 4096
    with pytest.raises(ValueError, match="closed"):
        block.array(np.uint8, 1)
    with pytest.raises(ValueError, match="closed"):
        _ = block.address
    del array
    until(lambda: opened_since(before) == 0, "the end of what this and other threads opened")


@pytest.mark.skipif(PORTABLE, reason="only a memfd has seals")
def test_nobody_can_shrink_a_block_under_another():
    block = SharedBlock.create(4096)
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(block.where, 0)


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_block_needs_a_size(nbytes):
    with pytest.raises(ValueError, match="at least 1 byte"):
        SharedBlock.create(nbytes)


def test_views_must_fit():
    block = SharedBlock.create(100)
    for shape, offset in ((26, 0), (25, 4), (1, -4)):
        with pytest.raises(ValueError, match="does not fit"):
            block.array(np.float32, shape, offset)


def test_attaching_less_than_announced_is_refused():
    block = SharedBlock.create(100)
    with pytest.raises(ValueError, match="holds 100 bytes, but 200"):
        SharedBlock.attach(block.where, 200)


def test_more_than_the_machine_has_is_refused_in_a_sentence():
    before = open_files()
    with pytest.raises(MemoryError, match=r"cannot get 1,000,000,000\.0 MB of shared memory: only .* use fewer games"):
        SharedBlock.create(10**15)
    until(lambda: opened_since(before) == 0, "the end of what this and other threads opened")


@pytest.mark.parametrize(("limit", "most"), [("RLIMIT_FSIZE", 8 << 20), ("RLIMIT_AS", 1 << 30)])
def test_limits_of_the_process_give_one_sentence(limit, most):
    assert_one_sentence([sys.executable, "-c", LIMITED.format(limit=limit, most=most)])


def test_eight_megabytes_of_shm_are_enough_or_give_one_sentence():
    assert_one_sentence(in_private_mounts("mount -t tmpfs -o size=8m tmpfs /dev/shm", IN_SMALL_SHM))


def test_no_shm_at_all_is_enough():
    script = "from dshq_widget.runtime.memory import SharedBlock; SharedBlock.create(1 << 20).array('u1', 9)[:] = 1"
    assert subprocess.run(in_private_mounts("umount /dev/shm", script), timeout=300).returncode == 0


def in_private_mounts(change, script):
    """The command that runs Python after the shell command `change`; skips the test where that is not allowed."""
    private = ["unshare", "-m", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*private, change], capture_output=True).returncode:
        pytest.skip("changing /dev/shm for one process needs the right to mount")
    return [*private, f'{change} && exec "$@"', "sh", sys.executable, "-c", script]


def assert_one_sentence(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("cannot get ")
    assert "use fewer games" in done.stdout


@pytest.mark.skipif(PORTABLE, reason="there is no descriptor")
def test_a_block_that_is_forgotten_keeps_no_descriptor_and_its_arrays_stay():
    before = open_files()
    block = SharedBlock.create(4096)
    numbers = block.array(np.float32, 4)
    del block
    numbers[:] = 1
    until(lambda: opened_since(before) == 1, "no descriptor but that of the mapping")
    del numbers
    until(lambda: opened_since(before) == 0, "the end of what this and other threads opened")
