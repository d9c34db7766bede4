"""Every test of the widget may make one whose page is the test."""

from tests.harness.browser.recorded_widget import bundle, make

__all__ = ["bundle", "make"]
