"""What the widget's learner makes of a machine that has other things to do.

    python -m benchmarks.busy_machine [--loops 0 1 2] [--seconds 60] [--drill ball] [--watched] [--label after]

Each run is a process of its own, as a kernel is. It trains with the defaults as the widget does (gentle), beside so
many endless loops, each in a session of its own, as programs of one's desktop are. Reported, from the call of
`start`: when training began, when the first version of the learner's own was there, when the policy won 0.9 of the
decided matches against random play (counted with at least 0.3 of all of them won), decisions a second over the whole
run, and every sentence of the status line. With `--watched` a page of a headless Chromium, which draws in software,
shows the match meanwhile; its frames a second are reported, too, and the targets that the page shows at the end. The
load of the machine before each run is in the file: other work makes the figures say less.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import write
from benchmarks.running import parser_of

LOOP = "while True: pass"
PATIENCE = 300  # seconds
ENOUGH_RATE, ENOUGH_SHARE = 0.9, 0.3
RUN = """
import json, sys, time
from dshq_widget.training.trainer import Trainer
drill, seconds, rate, share = sys.argv[1], *map(float, sys.argv[2:])
trainer = Trainer(drill, gentle=True)
begin = time.monotonic()
trainer.start()
found, texts, processors = {}, [], []
def note(name):
    found.setdefault(name, round(time.monotonic() - begin, 2))
while "seconds_to_training" not in found or time.monotonic() - begin < found["seconds_to_training"] + seconds:
    if trainer.status == "error":
        raise SystemExit(trainer.status_text)
    if trainer.status == "training":
        note("seconds_to_training")
    if trainer.latest_policy().version >= 1:
        note("seconds_to_version_1")
    row = trainer.metrics
    if row.get("win_rate_random", 0) >= rate and row.get("win_share_random", 0) >= share:
        note("seconds_to_beat_random")
    if not texts or texts[-1][1] != trainer.status_text:
        texts.append([round(time.monotonic() - begin, 1), trainer.status_text])
    if row.get("processors") is not None and (not processors or processors[-1] != row["processors"]):
        processors.append(row["processors"])
    time.sleep(0.05)
steps = trainer.metrics.get("agent_steps", 0)
found["decisions_per_second"] = round(steps / (time.monotonic() - begin - found["seconds_to_training"]))
found["win_rate_random"] = trainer.metrics.get("win_rate_random")
found["version"] = trainer.latest_policy().version
found["processors"] = round(sum(processors) / len(processors), 2) if processors else None
trainer.close()
print(json.dumps({**found, "texts": texts}))
"""


def measure(drill: str, seconds: float, loops: int) -> dict[str, object]:
    """One run beside so many loops."""
    load = os.getloadavg()[0]
    others = [subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True) for _ in range(loops)]
    try:
        arguments = [drill, *map(str, (seconds, ENOUGH_RATE, ENOUGH_SHARE))]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=600
        )
    finally:
        for other in others:
            other.kill()
            other.wait()
    return {"loops": loops, "load_before": round(load, 2), **json.loads(done.stdout.splitlines()[-1])}


def watch(drill: str, seconds: float, loops: int) -> dict[str, object]:
    """The same in a real kernel, while a page shows the match."""
    from playwright.sync_api import sync_playwright

    from tests.harness.browser.bare_page import BarePage, KernelProcess
    from tests.harness.browser.page import launch_chromium

    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        kernel, browser = KernelProcess(Path(home)), launch_chromium(playwright)
        others = [subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True) for _ in range(loops)]
        try:
            cell = f"from dshq_widget import DrillWidget; w = DrillWidget({drill!r}); w"
            page = BarePage(kernel, browser, cell, calm=False)
            page.run_all()
            widget = page.widget(timeout=PATIENCE)
            begin = time.monotonic()
            widget.control("train").click()
            widget.wait_number("version", lambda version: version >= 1, PATIENCE)
            first, frames, gaps = time.monotonic() - begin, [], []
            while time.monotonic() - begin < first + seconds:
                page.page.wait_for_timeout(1000)
                frames.append(widget.number("fps"))
                gaps.append(widget.number("frame-ms"))
            row = json.loads(page.run("import json; print(json.dumps(w.metrics))"))
            targets = widget.root.locator(".target[data-reached]").all_inner_texts()
        finally:
            for other in others:
                other.kill()
                other.wait()
            browser.close()
            kernel.close()
    return {
        "loops": loops,
        "watched": True,
        "load_before": round(load, 2),
        "seconds_to_version_1_on_the_page": round(first, 2),
        "frames_per_second": statistics.median(frames),
        "frame_ms_95": statistics.median(gaps),
        "decisions_per_second": round(row["agent_steps"] / row["seconds"]),
        "win_rate_random": row["win_rate_random"],
        "processors": row["processors"],
        "targets": targets,
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--loops", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--watched", action="store_true")
    parser.add_argument("--label", default="after")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    runs = []
    for loops in options.loops:
        runs.append((watch if options.watched else measure)(options.drill, options.seconds, loops))
        print(json.dumps({key: value for key, value in runs[-1].items() if key != "texts"}), flush=True)
    result = {"label": options.label, "drill": options.drill, "runs": runs}
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    else:
        write(f"busy_machine_{options.label}", result)


if __name__ == "__main__":
    main()
