"""A page and a kernel that hear little of each other: nobody looks, or the line between them is long."""

import json

import pytest

from tests.browser.conftest import LearningPage, OpenPage
from tests.harness.browser.slow_line import SlowLine
from tests.harness.browser.watching import TRAINED, begin, learns, pause, stops, ticks_on

pytestmark = pytest.mark.browser

# Seconds between two messages of state from the kernel to the page, from the fifth on.
SENT = """
import time
gaps, _last, _sent = [], [0, 0.0], w._outbox.flow.sent
def noted(keys, now, nbytes=0):
    _last[0] += 1
    if _last[0] > 4:
        gaps.append(now - _last[1])
    _last[1] = now
    _sent(keys, now, nbytes)
w._outbox.flow.sent = noted
"""


@pytest.mark.slow
def test_a_line_with_a_second_of_latency_each_way(plain_chromium, open_page: OpenPage):
    with SlowLine() as line:
        opened, widget = begin(open_page, plain_chromium, where=line.way)
        opened.kernel.run(SENT)
        line.delay = 1.0
        learns(widget)
        first, version = widget.wait_number("fps", lambda fps: fps > 5), widget.number("version")
        widget.wait_number("version", lambda now: now > version, TRAINED)
        assert first and ticks_on(widget)
        pause(widget)
        widget.wait_attribute("playing", lambda playing: playing == "false")
        widget.page.wait_for_timeout(4000)  # nothing late undoes it
        assert widget.attribute("playing") == "false"
        stops(widget)
        line.delay = 0.0
        gaps = json.loads(opened.kernel.run("import json; print(json.dumps(gaps))"))
        assert len(gaps) > 5
        assert min(gaps) >= 0.9, "one message is under way at a time; unanswered for a second, one more follows"


HIDE = """hidden => {
    for (const [name, value] of [["hidden", hidden], ["visibilityState", hidden ? "hidden" : "visible"]])
        Object.defineProperty(document, name, { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


NOTE_WHAT_IS_SENT = """
sent, send = [], w._outbox._send_traits
def noted(keys, seq):
    sent.append((set(keys), w.policy["version"]))
    send(keys, seq)
w._outbox._send_traits = noted
"""


@pytest.mark.slow
def test_a_hidden_page_draws_nothing_and_is_told_little_and_then_catches_up(learning_page: LearningPage):
    opened, widget = learning_page()

    def ask(what: str) -> int:
        return int(opened.run(f"print(int({what}))"))

    def wait(what: str) -> None:
        widget.until(lambda: ask(what), bool, 120, what)

    opened.run(NOTE_WHAT_IS_SENT)
    wait("any('policy' in keys for keys, _ in sent)")
    widget.page.evaluate(HIDE, True)
    widget.wait_number("fps", lambda fps: fps == 0)
    wait("w._outbox.flow.hidden and not w._outbox.flow.waiting")  # what was on its way is answered, or given up
    before, version = ask("len(sent)"), ask("w.policy['version']")
    shown = ask("[version for keys, version in sent if 'policy' in keys][-1]")
    widget.wait_number("version", lambda now: now == shown)  # what was on its way when the page was hidden
    wait(f"w.policy['version'] > {version + 1}")
    assert ask(f"any('policy' in keys for keys, _ in sent[{before}:])") == 0
    assert ask(f"len(sent) - {before}") <= 12, "states and sentences only, no heartbeat"
    assert widget.number("version") == shown
    widget.page.evaluate(HIDE, False)
    widget.wait_number("version", lambda now: now > version + 1, TRAINED)
    widget.wait_number("fps", lambda fps: fps > 1)
    assert widget.attribute("status") == "training"
    opened.run("w._outbox._send_traits = send")
