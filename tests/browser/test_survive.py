"""What happens to every notebook sooner or later, and what is left of the widget afterwards.

Kernels that restart and die, several views, many widgets, hidden and windowed cells, cells run again and again, GPUs
and workers that are not there or go away, busy kernels and slow lines. Behaviour only, under generous time-outs.
"""

import json
import os
import signal

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.conftest import OpenNotebook
from tests.browser.test_watch_it_learn import PLAIN, TRAINED, begin, pause, ticks_on
from tests.harness.lab import LabServer
from tests.harness.page import NotebookPage, WidgetPage, launch_chromium
from tests.harness.slow_line import SlowLine

pytestmark = pytest.mark.browser

LAB_KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"


def learns(widget: WidgetPage) -> float:
    """Press Train and wait for the next version in the match."""
    before = widget.number("version")
    widget.control("Train").click()
    return widget.wait_number("version", lambda version: version > before, TRAINED)


def stands_alone(widget: WidgetPage) -> None:
    """The kernel is gone: the page says so and what to do, and the match goes on."""
    widget.wait_attribute("status", lambda status: status == "disconnected")
    banner = widget.root.get_by_role("alert")
    assert "kernel is gone" in banner.inner_text()
    assert "Run this cell again" in banner.inner_text()
    assert ticks_on(widget)


def inject(script: str):
    """A `prepare` that runs `script` in every page before anything else."""

    def prepare(context: BrowserContext) -> None:
        context.add_init_script(script)

    return prepare


# ---- the kernel


def test_after_a_kernel_restart_the_match_goes_on_and_the_cell_gives_a_fresh_widget(chromium, open_notebook):
    notebook, widget = begin(open_notebook, chromium)
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


def test_after_the_kernels_death_the_same(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    learns(widget)
    process = int(notebook.kernel.run("import os; print(os.getpid())"))
    os.kill(process, signal.SIGKILL)
    stands_alone(widget)


def test_after_a_shutdown_the_same_also_where_nothing_trains(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    widget.page.evaluate(f"{LAB_KERNEL}.shutdown()")
    stands_alone(widget)


def test_train_and_stop_work_while_a_cell_runs(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium, PLAIN, "import time")
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
    widget.until(lambda: running.inner_text(), lambda prompt: "*" in prompt, 30, "a running cell")
    learns(widget)
    widget.control("Stop training").click()
    widget.wait_attribute("status", lambda status: status == "stopped")
    assert "*" in running.inner_text(), "all this happened while the cell ran"
    notebook.page.evaluate(f"{LAB_KERNEL}.interrupt()")


def test_a_line_with_a_second_of_latency_each_way(chromium, lab, open_notebook: OpenNotebook):
    with SlowLine(lab.port) as line:
        notebook = open_notebook(chromium, PLAIN, url=f"http://127.0.0.1:{line.port}")
        notebook.run_all()
        widget = notebook.widget()
        widget.wait_number("tick", lambda tick: tick > 0)
        notebook.kernel.run(SENT)
        line.delay = 1.0
        learns(widget)
        first, version = widget.wait_number("fps", lambda fps: fps > 5), widget.number("version")
        widget.wait_number("version", lambda now: now > version)
        assert first and ticks_on(widget)
        pause(widget)
        widget.wait_attribute("playing", lambda playing: playing == "false")
        widget.page.wait_for_timeout(4000)  # nothing late undoes it
        assert widget.attribute("playing") == "false"
        widget.control("Stop training").click()
        widget.wait_attribute("status", lambda status: status == "stopped")
        line.delay = 0.0
        gaps = json.loads(notebook.kernel.run("import json; print(json.dumps(gaps))"))
        assert len(gaps) > 5
        assert min(gaps) >= 0.9, "one message is under way at a time; unanswered for a second, one more follows"


# Seconds between two messages of state from the kernel to the page, from the fifth on.
SENT = """
import time
gaps, _last, _sent = [], [0, 0.0], w._outbox.flow.sent
def noted(keys, now):
    _last[0] += 1
    if _last[0] > 4:
        gaps.append(now - _last[1])
    _last[1] = now
    _sent(keys, now)
w._outbox.flow.sent = noted
"""


# ---- the page


def test_two_views_show_one_match(chromium, open_notebook: OpenNotebook):
    notebook, first = begin(
        open_notebook,
        chromium,
        "from dshq_widget import DrillWidget; w = DrillWidget(); display(w)",
        "display(w)",
    )
    second = notebook.widget(1)
    second.wait_attribute("renderer", lambda renderer: renderer == "webgpu")
    first.control("Pause").first.click()
    for view in (first, second):
        view.wait_attribute("playing", lambda playing: playing == "false")
    notebook.page.wait_for_timeout(500)
    assert first.attribute("tick") == second.attribute("tick")
    for view in (first, second):
        view.root.scroll_into_view_if_needed()
        view.until(lambda view=view: view.colours(view.picture()), lambda count: count > 5, 20, "a picture")
    notebook.page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 0;
            return window.jupyterapp.commands.execute("notebook:clear-cell-output");
        }"""
    )
    left = notebook.widget(0)
    left.until(lambda: notebook.page.locator(".dshq-widget").count(), lambda count: count == 1, 20, "one view to go")
    left.control("Play").click()
    assert ticks_on(left)
    before = left.picture()
    assert ticks_on(left)
    assert left.picture() != before


def test_eight_widgets_share_one_worker_and_one_device(chromium, open_notebook: OpenNotebook):
    made = (
        "from dshq_widget import DrillWidget\nall_ = [DrillWidget(seed=k) for k in range(8)]\nfor w in all_: display(w)"
    )
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
    for widget in (widgets[0], widgets[7]):
        widget.root.scroll_into_view_if_needed()
        widget.wait_number("fps", lambda fps: fps > 1)
        assert widget.colours(widget.picture()) > 5


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


def test_a_hidden_page_draws_nothing_and_is_told_little_and_then_catches_up(chromium, open_notebook: OpenNotebook):
    notebook, widget = begin(open_notebook, chromium)
    learns(widget)

    def ask(what: str) -> int:
        return int(notebook.kernel.run(f"print(int({what}))"))

    def wait(what: str) -> None:
        widget.until(lambda: ask(what), bool, 120, what)

    notebook.kernel.run(NOTE_WHAT_IS_SENT)
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
    widget.wait_number("version", lambda now: now > version + 1)
    widget.wait_number("fps", lambda fps: fps > 1)
    assert widget.attribute("status") == "training"


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
            widget.until(lambda: root.evaluate(attached), lambda there: not there, 20, "the cell to leave")
            notebook.page.wait_for_timeout(1500)
            stood = root.get_attribute("data-tick")
            notebook.page.evaluate(scroll, 0)
            widget.until(lambda: root.evaluate(attached), bool, 20, "the cell to come back")
            widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 5, "a picture")
            assert ticks_on(widget) and widget.number("tick") > float(stood)
            widget.wait_number("fps", lambda fps: fps > 1)
    finally:
        (settings / "tracker.jupyterlab-settings").unlink()


# ---- what is left


USED = """
import gc, os, threading, psutil, json
def used():
    gc.collect()
    me = psutil.Process()
    return {"processes": len(me.children(recursive=True)), "files": me.num_fds(), "threads": threading.active_count()}
"""


@pytest.mark.parametrize("times", [16, pytest.param(50, marks=pytest.mark.slow)])
def test_a_cell_run_over_and_over_leaves_nothing(chromium, open_notebook: OpenNotebook, times):
    notebook, widget = begin(open_notebook, chromium, PLAIN, prepare=inject(COUNT_DEVICES + COUNT_LISTENERS))

    def run(trained: bool) -> None:
        old = notebook.widget().root.element_handle()
        notebook.run_all()
        widget.until(
            lambda: old.evaluate("root => root.isConnected"), lambda there: not there, 30, "the old widget to go"
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
        lambda: notebook.page.evaluate(listeners), lambda n: n <= before["listeners"], 30, "the old listeners' end"
    )
    buffers = lambda: notebook.page.workers[0].evaluate("self.buffers.size")  # noqa: E731
    widget.until(buffers, lambda n: n <= before["buffers"], 30, "the old buffers' end, which the worker hears of later")
    after = count()
    assert after["processes"] <= before["processes"]
    assert after["files"] <= before["files"] + 10, "sockets of subshells come and go; a leak would be one a run"
    assert after["threads"] <= before["threads"]
    assert after["workers"] == 1
    assert after["buffers"] == before["buffers"]
    assert notebook.page.workers[0].evaluate("self.living.size") == 1, "a busy machine may lose one, which is replaced"


def test_close_leaves_no_listener_and_no_buffer(chromium, open_notebook: OpenNotebook):
    cells = [PLAIN, "v = DrillWidget(); display(v); display(v)"]
    notebook, first = begin(open_notebook, chromium, *cells, prepare=inject(COUNT_DEVICES + COUNT_LISTENERS))
    for index in (1, 2):
        notebook.widget(index).wait_attribute("renderer", lambda renderer: renderer == "webgpu")
    worker = notebook.page.workers[0]
    assert notebook.page.evaluate("window.dshqListeners()") > 0
    assert worker.evaluate("self.buffers.size") >= 9
    notebook.kernel.run("v.close(); w.close()")
    first.until(lambda: notebook.page.locator(".dshq-widget").count(), lambda count: count == 0, 30, "no widget")
    notebook.page.wait_for_timeout(1000)
    assert notebook.page.evaluate("window.dshqListening()") == []
    assert worker.evaluate("self.buffers.size") == 0
    assert worker.evaluate("self.textures.size") == 0


# Listeners that code from a Blob (as anywidget loads the widget) has on what outlives the widget: the window, the
# document, media queries, workers. Those on elements that left the page go with them.
COUNT_LISTENERS = """
(() => {
    const there = new Map();
    const add = EventTarget.prototype.addEventListener, remove = EventTarget.prototype.removeEventListener;
    const key = (type, listener, options) => `${type} ${typeof options === "object" ? !!options?.capture : !!options}`;
    EventTarget.prototype.addEventListener = function (type, listener, options) {
        if (/blob:/.test(new Error().stack) && listener && !(this instanceof AbortSignal) && !options?.once) {
            const entry = [this ?? window, key(type, listener, options), listener];
            there.set(entry, new Error().stack);
            options?.signal?.addEventListener?.call(options.signal, "abort", () => there.delete(entry));
        }
        return add.call(this ?? window, type, listener, options);
    };
    EventTarget.prototype.removeEventListener = function (type, listener, options) {
        const wanted = [this ?? window, key(type, listener, options), listener];
        for (const entry of there.keys()) if (entry.every((part, k) => part === wanted[k])) there.delete(entry);
        return remove.call(this ?? window, type, listener, options);
    };
    const left = ([target]) => !(target instanceof Node) || target === document || target.isConnected;
    window.dshqListeners = () => [...there.keys()].filter(left).length;
    window.dshqListening = () =>
        [...there].filter(([entry]) => left(entry)).map(([[target, what], stack]) => `${target} ${what} ${stack}`);
})();
"""

# Gives a worker that starts from a Blob a list of its devices so far and sets of the devices, buffers, textures it has.
COUNT_DEVICES = """
(() => {
    const prelude = `
        self.devices = []; self.living = new Set(); self.buffers = new Set(); self.textures = new Set();
        const ask = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = async function (...given) {
            const device = await ask.apply(this, given);
            self.devices.push(device);
            self.living.add(device);
            device.lost.then(() => self.living.delete(device));
            return device;
        };
        const kinds = [[GPUBuffer, "createBuffer", self.buffers], [GPUTexture, "createTexture", self.textures]];
        for (const [kind, make, set] of kinds) {
            const create = GPUDevice.prototype[make], destroy = kind.prototype.destroy;
            GPUDevice.prototype[make] = function (...given) {
                const made = create.apply(this, given);
                set.add(made);
                return made;
            };
            kind.prototype.destroy = function () {
                set.delete(this);
                return destroy.call(this);
            };
        }
    `;
    const Plain = window.Blob;
    window.Blob = class extends Plain {
        constructor(parts, options) {
            const script = /javascript/.test(options?.type ?? "") && /WorkerGlobalScope/.test(parts?.[0] ?? "");
            super(script && !/initialize/.test(parts[0].slice(-2000)) ? [prelude, ...parts] : parts, options);
        }
    };
})();
"""


# ---- GPUs, workers, addresses


def test_a_lost_device_is_replaced(chromium, open_notebook: OpenNotebook):
    _, widget = begin(open_notebook, chromium, prepare=inject(COUNT_DEVICES))
    for _ in range(3):
        widget.wait_number("fps", lambda fps: fps > 1)
        widget.page.workers[0].evaluate("self.devices.at(-1).destroy()")
        widget.wait_number("fps", lambda fps: fps > 1)
        assert widget.wait_attribute("renderer", bool) == "webgpu"
        widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 20, "a picture")
        before = widget.picture()
        assert ticks_on(widget)
        assert widget.picture() != before
    worker = widget.page.workers[0]
    assert worker.evaluate("self.devices.length") == 4
    assert worker.evaluate("[self.living.size, self.buffers.size]") == [1, 3], "nothing is kept of the lost ones"


def kicks(notebook: NotebookPage, widget: WidgetPage) -> None:
    """Wait until the person's action in a snapshot taken from now on is "kick: yes"."""
    action = 'import struct; print(struct.unpack_from("<i", w.snapshot["state"], 16)[0] if w.snapshot else "none yet")'
    notebook.kernel.run("w.snapshot = None")
    widget.until(lambda: notebook.kernel.run(action).strip(), "1".__eq__, 60, "a kick")


def test_the_browsers_gpu_process_may_die(playwright, open_notebook: OpenNotebook):
    browser = launch_chromium(playwright)
    try:
        notebook, widget = begin(open_notebook, browser)
        widget.wait_number("fps", lambda fps: fps > 1)
        widget.control("Mode").select_option("human_vs_ai")
        widget.canvas.focus()
        notebook.page.keyboard.down("Space")
        kicks(notebook, widget)
        browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
        widget.page.wait_for_timeout(3000)
        widget.wait_number("fps", lambda fps: fps > 1)
        assert ticks_on(widget)
        widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 20, "a picture")
        before = widget.picture()
        assert ticks_on(widget)
        assert widget.picture() != before
        kicks(notebook, widget)  # the hands are still on the keys
        notebook.page.keyboard.up("Space")
        notebook.console_errors.clear()  # the browser's own words on its GPU process
    finally:
        browser.close()


def plays_on(widget: WidgetPage, renderer: str, thread: str) -> str:
    """It plays and is drawn, on this rung of the ladder; returns the reason it gives."""
    assert widget.wait_attribute("renderer", bool) == renderer
    assert widget.attribute("renderer-thread") == thread
    assert ticks_on(widget)
    before = widget.picture()
    assert widget.colours(before) > 5
    assert ticks_on(widget)
    assert widget.picture() != before
    reason = widget.attribute("renderer-reason")
    assert reason in widget.root.inner_text()
    return reason


def test_without_offscreen_canvas_the_page_draws(chromium, open_notebook: OpenNotebook):
    gone = "delete window.OffscreenCanvas; delete HTMLCanvasElement.prototype.transferControlToOffscreen;"
    _, widget = begin(open_notebook, chromium, prepare=inject(gone))
    assert "workers" in plays_on(widget, "webgpu", "page")


def test_without_offscreen_canvas_and_webgpu_the_page_still_draws(plain_chromium, open_notebook: OpenNotebook):
    gone = "delete window.OffscreenCanvas; delete HTMLCanvasElement.prototype.transferControlToOffscreen;"
    _, widget = begin(open_notebook, plain_chromium, prepare=inject(gone))
    assert plays_on(widget, "canvas2d", "page")


def test_a_content_policy_that_forbids_workers(chromium, tmp_path):
    headers = {"Content-Security-Policy": "worker-src 'none'"}
    with LabServer(tmp_path, arguments=[f"--ServerApp.tornado_settings={{'headers': {headers!r}}}"]) as lab:
        lab.write_notebook("forbidden.ipynb", [PLAIN])
        notebook = NotebookPage(lab, chromium, "forbidden.ipynb")
        notebook.run_all()
        assert plays_on(notebook.widget(), "webgpu", "page") == "This page may not start workers."
        assert notebook.page.workers == []
        notebook.close()


@pytest.fixture
def named_chromium(playwright):
    """A Chromium for which notebook.test is this machine: a name that is neither localhost nor https."""
    browser: Browser = launch_chromium(playwright, True, "--host-resolver-rules=MAP notebook.test 127.0.0.1")
    yield browser
    browser.close()


def test_over_plain_http_the_match_plays_without_webgpu_and_says_why(named_chromium, lab, open_notebook: OpenNotebook):
    notebook = open_notebook(named_chromium, PLAIN, url=f"http://notebook.test:{lab.port}")
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 0)
    assert "https" in plays_on(widget, "canvas2d", "worker")
    assert not widget.page.evaluate("isSecureContext")
    assert learns(widget) >= 1
