"""The page of `dshq play`: the real command, several pages of one widget, and what is left when Python is gone."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.browser.conftest import LearningPage, OpenPage
from tests.harness.browser.console import Console
from tests.harness.browser.counting import COUNT_DEVICES, COUNT_LISTENERS
from tests.harness.browser.page import widget_on
from tests.harness.browser.slow_line import SlowLine
from tests.harness.browser.watching import TRAINED, begin, inject, learns, pause_known, stands_alone, stops, ticks_on

pytestmark = pytest.mark.browser

END_SECONDS = 30  # it takes less than one; a busy machine takes its time
PLAY_AGAIN = "Start dshq play again"


def test_the_command_plays_trains_and_ends(plain_chromium, tmp_path):
    command = [sys.executable, "-m", "dshq_widget.cli", "play", "ball", "--no-browser"]
    console = Console()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            page = plain_chromium.new_context().new_page()
            console.watch(page)
            page.goto(url)
            widget = widget_on(page, console.problems)
            assert ticks_on(widget)
            assert learns(widget) >= 1
            children = psutil.Process(process.pid).children(recursive=True)
            assert children
            process.send_signal(signal.SIGTERM)
            assert process.wait(END_SECONDS) == 0
            stands_alone(widget, PLAY_AGAIN)
            assert psutil.wait_procs(children, END_SECONDS)[1] == []
            assert process.stdout.read() == ""
            page.context.close()
        finally:
            process.kill()
    assert console.problems == []


IN_A_SHADOW_ROOT = """
const find = Document.prototype.getElementById;
Document.prototype.getElementById = function (id) {
  const host = find.call(this, id);
  if (id !== "dshq" || !host) return host;
  const inside = document.createElement("div");
  host.attachShadow({ mode: "open" }).append(inside);
  return inside;
};
"""


def test_in_a_shadow_root_menus_and_fields_work_as_elsewhere(plain_chromium, open_page: OpenPage):
    hide = lambda context: context.add_init_script(IN_A_SHADOW_ROOT)  # noqa: E731
    opened, widget = begin(open_page, plain_chromium, prepare=hide)
    assert opened.page.evaluate("document.querySelector('.dshq-widget')") is None
    menu = widget.root.locator(".share-menu")
    widget.control("share").click()
    menu.click(position={"x": 3, "y": 3})
    assert menu.is_visible()
    widget.root.locator(".scoreboard .time").click()
    menu.wait_for(state="hidden")

    widget.tab("settings")
    field = widget.control("epochs")
    field.fill("5")
    opened.run("w.set_hyper(epochs=2, gamma=0.9)")
    widget.until(lambda: widget.control("gamma").input_value(), lambda now: now == "0.9", 60, "the change")
    assert field.input_value() == "5", "it is being typed"


def test_several_pages_of_one_widget(plain_chromium, open_page: OpenPage):
    opened, one = begin(open_page, plain_chromium)
    other = opened.another()
    other.wait_number("tick", lambda tick: tick > 0)
    assert ticks_on(other)
    one.page.bring_to_front()
    one.control("speed").select_option("4")
    other.page.bring_to_front()
    other.until(
        lambda: other.control("speed").input_value(), lambda speed: speed == "4", 60, "the speed on the other page"
    )
    opened.kernel.run("w.pause()")
    for widget in (one, other):
        widget.wait_attribute("playing", lambda playing: playing == "false")
    opened.reload()
    again = opened.widget()
    again.wait_number("tick", lambda tick: tick > 0)
    assert again.attribute("playing") == "false"
    opened.kernel.run("w.close()")
    for widget in (again, other):
        widget.until(widget.page.locator(".dshq-widget").count, lambda count: count == 0, 60, "no widget")
        assert "Python has closed this widget." in widget.page.locator("main").inner_text()


def test_training_shows_in_the_running_match_and_a_reload_loses_nothing(learning_page: LearningPage):
    opened, widget = learning_page()
    tick, version = widget.number("tick"), widget.number("version")
    widget.wait_number("version", lambda now: now > version, TRAINED)
    assert widget.number("tick") >= tick and ticks_on(widget), "the match was never started again"
    opened.run("assert w.status == 'training' and w.version >= 1 and w.metrics['agent_steps'] > 0")
    stops(widget)
    version = float(opened.run("print(w._trainer.version)"))
    widget.wait_number("version", lambda now: now == version)
    stood = pause_known(opened, widget)
    opened.reload()
    again = opened.widget()
    assert again.wait_number("tick", lambda tick: tick > 0) >= stood
    assert again.wait_number("version", lambda now: now > 0) == version
    assert again.attribute("playing") == "false"
    again.control("play").click()
    assert ticks_on(again)


def test_close_leaves_no_listener_and_no_buffer(chromium, open_page: OpenPage):
    opened, widget = begin(open_page, chromium, prepare=inject(COUNT_DEVICES + COUNT_LISTENERS))
    widget.wait_attribute("renderer", lambda renderer: renderer == "webgpu")
    worker = opened.page.workers[0]
    assert opened.page.evaluate("window.dshqListeners()") > 0
    assert worker.evaluate("self.buffers.size") >= 3
    opened.kernel.run("w.close()")
    widget.until(lambda: opened.page.locator(".dshq-widget").count(), lambda count: count == 0, 60, "no widget")
    buffers = lambda: worker.evaluate("self.buffers.size + self.textures.size")  # noqa: E731
    widget.until(buffers, lambda count: count == 0, 60, "no buffer and no texture")
    assert opened.page.evaluate("window.dshqListening()") == []


def test_the_kernel_dies_and_the_match_goes_on(plain_chromium, open_page: OpenPage):
    opened, widget = begin(open_page, plain_chromium)
    process = int(opened.kernel.run("import os; print(os.getpid())"))
    os.kill(process, signal.SIGKILL)
    stands_alone(widget, PLAY_AGAIN)


def test_a_page_that_was_cut_off_connects_again(plain_chromium, open_page: OpenPage):
    with SlowLine() as line:
        opened, widget = begin(open_page, plain_chromium, where=line.way)
        widget.page.evaluate(SEEN)
        line.cut()
        widget.until(lambda: widget.page.evaluate("window.seen"), lambda seen: "disconnected" in seen, 60, "the cut")
        widget.wait_attribute("status", lambda status: status == "idle")
        opened.kernel.run("w.speed = 8")
        widget.until(lambda: widget.control("speed").input_value(), lambda speed: speed == "8", 60, "the speed")
        widget.control("pause").click()
        widget.until(
            lambda: opened.kernel.run("print(w.show['playing'])").strip(), "False".__eq__, 60, "the page's word"
        )


SEEN = """() => {
    const root = document.querySelector(".dshq-widget");
    window.seen = [root.dataset.status];
    const look = new MutationObserver(() => window.seen.push(root.dataset.status));
    look.observe(root, { attributeFilter: ["data-status"] });
}"""
