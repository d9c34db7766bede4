"""Order and gates for the whole suite: fast tests first, the browser last, GPU tests only where there is one.

With two processes or more (`-n 2`, pytest-xdist) the browser's tests stay in one of them, from the start, and the other
files run beside it: two pages that draw in software starve each other, while one page mostly waits.
"""

import shutil
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

BROWSER = Path(__file__).parent / "browser"


class BrowserApart(LoadScopeScheduling):
    """File by file, in the order in which they were collected; the browser's files are one."""

    def __init__(self, config: pytest.Config, log: object = None):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "browser" if BROWSER in (BROWSER.parents[1] / file).parents else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BrowserApart:
    """Which process gets which tests."""
    return BrowserApart(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by cost, so that a mistake shows within seconds; within a cost the written order stays. With several
    processes the longest comes first.
    """
    browser_first = hasattr(config, "workerinput")
    items.sort(key=lambda item: (("browser" in item.keywords) != browser_first) + 2 * ("slow" in item.keywords))
    if shutil.which("nvidia-smi") is None:
        for item in items:
            if "gpu" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))
