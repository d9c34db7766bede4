"""What all pages of the league have: who asks, their addresses, headers, and errors as a page or as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.client
import logging
import math
import time
from asyncio import Future
from collections.abc import Awaitable, Callable
from typing import Any

from tornado import web
from tornado.httputil import HTTPServerRequest

from dshq_widget.classroom import standings
from dshq_widget.classroom.errors import LeagueError, Unavailable
from dshq_widget.classroom.service.answers import TURN_SECONDS, Who
from dshq_widget.classroom.service.recent import Recent
from dshq_widget.classroom.service.round_html import RoundHtml, first_blocks
from dshq_widget.classroom.service.sender import READING, host_of, is_foreign
from dshq_widget.classroom.store import FINISHED, OPEN, Store, User
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.runtime.connections import has_gone
from dshq_widget.runtime.rate_limit import RateLimit

log = logging.getLogger("dshq.league")
COOKIE, OWN_HOSTS = "dshq-league", "__Host-"
"""The login's cookie, and what its name begins with where that can be: no other host of the domain can set such a one.
https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
"""
COOKIE_DAYS = 30
ADDRESS_LETTERS = 64
"""Of an address that are counted by: a proxy may say anything."""
MOST_COOKIES, LONGEST_COOKIES, LONGEST_TAGS = 200, 1 << 13, 1000
"""Of a request, and letters of what the browser has already: of a header of 32 kB a processor reads fifty a second."""
LOOK_SECONDS = 1.0
"""How often it is looked at whether who waits for a turn is still there."""
MOST_STANDINGS = 32
"""Tables that are kept: that of 300 students has some megabytes."""
RETRY_SECONDS = 30
"""After which a program may ask again where the database could not be used."""
UNAVAILABLE = (
    "The league cannot use its database now, and nothing was changed: try again in a minute, and tell your instructor "
    "if this continues"
)
"""The cause is in the log: it may name hosts and files."""
STRICT = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
"""The content security policy. No page may frame the league's: on a hub without subdomains those of students' servers
are of the same origin, and would read what is in the frame.
"""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "noopener-allow-popups",
}
"""The last one keeps the page that opened a window of the league from reading it, of whatever origin it is; browsers
that do not know the word do without.
"""


class TooOften(web.HTTPError):
    """Refused for now: in so many seconds it may be asked for again."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(429, reason=reason)
        self.seconds = math.ceil(seconds)


@dataclasses.dataclass(frozen=True)
class Standing:
    """A round's table, and what it was made of, all of one moment."""

    found: Any
    """The round's row."""
    table: standings.Table
    html: RoundHtml
    progress: tuple[int, int]

    @classmethod
    def of(cls, store: Store, number: int, url: Callable[[str], str]) -> Standing:
        """Work it out: a tenth of a second for 300 students."""
        with store.one_moment():  # a block may be played, or an entry withdrawn, at any time
            entries, results = store.entries(number), store.results(number)
            found, progress = store.round(number), store.progress(number)
        table = standings.table(entries, results)
        blocks = first_blocks(results, {entry.id: entry.place for entry in entries})
        return cls(found, table, RoundHtml(table, found, blocks, url), progress)


class Every(tuple[str, ...]):
    """Methods that there are not are refused in their turn, too; tornado would refuse them before it asks `prepare`."""

    def __contains__(self, method: object) -> bool:
        return True


class Turned(web.RequestHandler):
    """A request that may have to wait, and is forgotten where nobody waits for its answer any more. `prepare` calls
    `turn` before anything is answered: also an error is a page that others wait for.
    """

    SUPPORTED_METHODS = Every(web.RequestHandler.SUPPORTED_METHODS)
    _gone: asyncio.Event | None = None
    _has_come = _too_many = False

    def __init__(self, application: web.Application, request: HTTPServerRequest, **how: Any) -> None:
        """What costs more to read than the answer to make is not read."""
        said = request.headers
        cookies = said.get("Cookie", "")
        if len(cookies) > LONGEST_COOKIES or cookies.count(";") > MOST_COOKIES:
            self._too_many = True
            del said["Cookie"]
        if len(said.get("If-None-Match", "")) > LONGEST_TAGS:
            del said["If-None-Match"]
        super().__init__(application, request, **how)

    @property
    def address(self) -> str:
        """Where the request comes from: what the last proxy says, where one stands before the league."""
        proxy = self.settings["public_url"] or self.settings["with_hub"]
        forwarded = self.request.headers.get("X-Forwarded-For", "") if proxy else ""
        return (forwarded.rpartition(",")[2].strip() or str(self.request.remote_ip))[:ADDRESS_LETTERS]

    def turn(self, who: Who) -> Awaitable[None] | None:
        """Wait for the turn of whoever that is; None if it has come. Beyond `TURN_SECONDS` nothing is counted."""
        self.settings["answers"].read(self.request.connection.stream)  # type: ignore[union-attr]
        limit = self.settings["turns"].of(who)
        wait = limit.wait if limit.wait > TURN_SECONDS else limit.spend()
        if wait:
            return self._wait(limit, wait)
        self.come()
        return None

    def come(self) -> None:
        """The turn has come, also for what is refused."""
        self._has_come = True
        if self.request.method not in web.RequestHandler.SUPPORTED_METHODS:
            raise web.HTTPError(405)
        if self._too_many:
            raise web.HTTPError(431, reason="Your browser has too many cookies: delete those of this site and log in")
        if self.request.method not in READING:
            self.check_xsrf_cookie()

    def check_xsrf_cookie(self) -> None:
        """tornado asks before `prepare`, and `come` asks again."""
        if self._has_come:
            super().check_xsrf_cookie()

    async def _wait(self, limit: RateLimit, seconds: float) -> None:
        """Also who is refused waits, or asking again and again would take as many turns. Whoever has gone has not had
        one, or a script that does not wait would take those of others behind its address.
        """
        if await self._leaves(min(seconds, TURN_SECONDS)):
            if seconds <= TURN_SECONDS:
                limit.spend(-1.0)
            raise web.Finish
        if seconds > TURN_SECONDS:
            reason = f"You have asked for too many pages: try again in {math.ceil(seconds)} s"
            raise TooOften(reason, seconds)
        self.come()

    async def _leaves(self, seconds: float) -> bool:
        """Wait so long; at once true where whoever asks has gone."""
        self._gone, until = asyncio.Event(), time.monotonic() + seconds
        while not (gone := self._gone.is_set() or has_gone(self.request.connection.stream.socket)):  # type: ignore
            if (rest := until - time.monotonic()) <= 0:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), min(rest, LOOK_SECONDS))
        return gone

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if self._gone is not None:
            self._gone.set()


class Page(Turned):
    """Base of all handlers: authentication, addresses below the service's prefix, and errors as a page or as JSON."""

    policy = STRICT
    _foreign = False

    @property
    def store(self) -> Store:
        """The league's database."""
        return self.settings["store"]

    @property
    def recent(self) -> Recent:
        """What was worked out of rounds lately."""
        return self.settings["recent"]

    async def standing(self, found: Any) -> Standing:
        """The table of a round and what it was made of."""
        return await self.recent.of(
            "standing", found, lambda number: Standing.of(self.store, number, self.url), MOST_STANDINGS
        )

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)
        self.set_header("Content-Security-Policy", self.policy)

    def compute_etag(self) -> str | None:
        """None: nothing is kept, so there is nothing to compare."""
        return None

    @property
    def cookie(self) -> str:
        """The name of the login's cookie. Browsers take `__Host-` by https and for a whole host only."""
        bound = self.settings["public_url"].startswith("https:") and self.settings["prefix"] == "/"
        return f"{OWN_HOSTS if bound else ''}{COOKIE}"

    def bearer(self) -> str | None:
        """The token in the Authorization header, if there is one."""
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        return token.strip() if kind.lower() in ("token", "bearer") else None

    def get_current_user(self) -> User | None:
        token = self.bearer()
        if token is None:
            cookie = self.get_signed_cookie(self.cookie, max_age_days=COOKIE_DAYS, min_version=2)
            token = cookie.decode() if cookie else ""
        return self.store.whose(token)

    def get_login_url(self) -> str:
        if self.wants_json:
            raise web.HTTPError(401, reason="Missing token: send the header 'Authorization: token TOKEN'")
        return super().get_login_url()

    def prepare(self) -> Awaitable[None] | None:
        """Let whoever asks for very many wait."""
        own = self.settings["public_url"]
        self._foreign = not self.by_token and is_foreign(self.request, host_of(own) if own else self.request.host)
        return self.turn(("host", self.address) if self._foreign else self.who(self.current_user))

    def come(self) -> None:
        """Refuse what a browser sends for somebody else's page."""
        if self._foreign:
            reason = f"This was not sent from a page of the league: open {self.public_url()} and try again"
            raise web.HTTPError(403, reason=reason)
        super().come()

    def who(self, user: User | None) -> Who:
        """Whose turn and whose answer it is."""
        return ("account", user.name) if user else ("host", self.address)

    @property
    def by_token(self) -> bool:
        """Whether a token in a header says whose request it is: a browser adds none by itself."""
        return self.bearer() is not None

    def check_xsrf_cookie(self) -> None:
        if not self.by_token:
            super().check_xsrf_cookie()

    @property
    def wants_json(self) -> bool:
        """Whether the request comes from a program, not from a browser."""
        return self.bearer() is not None or "application/json" in self.request.headers.get("Accept", "")

    def instructor(self) -> User:
        """The user, if an instructor; else 403."""
        if self.current_user is None or not self.current_user.instructor:
            raise web.HTTPError(403, reason="Only instructors may do this")
        return self.current_user

    def url(self, path: str = "") -> str:
        """The address of a page of the league."""
        return self.settings["prefix"] + path

    def public_url(self) -> str:
        """The league's address as people type it. Only a hub's proxy is believed what it says of it."""
        return self.settings["public_url"] or f"{self.request.protocol}://{self.request.host}{self.url()}"

    def finish(self, chunk: str | bytes | dict[str, Any] | None = None) -> Future[None]:
        """Send the answer; whoever reads none of theirs cannot fill the memory with them."""
        who = self.who(getattr(self, "_current_user", None))  # tornado's: who asked, without looking it up
        sent, connection = super().finish(chunk), self.request.connection
        self.settings["answers"].sending(who, connection.stream)  # type: ignore[union-attr]
        return sent

    def get_template_namespace(self) -> dict[str, Any]:
        more = {"url": self.url, "with_hub": self.settings["with_hub"], "OPEN": OPEN, "FINISHED": FINISHED}
        return {**super().get_template_namespace(), **more, "user": self.current_user}

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        text = error.reason if isinstance(error, web.HTTPError) and error.reason else ""
        if isinstance(error, LeagueError | CheckpointError):
            self.set_status(error.status if isinstance(error, LeagueError) else 422)
            text = str(error)
        if isinstance(error, TooOften):  # tornado forgets what a handler has set before
            self.set_header("Retry-After", str(error.seconds))
        if isinstance(error, Unavailable):
            self.set_header("Retry-After", str(RETRY_SECONDS))
            self.current_user, text = None, UNAVAILABLE  # who it is stands in the database, too
        try:
            self.current_user  # noqa: B018  whom the page names
        except Unavailable:
            self.current_user = None
        text = text or {403: "You are not allowed to do this, or the form has expired: go back and try again"}.get(
            status_code, ""
        )
        text = text or http.client.responses.get(status_code, "Error")
        if self.wants_json:
            self.finish({"error": text})
        else:
            self.render("error.html", text=text)

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Wrong input gets an answer and is not logged, and what fails at every request is logged once."""
        new = self.settings["logged"].new
        if isinstance(value, Unavailable):
            if new(str(value)):
                log.error("%s", value)
        elif isinstance(value, web.HTTPError | LeagueError | CheckpointError):
            pass
        elif new(f"{type(self).__name__} {typ.__name__} {value}"):
            super().log_exception(typ, value, tb)

    def number(self, name: str, low: int, high: int) -> int:
        """An argument as a whole number; raises LeagueError."""
        text = self.get_body_argument(name, "")
        if not text.isascii() or not text.isdigit() or len(text) > 9 or not low <= int(text) <= high:
            raise LeagueError(f"{name} must be a whole number from {low} to {high}, got {text[:20]!r}")
        return int(text)
