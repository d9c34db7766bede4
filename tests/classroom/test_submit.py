"""Sending a policy to an address that somebody else has given."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("sqlalchemy")

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


def said_by(to: str, status: int):
    if status == 200:
        return send(policy(0), to, "t")["title"]
    with pytest.raises(LeagueError) as refused:
        send(policy(0), to, "t")
    return refused.value
