"""An exported page that trains by itself, opened from disk."""

from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Browser, BrowserContext, Request

from tests.harness.browser.calm import CALM
from tests.harness.browser.console import Console
from tests.harness.browser.page import WidgetPage

PATIENCE = 240  # s; the modules may have to be compiled


class Opened:
    """A file in a browser that reaches no network."""

    open_contexts: ClassVar[set[BrowserContext]] = set()

    def __init__(self, browser: Browser, path: Path, script: str = ""):
        """`script` runs in the page before its own."""
        self.context: BrowserContext = browser.new_context(offline=True, viewport={"width": 1280, "height": 1000})
        self.open_contexts.add(self.context)
        self.context.add_init_script(CALM)
        self.context.add_init_script(script)
        self.console = Console()
        self.page = self.context.new_page()
        self.console.watch(self.page)
        self.requests: list[str] = []
        self.page.on("request", self._asked)
        self.page.goto(path.as_uri())

    def _asked(self, request: Request) -> None:
        if request.url.startswith("http"):
            self.requests.append(request.url)

    def widget(self) -> WidgetPage:
        widget = WidgetPage(self.page, self.page.locator(".dshq-widget"))
        widget.root.wait_for()
        return widget

    def close(self) -> None:
        assert self.requests == []
        assert self.console.problems == []
        self.open_contexts.discard(self.context)
        self.context.close()

    @classmethod
    def close_all(cls) -> None:
        """Close what failed tests left open: it would continue training beside all others."""
        while cls.open_contexts:
            cls.open_contexts.pop().close()


def train(widget: WidgetPage, versions: int) -> int:
    """Press Train and wait for that many more versions; the newest."""
    before = widget.number("version")
    widget.control("train").click()
    widget.wait_attribute("status", lambda status: status == "training", timeout=PATIENCE)
    return int(widget.wait_number("version", lambda version: version >= before + versions, timeout=PATIENCE))
