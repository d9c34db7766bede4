"""Order, company and gates for the whole suite: fast tests first, one browser at a time, and no GPU's tests without
one.
"""

import shutil

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by cost, so that a mistake shows within seconds; within a cost the written order stays.

    Where several processes share the tests (pytest-xdist), one of them begins with the browser's and keeps them to the
    end: two pages that draw at once starve each other. The files of the others are whole.
    """
    shared = getattr(config.option, "loadgroup", False)  # so a process of pytest-xdist is told
    items.sort(key=lambda item: ("browser" in item.keywords) != shared)
    items.sort(key=lambda item: "slow" in item.keywords)
    for item in items if shared else []:
        company = "browser" if "browser" in item.keywords else item.nodeid.split("::")[0]
        item.add_marker(pytest.mark.xdist_group(company))
    if shutil.which("nvidia-smi") is None:
        for item in items:
            if "gpu" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))
