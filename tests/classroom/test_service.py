"""The league's pages: who may do what, what is refused before it is read, names as text."""

import html
import http.client
import json
import re
import socket
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from sqlalchemy import event

from dshq_widget.classroom import rounds
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.service import round_html, server
from dshq_widget.classroom.service.server import application
from dshq_widget.classroom.service.upload_checks import MAX_UPLOAD_BYTES, UPLOADS_PER_MINUTE
from dshq_widget.classroom.store import FINISHED, OPEN, PLAYING, Outcome, Store
from dshq_widget.classroom.submit import submit
from dshq_widget.cli import main
from dshq_widget.policy import checkpoint
from dshq_widget.system import limits
from tests.harness.class_league import (
    Person,
    Service,
    open_round,
    play_all,
    policy,
    policy_bytes,
    record_all,
    send,
)
from tests.harness.processes.faults import until

EVIL = "<script>alert(1)</script>\"'&"


@pytest.fixture
def service(store: Store) -> Iterator[Service]:
    with Service(store, per_minute=3) as service:
        yield service


def test_pages_are_for_those_who_logged_in(service: Service, store: Store):
    stranger = Person(service.port)
    for path in ("/", "/round/1", "/teach", "/student", "/match/1", "/round/1.csv"):
        status, headers, _ = stranger.ask("GET", path)
        assert status == 302 and headers["Location"].startswith("/login?next="), path
        status, _, said = stranger.ask("GET", path, Accept="application/json")
        assert status == 401 and "send the header 'Authorization: token TOKEN'" in said
    assert stranger.ask("GET", "/nowhere")[0] == 404
    assert stranger.fill_in("/login", "/login", token="guess")[0] == 401
    ada = Person(service.port).log_in(store.issue_token("ada"))
    assert "There are no rounds yet" in ada.get("/")
    for path in ("/teach", "/student?name=bob"):
        assert ada.ask("GET", path)[0] == 403, path
    assert ada.ask("GET", "/round/9")[0] == 404 and ada.ask("GET", "/round/" + "9" * 30)[0] == 404
    assert ada.fill_in("/logout", "/")[0] == 302
    assert ada.ask("GET", "/")[0] == 302


def test_a_link_is_followed_after_the_login_and_only_to_the_leagues_own_pages(store: Store):
    number, token = open_round(store), store.issue_token("ada")
    asked = f"/l/round/{number}?player=a%20b&x=%26"
    with Service(store, prefix="/l/") as service:
        stranger = Person(service.port)
        login = stranger.ask("GET", asked)[1]["Location"]
        text = stranger.get(login)
        there = html.unescape(re.search(r'name="next" value="([^"]+)"', text)[1])
        status, _, text = stranger.fill_in("/l/login", login, token="guess", next=there)
        assert status == 401 and re.search(r'name="next" value="([^"]+)"', text)[1] == html.escape(asked)
        status, headers, _ = stranger.fill_in("/l/login", login, token=token, next=there)
        assert (status, headers["Location"]) == (302, asked)
        elsewhere = ("https://evil.example/", "//evil.example", "/other", "/l/\r\nX: y", "/l/ x", "/l/\u00e9", "x", "")
        for place in elsewhere:
            status, headers, _ = stranger.fill_in("/l/login", login, token=token, next=place)
            assert (status, headers["Location"]) == (302, "/l/"), place
    with Service(store) as service:
        stranger = Person(service.port)
        for place in (
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            " //evil.example",
            "\\/evil.example",
            "/" * 9,
        ):
            status, headers, _ = stranger.fill_in("/login", "/login", token=token, next=place)
            assert (status, headers["Location"]) == (302, "/"), place
        for place in ("/", "/teach", f"/round/{number}#x", "/student?name=a//b"):
            status, headers, _ = stranger.fill_in("/login", "/login", token=token, next=place)
            assert (status, headers["Location"]) == (302, place), place


def test_connections_are_counted_and_end_if_nobody_asks(store: Store, monkeypatch: pytest.MonkeyPatch):
    """Each is a descriptor, and without one nobody could hand in."""
    monkeypatch.setattr(server, "IDLE_SECONDS", 2.0)
    monkeypatch.setattr(limits, "descriptors", lambda most: 6)
    with Service(store) as service:
        links = [socket.create_connection(("127.0.0.1", service.port), 60) for _ in range(4)]
        assert links[0].recv(1) == b"", "at once, since there are more than three"
        assert [link.recv(1) for link in links[1:]] == [b""] * 3, "after a while"
        assert Person(service.port).ask("GET", "/login")[0] == 200
        for link in links:
            link.close()


def test_whoever_opens_all_connections_keeps_nobody_out(store: Store, monkeypatch: pytest.MonkeyPatch):
    """Not even by asking again and again."""
    monkeypatch.setattr(limits, "descriptors", lambda most: 8)
    with Service(store) as service:
        links = [socket.create_connection(("127.0.0.1", service.port), 60) for _ in range(4)]
        for link in links:
            link.sendall(b"HEAD /login HTTP/1.1\r\nHost: x\r\n\r\n")
            assert link.recv(1 << 16), "an answer"
        for _ in range(2):
            assert Person(service.port).ask("GET", "/login")[0] == 200
        assert links[0].recv(1) == b"", "the one that waited longest"
        for link in links:
            link.close()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has all of 127.0.0.0/8")
def test_nor_does_whoever_opens_more_while_somebody_hands_in_slowly(store: Store, monkeypatch: pytest.MonkeyPatch):
    """Six thousand connections ended every upload that took some seconds."""
    monkeypatch.setattr(limits, "descriptors", lambda most: 8)
    number, token, body = open_round(store), store.issue_token("ada"), policy_bytes(0)
    head = f"POST /submit HTTP/1.1\r\nHost: x\r\nAuthorization: token {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    with Service(store) as service, socket.create_connection(("127.0.0.1", service.port), 60) as slow:
        slow.sendall(head.encode() + body[:100])
        assert until(lambda: service.application.settings["in_flight"]._now)
        links = [socket.create_connection(("127.0.0.1", service.port), 60, ("127.0.0.2", 0)) for _ in range(12)]
        assert links[0].recv(1) == b"", "one of the many"
        slow.sendall(body[100:])
        assert slow.recv(1 << 16).startswith(b"HTTP/1.1 200") and store.received(number) == {"ada": 1}
        for link in links:
            link.close()


def test_the_address_of_a_form_is_a_page(service: Service, store: Store):
    """There a browser is after a form, and asks for it again by its address, a bookmark or the history."""
    deeds = [f"/teach/{deed}" for deed in ("open", "close", "again", "students", "withdraw")]
    teacher = Person(service.port).log_in(store.issue_token("ms frizzle", instructor=True))
    ada = Person(service.port).log_in(store.issue_token("ada"))
    for path in deeds:
        assert "Open a round" in teacher.get(path) and ada.ask("GET", path)[0] == 403
        assert Person(service.port).ask("GET", path)[0] == 302
    assert "There are no rounds yet" in ada.get("/submit") and Person(service.port).ask("GET", "/submit")[0] == 302
    assert ada.ask("PUT", "/submit", b"")[0] in (403, 405)
    status, headers, _ = ada.ask("GET", "/logout")
    assert (status, headers["Location"]) == (302, "/") and "Rounds" in ada.get("/"), "nobody is logged out by a link"


def test_a_round_that_is_not_there_is_not_found(service: Service, store: Store):
    token = store.issue_token("ms frizzle", instructor=True)
    teacher = Person(service.port).log_in(token)
    for path in ("/round/9", "/round/9.csv", f"/round/9/{'0' * 64}.dshq", "/round/0", "/round/9?player=x"):
        status, _, text = teacher.ask("GET", path)
        assert status == 404 and "there is no round" in text, path
    for path, page in (("/teach/close", "/teach"), ("/teach/again", "/teach"), ("/teach/withdraw", "/teach")):
        assert teacher.fill_in(path, page, round=9, name="ada")[0] == 404, path
    assert teacher.fill_in("/student", "/teach", round=9)[0] == 404
    answer = Person(service.port).ask("GET", "/round/9", Authorization=f"token {token}")
    assert answer[0] == 404 and json.loads(answer[2]) == {"error": "there is no round 9"}


def test_forms_of_other_sites_do_nothing(service: Service, store: Store):
    teacher = Person(service.port).log_in(store.issue_token("ms frizzle", instructor=True))
    body = urllib.parse.urlencode({"drill": "ball", "title": "forged", "blocks": 1}).encode()
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    assert teacher.ask("POST", "/teach/open", body, **kind)[0] == 403
    assert teacher.ask("POST", "/submit", policy_bytes(0))[0] == 403
    assert store.rounds() == []
    status, headers, _ = Person(service.port).ask("GET", "/login")
    assert "script-src" not in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    cookies = "".join(headers.get_all("Set-Cookie"))
    assert "HttpOnly" in cookies and "SameSite=Lax" in cookies


@pytest.mark.parametrize(
    "said",
    [
        {"Origin": "https://hub.example", "Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": "http://hub.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
    ],
)
def test_nor_with_a_token_that_they_have_set(service: Service, store: Store, said: dict[str, str]):
    """Every host of a domain can set a cookie for all of them."""
    teacher = Person(service.port).log_in(store.issue_token("ms frizzle", instructor=True))
    teacher.cookies["_xsrf"] = "evil"
    body = urllib.parse.urlencode({"_xsrf": "evil", "names": "mallory", "instructor": "yes"}).encode()
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    assert teacher.ask("POST", "/teach/students", body, **form, **said)[0] == 403
    assert teacher.ask("POST", "/submit?_xsrf=evil", policy_bytes(0), **said)[0] == 403
    assert teacher.ask("POST", "/login", body, **form, **said)[0] == 403
    assert store.names() == []
    assert teacher.ask("GET", "/teach", Sec_Fetch_Mode="cors", Sec_Fetch_Site="same-origin")[0] == 403


def test_forms_of_the_leagues_own_page_and_programs_with_a_token_are_answered(store: Store):
    token = store.issue_token("ms frizzle", instructor=True)
    number = open_round(store)
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    for public in ("", "https://League.example:443/"):
        with Service(store, public_url=public) as service:
            origin = "https://league.example" if public else service.url
            for said in ({"Origin": origin}, {"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}, {}):
                teacher = Person(service.port).log_in(token)
                xsrf = urllib.parse.quote(teacher.cookies["_xsrf"])
                body = f"_xsrf={xsrf}&names=ada".encode()
                assert teacher.ask("POST", "/teach/students", body, **form, **said)[0] == 200
                assert teacher.ask("POST", f"/submit?_xsrf={xsrf}", policy_bytes(0), **said)[0] == 200
            script = {"Origin": "https://elsewhere.example", "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}
            bearer = {"Authorization": f"token {token}", **script}
            assert Person(service.port).ask("POST", "/submit", policy_bytes(0), **bearer)[0] == 200
            assert Person(service.port).ask("GET", f"/round/{number}", **bearer)[0] == 200


def test_no_page_may_frame_the_leagues_or_read_a_window_that_it_has_opened(service: Service, store: Store):
    """On a hub without subdomains the pages of students' own servers are of the same origin."""
    teacher = Person(service.port).log_in(store.issue_token("ms frizzle", instructor=True))
    for path, status in (("/", 200), ("/teach", 200), ("/match/1", 422), ("/nowhere", 404)):
        found, headers, _ = teacher.ask("GET", path)
        assert found == status and "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert headers["Cross-Origin-Opener-Policy"] == "noopener-allow-popups", path


def test_behind_a_proxy_the_address_is_the_one_that_people_open(store: Store):
    """nginx or Caddy speaks https with them, and http with the service."""
    away = "https://league.example"
    open_round(store)
    with Service(store, public_url=away) as service:
        ada = Person(service.port)
        status, headers, _ = ada.ask("GET", "/login")
        assert all("Secure" in cookie for cookie in headers.get_all("Set-Cookie"))
        xsrf = urllib.parse.urlencode({"_xsrf": ada.cookies["_xsrf"], "token": store.issue_token("ada")})
        kind = "application/x-www-form-urlencoded"
        status, headers, _ = ada.ask("POST", "/login", xsrf.encode(), Content_Type=kind)
        assert status == 302 and "Secure" in headers["Set-Cookie"]
        assert f"--to {away}</code>" in ada.get("/")
    with Service(store) as service:
        status, headers, _ = Person(service.port).ask("GET", "/login", X_Forwarded_Proto="https")
        assert "Secure" not in headers["Set-Cookie"], "nobody says which proxy to believe"
    with pytest.raises(LeagueError, match="--public-url must be"):
        application(store, public_url="league.example")


def test_that_address_comes_from_the_command_line_or_the_environment_and_behind_a_hub_from_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given = []

    def application(store: Store, **how: object) -> None:
        given.append(how["public_url"])
        raise LeagueError("that is all")

    monkeypatch.setattr(server, "application", application)
    command = ["league", "serve", "--db", f"sqlite:///{tmp_path}/league.db"]
    assert main.main([*command, "--public-url", "https://a.example"]) == 2
    monkeypatch.setenv("DSHQ_LEAGUE_PUBLIC_URL", "https://b.example")
    assert main.main(command) == 2
    monkeypatch.setenv(server.HUB_VARIABLE, "/services/league/")
    assert main.main(command) == 2
    assert given == ["https://a.example", "https://b.example", ""]


def test_no_other_host_of_the_domain_logs_anybody_in_as_somebody_else(store: Store):
    """Of people who have pages beside the league's host: a cookie of theirs for the whole domain comes with its own."""
    kind = "application/x-www-form-urlencoded"
    with Service(store, public_url="https://league.example") as service:
        ben = Person(service.port)
        ben.get("/login")
        form = urllib.parse.urlencode({"_xsrf": ben.cookies["_xsrf"], "token": store.issue_token("ben")}).encode()
        _, headers, _ = ben.ask("POST", "/login", form, Content_Type=kind)
        [said] = headers.get_all("Set-Cookie")
        name, value = said.split(";")[0].split("=", 1)
        assert name.startswith("__Host-") and "Secure" in said and "Path=/" in said and "Domain" not in said
        assert ">ben<" in ben.get("/")
        planted = Person(service.port)
        planted.cookies[name.removeprefix("__Host-")] = value
        assert planted.ask("GET", "/")[0] == 302, "the name that any host may set"
        form = urllib.parse.urlencode({"_xsrf": ben.cookies["_xsrf"]}).encode()
        _, headers, _ = ben.ask("POST", "/logout", form, Content_Type=kind)
        assert headers["Set-Cookie"].startswith(f'{name}="";') and "Secure" in headers["Set-Cookie"]
    with Service(store, public_url="https://school.example/league/", prefix="/league/") as service:
        ada = Person(service.port)
        ada.get("/league/login")
        form = urllib.parse.urlencode({"_xsrf": ada.cookies["_xsrf"], "token": store.issue_token("ada")}).encode()
        assert ada.ask("POST", "/league/login", form, Content_Type=kind)[0] == 302
        assert ">ada<" in ada.get("/league/"), "browsers refuse such a name for a part of a host"


def test_a_round_from_opening_to_grades(service: Service, store: Store, tmp_path: Path, capsys):
    teacher = Person(service.port).log_in(store.issue_token("ms frizzle", instructor=True))
    status, _, text = teacher.fill_in("/teach/students", "/teach", names=f"ada\n\nbob\n{EVIL}\n")
    tokens = dict(line.split("\t") for line in re.search(r"<pre>(.*?)</pre>", text, re.S)[1].split("\n") if line)
    assert status == 200 and len(tokens) == 3 and "<script>" not in text
    opened = {"drill": "ball", "title": f"Week 1 {EVIL}", "blocks": 1, "anchor": ["chaser", "gold"], "publish": "yes"}
    assert teacher.fill_in("/teach/open", "/teach", **opened)[0] == 302
    assert teacher.fill_in("/teach/open", "/teach", **{**opened, "blocks": "many"})[0] == 422
    assert teacher.fill_in("/teach/open", "/teach", **{**opened, "drill": "cartpole"})[0] == 422
    (number,) = [row.id for row in store.rounds()]

    files = [str(checkpoint.save(tmp_path / f"{k}.dshq", policy(k))) for k in range(3)]
    command = ["submit", files[0], "--to", service.url, "--token", tokens["ada"], "--json"]
    assert main.main(command) == 0
    assert json.loads(capsys.readouterr().out)["round"] == number
    assert submit(files[1], service.url, tokens["bob"])["digest"] == rounds.digest(policy(1))
    evil = Person(service.port).log_in(next(token for name, token in tokens.items() if name.startswith("&lt;")))
    page = evil.get("/")
    action = re.search(r'action="(/submit[^"]+)"', page)[1].replace("&amp;", "&")
    form = b'--x\r\nContent-Disposition: form-data; name="policy"; filename="a.dshq"\r\n\r\n%s\r\n--x--\r\n'
    status, _, text = evil.ask("POST", action, form % policy_bytes(2), Content_Type="multipart/form-data; boundary=x")
    assert status == 200 and "Received: version 1 plays in" in text and "<script>" not in text
    status, _, text = evil.ask("POST", action, form % b"none", Content_Type="multipart/form-data; boundary=x")
    assert status == 422 and "Not accepted: &#x27;the file&#x27; is not a usable policy file" in text

    assert "The table appears when the round is closed" in teacher.get(f"/round/{number}")
    status, headers, _ = teacher.fill_in("/teach/close", f"/round/{number}", round=number)
    assert (status, headers["Location"]) == (302, f"/round/{number}")
    assert teacher.ask("GET", "/match/1")[0] == 422
    play_all(store)
    text = teacher.get(f"/round/{number}")
    found = store.round(number)
    assert found.state == FINISHED and found.secret in text and "<script>" not in text
    ada = Person(service.port).log_in(tokens["ada"])
    table = json.loads(ada.ask("GET", f"/round/{number}", Accept="application/json")[2])
    assert [row["name"] for row in table["rows"]].count("ada") == 1 and len(table["rows"]) == 6
    status, headers, text = teacher.ask("GET", f"/round/{number}.csv")
    assert status == 200 and headers["Content-Type"].startswith("text/csv") and len(text.split("\r\n")) == 3 + 2
    assert ada.ask("GET", f"/round/{number}.csv")[0] == 403
    assert "of 3, Elo" in ada.get("/student")
    assert f"of {3}, Elo" in teacher.get("/student?name=" + urllib.parse.quote(EVIL))

    (tmp_path / "match.json").write_text(ada.get("/match/12.json"))
    assert main.main(["league", "verify", str(tmp_path / "match.json")]) == 0
    status, headers, text = ada.ask("GET", "/match/15")
    assert status == 200 and "'unsafe-eval'" in headers["Content-Security-Policy"] and "<script>alert" not in text
    digest = rounds.digest(policy(0))
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
    connection.request("GET", f"/round/{number}/{digest}.dshq", headers={"Authorization": f"token {tokens['bob']}"})
    assert rounds.digest(checkpoint.decode(connection.getresponse().read())) == digest
    connection.close()
    assert teacher.fill_in("/teach/again", f"/round/{number}", round=number)[0] == 302
    assert store.rounds()[0].state == PLAYING


def test_an_instructors_policy_is_shown_and_marked_and_takes_no_rank(service: Service, store: Store):
    number = open_round(store, blocks=1)
    tokens = {"ada": store.issue_token("ada"), "prof": store.issue_token("prof", instructor=True)}
    for k, token in enumerate(tokens.values()):
        assert send(service, token, policy_bytes(k))[0] == 200
    store.close_round(number, rounds.anchors_of("ball", []))
    strength = ["random", "ada", "prof"].index
    while (job := store.next_job()) is not None:
        first_wins = strength(job.first.name) > strength(job.second.name)
        store.record(job, Outcome(32, 0, 0, b"") if first_wins else Outcome(0, 0, 32, b""))
    ada, prof = (Person(service.port).log_in(token) for token in tokens.values())
    found = json.loads(ada.ask("GET", f"/round/{number}", Accept="application/json")[2])["rows"]
    assert {row["name"]: (row["rank"], row["instructor"]) for row in found} == {
        "prof": (0, True),
        "ada": (1, False),
        "random": (0, False),
    }
    assert ada.get(f"/round/{number}").count('class="chip">instructor<') == 1
    assert "1 of 1, Elo" in ada.get("/student") and "not ranked, Elo" in prof.get("/student")
    assert "prof" not in prof.ask("GET", f"/round/{number}.csv")[2]


def test_a_students_page_has_the_rounds_that_were_played_again(service: Service, store: Store):
    """Nothing is sent to such a round. Who was withdrawn from the first one still plays in the second."""
    number = open_round(store, blocks=1)
    people = {name: Person(service.port).log_in(store.issue_token(name)) for name in ("ada", "bob")}
    for name in people:
        store.submit(number, name, 1, 1, name, b"")
    store.close_round(number, rounds.anchors_of("ball", []))
    again = store.rerun(number)
    store.withdraw(number, "bob")

    def told(name: str) -> list[tuple[str, str]]:
        page, row = people[name].get("/student"), r'<a href="/round/(\d+)">.*?<td>((?:.(?!<td))*)</td></tr>'
        return [(found, re.sub(r"<.*?>|±.*", "", said).strip()) for found, said in re.findall(row, page, re.S)]

    assert told("ada") == [(str(again), "playing"), (str(number), "playing")]
    assert told("bob") == [(str(again), "playing"), (str(number), "withdrawn by the instructor")]
    while (job := store.next_job()) is not None:
        store.record(job, Outcome(16, 0, 16, b""))
    assert told("ada") == [(str(again), "1 of 2, Elo 1000"), (str(number), "1 of 1, Elo 1000")]
    assert told("bob") == [(str(again), "1 of 2, Elo 1000"), (str(number), "withdrawn by the instructor")]


def test_a_students_page_asks_the_database_as_often_for_many_rounds_as_for_one(service: Service, store: Store):
    ada, asked = Person(service.port).log_in(store.issue_token("ada")), []
    event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))

    def statements() -> int:
        ada.get("/student")  # tables of rounds are worked out once
        asked.clear()
        assert "1 of 1, Elo" in ada.get("/student")
        return len(asked)

    counts = []
    for k in range(4):
        number = open_round(store, blocks=1)
        for version in range(3):
            store.submit(number, "ada", version, 1, f"{k} {version}", b"")
        store.close_round(number, rounds.anchors_of("ball", []))
        record_all(store, Outcome(16, 0, 16, b""))
        counts.append(statements())
    assert counts == counts[:1] * 4


def test_two_of_one_name_are_no_account(service: Service, store: Store):
    teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
    names = "Ada\nJos\u00e9\nBob\nJose\u0301\nAda"  # an accent in one character, and as one of its own
    status, _, text = teacher.fill_in("/teach/students", "/teach", names=names)
    assert status == 422 and "&#x27;Ada&#x27;, &#x27;Jos\u00e9&#x27; is listed twice" in text
    assert store.names() == []
    for names in ("Jose\u0301", "Jos\u00e9"):
        assert teacher.fill_in("/teach/students", "/teach", names=names)[0] == 200
    assert store.names() == ["Jos\u00e9"]


def test_a_round_of_other_rules_takes_nothing_and_is_not_played(service: Service, store: Store):
    """A release with other rules of the drill opened it."""
    right = open_round(store)
    old = store.open_round("Old", "ball", "0" * 16, ["random"], 1, False)
    token = store.issue_token("ada")
    teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
    status, answer = send(service, token, policy_bytes(0))
    assert status == 200 and answer["round"] == right, "not the newest one"
    assert teacher.fill_in("/teach/close", f"/round/{right}", round=right)[0] == 302
    status, answer = send(service, token, policy_bytes(0))
    assert status == 422 and "'Old' has other rules of 'ball'" in answer["error"]
    store.submit(old, "ada", 1, 0, "d", b"")
    status, _, text = teacher.fill_in("/teach/close", f"/round/{old}", round=old)
    assert status == 422 and "opened with different rules" in text and store.round(old).state == OPEN
    store.close_round(old, rounds.anchors_of("ball", []))
    assert teacher.fill_in("/teach/again", f"/round/{old}", round=old)[0] == 422


def test_of_a_large_round_one_column_is_shown(service: Service, store: Store, monkeypatch: pytest.MonkeyPatch):
    number = open_round(store)
    for k in range(3):
        store.submit(number, f"s{k}", 1, 0, f"d{k}", b"")
    store.close_round(number, rounds.anchors_of("ball", []))
    record_all(store, Outcome(16, 8, 8, b""))
    student = Person(service.port).log_in(store.issue_token("s1"))
    assert student.get(f"/round/{number}").count('scope="col"') == 4
    monkeypatch.setattr(round_html, "WIDEST", 3)
    store._changes[number] += 1
    for query, links in (("", 3), ("?player=s2", 3), ("?player=nobody", 0)):
        text = student.get(f"/round/{number}{query}")
        assert text.count('href="/match/') == links and text.count("?player=") == 4


def test_uploads_are_refused_before_they_are_read(service: Service, store: Store):
    open_round(store)
    token = store.issue_token("ada")

    def head(*lines: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
        connection.putrequest("POST", "/submit")
        for line in lines:
            connection.putheader(*line.split(": "))
        connection.endheaders()  # and not one byte of the body
        status = connection.getresponse().status
        connection.close()
        return status

    mine = f"Authorization: token {token}"
    assert head("Content-Length: 5000") in (401, 403)
    assert head("Authorization: token guess", "Content-Length: 5000") == 401
    assert head(mine, f"Content-Length: {MAX_UPLOAD_BYTES + 1}") == 413
    assert head(mine, "Transfer-Encoding: chunked") == 411
    assert [send(service, token, policy_bytes(0))[0] for _ in range(2)] == [200, 200], "that was not counted"
    assert head(mine, "Content-Length: 5000") == 429
    assert send(service, store.issue_token("bob"), policy_bytes(1))[0] == 200


def test_who_sends_too_often_hears_when_to_come_again(service: Service, store: Store):
    mine = {"Authorization": f"token {store.issue_token('ada')}"}
    for _ in range(UPLOADS_PER_MINUTE + 1):
        status, headers, _ = Person(service.port).ask("POST", "/submit", b"none", **mine)
    assert status == 429 and 1 <= int(headers["Retry-After"]) <= 60


@pytest.mark.parametrize(
    ("kind", "body"),
    [("; boundary=x", b"cut off"), ("", b"of no parts"), ("; boundary=x", b"--x\r\n\xff: a\r\n\r\nbody\r\n--x--\r\n")],
)
def test_a_form_that_cannot_be_read_is_no_error_of_the_league(service: Service, store: Store, caplog, kind, body):
    status, answer = send(service, store.issue_token("ada"), body, Content_Type=f"multipart/form-data{kind}")
    assert status == 422 and "no whole form" in answer["error"] and "Traceback" not in caplog.text


@pytest.mark.parametrize("length", ["9" * 5000, "\xb2"])
def test_a_length_of_thousands_of_digits_is_no_error_of_the_league(service: Service, store: Store, caplog, length: str):
    """The second one is a two written small, which is a digit and no number."""
    status, answer = send(service, store.issue_token("ada"), b"", Content_Length=length)
    assert status == 411 and "no number of bytes" in answer["error"] and "Traceback" not in caplog.text


def test_what_students_are_told(service: Service, store: Store, tmp_path: Path, capsys):
    token = store.issue_token("ada")
    path = str(checkpoint.save(tmp_path / "bot.dshq", policy(0)))
    for to, told in ((service.url, "no 'ball' round is open"), ("http://127.0.0.1:9", "no answer from")):
        assert main.main(["submit", path, "--to", to, "--token", token]) == 2
        assert told in capsys.readouterr().err
    assert main.main(["submit", path, "--to", service.url, "--token", "guess"]) == 2
    said = capsys.readouterr().err
    assert "rejected it: Log in first, or send the header 'Authorization: token TOKEN'" in said
    assert main.main(["submit", path, "--to", "ftp://x", "--token", "guess"]) == 2
    assert main.main(["league", "serve", "--port", "70000"]) == 2
    assert main.main(["league", "verify"]) == 2
