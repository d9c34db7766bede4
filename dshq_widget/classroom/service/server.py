"""The league's service: pages, a referee, and a clean shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any
from urllib.parse import urlsplit

from tornado import web

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.once import Once
from dshq_widget.classroom.referee import RefereeThread
from dshq_widget.classroom.rounds import drill_of, league_drills
from dshq_widget.classroom.service import pages
from dshq_widget.classroom.service.answers import Answers, Turns
from dshq_widget.classroom.service.page import Page
from dshq_widget.classroom.service.recent import Recent
from dshq_widget.classroom.service.short_log import ShortLog, failures
from dshq_widget.classroom.service.upload_checks import (
    BODY_SECONDS,
    MAX_UPLOAD_BYTES,
    UPLOADS_PER_MINUTE,
    InFlight,
    Limiter,
)
from dshq_widget.classroom.store import Store
from dshq_widget.runtime.connections import BoundedServer
from dshq_widget.system import limits
from dshq_widget.system.ending import EndSignal

MAX_FORM_BYTES, MAX_HEADER_BYTES = 1 << 14, 1 << 15
"""Largest request body in bytes, and its header: all connections may hold as much, before anybody is asked who they
are. Uploads and the names of a class may be larger, once that is known.
"""
IDLE_SECONDS = 30.0
"""How long a connection may take to ask, and how long it stays open without asking."""
DESCRIPTORS = 8192
"""Asked of the system; half of them are for connections. A browser keeps up to six, a proxy few."""
INSTRUCTOR = "instructor"
"""The first account of a new league without a hub."""
HUB_VARIABLE = "JUPYTERHUB_SERVICE_PREFIX"
"""Set by JupyterHub for its services."""


def application(
    store: Store,
    *,
    prefix: str = "/",
    instructors: str = "instructors",
    per_minute: int = UPLOADS_PER_MINUTE,
    referee: RefereeThread | None = None,
    with_hub: bool = False,
    public_url: str = "",
) -> web.Application:
    """All pages below `prefix`. Admins of the hub and members of its group `instructors` are instructors. `public_url`:
    where people find them, if something stands before the service that is not a hub. Raises LeagueError for none, and
    behind a hub that is too old.
    """
    if public_url and not (urlsplit(public_url).scheme in ("http", "https") and urlsplit(public_url).hostname):
        raise LeagueError(f"--public-url must be the address that people open, https://..., got {public_url!r}")
    xsrf = {"httponly": True, "samesite": "Lax", "path": prefix, "secure": public_url.startswith("https:")}
    routes: list[Any] = pages.routes(prefix)
    missing: type[web.RequestHandler] = pages.Missing
    if with_hub:
        from dshq_widget.classroom.service import hub

        hub.check_release()
        hub.keep_cookies()
        routes = [
            (pattern, hub.of_hub(page) if issubclass(page, Page) else page, how)
            for pattern, page, how in routes
            if page not in (pages.Login, pages.Logout, pages.Students)
        ]
        routes.append(hub.callback(prefix))
        missing = hub.of_hub(missing)
    return web.Application(
        routes,
        default_handler_class=missing,
        log_function=failures,
        template_path=str(pages.HERE / "templates"),
        cookie_secret=store.cookie_secret(),
        login_url=f"{prefix}login",
        xsrf_cookies=True,
        xsrf_cookie_kwargs=xsrf,
        store=store,
        prefix=prefix,
        with_hub=with_hub,
        public_url=public_url,
        instructors=instructors,
        limiter=Limiter(per_minute),
        recent=Recent(store),
        in_flight=InFlight(),
        answers=Answers(),
        turns=Turns(),
        logged=Once(),
        referee=referee,
    )


def listen(app: web.Application, port: int, address: str) -> tuple[BoundedServer, int]:
    """Serve `app`; returns the server and its actual port. Raises LeagueError if the port is taken."""
    behind = bool(app.settings["with_hub"])  # then the proxy's headers say which protocol the browser speaks
    sizes = {"max_body_size": MAX_FORM_BYTES, "max_header_size": MAX_HEADER_BYTES, "max_buffer_size": MAX_UPLOAD_BYTES}
    times = {"body_timeout": BODY_SECONDS, "idle_connection_timeout": IDLE_SECONDS}
    server = BoundedServer(app, xheaders=behind, **sizes, **times)
    server.most_open = limits.descriptors(DESCRIPTORS) // 2
    try:
        server.listen(port, address)
    except OSError as error:
        raise LeagueError(f"cannot listen on {address}:{port} ({error.strerror}): choose a different --port") from error
    return server, next(iter(server._sockets.values())).getsockname()[1]


def serve(url: str, port: int, address: str, instructors: str, public_url: str = "", say: Any = print) -> None:
    """Serve the league until SIGINT or SIGTERM. Under a JupyterHub it uses the hub's address and login."""
    asyncio.run(_serve(url, port, address, instructors, public_url, say))


async def _serve(url: str, port: int, address: str, instructors: str, public_url: str, say: Any) -> None:
    logging.getLogger().addHandler(ShortLog())
    prefix, with_hub = os.environ.get(HUB_VARIABLE, "/"), HUB_VARIABLE in os.environ
    if with_hub and os.environ.get("JUPYTERHUB_SERVICE_URL"):
        place = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
        address, port = place.hostname or address, place.port or port
    store = Store(url)
    for name in league_drills():  # compiled now, so that the first request does not wait for it
        drill_of(name)
    referee = RefereeThread(store)
    how: dict[str, Any] = {"prefix": prefix, "instructors": instructors, "with_hub": with_hub}
    app = application(store, referee=referee, public_url="" if with_hub else public_url, **how)
    server, port = listen(app, port, address)  # before a token is made, which is shown only once
    token = None if with_hub or store.has_instructor() else store.issue_token(INSTRUCTOR, instructor=True)
    referee.start()
    with EndSignal() as ended:
        say(f"The league is at http://{address}:{port}{prefix}", flush=True)
        if token is not None:
            say(f"Instructor's token (shown only once): {token}", flush=True)
        await ended.wait_async()
        server.stop()
        app.settings["recent"].close()
        await server.close_all_connections()
        await asyncio.to_thread(referee.stop)
        store.close_connections()
