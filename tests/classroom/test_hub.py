"""The league behind a JupyterHub's login: the hub's own client, and a hub that answers it."""

import asyncio
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install jupyterhub")

from tornado import httpserver, netutil, web

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.service import answers, page
from dshq_widget.classroom.store import Store
from tests.harness.class_league import Person, Service, open_round, policy_bytes, send

PLACE = "/services/league/"
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
        "JUPYTERHUB_SERVICE_PREFIX": PLACE,
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


def test_the_hub_says_who_asks(hub: None, store: Store):
    number = open_round(store)
    with Service(store, prefix=PLACE, with_hub=True, instructors="staff") as service:

        def status(token: str, path: str, method: str = "GET", body: bytes | None = None) -> int:
            return Person(service.port).ask(method, PLACE + path, body, Authorization=f"token {token}")[0]

        assert [status(token, f"round/{number}") for token in ("t-ada", "t-prof", "t-root")] == [200] * 3
        assert [status(token, "teach") for token in ("t-ada", "t-prof", "t-root")] == [403, 200, 200]
        assert [status(token, "") for token in ("t-eve", "t-bot", "guess")] == [401] * 3
        assert status("t-ada", "submit", "POST", policy_bytes(0)) == 200
        assert status("t-eve", "submit", "POST", policy_bytes(0)) == 401
        assert store.received(number) == {"ada": 1}

        code, headers, _ = Person(service.port).ask("GET", PLACE)
        assert code == 302 and headers["Location"].startswith("/hub/api/oauth2/authorize?")
        assert "client_id=service-league" in headers["Location"] and "state=" in headers["Location"]
        assert Person(service.port).ask("POST", PLACE + "submit", policy_bytes(0))[0] == 403
        assert Person(service.port).ask("GET", PLACE + "login")[0] == 404
        assert send(service, "t-ada", b"")[0] == 404  # nothing lies outside the prefix


def test_behind_a_hub_whose_forms_are_not_checked_by_a_signed_token_it_does_not_start():
    from dshq_widget.classroom.service.hub import OLDEST, check_release

    wanted = ".".join(map(str, OLDEST))
    check_release(OLDEST)
    check_release((6, 0))
    with pytest.raises(LeagueError, match=f"wanted JupyterHub {wanted} or newer in the league's environment, got 4.0"):
        check_release((4, 0))


OWN = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document", "Sec_Fetch_Site": "same-origin"}
"""What a browser says of a form on the league's own page, and of a link there."""


@pytest.fixture
def teacher(hub: None, store: Store) -> Iterator[tuple[Person, Store]]:
    """An instructor's browser that is logged in at the hub, and the league's database."""
    with Service(store, prefix=PLACE, with_hub=True, instructors="staff") as service:
        person = Person(service.port)
        name = "service-league"
        person.cookies[name] = web.create_signed_value(store.cookie_secret(), name, "t-prof").decode()
        yield person, store


def test_a_header_that_means_nothing_does_not_stand_for_a_form(teacher: tuple[Person, Store]):
    """A page on a student's own server is of the same origin: it can add a header, and the browser adds the cookie."""
    person, store = teacher
    assert person.ask("GET", PLACE + "teach", Sec_Fetch_Mode="navigate")[0] == 200
    junk = {"Authorization": "token junk", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Site": "same-origin"}
    assert person.ask("GET", PLACE + "teach", **junk)[0] != 200
    form = {"Content_Type": "application/x-www-form-urlencoded", **junk}
    assert person.ask("POST", PLACE + "teach/open", b"drill=ball&title=x&blocks=1", **form)[0] in (401, 403)
    assert store.rounds() == []


@pytest.mark.parametrize(
    "said",
    [
        {**OWN, "Sec_Fetch_Site": "same-site", "Origin": "https://ben.hub.example"},
        {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Site": "same-origin", "X_XSRFToken": "evil"},
        {},  # over plain http a browser says nothing of it
    ],
)
def test_a_cookie_that_a_students_page_has_set_is_no_token(teacher: tuple[Person, Store], said: dict[str, str]):
    """Every host of a domain can set a cookie for all of them."""
    person, store = teacher
    assert person.ask("GET", PLACE + "teach", **OWN)[0] == 200
    person.cookies[" _xsrf"] = "evil"  # a second one, for the hub's whole domain
    body = urllib.parse.urlencode({"_xsrf": "evil", "drill": "ball", "blocks": 1, "title": "forged"}).encode()
    form = {"Content_Type": "application/x-www-form-urlencoded", **said}
    assert person.ask("POST", PLACE + "teach/open", body, **form)[0] in (401, 403)
    assert store.rounds() == []


def test_forms_of_the_leagues_own_page_are_taken_behind_a_hub(teacher: tuple[Person, Store]):
    person, store = teacher
    opened = {"drill": "ball", "blocks": 1, "title": "real", "anchor": ["random"]}
    assert person.fill_in(PLACE + "teach/open", PLACE + "teach", **opened)[0] == 302
    found = re.search(rf'action="({PLACE}submit[^"]+)"', person.get(PLACE))
    assert found
    form = b'--x\r\nContent-Disposition: form-data; name="policy"; filename="a.dshq"\r\n\r\n%s\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x"
    place = found[1].replace("&amp;", "&")
    assert person.ask("POST", place, form % policy_bytes(0), Content_Type=kind, **OWN)[0] == 200
    assert [store.received(row.id) for row in store.rounds()] == [{"prof": 1}]


@pytest.mark.parametrize("mode", ["cors", "no-cors", "same-origin"])
def test_a_students_page_cannot_read_what_the_instructor_sees(teacher: tuple[Person, Store], mode: str):
    """On a hub without subdomains it is of the same origin; the token stands on each of the league's pages."""
    person, store = teacher
    number = open_round(store)
    assert person.ask("GET", PLACE + "teach", **OWN)[0] == 200
    said = {"Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": "empty", "Sec_Fetch_Site": "same-origin"}
    for path in ("", "teach", "student?name=ada", f"round/{number}.csv"):
        status, _, text = person.ask("GET", PLACE + path, **said)
        assert status in (302, 401, 403) and 'name="_xsrf"' not in text, path
    framed = {**OWN, "Sec_Fetch_Dest": "iframe"}
    assert person.ask("GET", PLACE + "teach", **framed)[0] == 403


@pytest.mark.parametrize(
    ("own", "hub_host", "apart"),
    [
        ("https://league--service.hub.example/services/league/", "https://hub.example", True),
        ("https://hub.example/services/league/", "https://hub.example", False),
        ("http://league--service.hub.example/services/league/", "http://hub.example", False),
        ("", "", False),
    ],
)
def test_a_login_is_bound_to_a_host_that_is_the_leagues_alone(
    hub: None, store: Store, monkeypatch: pytest.MonkeyPatch, own: str, hub_host: str, apart: bool
):
    monkeypatch.setenv("JUPYTERHUB_PUBLIC_URL", own)
    monkeypatch.setenv("JUPYTERHUB_HOST", hub_host)
    with Service(store, prefix=PLACE, with_hub=True) as service:
        status, headers, _ = Person(service.port).ask("GET", PLACE)
        assert status == 302 and headers["Location"].startswith(f"{hub_host}/hub/api/oauth2/authorize?")
        (state,) = headers.get_all("Set-Cookie")
        assert state.startswith("__Host-service-league-") is apart
        assert ("Path=/;" in state and "Secure" in state) is apart


@pytest.mark.parametrize("said", ["", "https://league--service.hub.example/services/league/"])
def test_the_address_to_submit_to_is_the_one_that_people_open(
    hub: None, store: Store, monkeypatch: pytest.MonkeyPatch, said: str
):
    """Two proxies, https and then http, are what a cluster has: the innermost one speaks http."""
    monkeypatch.setenv("JUPYTERHUB_PUBLIC_URL", said)
    open_round(store)
    with Service(store, prefix=PLACE, with_hub=True) as service:
        asked = {"Authorization": "token t-ada", "Host": "hub.example", "X_Forwarded_Proto": "https,http"}
        status, _, text = Person(service.port).ask("GET", PLACE, **asked)
        assert status == 200 and f"--to {said or f'https://hub.example{PLACE}'}<" in text


def test_others_are_answered_while_the_hub_is_asked(hub: None, store: Store):
    """Each token that nobody knows costs a question; they are free to make."""
    number = open_round(store)
    with Service(store, prefix=PLACE, with_hub=True, instructors="staff") as service:
        back = "oauth_callback?code=1&state=1"
        for method, path, body in (("GET", "", None), ("POST", "submit", policy_bytes(0)), ("GET", back, None)):
            ASKED.clear()
            OVER.clear()
            waiting, slow = [], f"token slow {method} {path}"
            ask = threading.Thread(
                target=lambda m=method, p=path, b=body, t=slow, w=waiting: w.append(
                    Person(service.port).ask(m, PLACE + p, b, Authorization=t)[0]
                )
            )
            ask.start()
            try:
                assert ASKED.wait(300)
                found: list[int] = []
                other = threading.Thread(
                    target=lambda f=found: f.append(
                        Person(service.port).ask("GET", f"{PLACE}round/{number}", Authorization="token t-ada")[0]
                    )
                )
                other.start()
                other.join(60)
                assert found == [200] and not waiting, "it waits for the hub"
            finally:
                OVER.set()
                ask.join(300)
            assert waiting in ([401], [403])


def test_what_the_hubs_client_keeps_of_strangers_fills_no_memory(
    hub: None, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """It kept the session's cookie with each made-up token, and the address of each page that a stranger asked for: of
    12 kB each 2 GB in ten minutes.
    """
    from jupyterhub.services.auth import HubOAuth

    from dshq_widget.classroom.service import hub as service_of_hub

    monkeypatch.setattr(service_of_hub, "MOST_KEPT", 3)
    with Service(store, prefix=PLACE, with_hub=True) as service:
        for k in range(6):
            person, session = Person(service.port), f"jupyterhub-session-id={k}{'x' * 6_000}"
            assert person.ask("GET", PLACE, Authorization=f"token guess-{k}", Cookie=session)[0] == 401
            assert person.ask("GET", f"{PLACE}?{k}{'x' * 12_000}")[0] == 414
            assert person.ask("GET", f"{PLACE}round/1?player={k}")[0] == 302
        client = HubOAuth.instance()
        assert 1 <= len(client.cache.values) <= 4 and all(len(key) < 200 for key in client.cache.values)
        came_from = [state["next_url"] for state in client._oauth_states.values.values()]
        assert came_from[-1] == f"{PLACE}round/1?player=5" and 1 <= len(came_from) <= 4


def test_strangers_who_come_back_from_a_login_have_turns(hub: None, store: Store, monkeypatch: pytest.MonkeyPatch):
    """Each had everybody wait for the hub; of 1,500 connections others waited for 24 s."""
    monkeypatch.setattr(answers, "STRANGERS_A_SECOND", 0.002)
    monkeypatch.setattr(answers, "STRANGERS_AT_ONCE", 2.0)
    monkeypatch.setattr(page, "TURN_SECONDS", 0.1)
    with Service(store, prefix=PLACE, with_hub=True) as service:
        back = f"{PLACE}oauth_callback?code=1&state=1"
        assert [Person(service.port).ask("GET", back)[0] for _ in range(3)] == [403, 403, 429]
