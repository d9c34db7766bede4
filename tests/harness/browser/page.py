"""Chromium with WebGPU, a notebook open in it, and the widget in that notebook as a person would use it."""

import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, Playwright, ViewportSize

from dshq_widget.env.webgpu import SOFTWARE_FLAGS, find_chromium
from tests.harness.browser.calm import CALM
from tests.harness.browser.console import Console
from tests.harness.browser.lab import Kernel, LabServer

T = TypeVar("T")

QUIET_FLAGS = [
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]

# Console errors that are JupyterLab's own and say nothing about the widget.
HARMLESS = [
    re.compile(r"Failed to load resource: .*404"),  # a workspace or setting that does not exist yet
    re.compile(r"^Could not restore the debugger state: Canceled future"),  # the kernel was shut down meanwhile
    # Lab's splash screen, which it takes away twice where its settings come late: the call is in its own code
    re.compile(r"^uncaught: Failed to execute 'removeChild' on 'Node'[^\n]*\n[^\n]*\n\s+at \S*/static/lab/jlab_core"),
    re.compile(r"^dshq-widget: the kernel takes no messages: .*Cannot send"),  # it died, as the test wanted it
]

# anywidget gives a model two seconds to begin, which several at once overstep on a busy machine; then they come all the
# same, and a widget that does not is missed.
LATE = "[anywidget] Failed to initialize model"

NARROW = 800  # pixels
VIEWPORT: ViewportSize = {"width": 1400, "height": 1100}
OPEN_SECONDS = 120  # Lab on a busy machine; three seconds on an idle one


def launch_chromium(playwright: Playwright, webgpu: bool = True, *more: str) -> Browser:
    """A headless Chromium, with software WebGPU or with none, and with `more` flags."""
    flags = QUIET_FLAGS + (SOFTWARE_FLAGS if webgpu else ["--disable-gpu"]) + list(more)
    return playwright.chromium.launch(executable_path=find_chromium(), args=flags)


def calm_context(browser: Browser, **options: Any) -> BrowserContext:
    """A fresh one, whose pages draw few frames."""
    context = browser.new_context(**{"viewport": VIEWPORT, **options})
    context.add_init_script(CALM)
    return context


def inner(png: bytes, margin: int = 16) -> bytes:
    """A picture's pixels without its edge: the browser smooths rounded corners anew when something near changes."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.crop((margin, margin, picture.width - margin, picture.height - margin)).tobytes()


class NotebookPage:
    """One notebook, open in JupyterLab."""

    def __init__(
        self,
        lab: LabServer,
        browser: Browser,
        name: str,
        prepare: Callable[[BrowserContext], None] = lambda context: None,
        url: str = "",
        context: BrowserContext | None = None,
        **options: Any,
    ):
        """Open `lab.work/name` and wait for its kernel; `url` is another way to the server."""
        self.lab = lab
        self.name = name
        self._console = Console(HARMLESS, warnings="dshq", uncaught=LATE)
        self._kernel: Kernel | None = None
        self._owned = context is None
        self.context = context or calm_context(browser, **options)
        self.context.set_default_timeout(OPEN_SECONDS * 1000)
        prepare(self.context)
        self.page: Page = self.context.new_page()
        self._console.watch(self.page)
        # A workspace of its own, or Lab opens the notebooks of the tests before beside this one.
        path = lab.path_of(name)
        workspace = f"lab/workspaces/{path.removesuffix('.ipynb').replace('/', '_')}"
        self.page.goto(f"{url or lab.url}/{workspace}/tree/{path}?token={lab.token}", timeout=OPEN_SECONDS * 1000)
        self._wait_for_kernel()
        size = self.page.viewport_size
        if size and size["width"] < NARROW:
            self.command("application:toggle-left-area")  # the file browser, as anybody does who wants to see a cell

    @property
    def console_errors(self) -> list[str]:
        """Errors, and warnings of ours."""
        return self._console.problems

    def _wait_for_kernel(self) -> None:
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=OPEN_SECONDS * 1000)
        opened = "window.jupyterapp?.shell.currentWidget?.sessionContext"
        self.page.wait_for_function(opened, timeout=OPEN_SECONDS * 1000)  # a cell may be there before its notebook is
        self.page.evaluate(f"{opened}.ready")

    def command(self, name: str, arguments: dict | None = None) -> None:
        """Run one of JupyterLab's own commands and wait for its end."""
        self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args) }", [name, arguments or {}]
        )

    def run_all(self) -> None:
        """Run every cell from top to bottom and wait until the last one has ended."""
        self.command("notebook:run-all-cells")

    def save(self) -> Path:
        """Save the notebook; returns the file."""
        self.command("docmanager:save")
        return self.lab.work / self.name

    def reload(self) -> None:
        """Save, then load the page again, as F5 does. The kernel lives on."""
        self.save()
        self.page.reload(timeout=OPEN_SECONDS * 1000)
        self._wait_for_kernel()

    def theme(self, dark: bool) -> None:
        """Switch JupyterLab to its dark or its light theme."""
        self.command("apputils:change-theme", {"theme": "JupyterLab Dark" if dark else "JupyterLab Light"})
        self.page.wait_for_selector(f"body[data-jp-theme-light='{str(not dark).lower()}']", state="attached")

    @property
    def kernel(self) -> Kernel:
        """A line into this notebook's kernel, to run code beside the page."""
        if self._kernel is None:
            self._kernel = self.lab.kernel_of(self.name)
        return self._kernel

    def widget(self, index: int = 0, timeout: float = 60) -> "WidgetPage":
        """The index-th widget of the page, once it is visible; `timeout` in seconds."""
        return widget_on(self.page, self.console_errors, index, timeout)

    def close(self) -> None:
        """Close the page, and shut its kernel down as a person does who is done with the notebook."""
        if self._kernel is not None:
            self._kernel.close()
        if self._owned:
            self.context.close()
        else:
            self.page.close()
        self.lab.shut_down(self.name)


class WidgetPage:
    """The page contract of docs/architecture.md: `data-` attributes, controls by their ids, the match canvas."""

    def __init__(self, page: Page, root: Locator):
        self.page = page
        self.root = root

    def attribute(self, name: str) -> str:
        """The value of `data-NAME`; "" when it is not there."""
        return self.root.get_attribute(f"data-{name}") or ""

    def number(self, name: str) -> float:
        """`data-NAME` as a number."""
        return float(self.attribute(name) or "nan")

    def until(self, get: Callable[[], T], good: Callable[[T], bool], timeout: float, what: str) -> T:
        """Ask ten times a second until `good(get())`; returns that value. `timeout` in seconds."""
        deadline = time.monotonic() + timeout
        value = get()
        while not good(value) and time.monotonic() < deadline:
            self.page.wait_for_timeout(100)  # not time.sleep: the page's events have to be let in
            value = get()
        if good(value):
            return value
        raise AssertionError(f"waited {timeout} s for {what}; the last value was {value!r}, widget: {self.state()}")

    def wait_drawn(self, colours: int = 5) -> None:
        """Wait until the pitch is drawn: in more than this many colours."""
        self.until(lambda: self.colours(self.picture()), lambda seen: seen > colours, 60, "a pitch in its colours")

    def wait_attribute(self, name: str, good: Callable[[str], bool], timeout: float = 60) -> str:
        """Wait until `good` holds for `data-NAME`."""
        return self.until(lambda: self.attribute(name), good, timeout, f"data-{name}")

    def wait_number(self, name: str, good: Callable[[float], bool], timeout: float = 60) -> float:
        """Wait until `good` holds for `data-NAME` as a number."""
        return self.until(lambda: self.number(name), good, timeout, f"data-{name}")

    def texts(self, selector: str) -> list[str]:
        """What stands in each element that a selector finds."""
        return self.root.locator(selector).all_inner_texts()

    def state(self) -> dict[str, str]:
        """Every `data-` attribute of the root, without the prefix."""
        return self.root.evaluate("root => ({...root.dataset})")

    def control(self, key: str) -> Locator:
        """The control with this id (docs/develop/protocol.md); opens the tab, menu and folds that hold it."""
        found = self.root.locator(f'[data-control="{key}"]')
        if found.count() == 0:
            before = self.root.locator("[role=tab][aria-selected=true]")
            shown = self._tab_of(before) if before.count() else None
            for tab in self.tabs():
                self.tab(tab)
                if found.count():
                    return self._unfolded(found)
            if shown:
                self.tab(shown)
        return self._unfolded(found)

    def _unfolded(self, found: Locator) -> Locator:
        for one in found.all():
            one.evaluate(
                """element => {
                    const panel = element.closest("[role=tabpanel][hidden]");
                    if (panel) element.ownerDocument.getElementById(panel.getAttribute("aria-labelledby")).click();
                    const menu = element.closest(".share-menu[hidden]");
                    if (menu) element.ownerDocument.querySelector(`[aria-controls="${menu.id}"]`).click();
                    for (let fold = element; (fold = fold.parentElement?.closest("details")); ) fold.open = true;
                }"""
            )
        return found

    def tabs(self) -> list[str]:
        """The tabs that are offered, such as "learn", wherever the page is scrolled to."""
        return [self._tab_of(handle) for handle in self.root.locator("[role=tab]:not([hidden])").all()]

    @staticmethod
    def _tab_of(handle: Locator) -> str:
        return (handle.get_attribute("data-control") or "").removeprefix("tab-")

    def tab(self, name: str) -> Locator:
        """Open a tab; returns what stands under it."""
        handle = self.root.locator(f'[data-control="tab-{name}"]')
        if handle.get_attribute("aria-selected") != "true":
            handle.click()
        return self.root.locator(f"[id='{handle.get_attribute('aria-controls')}']")

    @property
    def canvas(self) -> Locator:
        """The focusable match."""
        return self.root.locator("[data-control=match]")

    def picture(self) -> bytes:
        """What the match canvas shows now, as PNG, without what lies over it."""
        return self.canvas.screenshot(style=".dshq-widget :is(.chips, .duel, .replay) { visibility: hidden }")

    @staticmethod
    def colours(png: bytes) -> int:
        """How many different colours a picture has: one means that nothing was drawn."""
        picture = Image.open(io.BytesIO(png)).convert("RGB")
        return len(picture.getcolors(picture.width * picture.height) or ())

    @staticmethod
    def changed(before: bytes, after: bytes) -> float:
        """The share of pixels, 0 to 1, that differ between two pictures of one size."""
        one, other = (np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) for png in (before, after))
        return float((one != other).any(axis=2).mean())

    def screenshot(self, path: Path) -> Path:
        """The widget alone as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.root.screenshot(path=path)
        return path


def widget_on(page: Page, said: list[str], index: int = 0, timeout: float = 60) -> WidgetPage:
    """The index-th widget of a page, once it is visible; `timeout` in seconds."""
    root = page.locator(".dshq-widget").nth(index)
    try:
        root.wait_for(state="visible", timeout=timeout * 1000)
    except Error as problem:
        outputs = page.locator(".jp-OutputArea-output, main").all_inner_texts()
        raise AssertionError(f"no widget after {timeout} s; outputs {outputs}, {said}") from problem
    root.scroll_into_view_if_needed()
    return WidgetPage(page, root)
