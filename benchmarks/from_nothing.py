"""From nothing to a live, trained match: a fresh environment, empty caches, one wheel, by each installer.

    python -m benchmarks.from_nothing --wheel dist/dshq_widget-….whl [--ways pip uv uvx] [--uv UV]

Each way has a folder of its own, with an empty home and empty caches of the installer, of machine code and of Python.
Counted from the first command of that way: the environment and the installation, `dshq play ball` until it prints its
address, the match on the page of a headless Chromium that a processor draws, Train until the first new version plays,
and until the newest policy wins 0.9 of the decided matches against random play. `bytes` is the environment on disk,
`cache_bytes` what the installer keeps besides. Installed packages come from the index that the machine is set up for,
so the time depends on it. uv itself is there before.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import write
from benchmarks.running import parser_of
from tests.harness.browser.page import WidgetPage, launch_chromium

PATIENCE = 300.0
"""Seconds after which a step is given up."""
RATE = 0.9
NOT_PASSED = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
"""Variables of whoever measures that a person's machine does not have."""


def size(folder: Path) -> int:
    """Bytes of a folder on disk, links counted once."""
    seen = {(s.st_dev, s.st_ino): 512 * s.st_blocks for path in folder.rglob("*") for s in [path.lstat()]}
    return sum(seen.values())


def commands(way: str, uv: str, wheel: Path, home: Path) -> tuple[list[list[str]], list[str]]:
    """What sets a way up, and how `dshq` is called then. Raises ValueError for a way that there is not."""
    environment = str(home / "env")
    program = str(home / "env/bin/dshq")
    if way == "pip":
        python = str(home / "env/bin/python")
        return [[sys.executable, "-m", "venv", environment], [python, "-m", "pip", "install", "-q", str(wheel)]], [
            program
        ]
    if way == "uv":
        make = [uv, "venv", "-q", "--python", sys.executable, environment]
        return [make, [uv, "pip", "install", "-q", "--python", environment, str(wheel)]], [program]
    if way == "uvx":
        return [], [uv, "tool", "run", "-q", "--python", sys.executable, "--from", str(wheel), "dshq"]
    raise ValueError(f"the ways are pip, uv and uvx, not {way!r}")


def line_of(process: subprocess.Popen[str]) -> str:
    """The first line that a program prints. Raises TimeoutError or RuntimeError where none comes."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], PATIENCE)[0]:
        raise TimeoutError("dshq play printed nothing")
    if not (line := process.stdout.readline()):
        raise RuntimeError(f"dshq play ended with {process.wait()}")
    return line


def watch(browser: Browser, url: str, note: Callable[[str], None]) -> None:
    """Opens the page, presses Train, and waits until the policy beats random play."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    widget = WidgetPage(page, page.locator(".dshq-widget").first)
    widget.wait_number("fps", lambda frames: frames > 0, PATIENCE)
    note("match")
    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 1, PATIENCE)
    note("first_version")
    widget.wait_number("win-rate-random", lambda rate: rate >= RATE, PATIENCE)
    note("trained")
    page.close()


def run(way: str, uv: str, wheel: Path, browser: Browser) -> dict[str, object]:
    """One way, from an empty folder on."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        places = {"HOME": home, "XDG_CACHE_HOME": home / "cache", "UV_CACHE_DIR": home / "cache/uv"}
        places |= {"PIP_CACHE_DIR": home / "cache/pip", "UV_TOOL_DIR": home / "tools", "TMPDIR": home / "tmp"}
        (home / "tmp").mkdir()
        names = {key: value for key, value in os.environ.items() if key not in NOT_PASSED}
        environment = names | {key: str(value) for key, value in places.items()}
        seconds: dict[str, float] = {}
        begin = time.monotonic()

        def note(step: str) -> None:
            seconds[step] = round(time.monotonic() - begin, 2)

        set_up, program = commands(way, uv, wheel, home)
        for command in set_up:
            subprocess.run(command, env=environment, check=True, cwd=home)
        note("installed")
        play = subprocess.Popen(
            [*program, "play", "ball", "--no-browser", "--json"],
            env=environment,
            cwd=home,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = json.loads(line_of(play))["url"]
            note("answers")
            watch(browser, url, note)
        finally:
            play.terminate()
            play.wait(timeout=60)
        installed = home / "env" if (home / "env").exists() else home / "cache/uv"
        kept = 0 if installed.name == "uv" else size(home / "cache")
        return {
            "way": way,
            "load_before": round(load, 2),
            "seconds": seconds,
            "bytes": size(installed),
            "cache_bytes": kept,
        }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--ways", nargs="*", default=["pip", "uv", "uvx"])
    parser.add_argument("--uv", default=shutil.which("uv") or "uv")
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    runs = []
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        for way in options.ways:
            runs.append(run(way, options.uv, wheel, browser))
            print(json.dumps(runs[-1]), flush=True)
        browser.close()
    write("from_nothing", {"wheel": wheel.name, "wheel_bytes": wheel.stat().st_size, "rate": RATE, "runs": runs})


if __name__ == "__main__":
    main()
