"""Order and gates for the whole suite: fast tests first, the browser last, GPU tests only where there is one."""

import shutil

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by cost, so that a mistake shows within seconds; within a cost the written order stays."""
    items.sort(key=lambda item: ("browser" in item.keywords) + 2 * ("slow" in item.keywords))
    if shutil.which("nvidia-smi") is None:
        for item in items:
            if "gpu" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))
