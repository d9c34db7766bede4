"""Takes the stills of the lessons: what the first match of each looks like after a while of training.

They are for whoever reads a notebook where it cannot run, or has not run it yet. `python -m tools.stills watch values`
(no name: all of them) writes docs/images/lessons/NN.png; `python -m tools.notebooks` then puts them into the notebooks.
Each takes a minute and a half. It needs what the browser tests need: playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from dshq_widget.lessons import BUDGET, LESSONS, Lesson, lesson
from tests.harness.browser.bare_page import BarePage, KernelProcess
from tests.harness.browser.page import launch_chromium
from tools.film import colours
from tools.notebooks import SOURCE, STILLS, notebook, still_of, widget_cell

WIDTH, MARGIN = 908, 12  # pixels: of page and picture, and the margin that either has around the widget
VIEWPORT: ViewportSize = {"width": WIDTH, "height": 1000}
STYLE = """
.dshq-widget .tabs { flex: none !important }
.dshq-widget .tab-panel::after, .dshq-widget :is(.status .sentence, .offer) { display: none !important }
"""
"""Panels in full, where the page scrolls them; nothing that speaks of the machine that takes the picture."""
COLOURS = 64
"""Of the frequent ones, and as many again of those far apart: the letters' and the players'."""
SECONDS = {"bandit": 20, "network": 20, "policy-gradient": 20, "watch": 90, "world-models": 120, "league": 90}
"""Of training, by the name of the lesson; 45 for those not named."""
PRESSED = {"world-models": "imagine-again"}
"""A control of the tab that the lesson is about, where that is not the first; pressed at the end."""
PATIENCE = 600  # seconds until a training has begun: its kernels may have to be compiled


def take(kernel: KernelProcess, browser: Browser, row: Lesson) -> Path:
    """One lesson's still. The cells before its match are run as they stand."""
    text = SOURCE / f"{row.stem}.md"
    made = notebook(text.read_text(encoding="utf-8"))
    cells = [cell.source for cell in made.cells[: widget_cell(made) + 1] if cell.cell_type == "code"]
    opened = BarePage(kernel, browser, *cells, viewport=VIEWPORT, color_scheme="light", bypass_csp=True)
    try:
        opened.run_all()
        match, page = opened.widget(PATIENCE), opened.page
        page.add_style_tag(content=STYLE)
        if "training" in row.controls:
            match.control("train").click()
            match.wait_attribute("status", lambda status: status == "training", PATIENCE)
        page.wait_for_timeout(1000 * SECONDS.get(row.name, 45))
        if row.name in PRESSED:
            match.control(PRESSED[row.name]).click()
            page.wait_for_timeout(10_000)
        path = still_of(text)
        path.write_bytes(small(match.root.screenshot()))
        if opened.console_errors:
            raise RuntimeError(f"the page of lesson {row.name!r} must stay free of errors, got {opened.console_errors}")
    finally:
        opened.close()
    return path


def small(png: bytes) -> bytes:
    """The same picture in few colours, with a margin in the colour of its corner and no more than that below."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    ground = picture.crop((0, 0, 1, 1))
    box = ImageChops.difference(picture, ground.resize(picture.size)).getbbox()
    height = box[3] if box else picture.height
    framed = ground.resize((picture.width + 2 * MARGIN, height + 2 * MARGIN))
    framed.paste(picture.crop((0, 0, picture.width, height)), (MARGIN, MARGIN))
    palette = Image.new("P", (1, 1))
    palette.putpalette(
        colours(framed, COLOURS, Image.Quantize.MEDIANCUT) + colours(framed, COLOURS, Image.Quantize.MAXCOVERAGE)
    )
    kept = io.BytesIO()
    framed.quantize(palette=palette, dither=Image.Dither.NONE).save(kept, "PNG", optimize=True)
    return kept.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", metavar="NAME", help="lessons to take again (default: all)")
    arguments = parser.parse_args()
    STILLS.mkdir(parents=True, exist_ok=True)
    os.environ[BUDGET] = "3"  # seconds for what the cells before a match train
    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        kernel, browser = KernelProcess(Path(home)), launch_chromium(driver)
        for row in map(lesson, arguments.lessons or LESSONS):
            print(take(kernel, browser, row), flush=True)
        browser.close()
        kernel.close()


if __name__ == "__main__":
    main()
