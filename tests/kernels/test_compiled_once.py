"""A kernel is compiled once, whatever its callers pass: constants, addresses of arrays, or numbers in a tuple."""

import importlib.util
import json
from collections import Counter

import pytest

from tests.harness.scripts import printed

KERNELS = """
from typing import NamedTuple

import numpy as np
from dshq_kernels.simd.vector import compiled


class Named(NamedTuple):
    number: int
    array: np.ndarray


@compiled
def named(both):
    return both.number + both.array[0]


@compiled
def called(number, pair, array, flag):
    return number + pair[0] - pair[1] + array[0] * flag


@compiled
def caller(array, number):
    named(Named(number, array))
    total = called(number, (number, number), array, number > 2)
    total += called(0, (1, 0), array, True)
    total += called(np.uint64(number), (array.ctypes.data, array.ctypes.data), array, False)
    return total
"""
PAGE = """
import importlib, json
from dshq_kernels.backends.bent_numba import bend
bend()
from numba.core import event
compiled = []


class Listener(event.Listener):
    def on_start(self, seen):
        function = seen.data["dispatcher"].py_func
        compiled.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, seen):
        pass


event.register("numba:compile", Listener())
importlib.import_module("dshq_kernels.play.MODULE")
print(json.dumps(compiled))
"""


def test_constants_addresses_and_numbers_are_one_kind(tmp_path):
    import numpy as np

    file = tmp_path / "once.py"
    file.write_text(KERNELS)
    spec = importlib.util.spec_from_file_location("once", file)
    once = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(once)
    assert once.caller(np.array([7]), 3) == (3 + 7) + (1 + 7) + 3
    assert len(once.called.signatures) == 1


@pytest.mark.slow  # numba's whole work on the page's learner
@pytest.mark.parametrize(("module", "learns"), [("exported", 0), ("exported_learn", 1)])
def test_each_kernel_of_the_pages_learner(module, learns):
    """Two processes compile it, each its own half."""
    compiled = json.loads(printed(PAGE.replace("MODULE", module)))
    counts = Counter(name for name in compiled if name.startswith("dshq_kernels."))
    assert counts["dshq_kernels.network.gradient.add_gradient"] == learns
    # One line that C functions call and others, too: numba compiles such an overload for each kind of caller.
    counts.pop("dshq_kernels.network.mlp.plan_floats", None)
    assert {name: count for name, count in counts.items() if count > 1} == {}
