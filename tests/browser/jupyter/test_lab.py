"""The harness itself: if this fails, blame no other browser test."""

import pytest

from tests.browser.conftest import SharedPage
from tests.harness.browser.watching import PLAIN

pytestmark = pytest.mark.browser


def test_an_error_and_a_warning_in_the_page_are_seen(shared_page: SharedPage):
    opened, widget = shared_page(PLAIN)
    opened.page.evaluate("setTimeout(() => { throw new Error('something broke') })")
    opened.page.evaluate("console.warn('something creaks')")
    seen = lambda: sorted(text.splitlines()[0] for text in opened.console_errors)  # noqa: E731
    widget.until(seen, ["something creaks", "uncaught: something broke"].__eq__, 60, "both")
    opened.console_errors.clear()
