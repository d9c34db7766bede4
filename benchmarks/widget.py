"""How fast the widget is where a person meets it: a real JupyterLab in a headless Chromium with software WebGPU.

    python -m benchmarks.widget [--seconds 10]

Two runs, each with a kernel of its own: cold, with every cache of compiled code in an empty folder, then warm. Each
reports the seconds from running the cell until the match is visible, frames/s and ticks/s while it only plays and
while it trains, and the seconds from pressing Train until the first new version is in the match.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import write
from benchmarks.running import parser_of
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage, launch_chromium

CELL = "from dshq_widget import DrillWidget; w = DrillWidget(); w"
PATIENCE = 300  # seconds


def watch(widget: WidgetPage, seconds: float) -> dict[str, float]:
    """Frames/s as the page counts them (median of one look a second) and ticks/s by our clock, over `seconds`."""
    widget.page.wait_for_timeout(2000)  # the page's own count looks back over its last second
    frames, tick, start = [], widget.number("tick"), time.monotonic()
    while time.monotonic() - start < seconds:
        widget.page.wait_for_timeout(1000)
        frames.append(widget.number("fps"))
    ticks = widget.number("tick") - tick  # a goal's short rest stops the ticks
    return {
        "frames_per_second": statistics.median(frames),
        "frames_per_second_lowest": min(frames),
        "ticks_per_second": ticks / (time.monotonic() - start),
    }


def measure(browser: Browser, home: Path, caches: Path, seconds: float) -> dict[str, object]:
    """One fresh server, kernel and page."""
    environment = {"DSHQ_CACHE_DIR": str(caches / "dshq"), "NUMBA_CACHE_DIR": str(caches / "numba")}
    with LabServer(home, environment) as lab:
        lab.write_notebook("bench.ipynb", [CELL])
        notebook = NotebookPage(lab, browser, "bench.ipynb")
        start = time.monotonic()
        notebook.run_all()
        widget = notebook.widget(timeout=PATIENCE)
        widget.wait_number("tick", lambda tick: tick > 0, PATIENCE)
        visible = time.monotonic() - start
        idle = watch(widget, seconds)
        start = time.monotonic()
        widget.control("train").click()
        widget.wait_attribute("status", lambda status: status == "training", PATIENCE)
        ready = time.monotonic() - start
        widget.wait_number("version", lambda version: version >= 1, PATIENCE)
        first = time.monotonic() - start
        training = watch(widget, seconds)
        learned = notebook.kernel.run("import json; print(json.dumps(w.metrics))")
        result = {
            "seconds_until_visible": visible,
            "seconds_from_train_to_training": ready,
            "seconds_from_train_to_first_version": first,
            "idle": idle,
            "training": training | {"agent_steps_per_second": json.loads(learned).get("agent_steps_per_second")},
            "versions": widget.number("version"),
            "renderer": widget.attribute("renderer"),
            "console_errors": notebook.console_errors,
        }
        notebook.close()
    return result


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long to watch each of playing and training")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        root = Path(folder)
        runs = {name: measure(browser, root / name, root / "caches", arguments.seconds) for name in ("cold", "warm")}
        report = {"chromium": browser.version, **runs}
        browser.close()
    print(json.dumps(report, indent=2))
    print(write("widget", report))


if __name__ == "__main__":
    main()
