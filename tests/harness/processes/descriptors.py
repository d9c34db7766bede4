"""Which regular files this process holds open; what is newly open counts."""

import gc
import os
import stat
from collections import Counter

KERNELS = {os.stat(folder).st_dev for folder in ("/proc", "/sys") if os.path.isdir(folder)}
"""Devices of files that the kernel makes up."""


def open_files() -> Counter:
    """How many descriptors are of which regular file, (device, inode); shared memory without a name is one. Those of
    /proc and /sys are left out: other threads of the process look there for a moment.
    """
    gc.collect()  # an exception and its frames refer to one another
    files = Counter()
    for number in os.listdir("/proc/self/fd"):
        try:
            state = os.fstat(int(number))
        except OSError:  # that of the listing
            continue
        if stat.S_ISREG(state.st_mode) and state.st_dev not in KERNELS:
            files[state.st_dev, state.st_ino] += 1
    return files


def opened_since(before: Counter) -> int:
    """How many descriptors of regular files were opened since `before`, a result of `open_files`, and still are."""
    return (open_files() - before).total()
