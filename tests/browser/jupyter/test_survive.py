"""What happens to every notebook sooner or later, and what is left of the widget afterwards."""

import json
import os
import signal

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import OpenNotebook
from tests.harness.browser.counting import COUNT_DEVICES, COUNT_LISTENERS
from tests.harness.browser.lab import LAB_KERNEL
from tests.harness.browser.page import launch_chromium
from tests.harness.browser.watching import PLAIN, SMALL, begin, inject, learns, plays_on, stands_alone, stops, ticks_on

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_after_a_kernel_restart_the_match_goes_on_and_the_cell_gives_a_fresh_widget(chromium, open_notebook):
    notebook, widget = begin(open_notebook, chromium, SMALL)
    version = learns(widget)
    notebook.page.evaluate(f"{LAB_KERNEL}.restart()")
    stands_alone(widget)
    assert widget.number("version") >= version, "the last policy plays on"

    notebook.run_all()
    again = notebook.widget()
    again.wait_attribute("status", lambda status: status == "idle")
    assert notebook.page.locator(".dshq-widget").count() == 1
    assert again.wait_number("tick", lambda tick: tick > 0) and again.number("version") == 0
    assert learns(again) >= 1


@pytest.mark.slow
def test_after_a_shutdown_the_same_also_where_nothing_trains(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    widget.page.evaluate(f"{LAB_KERNEL}.shutdown()")
    stands_alone(widget)


def test_train_and_stop_work_while_a_cell_runs_and_the_match_outlives_the_kernel(
    plain_chromium, open_notebook: OpenNotebook
):
    notebook, widget = begin(open_notebook, plain_chromium, SMALL, "import time")
    notebook.page.evaluate(
        """() => {
            const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 1;
            content.activeCell.model.sharedModel.setSource("while True: time.sleep(0.1)");
            window.jupyterapp.commands.execute("notebook:run-cell");
        }"""
    )
    # The kernel's status is no measure: JupyterLab takes what a subshell says of itself for it.
    running = notebook.page.locator(".jp-CodeCell").nth(1).locator(".jp-InputPrompt")
    widget.until(lambda: running.inner_text(), lambda prompt: "*" in prompt, 60, "a running cell")
    learns(widget)
    stops(widget)
    assert "*" in running.inner_text(), "all this happened while the cell ran"
    notebook.page.evaluate(f"{LAB_KERNEL}.interrupt()")
    process = int(notebook.kernel.run("import os; print(os.getpid())"))
    os.kill(process, signal.SIGKILL)
    stands_alone(widget)


@pytest.mark.slow
def test_two_views_show_one_match_and_share_their_worker_with_another(chromium, open_notebook: OpenNotebook):
    notebook, first = begin(
        open_notebook,
        chromium,
        "from dshq_widget import DrillWidget; w = DrillWidget(); display(w)",
        "display(w)",
        "v = DrillWidget(seed=1); v",
    )
    second, other = notebook.widget(1), notebook.widget(2)
    for widget in (second, other):
        widget.wait_attribute("renderer", lambda renderer: renderer == "webgpu")
    assert len(notebook.page.workers) == 1
    first.control("pause").first.click()
    for view in (first, second):
        view.wait_attribute("playing", lambda playing: playing == "false")
    notebook.page.wait_for_timeout(500)
    assert first.attribute("tick") == second.attribute("tick")
    for view in (first, second):
        view.root.scroll_into_view_if_needed()
        view.until(lambda view=view: view.colours(view.picture()), lambda count: count > 5, 60, "a picture")
    notebook.page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 0;
            return window.jupyterapp.commands.execute("notebook:clear-cell-output");
        }"""
    )
    left = notebook.widget(0)
    left.until(lambda: notebook.page.locator(".dshq-widget").count(), lambda count: count == 2, 60, "one view to go")
    left.control("play").click()
    assert ticks_on(left)
    before = left.picture()
    assert ticks_on(left)
    assert left.picture() != before


@pytest.mark.slow
def test_eight_widgets_share_one_worker_and_one_device(chromium, open_notebook: OpenNotebook):
    made = "from dshq_widget import DrillWidget; all_ = [DrillWidget(seed=k) for k in range(8)]; [*map(display, all_)]"
    notebook = open_notebook(chromium, made, prepare=inject(COUNT_DEVICES))
    notebook.run_all()
    widgets = [notebook.widget(k) for k in range(8)]
    for widget in widgets:
        widget.wait_number("tick", lambda tick: tick > 0)
        assert widget.wait_attribute("renderer", bool) == "webgpu"
    assert len(notebook.page.workers) == 1
    assert notebook.page.workers[0].evaluate("self.devices.length") == 1
    seen = [widget.number("tick") for widget in widgets]
    notebook.page.wait_for_timeout(4000)
    went = [widget.number("tick") - before for widget, before in zip(widgets, seen, strict=True)]
    assert min(went) > 60
    assert max(went) < 2.5 * min(went), "goals' rests differ, but nobody starves"
    for widget in (widgets[0], widgets[-1]):
        widget.root.scroll_into_view_if_needed()
        widget.wait_number("fps", lambda fps: fps > 1)
        widget.wait_drawn()


@pytest.mark.slow
def test_a_cell_that_the_notebook_windows_out_comes_back_drawn(chromium, lab, open_notebook: OpenNotebook):
    settings = lab.home / "config" / "lab" / "user-settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "full"}))
    try:
        notebook = open_notebook(chromium, PLAIN, *[f"print('line\\n' * 60, {k})" for k in range(12)])
        notebook.run_all()
        # Lab keeps the active cell in sight, and that is the last one that ran.
        notebook.page.evaluate(
            """() => {
                const { content } = window.jupyterapp.shell.currentWidget;
                content.activeCellIndex = 0;
                return content.scrollToItem(0);
            }"""
        )
        widget = notebook.widget()
        widget.wait_number("tick", lambda tick: tick > 0)
        notebook.page.wait_for_timeout(1000)
        widget.wait_number("fps", lambda fps: fps > 1)
        scroll = "at => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = at }"
        attached = "root => root.isConnected && root.getBoundingClientRect().bottom > 0"
        root = widget.root.element_handle()
        for _ in range(3):
            notebook.page.evaluate(scroll, 9000)
            widget.until(lambda: root.evaluate(attached), lambda there: not there, 60, "the cell to leave")
            notebook.page.wait_for_timeout(1500)
            stood = root.get_attribute("data-tick")
            notebook.page.evaluate(scroll, 0)
            widget.until(lambda: root.evaluate(attached), bool, 60, "the cell to come back")
            widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 60, "a picture")
            assert ticks_on(widget) and widget.number("tick") > float(stood)
            widget.wait_number("fps", lambda fps: fps > 1)
    finally:
        (settings / "tracker.jupyterlab-settings").unlink()


USED = """
import gc, os, threading, psutil, json
def used():
    gc.collect()
    me = psutil.Process()
    return {"processes": len(me.children(recursive=True)), "files": me.num_fds(), "threads": threading.active_count()}
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [16, 50])
def test_a_cell_run_over_and_over_leaves_nothing(chromium, open_notebook: OpenNotebook, times):
    notebook, widget = begin(open_notebook, chromium, PLAIN, prepare=inject(COUNT_DEVICES + COUNT_LISTENERS))

    def run(trained: bool) -> None:
        old = notebook.widget().root.element_handle()
        notebook.run_all()
        widget.until(
            lambda: old.evaluate("root => root.isConnected"), lambda there: not there, 60, "the old widget to go"
        )
        fresh = notebook.widget()
        fresh.wait_number("tick", lambda tick: tick > 0)
        if trained:
            learns(fresh)
            curves = fresh.root.locator(
                ".curve canvas"
            )  # uPlot comes with the first one and listens for good, once a page
            fresh.until(curves.count, bool, 60, "a curve")

    def count() -> dict[str, int]:
        kernel = json.loads(notebook.kernel.run("print(json.dumps(used()))"))
        page = notebook.page.evaluate("({ listeners: window.dshqListeners() })")
        worker = notebook.page.workers[0]
        return kernel | page | {"buffers": worker.evaluate("self.buffers.size"), "workers": len(notebook.page.workers)}

    notebook.kernel.run(USED)
    for trained in (True, False, False):
        run(trained)
    before = count()
    for k in range(times):
        run(k % 16 == 4)
    notebook.page.wait_for_timeout(3000)
    for _ in range(2):
        run(False)
    listeners = "window.dshqListeners()"
    widget.until(
        lambda: notebook.page.evaluate(listeners), lambda n: n <= before["listeners"], 60, "the old listeners' end"
    )
    buffers = lambda: notebook.page.workers[0].evaluate("self.buffers.size")  # noqa: E731
    widget.until(buffers, lambda n: n <= before["buffers"], 60, "the old buffers' end, which the worker hears of later")
    after = count()
    assert after["processes"] <= before["processes"]
    assert after["files"] <= before["files"] + 10, "sockets of subshells come and go; a leak would be one a run"
    assert after["threads"] <= before["threads"]
    assert after["workers"] == 1
    assert after["buffers"] == before["buffers"]
    assert notebook.page.workers[0].evaluate("self.living.size") == 1, "a busy machine may lose one, which is replaced"


@pytest.fixture
def named_chromium(playwright):
    """A Chromium for which notebook.test is this machine: a name that is neither localhost nor https."""
    browser: Browser = launch_chromium(playwright, True, "--host-resolver-rules=MAP notebook.test 127.0.0.1")
    yield browser
    browser.close()


@pytest.mark.slow
def test_over_plain_http_the_match_plays_without_webgpu_and_says_why(named_chromium, lab, open_notebook: OpenNotebook):
    notebook = open_notebook(named_chromium, PLAIN, url=f"http://notebook.test:{lab.port}")
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 0)
    assert "https" in plays_on(widget, "canvas2d", "worker")
    assert not widget.page.evaluate("isSecureContext")
    assert learns(widget) >= 1
