"""Pages that tests share: a widget is made once for all that only look at it, and each of them finds it as new."""

import json
from collections.abc import Callable

from playwright.sync_api import Browser

from tests.harness.browser.bare_page import BarePage, KernelProcess
from tests.harness.browser.page import VIEWPORT, WidgetPage
from tests.harness.browser.watching import SMALL, TRAINED

AS_NEW = "w.controls = None; w._set_show(**{{**{show!r}, 'playing': True, 'match': w.show['match'] + 1}})"
HOLD = "if w.status == 'training' and not w.paused: w.pause_training()"
LEARN = "w.resume_training() if w.status == 'training' else w.train()"


class SharedPages:
    """One page for each cell, all of one browser; `kernel` gives the kernel that runs them."""

    def __init__(self, browser: Browser, kernel: Callable[[], KernelProcess]):
        self._browser, self._kernel = browser, kernel
        self._pages: dict[str, tuple[BarePage, dict]] = {}
        self._used: list[BarePage] = []

    def use(self, cell: str) -> tuple[BarePage, WidgetPage]:
        """The page of a cell whose `w` is the widget, with its match running from the beginning."""
        kernel = self._kernel()
        if cell in self._pages and self._pages[cell][0].kernel is kernel:
            opened, show = self._pages[cell]
            opened.run(AS_NEW.format(show=show))
            opened.page.emulate_media(
                color_scheme="light", contrast="no-preference", forced_colors="none", reduced_motion="no-preference"
            )
            opened.page.set_viewport_size(VIEWPORT)
            opened.page.goto(opened.url)
        else:
            opened = BarePage(kernel, self._browser, cell)
            opened.run_all()
            self._pages[cell] = opened, json.loads(opened.run("import json; print(json.dumps(w.show))"))
        self._used.append(opened)
        widget = opened.widget()
        widget.wait_number("tick", lambda tick: tick > 0)
        return opened, widget

    def learning(self) -> tuple[BarePage, WidgetPage]:
        """The page of a run that trains, with a version that was learned: started once, it stays for whoever asks."""
        opened, widget = self.use(SMALL)
        opened.run(LEARN)
        widget.wait_attribute("status", lambda status: status == "training", TRAINED)
        widget.wait_number("version", lambda version: version > 0, TRAINED)
        return opened, widget

    def rest(self) -> list[str]:
        """The test is over: what it used stands still. Returns the errors and warnings on its consoles."""
        problems = []
        for opened in self._used:
            opened.page.goto("about:blank")
            if opened.kernel.alive:
                opened.run(HOLD)
            problems += opened.console_errors
            opened.console_errors.clear()
        self._used.clear()
        return problems

    def close(self) -> None:
        for opened, _ in self._pages.values():
            opened.context.close()
        self._pages.clear()
