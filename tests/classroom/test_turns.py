"""Turns of the one thread that makes the league's pages, and memory of their answers: who asks for very many, and those
who ask beside them.
"""

import contextlib
import http.client
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("sqlalchemy")

from tornado import httputil

from dshq_widget.classroom import rounds
from dshq_widget.classroom.service import answers, page
from dshq_widget.classroom.store import Outcome
from tests.harness.class_league import Person, Service, open_round, record_all
from tests.harness.processes.faults import until


@pytest.mark.parametrize(("method", "path", "good"), [("GET", "/", 200), ("POST", "/student", 422)])
def test_an_account_that_asks_for_pages_without_end_waits_and_the_others_do_not(store, monkeypatch, method, path, good):
    """One thread makes all pages: a script with 400 connections had everybody wait for twenty seconds."""
    monkeypatch.setattr(answers, "PAGES_A_SECOND", 0.05)
    monkeypatch.setattr(answers, "PAGES_AT_ONCE", 3.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 3.0)
    monkeypatch.setattr(answers, "TURN_SECONDS", 3.0)
    ada, ben = ({"Authorization": f"token {token}"} for token in store.issue_tokens(["ada", "ben"]).values())
    with Service(store) as service, ThreadPoolExecutor(8) as many:
        asked = [many.submit(Person(service.port).ask, method, path, **ada) for _ in range(8)]
        begun = time.monotonic()
        assert Person(service.port).ask("GET", "/", **ben)[0] == 200 and time.monotonic() - begun < 3.0
        found = [each.result() for each in asked]
    assert sorted(status for status, _, _ in found) == [good] * 3 + [429] * 5
    assert time.monotonic() - begun > 2.5, "who is refused waits, too"


@pytest.mark.parametrize(
    ("method", "path", "what", "good"),
    [
        ("GET", "/login", "STRANGERS", 200),
        ("GET", "/nothing", "STRANGERS", 404),
        ("GET", "/static/league.css", "FILES", 200),
        ("POST", "/login", "STRANGERS", 403),
        ("POST", "/submit", "STRANGERS", 403),
        ("POST", "/teach/students", "STRANGERS", 403),
        ("HOW", "/login", "STRANGERS", 405),
        ("POST", "/static/league.css", "FILES", 403),
        ("HOW", "/static/league.css", "FILES", 405),
    ],
)
def test_nor_do_they_wait_for_strangers(store, monkeypatch, method, path, what, good):
    """Four thousand connections that asked for the page to log in; then such as were refused before they had a turn."""
    monkeypatch.setattr(answers, f"{what}_A_SECOND", 0.05)
    monkeypatch.setattr(answers, f"{what}_AT_ONCE", 3.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 3.0)
    monkeypatch.setattr(answers, "TURN_SECONDS", 3.0)
    ben = {"Authorization": f"token {store.issue_token('ben')}"}
    with Service(store) as service, ThreadPoolExecutor(8) as many:
        asked = [many.submit(Person(service.port).ask, method, path) for _ in range(8)]
        begun = time.monotonic()
        assert Person(service.port).ask("GET", "/", **ben)[0] == 200 and time.monotonic() - begun < 3.0
        found = [each.result() for each in asked]
    assert sorted(status for status, _, _ in found) == [good] * 3 + [429] * 5
    assert time.monotonic() - begun > 2.5, "who is refused waits, too"


def test_what_other_pages_ask_in_somebodys_name_takes_none_of_their_turns(store, monkeypatch):
    """It is refused, in a turn of the host."""
    monkeypatch.setattr(answers, "PAGES_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "PAGES_AT_ONCE", 3.0)
    monkeypatch.setattr(answers, "STRANGERS_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "STRANGERS_AT_ONCE", 5.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 0.1)
    token = store.issue_token("ada")
    with Service(store) as service:
        ada = Person(service.port).log_in(token)
        ada.ask("GET", "/")
        foreign = [ada.ask("GET", "/", Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image")[0] for _ in range(4)]
        assert foreign == [403, 403, 403, 429]
        assert [ada.ask("GET", "/")[0] for _ in range(3)] == [200, 200, 429]


def test_headers_that_take_long_to_read_are_not_read(store, monkeypatch):
    """Of 4,700 cookies a processor read fifty requests a second: 200 connections of a stranger kept everybody waiting
    for eight seconds. So it was with names of what a browser has already.
    """
    read: list[int] = []
    parsed = httputil.parse_cookie
    monkeypatch.setattr(httputil, "parse_cookie", lambda text: read.append(len(text)) or parsed(text))
    token, most = store.issue_token("ada"), page.MOST_COOKIES
    with Service(store) as service:
        ada = Person(service.port).log_in(token)
        ada.cookies |= {f"c{k}": "" for k in range(most - 10)}
        assert ada.ask("GET", "/")[0] == 200
        for path in ("/", "/login", "/nothing", "/static/league.css"):
            for cookies in ("; ".join(f"{k}=" for k in range(most + 2)), f"c={'x' * page.LONGEST_COOKIES}"):
                status, _, said = Person(service.port).ask("GET", path, Cookie=cookies)
                assert status == 431 and "too many cookies" in said
        assert max(read) < page.LONGEST_COOKIES
        tag = ada.ask("GET", "/static/league.css")[1]["Etag"]
        assert Person(service.port).ask("GET", "/static/league.css", If_None_Match=tag)[0] == 304
        assert Person(service.port).ask("GET", "/static/league.css", If_None_Match=f"{tag}," * 100)[0] == 200


def test_behind_a_proxy_strangers_are_told_apart_by_what_it_says(store, monkeypatch):
    """All of them came from its address, so one that asked without end kept the others from logging in."""
    monkeypatch.setattr(answers, "STRANGERS_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "STRANGERS_AT_ONCE", 2.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 0.1)

    def asked(service: Service, forwarded: str) -> int:
        return Person(service.port).ask("GET", "/login", X_Forwarded_For=forwarded, X_Real_Ip=forwarded)[0]

    with Service(store, public_url="https://league.example") as service:
        assert [asked(service, f"10.9.9.{k}, 10.0.0.1") for k in range(3)] == [200, 200, 429]
        assert asked(service, "10.0.0.2") == 200
    with Service(store) as service:  # without one anybody could say anything
        assert [asked(service, f"10.0.0.{k}") for k in range(3)] == [200, 200, 429]


def test_of_what_has_to_wait_nothing_stays_where_nobody_waits_for_it(store, monkeypatch):
    """A script that asked and closed at once left each of its requests in memory for twenty seconds."""
    monkeypatch.setattr(answers, "PAGES_AT_ONCE", 1.0)
    monkeypatch.setattr(answers, "PAGES_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "TURN_SECONDS", 600.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 600.0)
    waiting, wait = [], page.Turned._wait

    async def watched(handler, limit, seconds):
        waiting.append(limit)
        try:
            await wait(handler, limit, seconds)
        finally:
            waiting.remove(limit)

    monkeypatch.setattr(page.Turned, "_wait", watched)
    ada = {"Authorization": f"token {store.issue_token('ada')}"}
    with Service(store) as service:
        assert Person(service.port).ask("GET", "/", **ada)[0] == 200
        with socket.create_connection(("127.0.0.1", service.port), 60) as link:
            link.sendall(f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: {ada['Authorization']}\r\n\r\n".encode())
            [limit] = until(lambda: list(waiting))
            assert limit.wait > 400
        assert until(lambda: not waiting)
        assert limit.wait == 0, "it has taken no turn of those who wait"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@pytest.mark.parametrize("more", [b"GET /login HTTP/1.1\r\nHost: x\r\n\r\n", b"G"])
def test_nor_where_there_is_more_to_read(store, monkeypatch, more):
    """A script that sent half a second request before it closed kept everybody behind its address from logging in."""
    monkeypatch.setattr(answers, "STRANGERS_AT_ONCE", 1.0)
    monkeypatch.setattr(answers, "STRANGERS_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "TURN_SECONDS", 600.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 600.0)
    with Service(store) as service:
        assert Person(service.port).ask("GET", "/login")[0] == 200
        limit, ask = (
            service.application.settings["turns"].of(("host", "127.0.0.1")),
            b"GET /login HTTP/1.1\r\nHost: x\r\n\r\n",
        )
        with socket.create_connection(("127.0.0.1", service.port), 60) as link:
            link.sendall(ask + more)
            assert until(lambda: limit.wait > 400)
        assert until(lambda: limit.wait == 0)


def test_answers_that_nobody_reads_fill_no_memory(store, monkeypatch):
    """A published policy, on as many connections as a student likes."""
    number, token = open_round(store, publish=True), store.issue_token("ada")
    store.submit(number, "ada", 1, 1, "0" * 64, bytes(1 << 24))
    store.close_round(number, rounds.anchors_of("ball", []))
    record_all(store, Outcome(32, 0, 0, None))
    asked = f"GET /round/{number}/{'0' * 64}.dshq HTTP/1.1\r\nHost: x\r\nAuthorization: token {token}\r\n\r\n"
    monkeypatch.setattr(answers, "MOST_ANSWERS", 2)
    with Service(store) as service:
        links = []
        for _ in range(5):
            links.append(socket.socket())
            links[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            links[-1].settimeout(60)
            links[-1].connect(("127.0.0.1", service.port))
            links[-1].sendall(asked.encode())
            assert links[-1].recv(12) == b"HTTP/1.1 200"
        got = [read_all(link) for link in links]
        assert [nbytes > 1 << 24 for nbytes in got] == [False, False, False, True, True]
        monkeypatch.setattr(answers, "ANSWER_SECONDS", 0.5)
        links[-1].sendall(asked.encode())
        time.sleep(2)
        assert read_all(links[-1]) < 1 << 24, "it was given up"
        for link in links:
            link.close()


def test_what_somebody_has_read_ends_nobody_elses_answer_on_a_proxys_connection(store):
    """A proxy sends everybody's requests by the same connections: two minutes after somebody's large answer whatever
    went there at that moment was cut off.
    """
    number, tokens = open_round(store, publish=True), store.issue_tokens(["ada", "ben"])
    store.submit(number, "ada", 1, 1, "0" * 64, bytes(1 << 24))
    store.close_round(number, rounds.anchors_of("ball", []))
    record_all(store, Outcome(32, 0, 0, None))
    with Service(store) as service:
        link = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        sent, policy = service.application.settings["answers"]._sent, f"/round/{number}/{'0' * 64}.dshq"

        def asks(name: str, path: str, wanted: list[str]) -> None:
            """Whose answers are on their way while this one is; then the rest of it is read."""
            link.request("GET", path, headers={"Authorization": f"token {tokens[name]}"})
            answer = link.getresponse()
            assert until(lambda: [who for _, who in list(sent)] == wanted, f"the answer to {name}")
            answer.read()

        asks("ada", policy, ["ada"])
        asks("ben", "/static/league.css", [])
        asks("ada", policy, ["ada"])
        asks("ben", policy, ["ben"])
        link.close()


def read_all(link: socket.socket) -> int:
    """Bytes that come until there are none for a while, or the other side has closed."""
    found = 0
    link.settimeout(3)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while more := len(link.recv(1 << 20)):
            found += more
    return found
