"""A league on this machine: files to send, a service in a thread or a process of its own, and a person with a token."""

import asyncio
import http.client
import itertools
import json
import re
import subprocess
import sys
import threading
import urllib.parse

import numpy as np

from dshq_widget.classroom.block_player import BlockPlayer
from dshq_widget.classroom.referee import Referee
from dshq_widget.classroom.rounds import drill_of
from dshq_widget.classroom.service.server import application, listen
from dshq_widget.classroom.store import Outcome, Store
from dshq_widget.policy import checkpoint

HOSTILE = (b"", b"\x80\x04K\x01.", b"PK\x03\x04" + bytes(2000), b"{" * 5000, b"\xff" * 8 + b"{}", bytes(100_000))


def policy(seed: int, drill: str = "ball", hidden: int = 4, version: int = 1) -> checkpoint.Checkpoint:
    """A small network that never learned anything."""
    spec = drill_of(drill).spec
    layers = (spec.n_obs, hidden, spec.n_actions + 1)
    floats = sum((n + 1) * m for n, m in itertools.pairwise(layers))
    weights = np.random.default_rng(seed).normal(size=floats).astype(np.float32)
    return checkpoint.Checkpoint(drill, drill_of(drill).rules_hash, layers, "tanh", weights, version, 1000 * seed)


def policy_bytes(seed: int, **how) -> bytes:
    """The same as a `.dshq` file."""
    return checkpoint.encode(policy(seed, **how))


def play_all(store: Store, *player: BlockPlayer) -> None:
    """Play what is closed to its end, with another player of blocks if one is given."""
    referee = Referee(store, *player)
    while referee.play_next():
        pass


def record_all(store: Store, outcome: Outcome) -> None:
    """The same without a game: every block ends so."""
    while (job := store.next_job()) is not None:
        store.record(job, outcome)


def open_round(store: Store, drill: str = "ball", anchors=("random",), blocks: int = 1, publish: bool = True) -> int:
    """An open round."""
    return store.open_round("Round 1", drill, drill_of(drill).rules_hash, anchors, blocks, publish)


class Service:
    """The league's pages on a free port, without a referee."""

    def __init__(self, store: Store, **how):
        self.store, self.how = store, how

    def __enter__(self) -> "Service":
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(300)
        return self

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self.application = application(self.store, **self.how)
        server, self.port = listen(self.application, 0, "127.0.0.1")
        ready.set()
        await self._over.wait()
        server.stop()
        await server.close_all_connections()

    def __exit__(self, *problem) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(300)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"


def serving(database: str, environment: dict[str, str] | None = None) -> tuple[subprocess.Popen, int]:
    """`dshq league serve` as a process, once it says where it is, and its port."""
    command = [sys.executable, "-m", "dshq_widget.cli", "league", "serve", "--db", database]
    process = subprocess.Popen([*command, "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    found = re.search(r"The league is at http://127\.0\.0\.1:(\d+)", process.stdout.readline())
    assert found
    return process, int(found[1])


class Person:
    """Somebody at a browser without scripts: keeps cookies and fills in forms."""

    def __init__(self, port: int):
        self.port = port
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str):
        """(status, headers, body) of one request; redirects are not followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Cookie": cookie, **headers} if cookie else headers)
        answer = connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            self.cookies[name] = value
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content.decode()

    def get(self, path: str) -> str:
        """A page that must be there."""
        status, _, text = self.ask("GET", path)
        assert status == 200, (status, text)
        return text

    def fill_in(self, path: str, page: str, **fields):
        """Send a form that stands on `page`."""
        token = re.search(r'name="_xsrf" value="([^"]+)"', self.get(page))[1]
        body = urllib.parse.urlencode({"_xsrf": token, **fields}, doseq=True).encode()
        return self.ask("POST", path, body, Content_Type="application/x-www-form-urlencoded")

    def log_in(self, token: str) -> "Person":
        """Log in by the form."""
        status, _, text = self.fill_in("/login", "/login", token=token)
        assert status == 302, text
        return self


def send(service: Service, token: str, content: bytes, **headers: str):
    """(status, answer) of a policy sent as `dshq submit` sends it."""
    status, _, text = Person(service.port).ask("POST", "/submit", content, Authorization=f"token {token}", **headers)
    return status, json.loads(text)
