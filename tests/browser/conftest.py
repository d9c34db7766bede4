"""Fixtures: a Chromium, and in it bare pages of a kernel, or notebooks of a JupyterLab; and other engines."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

from dshq_widget import DrillWidget
from dshq_widget.env.webgpu import find_chromium
from tests.harness.browser.bare_page import BarePage, KernelProcess
from tests.harness.browser.engines import ENGINES, Engine, MissingError
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage, WidgetPage, calm_context, launch_chromium
from tests.harness.browser.shared_pages import SharedPages

LESSON_SECONDS = "3"
"""What `seconds` gives in a lesson, at most."""

OpenNotebook = Callable[..., NotebookPage]
OpenPage = Callable[..., BarePage]
SharedPage = Callable[[str], tuple[BarePage, WidgetPage]]
LearningPage = Callable[[], tuple[BarePage, WidgetPage]]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs them all (`--dist loadgroup`): they share their browsers, servers and pages."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """For this folder alone: while it lives its event loop runs in this thread, and others want one of their own."""
    if find_chromium() is None:
        pytest.skip("no Chromium: install your system's chromium package, or set DSHQ_CHROMIUM to a binary")
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """Chromium with software WebGPU."""
    browser = launch_chromium(playwright)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def plain_chromium(playwright: Playwright) -> Iterator[Browser]:
    """Chromium in which navigator.gpu gives no adapter."""
    browser = launch_chromium(playwright, webgpu=False)
    yield browser
    browser.close()


@contextmanager
def started(make: Callable[[Path], Engine], home: Path) -> Iterator[Engine]:
    """One of the other engines until the end, or a test that is skipped."""
    try:
        engine = make(home)
    except MissingError as missing:
        pytest.skip(str(missing))
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Firefox, then WebKitGTK."""
    with started(ENGINES[request.param], tmp_path / request.param) as engine:
        yield engine


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A running JupyterLab, for all modules."""
    with LabServer(tmp_path_factory.mktemp("lab"), {"DSHQ_LESSON_SECONDS": LESSON_SECONDS}) as server:
        yield server


@pytest.fixture(scope="module")
def lab(server: LabServer, request: pytest.FixtureRequest) -> LabServer:
    """The running JupyterLab, seen from a folder of the module's own; nobody has changed a setting yet."""
    server.forget_settings()
    return server.folder(request.module.__name__.rpartition(".")[2])


@pytest.fixture(scope="module")
def tabs() -> dict[Browser, BrowserContext]:
    """For each browser the context in which notebooks open one after the other: it has JupyterLab's code by heart."""
    return {}


@pytest.fixture
def open_notebook(
    lab: LabServer, tabs: dict[Browser, BrowserContext], request: pytest.FixtureRequest
) -> Iterator[OpenNotebook]:
    """`open_notebook(browser, *cells, **how)`; at the end of the test its console must have stayed free of errors."""
    pages: list[NotebookPage] = []

    def open_(browser: Browser, *cells: str, **how: Any) -> NotebookPage:
        name = (
            f"{re.sub(r'[^A-Za-z0-9]+', '_', request.node.name)}_{len(pages)}.ipynb"  # brackets mislead Lab's addresses
        )
        lab.write_notebook(name, list(cells))
        if not how and not pages:
            if browser not in tabs:
                tabs[browser] = calm_context(browser)
            how["context"] = tabs[browser]
        pages.append(NotebookPage(lab, browser, name, **how))
        return pages[-1]

    yield open_
    for page in pages:
        page.close()
    assert [error for page in pages for error in page.console_errors] == []


@pytest.fixture(scope="package")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drill of one side as one file, `match.html`, alone in its folder; it learns within seconds."""
    with DrillWidget("approach", seed=3, num_envs=64, workers=0, pace=30_000) as made:
        return made.export_html(tmp_path_factory.mktemp("exported") / "match.html", train=True)


class Kernels:
    """One kernel for many tests, and another one where a test has ended it."""

    def __init__(self, factory: pytest.TempPathFactory):
        self._factory = factory
        self._kernel: KernelProcess | None = None

    def current(self) -> KernelProcess:
        if self._kernel is not None and not self._kernel.alive:
            self.close()
        if self._kernel is None:
            self._kernel = KernelProcess(self._factory.mktemp("kernel"))
        return self._kernel

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
        self._kernel = None


@pytest.fixture(scope="package")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    kernels = Kernels(tmp_path_factory)
    yield kernels
    kernels.close()


@pytest.fixture(scope="package")
def shared_pages(plain_chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedPages]:
    """On a kernel of their own, which no test ends."""
    kernels = Kernels(tmp_path_factory)
    pages = SharedPages(plain_chromium, kernels.current)
    yield pages
    pages.close()
    kernels.close()


@pytest.fixture
def shared_page(shared_pages: SharedPages) -> Iterator[SharedPage]:
    """`shared_page(cell)`: a widget that many tests look at, as new; its console must stay free of errors."""
    yield shared_pages.use
    assert shared_pages.rest() == []


@pytest.fixture
def learning_page(shared_pages: SharedPages) -> Iterator[LearningPage]:
    """`learning_page()`: the same of a widget whose small run is learning."""
    yield shared_pages.learning
    assert shared_pages.rest() == []


@pytest.fixture
def open_page(kernels: Kernels) -> Iterator[OpenPage]:
    """`open_page(browser, *cells, **how)`: a widget without a notebook; its console must stay free of errors."""
    pages: list[BarePage] = []

    def open_(browser: Browser, *cells: str, **how: Any) -> BarePage:
        pages.append(BarePage(kernels.current(), browser, *cells, **how))
        return pages[-1]

    yield open_
    for page in pages:
        page.close()
    assert [error for page in pages for error in page.console_errors] == []
