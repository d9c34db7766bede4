"""What watching costs training, and how even the frames are: a real JupyterLab in a headless Chromium.

    python -m benchmarks.watching [--rounds 3] [--seconds 10] [--renderers auto webgpu canvas2d] [--out FILE]

One kernel trains the Ball Drill with the defaults. In each round and for each renderer the match is watched, paused and
scrolled away in turn, `seconds` each. Reported: agent steps/s of the learner, frames/s, ticks/s, and the time within
which 95 of 100 frames came after the one before. Where nothing but software draws, as on most machines without a
screen, `webgpu` is what a page did before it measured anything.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.machine import describe
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage, launch_chromium

CELLS = (
    "from dshq_widget import DrillWidget; w = DrillWidget(); w",
    'from IPython.display import HTML; HTML(\'<div id="below" style="height: 3000px">below</div>\')',
)
WARM = 20.0  # seconds of training before the first round
SETTLE = 4.0  # seconds after a change, before anything is counted
PATIENCE = 300
RESULTS = Path(__file__).parent / "results"
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
    frames, paces, tick, begin = [], [], 0.0, time.monotonic()
    if way == "watched":
        tick = widget.number("tick")
        while time.monotonic() - begin < seconds:
            widget.page.wait_for_timeout(1000)
            frames.append(widget.number("fps"))
            paces.append(widget.number("frame-ms"))
        tick = (widget.number("tick") - tick) / (time.monotonic() - begin)
    else:
        time.sleep(seconds)
    after, end = steps(notebook)
    seen = {"frames_per_second": statistics.median(frames), "frame_ms_95": statistics.median(paces)} if frames else {}
    return {"agent_steps_per_second": (after - before) / (end - start), **seen, "ticks_per_second": tick}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--renderers", nargs="*", default=["auto", "webgpu", "canvas2d"])
    parser.add_argument("--out", type=Path, default=RESULTS / f"watching-{time.strftime('%Y-%m-%d')}.json")
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
    report = {"machine": describe(), "rounds": rounds, "share of the unwatched rate": share}
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(share))


if __name__ == "__main__":
    main()
