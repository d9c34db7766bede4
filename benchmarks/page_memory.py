"""Whether a page with a match on it grows, in a browser that nobody looks into.

`python -m benchmarks.page_memory` writes benchmarks/results/page_memory-*.json. A debugger that watches a page's
network, as Playwright's does, makes Chromium keep something of every message of JupyterLab's web socket, and coming
back it adds megabytes of its own to the page's heap. So a driver opens the notebook and leaves for good; the process
is read from outside, and at both ends a bare connection of Chromium's protocol collects the garbage of the page and of
the show's worker and reads their heaps. Target (stated before measuring): no growth of the heaps over ten minutes.

- match: a match of two bots, with the value map and the thoughts shown, or without (`--plain`)
- floor: a widget of ten lines that does nothing but save a number five times a second, in the same way
"""

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import websocket
from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import describe, write
from dshq_widget.env.webgpu import SOFTWARE_FLAGS, find_chromium
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import QUIET_FLAGS, NotebookPage

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


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[str]:
    """A headless Chromium with software WebGPU; the address for whoever wants to drive it."""
    command = [find_chromium() or "chromium", "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        [*command, "--window-size=1400,1100", *QUIET_FLAGS, *SOFTWARE_FLAGS, "about:blank"],
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
    notebook = NotebookPage(
        lab, browser, "memory.ipynb", context=browser.contexts[0]
    )  # which stays when the driver leaves
    notebook.run_all()
    if cell == FLOOR:
        notebook.page.wait_for_selector(".saves")
        return
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 100, START_SECONDS)
    if not plain:
        widget.tab("mind")
        widget.control("value-map").evaluate("button => button.click()")
        widget.root.evaluate("root => root.scrollIntoView({ block: 'start' })")


def renderers(browser: Browser) -> list[psutil.Process]:
    """The processes of pages."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [psutil.Process(entry["id"]) for entry in processes if entry["type"] == "renderer"]


def megabytes(processes: list[psutil.Process]) -> float:
    """Resident memory of the largest, which is JupyterLab's."""
    return max(process.memory_info().rss for process in processes if process.is_running()) / 1e6


class Debugger:
    """A bare connection of Chromium's protocol to the notebook's page: nothing is watched that is not asked for."""

    def __init__(self, address: str):
        with urllib.request.urlopen(address + "/json") as listing:
            page = next(target for target in json.load(listing) if target["type"] == "page" and "/lab" in target["url"])
        self._socket = websocket.create_connection(
            page["webSocketDebuggerUrl"], timeout=START_SECONDS, suppress_origin=True
        )
        self._sent = 0
        self._workers: list[str] = []

    def ask(self, method: str, worker: str | None = None, **arguments: object) -> dict[str, float]:
        """The answer to one command, of the page or of one of its workers."""
        self._sent += 1
        order = {"id": self._sent, "method": method, "params": arguments}
        self._socket.send(json.dumps(order | ({"sessionId": worker} if worker else {})))
        while (told := json.loads(self._socket.recv())).get("id") != self._sent:
            if told.get("method") == "Target.attachedToTarget":
                self._workers.append(told["params"]["sessionId"])
        return told["result"]

    def heaps(self) -> list[float]:
        """MB after a garbage collection, the page's first, then its workers': JavaScript's and what is held for it."""
        self.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        held = []
        for worker in (None, *self._workers):
            self.ask("HeapProfiler.collectGarbage", worker)
            heap = self.ask("Runtime.getHeapUsage", worker)
            held.append((heap["usedSize"] + heap["embedderHeapUsedSize"]) / 1e6)
        return held

    def leave(self) -> None:
        """The page is on its own again."""
        self._socket.close()


def collected(address: str, pages: list[psutil.Process]) -> dict[str, object]:
    """After a garbage collection, in MB."""
    debugger = Debugger(address)
    page, *workers = debugger.heaps()
    debugger.leave()
    return {"page_heap_mb": page, "worker_heaps_mb": workers, "process_mb": megabytes(pages)}


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
        time.sleep(SETTLE_SECONDS)
        first = collected(address, pages)
        held = [megabytes(pages)]
        for _ in range(minutes):
            time.sleep(60)
            held.append(megabytes(pages))
        return {"collected_first": first, "process_mb_by_minute": held, "collected_last": collected(address, pages)}


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
