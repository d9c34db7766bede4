"""The league's pages and request handlers. User input reaches HTML only through templates that escape it, and only
replay pages run scripts.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from tornado import httputil, web

from dshq_widget.classroom import rounds, standings
from dshq_widget.classroom.errors import LeagueError, Unavailable
from dshq_widget.classroom.service.page import COOKIE_DAYS, STRICT, Page, TooOften, Turned
from dshq_widget.classroom.service.upload_checks import BODY_SECONDS, MAX_UPLOAD_BYTES, admit
from dshq_widget.classroom.store import FINISHED, MOST_BLOCKS, OPEN, commitment
from dshq_widget.policy.checkpoint import CheckpointError

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / "static"
MOST_NAMES = 2000
"""Largest number of accounts created at once."""
MAX_NAMES_BYTES = 1024 * 1024
"""Of the form that has them."""
MOST_RESULTS = 24
"""Rounds whose results stand on a student's page, the newest: their tables are kept. Those of a whole year took a
processor eight seconds each time.
"""
LONGEST_LENGTH = 18
"""Digits of a Content-Length that is read: Python refuses to read thousands."""
LOCAL = re.compile(r"/(?:[!#-.0-\[\]-~][!#-\[\]-~]*)?")
"""A path on this host: ASCII as browsers send it, without the second slash, or what they take for one, at its beginning
that would make the next word a host.
"""
REPLAYING = f"{STRICT}; script-src 'self' 'unsafe-eval'"
"""The rules are a function made from text, written by the server from the drill and from nothing else."""


def read_form(
    kind: str, body: bytes, fields: dict[str, list[bytes]], files: dict[str, list[httputil.HTTPFile]], mend: str
) -> None:
    """Put what a form of content type `kind` holds into `fields` and `files`; raises LeagueError for one that is cut or
    forged.
    """
    try:
        httputil.parse_body_arguments(kind, body, fields, files)
    except httputil.HTTPInputError:
        raise LeagueError(f"this is no whole form of the league: {mend}") from None


class Home(Page):
    """The list of rounds, and the upload form."""

    @web.authenticated
    async def get(self) -> None:
        await self.show()

    async def show(self, said: str = "", good: bool = True) -> None:
        """The page, with a message about the last action."""
        with self.store.one_moment():
            found = self.store.rounds()
            received = {row.id: self.store.received(row.id) for row in found if row.state == OPEN}
        progress = {row.id: await self.recent.of("progress", row, self.store.progress) for row in found}
        self.render("home.html", rounds=found, progress=progress, received=received, said=said, good=good)


@web.stream_request_body
class Submit(Home):
    """Accept a policy: from the form, or as the bare file from a program, which gets JSON. Whoever only reads it gets
    the list of rounds.
    """

    receiving: str | None = None
    """The account whose upload this is, from when it is taken until its end."""

    async def prepare(self) -> None:
        """Reject before the body is read: unknown users, too many requests, and large bodies."""
        self.body: bytearray = bytearray()
        if (turn := super().prepare()) is not None:
            await turn
        if self.request.method != "POST":
            return
        user = self.current_user
        if user is None:
            raise web.HTTPError(401, reason="Log in first, or send the header 'Authorization: token TOKEN'")
        if busy := self.settings["in_flight"].busy(user.name):
            raise TooOften(busy, BODY_SECONDS)
        wait = self.settings["limiter"].wait(user.name)
        if wait > 0:
            raise TooOften(f"Too many uploads in one minute: try again in {math.ceil(wait)} s", wait)
        length = self.request.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > LONGEST_LENGTH:
            raise web.HTTPError(411, reason="The Content-Length header is missing, or no number of bytes")
        if int(length) > MAX_UPLOAD_BYTES:
            raise web.HTTPError(
                413,
                reason=(
                    f"The file has {int(length):,} bytes; the limit is {MAX_UPLOAD_BYTES:,}: use dshq submit, "
                    "which sends only the policy"
                ),
            )
        refusal = self.settings["in_flight"].refusal(user.name, int(length))
        if refusal:
            raise TooOften(refusal, BODY_SECONDS)
        self.receiving = user.name
        self.request.connection.set_max_body_size(MAX_UPLOAD_BYTES)  # type: ignore[union-attr]

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self.on_finish()  # tornado calls it for what was answered only

    def on_finish(self) -> None:
        if self.receiving is not None:
            self.settings["in_flight"].over(self.receiving)
            self.receiving = None

    def data_received(self, chunk: bytes) -> None:
        self.body += chunk

    async def post(self) -> None:
        try:
            answer, said = await self.taken()
        except (LeagueError, CheckpointError) as error:
            if self.wants_json or isinstance(error, Unavailable):
                raise
            self.set_status(422)
            await self.show(f"Not accepted: {error}.", good=False)
            return
        if self.wants_json:
            self.finish(answer)
        else:
            await self.show(said)

    async def taken(self) -> tuple[dict[str, Any], str]:
        """Admit the file; the answer to a program, and to a person. Raises CheckpointError and LeagueError."""
        user = self.current_user
        admitted = await asyncio.to_thread(admit, self.content())
        open_rounds = [row for row in self.store.rounds() if row.state == OPEN and row.drill == admitted.drill]
        if not open_rounds:
            raise LeagueError(f"no {admitted.drill!r} round is open: ask your instructor when the next one begins")
        rules_hash = rounds.drill_of(admitted.drill).rules_hash
        found = next((row for row in open_rounds if row.rules_hash == rules_hash), None)
        if found is None:
            raise LeagueError(
                f"the open round {open_rounds[0].title!r} has other rules of {admitted.drill!r} than this league now "
                "plays: ask your instructor to open a new one"
            )
        kept = (admitted.version, admitted.step, admitted.digest, admitted.content)
        submission = await asyncio.to_thread(self.store.submit, found.id, user.name, *kept, user.instructor)
        answer = {"submission": submission, "round": found.id, "title": found.title, "digest": admitted.digest}
        return answer, f"Received: version {admitted.version} plays in {found.title!r} as {admitted.digest[:12]}."

    def content(self) -> bytes:
        """The file: the body itself, or the field `policy` of a form."""
        kind = self.request.headers.get("Content-Type", "")
        if not kind.startswith("multipart/form-data"):
            return bytes(self.body)
        files: dict[str, list[httputil.HTTPFile]] = {}
        read_form(kind, bytes(self.body), {}, files, "choose a .dshq file and send it again")
        if not files.get("policy"):
            raise LeagueError("no file was sent: choose a .dshq file first")
        return files["policy"][0].body


class Round(Page):
    """A round's table."""

    @web.authenticated
    async def get(self, number: str) -> None:
        standing = await self.standing(self.store.round(int(number)))
        found, table = standing.found, standing.table
        if self.wants_json:
            rows = [{"rank": r.rank, "name": r.name, "anchor": r.anchor, "digest": r.digest} for r in table.rows]
            for row, r in zip(rows, table.rows, strict=True):
                finite = math.isfinite(r.half)
                row |= {"instructor": r.instructor, "elo": r.elo, "half": r.half if finite else None}
                row |= {"points": r.points, "wins": r.wins, "draws": r.draws, "losses": r.losses}
            self.finish({"round": found.id, "title": found.title, "state": found.state, "rows": rows})
            return
        player = self.get_query_argument("player", self.current_user.name)
        self.render(
            "round.html",
            round=found,
            html=standing.html,
            player=player,
            progress=standing.progress,
            commitment=commitment(found.secret),
            anchors=json.loads(found.anchors),
            games=rounds.GAMES,
        )


class RoundCsv(Page):
    """The table of a finished round for a grade book."""

    @web.authenticated
    async def get(self, number: str) -> None:
        self.instructor()
        standing = await self.standing(self.store.round(int(number)))
        found = standing.found
        if found.state != FINISHED:
            raise LeagueError(f"round {found.id} is not finished: its CSV is there when all blocks are played")
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="round-{found.id}.csv"')
        self.finish(standings.as_csv(standing.table))


class Policy(Page):
    """An entry's policy, where its round publishes them."""

    @web.authenticated
    def get(self, number: str, digest: str) -> None:
        content = self.store.published(int(number), digest)
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", f'attachment; filename="{digest[:12]}.dshq"')
        self.finish(content)


class Match(Page):
    """A block of a finished round: its result, and one of its games to watch."""

    policy = REPLAYING

    @web.authenticated
    def get(self, number: str) -> None:
        match, found, first, second = self.store.match(int(number))
        recording = json.loads(gzip.decompress(match.replay))
        drill = rounds.drill_of(found.drill)
        ours = recording["rules_hash"] == drill.rules_hash  # else the page would end in another state, and say so
        shown = {"spec": drill.spec.to_json(), "javascript": drill.javascript, "recording": recording}
        turned = rounds.first_side(recording["league"]["game"])  # two entries may have one digest
        self.render(
            "match.html",
            match=match,
            round=found,
            first=first,
            second=second,
            sides=(second, first) if turned else (first, second),
            recording=recording,
            games=rounds.GAMES,
            rules_now=drill.rules_hash,
            published=json.dumps(shown).replace("<", "\\u003c") if ours else "",
        )


class Replay(Page):
    """The same game as a file, for `dshq league verify`."""

    @web.authenticated
    def get(self, number: str) -> None:
        match = self.store.match(int(number))[0]
        self.set_header("Content-Type", "application/json")
        self.set_header("Content-Disposition", f'attachment; filename="match-{match.id}.json"')
        self.finish(gzip.decompress(match.replay))


class Student(Page):
    """A student's submissions and their results, for that student and for instructors. While a round is open, the
    student may take back what was sent to it.
    """

    @web.authenticated
    async def get(self) -> None:
        name = self.get_query_argument("name", self.current_user.name)
        if name != self.current_user.name:
            self.instructor()
        with self.store.one_moment():
            history, entered, all_rounds = self.store.history(name), self.store.entered(name), self.store.rounds()
        standing = dict[int, list[tuple[standings.Row, int]]]()
        newest = {row.round_id: row for row in reversed(history)}  # only that one could be withdrawn
        gone = [row for row in newest.values() if row.state != OPEN and row.round_id not in entered]
        withdrawn = {(row.round_id, row.id) for row in gone}
        mine = name == self.current_user.name
        waiting = {row.id for row in newest.values() if row.state == OPEN and mine}
        for found in all_rounds:
            if found.id in newest and found.state == FINISHED and len(standing) < MOST_RESULTS:
                table = (await self.standing(found)).table
                students = sum(row.ranked for row in table.rows)
                standing[found.id] = [(row, students) for row in table.rows if row.name == name and not row.anchor]
        how = {"standing": standing, "withdrawn": withdrawn, "waiting": waiting}
        self.render("student.html", name=name, history=history, **how)

    @web.authenticated
    async def post(self) -> None:
        number = self.number("round", 1, 10**9 - 1)
        await asyncio.to_thread(self.store.withdraw, number, self.current_user.name, while_open=True)
        self.redirect(self.url("student"))


class Teach(Page):
    """The instructor's page: open and close rounds, withdraw an entry, play again. What changes the
    database does so in a thread: it may have to wait for another writer, or write thousands of rows.
    """

    @web.authenticated
    def get(self, deed: str = "") -> None:
        """The page, also at the address of a deed, where a browser is after its form."""
        self.show()

    def show(self, **made: Any) -> None:
        """The page; `tokens` are pairs of name and token that were just made and are never shown again."""
        self.instructor()
        drills = {name: rounds.anchor_names(name) for name in rounds.league_drills()}
        problem = self.settings["referee"].problem if self.settings["referee"] else ""
        more = {"rounds": self.store.rounds(), "names": self.store.names(), "problem": problem, "tokens": [], **made}
        self.render("teach.html", drills=drills, games=rounds.GAMES, most_blocks=MOST_BLOCKS, **more)

    @web.authenticated
    async def post(self, deed: str) -> None:
        self.instructor()
        await {"open": self.open, "close": self.close, "again": self.again, "withdraw": self.withdraw}[deed]()

    async def open(self) -> None:
        """Open a round."""
        name = self.get_body_argument("drill", "")
        drill = rounds.drill_of(name)
        anchors = [anchor.name for anchor in rounds.anchors_of(name, self.chosen(name))]
        blocks = self.number("blocks", 1, MOST_BLOCKS)
        publish = self.get_body_argument("publish", "") == "yes"
        title = self.get_body_argument("title", "")
        how = (title, name, drill.rules_hash, anchors, blocks, publish)
        number = await asyncio.to_thread(self.store.open_round, *how)
        self.redirect(self.url(f"round/{number}"))

    def chosen(self, drill: str) -> list[str]:
        """The selected anchors that this drill has."""
        return [name for name in self.get_body_arguments("anchor") if name in rounds.anchor_names(drill)]

    async def close(self) -> None:
        """Close a round: from now on it is played."""
        found = self.store.round(self.number("round", 1, 10**9 - 1))
        rounds.check_rules(found)
        anchors = rounds.anchors_of(found.drill, json.loads(found.anchors))
        await asyncio.to_thread(self.store.close_round, found.id, anchors)
        self.redirect(self.url(f"round/{found.id}"))

    async def again(self) -> None:
        """Play a closed round again, as a new one with new seeds."""
        found = self.store.round(self.number("round", 1, 10**9 - 1))
        rounds.check_rules(found, self.store.entries(found.id))
        number = await asyncio.to_thread(self.store.rerun, found.id)
        self.redirect(self.url(f"round/{number}"))

    async def withdraw(self) -> None:
        """Take an entry out of a round."""
        number = self.number("round", 1, 10**9 - 1)
        await asyncio.to_thread(self.store.withdraw, number, self.get_body_argument("name", ""))
        self.redirect(self.url(f"round/{number}"))


@web.stream_request_body
class Students(Teach):
    """Create accounts, one name per line, and show their tokens once. The form is as long as a class, so it is read for
    an instructor only: strangers could fill the memory with such forms.
    """

    body: bytearray | None = None
    """The form; None before it may come."""

    def check_xsrf_cookie(self) -> None:
        """Once the form is there, which has the token: tornado asks before."""
        if self.body is not None:
            super().check_xsrf_cookie()

    async def prepare(self) -> None:
        if (turn := super().prepare()) is not None:
            await turn
        if self.request.method == "POST":
            self.instructor()
            self.request.connection.set_max_body_size(MAX_NAMES_BYTES)  # type: ignore[union-attr]
        self.body = bytearray()

    def data_received(self, chunk: bytes) -> None:
        assert self.body is not None
        self.body += chunk

    async def post(self, _: str = "") -> None:
        kind, form = self.request.headers.get("Content-Type", ""), bytes(self.body or b"")
        read_form(kind, form, self.request.body_arguments, {}, "write the names again")
        self.request.arguments.update(self.request.body_arguments)
        self.check_xsrf_cookie()
        names = [line.strip() for line in self.get_body_argument("names", "").splitlines() if line.strip()]
        if not 1 <= len(names) <= MOST_NAMES:
            raise LeagueError(f"expected 1 to {MOST_NAMES} names, one per line, got {len(names)}")
        instructor = self.get_body_argument("instructor", "") == "yes"
        tokens = await asyncio.to_thread(self.store.issue_tokens, names, instructor)
        self.show(tokens=list(tokens.items()))


class Login(Page):
    """Log in with a token and keep it in a cookie; then the page that was asked for, where it is one of the league."""

    def get(self) -> None:
        self.show()

    def show(self, said: str = "") -> None:
        """The form, with a message about the last attempt."""
        self.render("login.html", said=said, after=self.after())

    def after(self) -> str:
        """The path of the page that was asked for, else of the front page."""
        path = self.get_argument("next", "", strip=False)
        own = path.startswith(self.settings["prefix"]) and LOCAL.fullmatch(path)
        return path if own else self.url()

    def post(self) -> None:
        token = self.get_body_argument("token", "")
        if self.store.whose(token) is None:
            self.set_status(401)
            self.show("This token is unknown or was replaced by a newer one.")
            return
        secure = self.public_url().startswith("https:")
        how = {"path": self.settings["prefix"], "httponly": True, "samesite": "Lax", "secure": secure}
        self.set_signed_cookie(self.cookie, token, expires_days=COOKIE_DAYS, **how)
        self.redirect(self.after())


class Logout(Page):
    """Forgets the cookie."""

    def get(self) -> None:
        self.redirect(self.url())

    def post(self) -> None:
        secure = self.public_url().startswith("https:")
        self.clear_cookie(self.cookie, path=self.settings["prefix"], secure=secure)
        self.redirect(self.url("login"))


class Static(Turned, web.StaticFileHandler):
    """The three files that pages use."""

    def prepare(self) -> Awaitable[None] | None:
        return self.turn(("files", self.address))

    def set_extra_headers(self, path: str) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")


class Missing(Page):
    """Every other address; who asks for it is not looked up."""

    async def prepare(self) -> None:
        if (turn := self.turn(("host", self.address))) is not None:
            await turn
        raise web.HTTPError(404, reason="Page not found")


def routes(prefix: str) -> list[tuple[str, type[web.RequestHandler], dict[str, Any]]]:
    """Every address below `prefix` and its handler; `Missing` handles the rest."""
    pages: list[tuple[str, type[web.RequestHandler]]] = [
        (r"", Home),
        (r"submit", Submit),
        (r"round/([0-9]{1,9})", Round),
        (r"round/([0-9]{1,9})\.csv", RoundCsv),
        (r"round/([0-9]{1,9})/([0-9a-f]{64})\.dshq", Policy),
        (r"match/([0-9]{1,9})", Match),
        (r"match/([0-9]{1,9})\.json", Replay),
        (r"student", Student),
        (r"teach", Teach),
        (r"teach/(open|close|again|withdraw)", Teach),
        (r"teach/students", Students),
        (r"login", Login),
        (r"logout", Logout),
    ]
    files = [
        (rf"{prefix}static/(league\.css)", Static, {"path": str(HERE / "templates")}),
        (rf"{prefix}static/(widget\.css|match_replay\.js)", Static, {"path": str(BUNDLE)}),
    ]
    return [*((prefix + pattern, page, {}) for pattern, page in pages), *files]
