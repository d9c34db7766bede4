"""What the widget costs the page it lives in, and how soon a person sees what they did.

`python -m benchmarks.page` writes benchmarks/results/page-*.json. Targets (stated before measuring): first frame within
1.5 s of the cell's output, 60 frames/s with charts and the value map on, main thread busy below 20 %, input to photon
below 50 ms, a bundle of at most 300 KB. In a real JupyterLab in a headless Chromium with software WebGPU:

- first frame: from the first output of the cell until the match's canvas shows more than a few colours, in five
  notebooks one after the other: the first one of a browser compiles the shaders
- frames/s, and the share of time for which the page's main thread is busy: by the clock (Chromium's TaskDuration, which
  goes on while another thread has the processor) and by the processor time it got, with the processors that the whole
  browser took; before the cell runs (JupyterLab alone), while the match plays, while it trains with the charts and the
  value map on, and after that with both still there
- input to photon: from the time stamp of a key press on "Step decision", the match being paused, until the first
  animation frame of the page in which the canvas' picture is another one. A picture is copied and compared at every
  frame, so the figure is rounded up to whole frames and includes the cost of looking
- the size of the bundle
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.machine import describe, write
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage, launch_chromium

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(); w"
PATIENCE = 300  # seconds
PAGES = 5
STATIC = Path(__file__).parents[1] / "dshq_widget" / "static"

# What the match's canvas shows, small, as pixels: a canvas that a worker draws on can still be copied from by its page.
PICTURE = """
(() => {
    const pen = Object.assign(document.createElement("canvas"), { width: 320, height: 200 });
    const context = pen.getContext("2d", { willReadFrequently: true });
    window.picture = canvas => {
        context.drawImage(canvas, 0, 0, 320, 200);
        return new Uint32Array(context.getImageData(0, 0, 320, 200).data.buffer);
    };
    const started = () => {
        if (document.querySelector(".jp-OutputArea-output")) window.output ??= performance.now();
        const canvas = document.querySelector(".dshq-widget canvas.match");
        if (canvas && new Set(window.picture(canvas)).size > 5) window.drawn = performance.now();
        else requestAnimationFrame(started);
    };
    requestAnimationFrame(started);
    window.pressed = canvas => new Promise(resolve => {
        const before = window.picture(canvas).slice();
        addEventListener("keydown", ({ timeStamp }) => {
            const look = () => {
                const now = window.picture(canvas);
                if (now.some((word, k) => word !== before[k])) resolve(performance.now() - timeStamp);
                else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        }, { once: true, capture: true });
    });
})();
"""


class Meter:
    """Reads off what a page and its browser have spent so far."""

    def __init__(self, notebook: NotebookPage, browser: Browser):
        self._page = notebook.context.new_cdp_session(notebook.page)
        self._page.send("Performance.enable")
        self._browser = browser.new_browser_cdp_session()

    def spent(self) -> dict[str, float]:
        """Seconds: the time, what the main thread was busy by the clock and by its processor, and the whole browser."""
        values = {entry["name"]: entry["value"] for entry in self._page.send("Performance.getMetrics")["metrics"]}
        told = self._browser.send("SystemInfo.getProcessInfo")["processInfo"]
        processes = [psutil.Process(entry["id"]) for entry in told]
        pages = [process for process, entry in zip(processes, told, strict=True) if entry["type"] == "renderer"]
        mains = [thread for page in pages for thread in page.threads() if thread.id == page.pid]
        return {
            "clock": values["Timestamp"],
            "busy": values["TaskDuration"],
            "main": max(thread.user_time + thread.system_time for thread in mains),
            "browser": sum(sum(process.cpu_times()[:2]) for process in processes),
        }

    def shares(self, page: Page, seconds: float, widget: WidgetPage | None = None) -> dict[str, float]:
        """Shares of time over `seconds`, and frames/s (median of one look a second) of a widget; that is brought into
        view first, as nothing is drawn where nobody looks.
        """
        if widget:
            widget.root.evaluate("root => root.scrollIntoView({ block: 'start' })")
        page.wait_for_timeout(2000)
        frames, start = [], self.spent()
        while (now := self.spent())["clock"] - start["clock"] < seconds:
            page.wait_for_timeout(1000)
            if widget:
                frames.append(widget.number("fps"))
        spent = {name: (now[name] - start[name]) / (now["clock"] - start["clock"]) for name in now}
        result = {"busy_share": spent["busy"], "processor_share": spent["main"], "browser_processors": spent["browser"]}
        return result | ({"frames_per_second": statistics.median(frames)} if frames else {})


def photon_ms(widget: WidgetPage, presses: int) -> dict[str, float]:
    """Input to photon over so many presses, in milliseconds."""
    widget.control("pause").first.click()
    step = widget.control("step-decision")
    waits = []
    for _ in range(presses):
        widget.page.wait_for_timeout(200)  # effects come to rest
        step.focus()
        widget.page.evaluate("() => { window.wait = window.pressed(document.querySelector('canvas.match')) }")
        widget.page.keyboard.press("Enter")
        waits.append(
            widget.page.evaluate("Promise.race([window.wait, new Promise(end => setTimeout(end, 2000, null))])")
        )
    seen = [wait for wait in waits if wait is not None]
    return {"median": statistics.median(seen), "highest": max(seen), "unseen": len(waits) - len(seen)}


def shown_first(context: BrowserContext) -> None:
    """Every page of it measures its first picture."""
    context.add_init_script(PICTURE)


def opened(browser: Browser, lab: LabServer) -> NotebookPage:
    """The notebook, before its cell runs."""
    lab.write_notebook("page.ipynb", [CELL])
    return NotebookPage(lab, browser, "page.ipynb", prepare=shown_first)


def first_frame(notebook: NotebookPage) -> tuple[WidgetPage, float]:
    """Run the cell: a widget whose match plays, and milliseconds to its first frame."""
    notebook.run_all()
    widget = notebook.widget(timeout=PATIENCE)
    widget.wait_number("tick", lambda tick: tick > 0, PATIENCE)
    notebook.page.wait_for_function("window.drawn !== undefined", timeout=PATIENCE * 1000)
    return widget, notebook.page.evaluate("window.drawn - window.output")


def measure(browser: Browser, lab: LabServer, seconds: float, presses: int) -> dict[str, object]:
    """Pages one after the other, each to its first frame; the last one from before its cell to the end of its match."""
    first: list[float] = []
    for _ in range(PAGES - 1):
        notebook = opened(browser, lab)
        first.append(first_frame(notebook)[1])
        notebook.close()
    notebook = opened(browser, lab)
    meter = Meter(notebook, browser)
    alone = meter.shares(notebook.page, seconds)
    widget, waited = first_frame(notebook)
    first.append(waited)
    playing = meter.shares(notebook.page, seconds, widget)
    photon = photon_ms(widget, presses)
    widget.control("play").first.click()
    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 1, PATIENCE)
    widget.control("value-map").click()
    training = meter.shares(notebook.page, seconds, widget)
    widget.control("stop").click()
    widget.wait_attribute("status", lambda status: status == "stopped", PATIENCE)
    mapped = meter.shares(notebook.page, seconds, widget)
    result = {
        "first_frame_ms": {"median": statistics.median(first), "each": first},
        "jupyterlab_alone": alone,
        "playing": playing,
        "input_to_photon_ms": photon,
        "training_with_charts_and_map": training,
        "playing_with_charts_and_map": mapped,
        "bundle_kb": (STATIC / "widget.js").stat().st_size / 1024,
        "renderer": widget.attribute("renderer"),
        "console_errors": notebook.console_errors,
    }
    notebook.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="how long to watch each of playing and training")
    parser.add_argument("--presses", type=int, default=30, help="how often a key is pressed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, LabServer(Path(folder)) as lab:
        browser = launch_chromium(playwright)
        figures = measure(browser, lab, arguments.seconds, arguments.presses)
        report = {"machine": describe() | {"chromium": browser.version}, **figures}
        browser.close()
    print(json.dumps(report, indent=2))
    write("page", report)


if __name__ == "__main__":
    main()
