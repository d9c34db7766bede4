"""The league behind a JupyterHub's login: the hub's own client, and a hub that answers it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install jupyterhub")

from tornado import httpserver, netutil, web

from dshq_widget.classroom.store import Store
from tests.harness.class_league import Person, Service, open_round, policy_bytes, send

SCOPE = "access:services!service=league"
PEOPLE = {
    "t-ada": {"name": "ada", "kind": "user", "admin": False, "groups": [], "scopes": [SCOPE]},
    "t-prof": {"name": "prof", "kind": "user", "admin": False, "groups": ["staff"], "scopes": [SCOPE]},
    "t-root": {"name": "root", "kind": "user", "admin": True, "groups": [], "scopes": [SCOPE]},
    "t-eve": {"name": "eve", "kind": "user", "admin": False, "groups": ["staff"], "scopes": []},
    "t-bot": {"name": "bot", "kind": "service", "admin": True, "groups": [], "scopes": [SCOPE]},
}


ASKED, OVER = threading.Event(), threading.Event()
"""The hub was asked for a token that begins with "slow", and may answer."""


class Whose(web.RequestHandler):
    """The hub's answer to: whose token is this?"""

    async def get(self) -> None:
        token = self.request.headers.get("Authorization", "").removeprefix("token ")
        if token.startswith("slow"):
            ASKED.set()
            await asyncio.to_thread(OVER.wait, 300)
        found = PEOPLE.get(token)
        self.set_status(200 if found else 403)
        self.finish(json.dumps(found or {}))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (socket,) = netutil.bind_sockets(0, "127.0.0.1")
    port = socket.getsockname()[1]
    ready = threading.Event()

    async def serve() -> None:
        server = httpserver.HTTPServer(web.Application([("/hub/api/user", Whose)]))
        server.add_sockets([socket])
        ends.append((asyncio.get_running_loop(), over := asyncio.Event()))
        ready.set()
        await over.wait()
        server.stop()

    ends: list = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(300)
    for name, value in {
        "JUPYTERHUB_API_URL": f"http://127.0.0.1:{port}/hub/api",
        "JUPYTERHUB_API_TOKEN": "the service's own",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_CLIENT_ID": "service-league",
        "JUPYTERHUB_SERVICE_PREFIX": "/services/league/",
        "JUPYTERHUB_OAUTH_CALLBACK_URL": "/services/league/oauth_callback",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([SCOPE]),
    }.items():
        monkeypatch.setenv(name, value)
    from jupyterhub.services.auth import HubOAuth

    HubOAuth.clear_instance()
    yield
    HubOAuth.clear_instance()
    loop, over = ends[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(300)


def test_the_hub_says_who_asks(hub: None, tmp_path: Path):
    store = Store(f"sqlite:///{tmp_path}/league.db")
    number = open_round(store)
    place = "/services/league/"
    with Service(store, prefix=place, with_hub=True, instructors="staff") as service:

        def status(token: str, path: str, method: str = "GET", body: bytes | None = None) -> int:
            return Person(service.port).ask(method, place + path, body, Authorization=f"token {token}")[0]

        assert [status(token, f"round/{number}") for token in ("t-ada", "t-prof", "t-root")] == [200] * 3
        assert [status(token, "teach") for token in ("t-ada", "t-prof", "t-root")] == [403, 200, 200]
        assert [status(token, "") for token in ("t-eve", "t-bot", "guess")] == [401] * 3
        assert status("t-ada", "submit", "POST", policy_bytes(0)) == 200
        assert status("t-eve", "submit", "POST", policy_bytes(0)) == 401
        assert store.received(number) == {"ada": 1}

        code, headers, _ = Person(service.port).ask("GET", place)
        assert code == 302 and headers["Location"].startswith("/hub/api/oauth2/authorize?")
        assert "client_id=service-league" in headers["Location"] and "state=" in headers["Location"]
        assert Person(service.port).ask("POST", place + "submit", policy_bytes(0))[0] == 403
        assert Person(service.port).ask("GET", place + "login")[0] == 404
        assert send(service, "t-ada", b"")[0] == 404  # nothing lies outside the prefix
    store.close_connections()


def test_a_header_that_means_nothing_does_not_stand_for_a_form(hub: None, tmp_path: Path):
    """A page on a student's own server is of the same origin: it can add a header, and the browser adds the cookie."""
    store = Store(f"sqlite:///{tmp_path}/league.db")
    place = "/services/league/"
    with Service(store, prefix=place, with_hub=True, instructors="staff") as service:
        teacher = Person(service.port)
        teacher.cookies["service-league"] = web.create_signed_value(
            store.cookie_secret(), "service-league", "t-prof"
        ).decode()
        assert teacher.ask("GET", place + "teach", Sec_Fetch_Mode="navigate")[0] == 200
        junk = {"Authorization": "token junk", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Site": "same-origin"}
        assert teacher.ask("GET", place + "teach", **junk)[0] != 200
        form = {"Content_Type": "application/x-www-form-urlencoded", **junk}
        assert teacher.ask("POST", place + "teach/open", b"drill=ball&title=x&blocks=1", **form)[0] in (401, 403)
        assert store.rounds() == []
    store.close_connections()


def test_others_are_answered_while_the_hub_is_asked(hub: None, tmp_path: Path):
    """Each token that nobody knows costs a question; they are free to make."""
    store = Store(f"sqlite:///{tmp_path}/league.db")
    number = open_round(store)
    place = "/services/league/"
    with Service(store, prefix=place, with_hub=True, instructors="staff") as service:
        for method, path, body in (("GET", "", None), ("POST", "submit", policy_bytes(0))):
            ASKED.clear()
            OVER.clear()
            waiting, slow = [], f"token slow {method}"
            ask = threading.Thread(
                target=lambda m=method, p=path, b=body, t=slow, w=waiting: w.append(
                    Person(service.port).ask(m, place + p, b, Authorization=t)[0]
                )
            )
            ask.start()
            try:
                assert ASKED.wait(300)
                found: list[int] = []
                other = threading.Thread(
                    target=lambda f=found: f.append(
                        Person(service.port).ask("GET", f"{place}round/{number}", Authorization="token t-ada")[0]
                    )
                )
                other.start()
                other.join(60)
                assert found == [200] and not waiting, "it waits for the hub"
            finally:
                OVER.set()
                ask.join(300)
            assert waiting in ([401], [403])
    store.close_connections()
