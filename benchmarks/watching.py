"""What watching costs training, and how even the frames are: a real JupyterLab in a headless Chromium.

    python -m benchmarks.watching [--rounds 3] [--seconds 10] [--renderers auto webgpu canvas2d]

One kernel trains the Ball Drill with the defaults. In each round and for each renderer the match is watched, paused and
scrolled away in turn, `seconds` each. Reported: agent steps/s of the learner, frames/s, ticks/s, and the time within
which 95 of 100 frames came after the one before. Where nothing but software draws, as on most machines without a
screen, `webgpu` is what a page did before it measured anything.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.machine import write
from benchmarks.running import parser_of
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage, launch_chromium

CELLS = (
    "from dshq_widget import DrillWidget; w = DrillWidget(); w",
    'from IPython.display import HTML; HTML(\'<div id="below" style="height: 3000px">below</div>\')',
)
WARM = 20.0  # seconds of training before the first round
SETTLE = 4.0  # seconds after a change, before anything is counted
PATIENCE = 300
WAYS = ("watched", "paused", "scrolled away")


def steps(notebook: NotebookPage) -> tuple[float, float]:
    """Agent steps so far, and when."""
    return float(notebook.kernel.run("print(w.metrics['agent_steps'])")), time.monotonic()


def look(notebook: NotebookPage, widget: WidgetPage, way: str, seconds: float) -> dict[str, float]:
    """One way of watching, for so long."""
    notebook.kernel.run(f"w.play() if {way != 'paused'} else w.pause()")
    target = "#below" if way == "scrolled away" else ".dshq-widget"
    widget.page.locator(target).first.evaluate("place => place.scrollIntoView({block: 'center'})")
    time.sleep(SETTLE)
    before, start = steps(notebook)
    seen: dict[str, float] = {}
    if way == "watched":
        frames, paces, tick, begin = [], [], widget.number("tick"), time.monotonic()
        while time.monotonic() - begin < seconds:
            widget.page.wait_for_timeout(1000)
            frames.append(widget.number("fps"))
            paces.append(widget.number("frame-ms"))
        ticks = widget.number("tick") - tick
        seen = {"ticks_per_second": ticks / (time.monotonic() - begin)}
        seen |= {"frames_per_second": statistics.median(frames), "frame_ms_95": statistics.median(paces)}
    else:
        time.sleep(seconds)
    after, end = steps(notebook)
    return {"agent_steps_per_second": (after - before) / (end - start), **seen}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--renderers", nargs="*", default=["auto", "webgpu", "canvas2d"])
    options = parser.parse_args()
    rounds: list[dict[str, dict[str, dict[str, float]]]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        with LabServer(Path(folder)) as lab:
            lab.write_notebook("watching.ipynb", list(CELLS))
            notebook = NotebookPage(lab, browser, "watching.ipynb")
            notebook.run_all()
            widget = notebook.widget(timeout=PATIENCE)
            notebook.kernel.run("w.train()")
            widget.wait_number("version", lambda version: version >= 3, PATIENCE)
            time.sleep(WARM)
            for _ in range(options.rounds):
                rounds.append({})
                for renderer in options.renderers:
                    notebook.kernel.run(f"w.renderer = {renderer!r}")
                    rounds[-1][renderer] = {way: look(notebook, widget, way, options.seconds) for way in WAYS} | {
                        "drawn by": {widget.attribute("renderer"): 1.0}
                    }
                    print(json.dumps({renderer: rounds[-1][renderer]}), flush=True)
            notebook.close()
        browser.close()
    share = {
        renderer: statistics.median(
            one[renderer]["watched"]["agent_steps_per_second"]
            / one[renderer]["scrolled away"]["agent_steps_per_second"]
            for one in rounds
        )
        for renderer in options.renderers
    }
    print(json.dumps(share))
    print(write("watching", {"rounds": rounds, "share of the unwatched rate": share}))


if __name__ == "__main__":
    main()
