"""Sending a policy to an address that somebody else has given."""

import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom import submit
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.submit import send
from tests.harness.class_league import policy


@pytest.mark.parametrize(("status", "letters"), [(200, 2000), (422, 3000), (422, 300_000)])
def test_what_a_league_says_cannot_drive_a_terminal(status, letters):
    """`dshq submit --to` may name anybody's server."""
    evil = "\x1b]0;owned\x07\x1b[2J" + "x" * letters

    class Evil(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            found = {"error": evil, "submission": 1, "round": 1, "title": evil, "digest": "d"}
            with contextlib.suppress(ConnectionError):  # nobody reads all of it
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps({**found, "error": ""} if status == 200 else found).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Evil) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            said = str(said_by(f"http://127.0.0.1:{server.server_port}", status))
        finally:
            server.shutdown()
    assert said.isprintable() and len(said) < 2000


FINE = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        FINE + b"Transfer-Encoding: chunked\r\n\r\n63\r\n{",
        FINE + b'Content-Length: 99\r\n\r\n{"submission": 1',
        FINE + b'Content-Length: 17\r\n\r\n{"submission": 1}',
        FINE + b"Content-Length: 2\r\n\r\n[]",
        FINE + b"Content-Length: 1\r\n\r\n3",
    ],
)
def test_an_answer_that_is_cut_or_of_no_league_is_an_error_with_a_sentence(answer):
    """The first two are errors of http.client's, which are no OSErrors."""

    class Odd(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(answer)

    with HTTPServer(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(LeagueError, match="no answer from"):
                send(policy(0), f"http://127.0.0.1:{server.server_port}", "t")
        finally:
            server.shutdown()


def said_by(to: str, status: int):
    if status == 200:
        return send(policy(0), to, "t")["title"]
    with pytest.raises(LeagueError) as refused:
        send(policy(0), to, "t")
    return refused.value


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_that_drips_has_an_end(before, monkeypatch):
    """A byte a second kept `w.submit()` and *Send* waiting for good."""
    monkeypatch.setattr(submit, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _ = server.accept()
            with connection, contextlib.suppress(ConnectionError):
                connection.sendall(before)
                while not over.wait(0.1):
                    connection.sendall(b"x")

        over, thread = threading.Event(), threading.Thread(target=drip)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(LeagueError, match="no answer from .*: (it was not whole after 0.5 s|timed out)"):
            send(policy(0), f"http://127.0.0.1:{server.getsockname()[1]}", "t")
        assert time.monotonic() - begun < 5
        over.set()
        thread.join()


@pytest.mark.parametrize("wrong", [{"digest": 5}, {"title": ["x"]}, {"round": "1"}, {"submission": True}])
def test_an_answer_of_other_types_is_none_of_a_league(wrong, monkeypatch):
    found = {"submission": 1, "round": 1, "title": "x", "digest": "d", "version": 9, **wrong}
    monkeypatch.setattr(submit, "_answer", lambda request: json.dumps(found).encode())
    with pytest.raises(LeagueError, match="the answer is not one of a league"):
        send(policy(0), "http://127.0.0.1:9", "t")
    found |= {"submission": 1, "round": 1, "title": "x", "digest": "d"}
    assert send(policy(0), "http://127.0.0.1:9", "t") == {"submission": 1, "round": 1, "title": "x", "digest": "d"}
