"""Opens an exported page in Chromium and waits until its match has played: `python .github/one_page.py PAGE`.

Chromium is Playwright's own, or the one that DSHQ_CHROMIUM names.
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TICKS = 200
PATIENCE = 120_000  # milliseconds
PLAYED = f"Number(document.querySelector('.dshq-widget')?.dataset.tick) > {TICKS}"


def main(file: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("DSHQ_CHROMIUM"), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: print(f"error in the page: {error}", file=sys.stderr))
        page.goto(Path(file).resolve().as_uri())
        page.wait_for_function(PLAYED, timeout=PATIENCE)
        print("drawn by", page.get_attribute(".dshq-widget", "data-renderer"))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
