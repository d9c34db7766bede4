"""Seconds that a promise took, beside the bar that the project sets itself: noted, never asserted.

A test waits patiently, since a busy machine is no defect. What it waited for is worth knowing all the same.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recorded(name: str, bar_seconds: float) -> Iterator[None]:
    """Append "name seconds bar" to the file that DSHQ_TEST_BARS names, if it is set, once the block has ended well.
    `name` has no blanks.
    """
    began = time.monotonic()
    yield
    if path := os.environ.get("DSHQ_TEST_BARS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{name} {time.monotonic() - began:.3f} {bar_seconds:g}\n")
