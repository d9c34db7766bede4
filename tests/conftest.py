"""Order and gates for the whole suite: fast tests first, the browser last, GPU tests only where there is one.

With two processes or more (`-n 3`, pytest-xdist) the browser's tests stay in one of them, from the start, and the other
files run beside it: two pages that draw in software starve each other, while one page mostly waits. Whichever process
is done takes what is left, file by file, the longest files first.
"""

import gc
import os
import shutil
from importlib.metadata import version

import pytest

from tests.harness.apart import BROWSER, TESTS, BrowserApart
from tests.harness.costs import plugin as costs
from tests.harness.counts import go_easy
from tests.harness.processes.in_threads import learners_in_threads  # noqa: F401, a fixture for all
from tests.harness.quick import is_quick

LONGEST = (
    "lessons/test_lessons.py",
    "kernels/test_network.py",
    "classroom/test_demo.py",
    "kernels/test_cuda.py",
    "gpu/test_turns.py",
    "drills/test_ball.py",
    "training/test_faults.py",
    "training/test_trainer.py",
    "gyms/test_gym.py",
    "gpu/test_resident.py",
)
"""Files that should not be the last to begin."""


@pytest.fixture
def reference_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs the rules in this test, and in the processes that it starts: nothing of a new drill is compiled."""
    monkeypatch.setenv("DSHQ_RULES", "reference")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="tests of single units alone: nothing is compiled")


def pytest_configure(config: pytest.Config) -> None:
    """Without the slow tests the others repeat themselves less. Every run says what it cost. Until the tests are
    collected nothing is garbage.
    """
    gc.disable()
    # Threads of torch and of numpy wait for work by turning round and round, ten times as long as these tests work.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Triton asks for this when it is first imported, and parts of torch import it before its tests are read.
    if shutil.which("nvidia-smi") is None or version("torch").endswith("+cpu"):
        os.environ.setdefault("TRITON_INTERPRET", "1")
    go_easy("not slow" in config.option.markexpr or config.option.quick)
    costs.register(config)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BrowserApart:
    """Which process gets which tests."""
    return BrowserApart(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by cost, so that a mistake shows within seconds; within a cost the written order stays. With several
    processes the longest comes first.
    """
    if config.option.quick:
        config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
        items[:] = filter(is_quick, items)
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        rank = {TESTS / file: place for place, file in enumerate(LONGEST)}
        items.sort(
            key=lambda item: (
                BROWSER not in item.path.parents,
                item.path not in slow,
                rank.get(item.path, len(rank)),
            )
        )
    else:
        items.sort(
            key=lambda item: (item.get_closest_marker("slow") is not None, BROWSER in item.path.parents),
        )
    if shutil.which("nvidia-smi") is None:
        for item in items:
            if item.get_closest_marker("gpu"):  # not `item.keywords`, among which is the folder's name
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What was imported and collected stays: nobody has to go through it for garbage again and again."""
    gc.freeze()
    gc.enable()
