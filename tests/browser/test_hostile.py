"""Names, errors, metrics and sentences from outside are text on the page, whatever they hold."""

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import begin, ticks_on

pytestmark = pytest.mark.browser

HOSTILE = """
from dshq_widget import DrillWidget
from dshq_widget.drills import ball
markup = "<img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
class Hostile(ball.Ball):
    title = markup
    tags = (markup,)
w = DrillWidget(Hostile); w
"""


def test_markup_from_the_kernel_is_never_markup_on_the_page(plain_chromium, open_page: OpenPage):
    notebook, widget = begin(open_page, plain_chromium, HOSTILE)
    notebook.kernel.run(
        """
def say():
    w._refresh = lambda: None  # what follows stands until it was seen
    w.status, w.status_text, w.error = "error", markup, markup
    w.metrics = {markup: 1.0, "agent_steps": 10, "return_mean": markup, "elo": markup, "win_rate_ema": [markup]}
    row = {"name": markup, "pinned": True, "elo": markup, "elo_low": 1, "elo_high": 2, "against": {markup: [1, 2]}}
    w.league = [row]
    w._outbox.put({"type": "LOG", "level": "error", "text": markup})
    w._outbox.put({"type": "HISTORY", "start": 0, "rows": [{markup: 2, "agent_steps": 9, "entropy": markup}]})
say()
"""
    )
    widget.until(lambda: widget.root.inner_text(), lambda text: text.count("<img src=x") >= 2, 60, "the text as it is")
    for tab in widget.tabs():
        widget.tab(tab)
        for summary in widget.root.locator("summary:visible").all():
            summary.click()
    widget.page.wait_for_timeout(1000)
    assert widget.root.locator("img").count() == widget.root.locator("script").count() == 0
    assert widget.page.evaluate("window.hit") is None
    assert ticks_on(widget)
