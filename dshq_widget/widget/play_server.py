"""A widget on a page of its own, without Jupyter: what `dshq play` opens.

A thread with an event loop of its own serves one page on 127.0.0.1, its code, and a websocket for each time that it is
open. The address holds a token that nobody can guess; without it there is no answer, and with it none for another user
of the machine (runtime/neighbours.py). A websocket is taken from that page only. The kernel, or whatever process this
is, never waits for a page.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import logging
import secrets
import socket
import struct
import threading
from collections.abc import Awaitable
from typing import Any

from ipywidgets.widgets.widget import _remove_buffers
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dshq_widget.contract.icon import ICON
from dshq_widget.runtime.connections import BoundedServer
from dshq_widget.runtime.neighbours import of_neighbour
from dshq_widget.runtime.rate_limit import RateLimit
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.page_files import page_file
from dshq_widget.widget.play_comm import Line, PagesComm, packed

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
"""Under which a page may ask: any other is a name that somebody else's page gave this machine."""
FRAME_BYTES_MAX = 16 << 20
"""The page sends policy files in parts that are smaller."""
BODY_BYTES_MAX, HEADER_BYTES_MAX = 1 << 10, 1 << 14
"""Of a request, held before anybody is asked for the token. No page of ours sends a body."""
REQUEST_SECONDS = 30.0
"""How long a connection may take to ask, and how long it stays open without asking."""
MOST_PAGES = 64
"""Pages that are open at once."""
TOO_SLOW, GONE = 4001, 1001
"""Why a websocket is closed: the page takes too long, and is to connect again; the server ends."""
END_SECONDS = 1.0
"""For what is still on its way to pages when the server ends."""
CROWDED_SECONDS = 0.02
MESSAGES_A_SECOND, BYTES_A_SECOND = 250.0, 8 << 20
"""That are read from one page in the long run, and twice as much at once: a page of ours answers each picture, and a
policy file of 64 MB takes six seconds. A page that sends more waits, and the others do not wait for it.
"""
OPENED_A_SECOND, OPEN_SECONDS = 8.0, 5.0
"""Pages that are opened in the long run, three times as many at once, and how long one waits for its turn."""
WHY = {
    403: "This address needs its token: open the one that was printed when the match was served.\n",
    429: "Pages of this match are opened too often: wait some seconds.\n",
    503: f"{MOST_PAGES} pages show this match already: close one.\n",
}
"""The answer to a request that is refused, by its status."""
BINARY, WORD_LENGTH, LONG_LENGTH = 0x82, 126, 127
"""Of a websocket's frame: the last one of a binary message; its length follows in two bytes, or in eight."""
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' blob:; worker-src blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' ws://127.0.0.1:* ws://localhost:* blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""The page's content security policy: its own code, in workers too, and rules, which are functions made from text."""

log = logging.getLogger("dshq_widget")
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>
:root {{ color-scheme: light dark }}
body {{ margin: 0 auto; padding: 12px; max-width: 1600px; background: #ffffff }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181c }} }}
</style>
<main id="dshq"></main>
<script type="module" src="play.js?token={token}"></script>
</html>
"""


class PlayServer:
    """One widget, served at `url` until `close()` or until the widget is closed."""

    def __init__(self, widget: DrillWidget, sockets: list[socket.socket]) -> None:
        self.token = secrets.token_urlsafe(24)
        self.url = f"http://{ADDRESS}:{sockets[0].getsockname()[1]}/?token={self.token}"
        self._widget = widget
        title = html.escape(widget.drill["spec"]["title"])
        self._files = {
            "": ("text/html; charset=utf-8", _PAGE.format(title=title, token=self.token, icon=ICON)),
            "play.js": ("text/javascript; charset=utf-8", page_file("play.js")),
            "widget.js": ("text/javascript; charset=utf-8", widget._esm),
        }
        self.opening = RateLimit(OPENED_A_SECOND, 3 * OPENED_A_SECOND)
        self._writers: set[asyncio.Task[None]] = set()
        self._lines: set[Line] = set()
        serving = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(sockets, serving)), name="dshq-play", daemon=True
        )
        self._thread.start()
        serving.wait()
        self.comm = self._take_over(widget)

    def _take_over(self, widget: DrillWidget) -> PagesComm:
        """The widget's comm from now on, under the old one's name."""
        comm_id = widget.model_id
        widget.comm.close()

        def echoed(name: str, value: Any) -> Any:
            return widget._inbox.shown(value)[0] if name == "show" else None  # a snapshot is not echoed

        comm = PagesComm(comm_id, echoed, self._end)
        widget.comm = comm
        return comm

    def close(self) -> None:
        """End the pages' connections and the thread; the widget lives on. Closing twice is fine."""
        self._end()
        if self._thread is not threading.current_thread():
            self._thread.join(2 * END_SECONDS)

    def _end(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._ending.set)

    async def _serve(self, sockets: list[socket.socket], serving: threading.Event) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        routes = [("/socket", _Socket, {"server": self}), (r"/([a-z.]*)", _File, {"server": self})]
        application = Application(routes, log_function=lambda _: None, websocket_max_message_size=FRAME_BYTES_MAX)
        limits = {"max_body_size": BODY_BYTES_MAX, "max_header_size": HEADER_BYTES_MAX}
        times = {"body_timeout": REQUEST_SECONDS, "idle_connection_timeout": REQUEST_SECONDS}
        server = _Server(application, **limits, **times)  # a browser has six connections
        server.add_sockets(sockets)
        serving.set()
        await self._ending.wait()
        server.stop()
        for line in self._lines:
            line.end()
        if self._writers:
            await asyncio.wait(self._writers, timeout=END_SECONDS)
        await server.close_all_connections()

    # ---- what the handlers ask for, on the loop

    def admits(self, host: str, token: str) -> bool:
        """Whether a request that names this host and this token is answered."""
        name = host.rpartition(":")[0] if ":" in host else host
        return name in NAMES and hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def crowded(self) -> bool:
        """Whether the widget has not yet come to what pages have sent."""
        return self._widget._inbox.crowded and not self._ending.is_set()

    @property
    def full(self) -> bool:
        """Whether as many pages are open as may be."""
        return len(self._lines) >= MOST_PAGES

    def file(self, name: str) -> tuple[str, str]:
        """Type and text of one of the page's files; raises KeyError."""
        return self._files[name]

    def opened(self, page: _Socket) -> Line:
        """A page is there: it gets the widget as it is, and everything after that."""
        line = Line(self._loop, lambda: page.close(TOO_SLOW, "too slow"))
        widget = self._widget
        with widget._outbox.lock:  # under which traits change and go out
            state = widget.get_state([key for key in widget.keys if not key.startswith("_")])
            bare, paths, buffers = _remove_buffers(state)
            content = {"state": bare, "buffer_paths": paths}
            self.comm.join(line, packed({"type": "comm_open", "data": content}, buffers))
        self._lines.add(line)
        writer = asyncio.ensure_future(self._write(page, line))
        self._writers.add(writer)
        writer.add_done_callback(self._writers.discard)
        return line

    def closed(self, line: Line) -> None:
        """That page is gone."""
        self.comm.leave(line)
        self._lines.discard(line)
        line.end()

    async def _write(self, page: _Socket, line: Line) -> None:
        with contextlib.suppress(WebSocketClosedError):
            while (frame := await line.take()) is not None:
                await page.tell(frame)
                line.taken()
            page.close(GONE, "the server ends")


class _Server(BoundedServer):
    """Another user of the machine gets no answer, and keeps nobody else from one."""

    def turns_away(self, link: socket.socket) -> bool:
        return of_neighbour(link)


class _Guarded(RequestHandler):
    """Answers nobody who cannot say the token."""

    def initialize(self, server: PlayServer) -> None:
        self.server = server

    def prepare(self) -> Awaitable[None] | None:
        if not self.server.admits(self.request.host, self.get_query_argument("token", "")):
            raise HTTPError(403)
        return None

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", POLICY)

    def log_exception(self, kind: Any, error: Any, trace: Any) -> None:
        """Without the request, whose address has the token."""
        if not isinstance(error, HTTPError):
            log.error("a request of %s failed", self.request.path, exc_info=(kind, error, trace))

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(WHY.get(status_code, f"{status_code}: there is nothing here.\n"))


class _File(_Guarded):
    """The page and its code."""

    def get(self, name: str) -> None:
        try:
            kind, text = self.server.file(name)
        except KeyError:
            raise HTTPError(404) from None
        self.set_header("Content-Type", kind)
        self.finish(text)


class _Socket(_Guarded, WebSocketHandler):
    """The websocket of one page. A foreign Origin is refused by tornado's own rule: it has to be the Host."""

    async def prepare(self) -> None:
        super().prepare()
        if self.server.opening.wait > OPEN_SECONDS:
            raise HTTPError(429)
        await asyncio.sleep(self.server.opening.spend())
        if self.server.full:
            raise HTTPError(503)

    def open(self, *_: str, **__: str) -> None:
        self.set_nodelay(True)
        self._messages = RateLimit(MESSAGES_A_SECOND, 2 * MESSAGES_A_SECOND)
        self._bytes = RateLimit(BYTES_A_SECOND, 2 * BYTES_A_SECOND)
        self._line = self.server.opened(self)

    async def tell(self, frame: bytes) -> None:
        """Send a frame, and wait until it has left. `write_message` copies it: sixty pages that do not read what they
        get would hold the same file sixty times. Raises WebSocketClosedError.
        """
        link = self.ws_connection
        if link is None or link.is_closing() or link.stream is None:
            raise WebSocketClosedError
        try:
            link.stream.write(_head(len(frame)))
            await link.stream.write(frame)
        except StreamClosedError as error:
            raise WebSocketClosedError from error

    async def on_message(self, message: str | bytes) -> None:
        try:
            if isinstance(message, str):
                raise ValueError("wanted a binary frame, got text")
            self.server.comm.hear(self._line, message)
        except (ValueError, RecursionError) as error:  # the second of JSON that is nested deeply
            self.close(1003, f"{error}"[:100])
        # nothing more is read from this page meanwhile
        await asyncio.sleep(max(self._messages.spend(), self._bytes.spend(len(message))))
        while self.server.crowded:
            await asyncio.sleep(CROWDED_SECONDS)

    def on_close(self) -> None:
        self.server.closed(self._line)


def _head(nbytes: int) -> bytes:
    """What stands before so many bytes of a binary message from a server, in one frame (RFC 6455, 5.2)."""
    if nbytes < WORD_LENGTH:
        return struct.pack("!BB", BINARY, nbytes)
    short = nbytes < 1 << 16
    return struct.pack("!BBH" if short else "!BBQ", BINARY, WORD_LENGTH if short else LONG_LENGTH, nbytes)


def serve(widget: DrillWidget, port: int = 0) -> PlayServer:
    """Serve a widget at an address of its own, `PlayServer.url`, on `port` of this machine (0: any that is free), with
    pages instead of a notebook from now on: where a notebook shows it, it leaves that. Returns as soon as the address
    answers. A widget has one such address: serving it again ends the one before. Raises ValueError for a port that is
    taken or a widget that is closed.
    """
    if widget.comm is None:
        raise ValueError("wanted a widget to serve, got one that is closed: make a new one")
    try:
        sockets = bind_sockets(port, ADDRESS)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"port: wanted one of {ADDRESS} that is free, got {port} ({reason}); 0 takes any") from None
    return PlayServer(widget, sockets)
