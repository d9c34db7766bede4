"""The bare page: a widget of a real kernel, on the page that `dshq play` opens, without a notebook around it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from playwright.sync_api import Browser, BrowserContext, Page

from tests.harness.browser.calm import CALM
from tests.harness.browser.console import Console
from tests.harness.browser.lab import Kernel
from tests.harness.browser.page import VIEWPORT, WidgetPage, widget_on

VIEW = "application/vnd.jupyter.widget-view+json"
OPEN_SECONDS = 120

SERVE = """
from ipywidgets.widgets.widget import _instances as __all
from dshq_widget.widget.play_server import serve as __serve
print(__serve(__all[{model!r}]).url)
"""
MINE = "from ipywidgets.widgets.widget import _instances as __all; w = __all[{model!r}]\n"
CLEAR = """
from ipywidgets.widgets.widget import _instances as __all
for __one in list(__all.values()):
    __one.close()
get_ipython().run_line_magic("reset", "-f")
"""


class KernelProcess(Kernel):
    """A kernel of our own, in a process of its own; `home` holds all that it would keep in the user's folders."""

    def __init__(self, home: Path):
        self.manager = KernelManager()
        super().__init__(lambda: self._start(home))

    def _start(self, home: Path) -> BlockingKernelClient:
        folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        environment = os.environ | {name: str(home / name.lower()) for name in folders}
        self.manager.start_kernel(env=environment, cwd=str(home))
        return self.manager.blocking_client()

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._thread.submit(self.manager.is_alive).result()

    def clear(self) -> None:
        """Close every widget and forget every name, for the next test."""
        self.run(CLEAR)

    def close(self) -> None:
        """End the process."""
        self._thread.submit(self.manager.shutdown_kernel, now=True).result()
        super().close()


class BarePage:
    """One widget of a kernel, open in a browser."""

    def __init__(
        self,
        kernel: KernelProcess,
        browser: Browser,
        *cells: str,
        prepare: Callable[[BrowserContext], None] = lambda context: None,
        where: Callable[[str], str] = lambda url: url,
        calm: bool = True,
        **options: Any,
    ):
        """`prepare` sees the browser's context before its page, `options` go to it; `where` changes the address."""
        self.kernel, self.cells, self._where = kernel, cells, where
        self.url = self.model = ""
        self._console = Console()
        self.context = browser.new_context(**{"viewport": VIEWPORT, **options})
        self.context.set_default_timeout(OPEN_SECONDS * 1000)
        if calm:
            self.context.add_init_script(CALM)
        prepare(self.context)
        self.page = self._new_page()

    def _new_page(self) -> Page:
        page = self.context.new_page()
        self._console.watch(page)
        return page

    @property
    def console_errors(self) -> list[str]:
        """Errors and warnings of all its pages."""
        return self._console.problems

    def run_all(self, *cells: str) -> None:
        """Run every cell, or those given here, and open the last widget that one of them shows."""
        self.cells = cells or self.cells
        shown = [data[VIEW]["model_id"] for cell in self.cells for data in self.kernel.shown_by(cell) if VIEW in data]
        if not shown:
            raise RuntimeError("wanted a cell that shows a widget")
        self.model = shown[-1]
        self.url = self._where(self.kernel.run(SERVE.format(model=self.model)).strip())
        self.page.goto(self.url, timeout=OPEN_SECONDS * 1000)

    def run(self, code: str) -> str:
        """Run `code` in the kernel, with `w` this page's widget; returns what it printed."""
        return self.kernel.run(MINE.format(model=self.model) + code)

    def another(self) -> WidgetPage:
        """The same widget on one more page of the same browser."""
        page = self._new_page()
        page.goto(self.url, timeout=OPEN_SECONDS * 1000)
        return widget_on(page, self.console_errors)

    def reload(self) -> None:
        """Load the page again, as F5 does. The kernel lives on."""
        self.page.reload(timeout=OPEN_SECONDS * 1000)

    def theme(self, dark: bool) -> None:
        """What the system says to the page: dark or light."""
        self.page.emulate_media(color_scheme="dark" if dark else "light")

    def widget(self, timeout: float = 60) -> WidgetPage:
        """The widget, once it is visible; `timeout` in seconds."""
        return widget_on(self.page, self.console_errors, timeout=timeout)

    def close(self) -> None:
        """Close the page; the kernel forgets what its cells made."""
        self.context.close()
        if self.kernel.alive:
            self.kernel.clear()
