"""A page of a failed test is closed, too."""

from collections.abc import Iterator

import pytest

from tests.harness.browser.exported_page import Opened


@pytest.fixture(autouse=True)
def closed_in_the_end() -> Iterator[None]:
    """Closes what the test left open."""
    yield
    Opened.close_all()
