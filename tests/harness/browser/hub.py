"""A student of the hub of `make hub`: logs in by the form, and works in a server of JupyterHub's."""

import json
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext

from dshq_widget.classroom.hub.demo import Hub
from tests.harness.browser.lab import LabServer
from tests.harness.browser.page import NotebookPage
from tests.harness.hub import ask

SPAWN_SECONDS = 180
ARGUMENTS = ("--LabApp.expose_app_in_browser=True",)  # the page's own commands, as JupyterLab's tests use them


class HubServer(LabServer):
    """One student's server as the other tests know a LabServer. The hub starts and ends it."""

    def __init__(self, hub: Hub, name: str):
        super().__init__(hub.folder / "home" / name)
        self.hub, self.name = hub, name
        self.url = hub.home_of(name)
        self.work = self.home
        self.runtime = self.home / ".local" / "share" / "jupyter" / "runtime"
        self.token = hub.ask("POST", f"/users/{name}/tokens", {"note": "test"})["token"]

    def request(self, path: str, method: str = "GET") -> Any:
        """As any server's. It may have a host that browsers know and this system does not, so the proxy is asked."""
        place = urlsplit(self.url)
        return ask(f"http://127.0.0.1:{self.hub.port}{place.path}{path}", self.token, method, host=place.netloc)

    def log_in(self, context: BrowserContext) -> None:
        """As a person does, in a page that is closed again; the hub starts the server."""
        page = context.new_page()
        page.goto(f"{self.hub.url}/hub/login")
        page.locator("#username_input").fill(self.name)
        page.locator("#password_input").fill(self.hub.passwords[self.name])
        page.locator("#login_submit").click()
        page.wait_for_url(f"{self.url}/lab**", timeout=1000 * SPAWN_SECONDS)
        page.close()

    def open(self, browser: Browser, *cells: str, **how: Any) -> NotebookPage:
        """Log in and open a notebook of these cells."""
        settings = self.home / ".jupyter" / "labconfig"
        settings.mkdir(parents=True, exist_ok=True)
        quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (settings / "page_config.json").write_text(json.dumps(quiet))
        self.write_notebook(f"{self.name}.ipynb", list(cells))
        return NotebookPage(self, browser, f"{self.name}.ipynb", self.log_in, **how)
