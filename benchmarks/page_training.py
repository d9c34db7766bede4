"""Training in the page, in a headless Chromium that opens an exported file: no server, no kernel, one worker.

`python -m benchmarks.page_training` writes benchmarks/results/page_training-*.json. Targets (stated before measuring):
0.25 M agent steps/s on the Ball Drill with the match playing, 0.5 M with it paused (relaxed SIMD), 80 % of decided
matches against the chaser within 60 s of opening the page, CartPole's 475 within 5 s of Train, the first new version
within 2 s of the click, a file of at most 1.5 MB, frames/s of the match as without training.

- rate: agent steps per second over 15 s, with the match playing and with it paused, beside one thread of the kernel's
  learner with the same settings in the same run (the floor: what this processor could do); without a GPU process (2-D
  canvas) and with software WebGPU. Frames/s before Train and while it trains
- first version: from the click until the match is played by version 1
- skill: seconds from opening the page, and from the click, until `data-win-rate` is 0.8; three seeds
- cartpole: until an evaluation of 100 episodes has a mean return of 475; three seeds
- memory: of the page's process, over `--minutes`, after collection
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget import DrillWidget
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract import settings
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.network import PolicySpec
from tests.harness.browser.page import WidgetPage, launch_chromium

RATE_SECONDS, SETTLE_SECONDS = 15, 3
SEEDS = (0, 1, 2)
PATIENCE = 300  # seconds
CARTPOLE = 475
"""Mean return over 100 episodes: Gymnasium's `reward_threshold` of CartPole-v1."""


class Exported:
    """A drill's page, opened."""

    def __init__(self, browser: Browser, path: Path):
        self.opened = time.monotonic()
        self.page: Page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.page.goto(path.as_uri())
        self.widget = WidgetPage(self.page, self.page.locator(".dshq-widget"))
        self.widget.wait_number("tick", lambda tick: tick > 0)

    def train(self) -> None:
        self.clicked = time.monotonic()
        self.widget.control("train").click()

    def metric(self, name: str) -> float:
        return float(self.widget.attribute(name) or 0)

    def rate(self, seconds: float) -> float:
        """Agent steps per second from one report to another."""
        first, began = self._report()
        self.page.wait_for_timeout(1000 * seconds)
        last, ended = self._report()
        return (last - first) / (ended - began)

    def _report(self) -> tuple[float, float]:
        """Agent steps and the time when they were reported."""
        before = self.metric("agent-steps")
        while (now := self.metric("agent-steps")) == before:
            self.page.wait_for_timeout(10)
        return now, time.monotonic()

    def frames(self, seconds: int) -> float:
        """Median frames/s."""
        seen = []
        for _ in range(seconds):
            self.page.wait_for_timeout(1000)
            seen.append(self.metric("fps"))
        return statistics.median(seen)

    def reached(self, name: str, wanted: float) -> tuple[float | None, float | None]:
        """Seconds since the page was opened and since Train until a metric is there; None if it takes too long."""
        while self.metric(name) < wanted:
            if time.monotonic() - self.clicked > PATIENCE:
                return None, None
            self.page.wait_for_timeout(50)
        now = time.monotonic()
        return now - self.opened, now - self.clicked


@contextmanager
def chromium(webgpu: bool) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, webgpu)
        yield browser
        browser.close()


def export(folder: Path, name: str, **hyper: Any) -> Path:
    path = folder / f"{name}-{hyper.get('seed', 0)}.html"
    with DrillWidget(name, **hyper) as widget:
        return widget.export_html(path, train=True)


def native(seconds: float) -> float:
    """Agent steps per second of one thread that plays and learns, without evaluation and league."""
    drill = compile_drill(Ball)
    config = settings.of_drill(drill.spec)
    learner, games = FusedPPO(PolicySpec.for_config(drill.spec, config)), OwnGames(drill, config, 1)
    steps, begin = 0, time.monotonic()
    while (spent := time.monotonic() - begin) < seconds or not steps:
        played = games.next(learner, config, 0)
        learner.update(played.samples, played.units, Hyper.at(config, steps))
        steps += played.agent_steps
    return steps / spent


def rates(folder: Path) -> dict[str, Any]:
    path = export(folder, "ball")
    native(2.0)
    found: dict[str, Any] = {"file_bytes": path.stat().st_size, "native_one_thread": native(RATE_SECONDS / 2)}
    for name, webgpu in (("canvas2d", False), ("webgpu", True)):
        with chromium(webgpu) as browser:
            page = Exported(browser, path)
            page.page.wait_for_timeout(1000 * SETTLE_SECONDS)
            row: dict[str, Any] = {
                "renderer": page.widget.attribute("renderer"),
                "thread": page.widget.attribute("renderer-thread"),
            }
            row["frames_before"] = page.frames(8)
            page.train()
            row["first_version_seconds"] = page.reached("version", 1)[1]
            page.page.wait_for_timeout(1000 * SETTLE_SECONDS)
            row["playing"] = page.rate(RATE_SECONDS)
            row["frames_while_training"] = page.frames(8)
            page.widget.control("pause").first.click()
            page.page.wait_for_timeout(1000)
            row["paused"] = page.rate(RATE_SECONDS)
            found[name] = row
            print(name, row, flush=True)
    found["native_one_thread"] = max(found["native_one_thread"], native(RATE_SECONDS / 2))
    return found


def skill(folder: Path) -> list[dict[str, float | None]]:
    rows = []
    for seed in SEEDS:
        with chromium(False) as browser:
            page = Exported(browser, export(folder, "ball", seed=seed))
            page.train()
            opened, clicked = page.reached("win-rate", 0.8)
            steps = page.metric("agent-steps")
            rows.append({"seed": seed, "from_opening": opened, "from_train": clicked, "agent_steps": steps})
            print("skill", rows[-1], flush=True)
    return rows


def cartpole(folder: Path) -> list[dict[str, float | None]]:
    rows = []
    for seed in SEEDS:
        with chromium(False) as browser:
            page = Exported(browser, export(folder, "cartpole", seed=seed))
            page.train()
            opened, clicked = page.reached("return", CARTPOLE)
            rows.append({"seed": seed, "from_opening": opened, "from_train": clicked})
            print("cartpole", rows[-1], flush=True)
    return rows


def memory(folder: Path, minutes: float) -> list[dict[str, float]]:
    with chromium(False) as browser:
        page = Exported(browser, export(folder, "ball"))
        session = page.page.context.new_cdp_session(page.page)
        processes = browser.new_browser_cdp_session()
        page.train()
        rows, begin = [], time.monotonic()
        while (now := time.monotonic() - begin) < 60 * minutes:
            session.send("HeapProfiler.collectGarbage")
            told = processes.send("SystemInfo.getProcessInfo")["processInfo"]
            sizes = [psutil.Process(one["id"]).memory_info().rss for one in told if one["type"] == "renderer"]
            rows.append({"seconds": now, "mb": max(sizes) / 1e6, "agent_steps": page.metric("agent-steps")})
            print("memory", rows[-1], flush=True)
            page.page.wait_for_timeout(30_000)
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--part", choices=("rate", "skill", "cartpole", "memory"), action="append")
    parser.add_argument("--minutes", type=float, default=10)
    arguments = parser.parse_args()
    parts = arguments.part or ["rate", "skill", "cartpole", "memory"]
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "rate" in parts:
            result["rate"] = rates(folder)
        if "skill" in parts:
            result["skill"] = skill(folder)
        if "cartpole" in parts:
            result["cartpole"] = cartpole(folder)
        if "memory" in parts:
            result["memory"] = memory(folder, arguments.minutes)
    write("page_training" if len(parts) > 1 else f"page_training_{parts[0]}", result)


if __name__ == "__main__":
    main()
