"""Whether a page with a match on it grows, in a browser that nobody looks into.

`python -m benchmarks.page_memory` writes benchmarks/results/page_memory-*.json. A debugger that is attached to a page
(as Playwright's is) makes Chromium keep something of every message of JupyterLab's web socket, so a driver opens the
notebook, collects the garbage of the page and of the show's worker, reads their heaps and leaves; the process is then
read from outside, and at the end the driver comes back and does the same again. Target (stated before measuring): no
growth of the heaps over ten minutes.

- match: a match of two bots, with the value map and the thoughts shown, or without (`--plain`)
- floor: a widget of ten lines that does nothing but save a number five times a second, in the same way
"""

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.machine import describe, write
from tests.browser.lab import LabServer
from tests.browser.page import QUIET_FLAGS, WEBGPU_FLAGS, NotebookPage, find_chromium

MATCH = "from dshq_widget import DrillWidget; w = DrillWidget(policy='gold'); w"
FLOOR = """import anywidget, traitlets
class Saves(anywidget.AnyWidget):
    number = traitlets.Float(0).tag(sync=True)
    _esm = '''export default { render({ model, el }) {
        Object.assign(el, { className: "saves", textContent: "saves" });
        setInterval(() => { model.set("number", Math.random()); model.save_changes(); }, 200);
    } }'''
Saves()"""
SETTLE_SECONDS = 30  # start-up's own garbage
START_SECONDS = 60


class OneContext:
    """A browser whose only context is the one that stays when the driver leaves."""

    def __init__(self, browser: Browser):
        self._browser = browser

    def new_context(self, **_: object) -> BrowserContext:
        return self._browser.contexts[0]


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[str]:
    """A headless Chromium with software WebGPU; the address for whoever wants to drive it."""
    command = [find_chromium() or "chromium", "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        [*command, "--window-size=1400,1100", *QUIET_FLAGS, *WEBGPU_FLAGS, "about:blank"],
        stderr=subprocess.DEVNULL,
    )
    try:
        port, deadline = folder / "DevToolsActivePort", time.monotonic() + START_SECONDS
        while not port.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port.read_text().split()[0]}"
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def driven(address: str) -> Iterator[Browser]:
    """The browser, for as long as the block runs; it lives on."""
    with sync_playwright() as playwright:
        yield playwright.chromium.connect_over_cdp(address)


def begin(browser: Browser, lab: LabServer, cell: str, plain: bool) -> None:
    """Run the cell in a notebook, and see that it does what it is measured for."""
    lab.write_notebook("memory.ipynb", [cell])
    notebook = NotebookPage(lab, OneContext(browser), "memory.ipynb")  # type: ignore[arg-type]
    notebook.run_all()
    if cell == FLOOR:
        notebook.page.wait_for_selector(".saves")
        return
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 100, START_SECONDS)
    if not plain:
        widget.root.locator("summary", has_text="What it thinks").evaluate("summary => summary.click()")
        widget.control("Value map").evaluate("button => button.click()")
        widget.root.evaluate("root => root.scrollIntoView({ block: 'start' })")


def renderers(browser: Browser) -> list[psutil.Process]:
    """The processes of pages."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [psutil.Process(entry["id"]) for entry in processes if entry["type"] == "renderer"]


def megabytes(processes: list[psutil.Process]) -> float:
    """Resident memory of the largest, which is JupyterLab's."""
    return max(process.memory_info().rss for process in processes if process.is_running()) / 1e6


def notebook_of(browser: Browser) -> Page:
    """The page of the notebook, beside the blank one that the browser began with."""
    return next(page for page in browser.contexts[0].pages if "/lab" in page.url)


def collected(browser: Browser, pages: list[psutil.Process]) -> dict[str, object]:
    """After a garbage collection of the page and of its workers, in MB: their heaps (JavaScript's and what the browser
    holds for it), and the process.
    """
    page = notebook_of(browser)
    session = page.context.new_cdp_session(page)
    workers: list[str] = []
    answers: dict[int, dict[str, float]] = {}

    def answered(event: dict[str, str]) -> None:
        said = json.loads(event["message"])
        if "usedSize" in said.get("result", {}):
            answers[said["id"]] = said["result"]

    session.on("Target.attachedToTarget", lambda event: workers.append(event["sessionId"]))
    session.on("Target.receivedMessageFromTarget", answered)
    session.send("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False})
    page.wait_for_timeout(1000)
    session.send("HeapProfiler.collectGarbage")
    deadline = time.monotonic() + START_SECONDS
    while len(answers) < len(workers) and time.monotonic() < deadline:
        for number, worker in enumerate(workers):
            for method in ("HeapProfiler.collectGarbage", "Runtime.getHeapUsage"):
                order = json.dumps({"id": number, "method": method})
                session.send("Target.sendMessageToTarget", {"sessionId": worker, "message": order})
        page.wait_for_timeout(2000)
    heaps = [session.send("Runtime.getHeapUsage"), *(answers[number] for number in range(len(workers)))]
    held = [(heap["usedSize"] + heap["embedderHeapUsedSize"]) / 1e6 for heap in heaps]
    return {"page_heap_mb": held[0], "worker_heaps_mb": held[1:], "process_mb": megabytes(pages)}


def measure(cell: str, minutes: int, plain: bool) -> dict[str, object]:
    """The process minute by minute, and what is left of it after a collection, at the beginning and at the end."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LabServer(Path(folder) / "lab") as lab,
        chromium(Path(folder) / "profile") as address,
    ):
        with driven(address) as browser:
            begin(browser, lab, cell, plain)
            pages = renderers(browser)
            notebook_of(browser).wait_for_timeout(1000 * SETTLE_SECONDS)
            first = collected(browser, pages)
        held = [megabytes(pages)]
        for _ in range(minutes):
            time.sleep(60)
            held.append(megabytes(pages))
        with driven(address) as browser:
            return {"collected_first": first, "process_mb_by_minute": held, "collected_last": collected(browser, pages)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=10, help="how long each is watched")
    parser.add_argument("--plain", action="store_true", help="the match without its value map")
    arguments = parser.parse_args()
    report: dict[str, object] = {"machine": describe(), "plain": arguments.plain}
    for name, cell in (("match", MATCH), ("floor", FLOOR)):
        report[name] = measure(cell, arguments.minutes, arguments.plain)
    print(json.dumps(report, indent=2))
    write("page_memory", report)


if __name__ == "__main__":
    main()
