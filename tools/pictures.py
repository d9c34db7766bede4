"""Takes the pictures of docs/reference/drills.md: trains each drill for a while, lets it play and waits for a moment
that shows what the game is about.

`python -m tools.pictures --drills snake maze` writes docs/images/drills/NAME.png, 560 pixels wide, from the page's own
canvas. It needs what the browser tests need: playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from dshq_widget import DrillWidget, Trainer
from dshq_widget.drills import drills
from tests.harness.browser.page import WidgetPage, launch_chromium

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "drills"
WIDTH = 560  # pixels
MARGIN = 16  # of the exported page and its frame, on either side
SECONDS = {
    "cartpole": 3.0,
    "bandit": 3.0,
    "lamp": 5.0,
    "approach": 10.0,
    "paddleball": 5.0,
    "maze": 20.0,
    "snake": 40.0,
}
"""Of training; 30 for those not named."""
SPEED = {"snake": "8", "territory": "8"}
"""Of the match on its way to that moment; 1 for those not named."""
MOMENTS: dict[str, Callable[[float, float], bool]] = {
    "maze": lambda returns, decisions: decisions == 4,
    "snake": lambda returns, decisions: returns >= 18,
    "approach": lambda returns, decisions: decisions >= 20,
    "bandit": lambda returns, decisions: decisions >= 5,
    "cartpole": lambda returns, decisions: decisions >= 30,
    "lamp": lambda returns, decisions: returns == 1,
    "territory": lambda returns, decisions: decisions >= 12,
}
"""By drill of one side: whether its return and decisions so far are worth a picture. Others: two seconds in."""
PATIENCE = 120  # seconds for such a moment


def take(browser: Browser, name: str, policy: Path, page_file: Path, seed: int) -> Path:
    """One drill's picture."""
    with DrillWidget(name, policy=policy, seed=seed, prepare=False) as widget:
        widget.export_html(page_file)
    context = browser.new_context(viewport={"width": WIDTH + 2 * MARGIN, "height": 1000}, color_scheme="light")
    page = context.new_page()
    page.goto(page_file.as_uri())
    match = WidgetPage(page, page.locator(".dshq-widget"))
    match.control("speed").select_option(SPEED.get(name, "1"))
    moment = MOMENTS.get(name)
    if moment is None:
        match.wait_number("tick", lambda tick: tick > 2 * drills[name].tick_rate)
    else:
        match.wait_attribute("score", lambda text: moment(*map(float, text.rsplit("-", 1))), PATIENCE)
    match.control("pause").click()
    match.wait_attribute("playing", lambda playing: playing == "false")
    page.wait_for_timeout(500)
    path = FOLDER / f"{name}.png"
    path.write_bytes(match.picture())
    context.close()
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drills", nargs="*", choices=tuple(drills), default=list(MOMENTS), metavar="NAME")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for name in arguments.drills:
            policy = Path(folder) / f"{name}.dshq"
            with Trainer(name, seed=arguments.seed) as trainer:
                trainer.train_for(seconds=SECONDS.get(name, 30.0), progress=False)
                trainer.save(policy)
            browser = launch_chromium(driver)
            print(take(browser, name, policy, Path(folder) / f"{name}.html", arguments.seed), flush=True)
            browser.close()


if __name__ == "__main__":
    main()
