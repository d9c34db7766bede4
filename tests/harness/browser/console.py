"""What a page says on its console that is not right: errors, warnings and exceptions nobody caught."""

import re
from collections.abc import Sequence

from playwright.sync_api import ConsoleMessage, Error, Page

# Of Chromium's own, on any page; they say nothing about the widget.
BROWSERS_OWN = [
    re.compile(r"^No available adapters\.$"),  # a browser without WebGPU, asked for it
    re.compile(r"^Failed to create WebGPU Context Provider"),  # the same
    re.compile(
        r"WebSocket connection to .* failed: .*net::ERR_CONNECTION_REFUSED"
    ),  # Python is gone; the page asks again
]


class Console:
    """`problems` are the lines so far that `harmless` does not know."""

    def __init__(self, harmless: Sequence[re.Pattern[str]] = (), warnings: str = "", uncaught: str = "\0"):
        """Of warnings those count that hold `warnings`, of exceptions those that do not begin with `uncaught`."""
        self.problems: list[str] = []
        self._harmless, self._warnings, self._uncaught = [*BROWSERS_OWN, *harmless], warnings, uncaught

    def watch(self, page: Page) -> None:
        """Collect what this page says from now on, too."""
        page.on("console", self._note)
        page.on("pageerror", self._note_exception)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" or (message.type == "warning" and self._warnings in message.text):
            self._add(message.text)

    def _note_exception(self, error: Error) -> None:
        if not error.message.startswith(self._uncaught):
            self._add(f"uncaught: {error.message}\n{error.stack}")

    def _add(self, text: str) -> None:
        if not any(known.search(text) for known in self._harmless):
            self.problems.append(text)
