"""What one student can do to a league: nothing that holds up or reads the others."""

import base64
import contextlib
import gzip
import http.client
import http.server
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from dshq_kernels.network.layers import shapes
from dshq_widget.classroom import block_player, rounds, standings, verify_replay
from dshq_widget.classroom.block_player import BlockPlayer, TooSlow, _read
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.referee import Referee
from dshq_widget.classroom.service.server import MAX_FORM_BYTES
from dshq_widget.classroom.service.upload_checks import (
    MAX_FLOATS,
    MAX_UPLOAD_BYTES,
    MAX_WORK,
    SMALL_BYTES,
    InFlight,
    admit,
)
from dshq_widget.classroom.store import FINISHED, Outcome, Store
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.system.form import PORTABLE
from tests.harness.class_league import Person, Service, open_round, play_all, policy, policy_bytes, record_all
from tests.harness.processes.faults import until


def send(store, number, *names):
    for k, name in enumerate(names):
        one = admit(policy_bytes(k))
        store.submit(number, name, one.version, one.step, one.digest, one.content)


def forged(layers):
    floats = sum(n * m + m for n, m in shapes(layers))
    return Checkpoint("ball", policy(0).rules_hash, layers, "tanh", np.zeros(floats, np.float32))


def test_an_upload_has_the_drills_own_front_and_rules_and_costs_little():
    with pytest.raises(CheckpointError, match="does not have"):
        admit(checkpoint.encode(forged((28, -2, -2, -1, -8, -8, 8, 31))))
    saved = policy(0)
    with pytest.raises(CheckpointError, match="other rules"):
        admit(checkpoint.encode(Checkpoint(**{**vars(saved), "rules_hash": "0" * 16})))
    assert admit(policy_bytes(0)).drill == "ball"


@pytest.mark.parametrize(("width", "said"), [(20_000, "operations a decision"), (10_000, "parameters")])
def test_an_upload_that_is_too_large_is_refused(width, said):
    """28 inputs, 31 outputs: 60 floats and 59 operations for each unit between them."""
    assert (59 * width > MAX_WORK) is (said != "parameters") and 60 * width > MAX_FLOATS
    with pytest.raises(CheckpointError, match=f"{said}; the limit is"):
        admit(checkpoint.encode(forged((28, width, 31))))


def test_a_block_that_fails_holds_up_no_other(store, monkeypatch):
    monkeypatch.setattr("dshq_widget.classroom.referee.RETRY_SECONDS", 1e9)
    number = open_round(store, blocks=1)
    send(store, number, "ada", "bob")
    store.close_round(number, rounds.anchors_of("ball", []))
    referee = Referee(store)
    bad = store.next_job()
    real = referee._outcome

    def outcome(job):
        if job.id == bad.id:
            raise OSError("no space left")
        return real(job)

    referee._outcome = outcome
    with pytest.raises(OSError):
        referee.play_next()
    while referee.play_next():
        pass
    assert store.progress(number) == (2, 3) and "no space left" in referee.problem
    referee._outcome = real
    referee.retry()
    assert referee.play_next() and store.round(number).state == FINISHED
    assert not referee.play_next() and referee.problem == ""


def test_a_round_of_other_rules_holds_up_no_other(store, monkeypatch):
    monkeypatch.setattr("dshq_widget.classroom.referee.RETRY_SECONDS", 1e9)
    old = store.open_round("Old", "ball", "0" * 16, ["random"], 4, False)
    new = open_round(store, blocks=1)
    for number in (old, new):
        send(store, number, "ada", "bob")
        store.close_round(number, rounds.anchors_of("ball", []))
    referee = Referee(store)
    with pytest.raises(LeagueError, match="opened with different rules"):
        referee.play_next()
    while referee.play_next():  # not one of its other eleven blocks is tried before
        pass
    assert store.round(new).state == FINISHED and store.progress(old) == (0, 12)
    assert "finish it with the release that opened it" in referee.problem


class Slow(BlockPlayer):
    def play(self, job):
        raise TooSlow("it took more than 0 s")


def test_a_block_that_takes_too_long_is_forfeited_by_the_costlier_network(store):
    number = open_round(store, blocks=1)
    send(store, number, "ada")
    large = checkpoint.encode(policy(7, hidden=64))
    one = admit(large)
    store.submit(number, "bob", one.version, one.step, one.digest, one.content)
    store.close_round(number, rounds.anchors_of("ball", []))
    play_all(store, Slow())
    assert store.round(number).state == FINISHED
    rows = {row.name: row for row in standings.table(store.entries(number), store.results(number)).rows}
    assert rows["bob"].losses == 64 and rows["ada"].wins == 32 and rows["random"].wins == 64
    with pytest.raises(LeagueError, match="forfeited"):
        store.match(1)


def test_a_process_plays_a_block_and_is_ended_at_its_deadline():
    job = {"drill": "ball", "seed": 3, "digests": ["a", "random"]}
    job["pair"] = [
        {"name": "ada", "content": base64.b64encode(policy_bytes(0)).decode()},
        {"name": "random", "content": None},
    ]
    player = BlockPlayer(300)
    found = player.play(job)
    pair = [rounds.player_of("ball", "ada", policy_bytes(0)), rounds.player_of("ball", "random", None)]
    wins, draws, losses, replay = rounds.played(rounds.drill_of("ball"), pair, 3, ("a", "random"))
    assert (found["wins"], found["draws"], found["losses"]) == (wins, draws, losses)
    assert base64.b64decode(found["replay"]) == replay
    with pytest.raises(LeagueError, match="CheckpointError"):
        player.play({**job, "pair": [{"name": "eve", "content": base64.b64encode(b"none").decode()}] * 2})
    player._seconds = 0.0
    process = player._process
    assert PORTABLE or os.getpgid(process.pid) == process.pid, "Ctrl-C twice forfeited the block that was played"
    process.send_signal(signal.SIGSTOP)  # else it may have answered before anybody looks whether it has
    with pytest.raises(TooSlow, match="more than 0 s"):
        player.play(job)
    assert process.poll() is not None and player._process is None
    player.stop()
    with pytest.raises(LeagueError, match="stopping"):
        player.play(job)


ECHO = """
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    for each in [{}] if "ready" in job else job["says"]:
        print(json.dumps({**each, "number": job["number"]}) if isinstance(each, dict) else each, flush=True)
"""


class Echo(BlockPlayer):
    """Its process says what it is told to."""

    def _started(self):
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen([sys.executable, "-c", ECHO], stdin=pipe, stdout=pipe)
            self._answers = queue.SimpleQueue()
            threading.Thread(target=_read, args=(self._process, self._answers.put), daemon=True).start()
        return self._process


def test_an_answer_is_the_one_to_what_was_asked():
    """One more line on the pipe would give each block the result of the block before."""
    player = Echo(300)
    ball = {"drill": "ball"}
    assert player.play({**ball, "says": [{"wins": 1}, "a warning"]}) == {"wins": 1}
    assert player.play({**ball, "says": [{"wins": 2}, {"wins": 9}]}) == {"wins": 2}, "after the process was replaced"
    assert player.play({**ball, "says": [{"wins": 3}]}) == {"wins": 3}
    for stray in ("{", "[]", "3", '{"wins": 4}', '{"wins": 4, "number": 0}'):
        with pytest.raises(TooSlow, match="ended twice"):
            player.play({**ball, "says": [stray]})
        assert player._process is None
    player.stop()


def test_no_block_is_forfeited_for_a_process_that_is_not_ready(monkeypatch):
    """It may have to compile first, on a machine that is busy."""
    begun = "import json, sys; job = json.loads(sys.stdin.readline()); "
    late = "import time; time.sleep(8); print(json.dumps({'number': job['number']}), flush=True); "
    later = "job = json.loads(sys.stdin.readline()); print(json.dumps({'wins': 1, 'number': job['number']}))"
    job = {"drill": "ball", "says": []}

    def playing(code: str, seconds: float) -> BlockPlayer:
        monkeypatch.setattr(block_player, "own_python", lambda *_: [sys.executable, "-c", begun + code])
        return BlockPlayer(seconds)

    player = playing(late + later, 7)
    assert player.play(job) == {"wins": 1}, "its own time begins when it is ready"
    player.stop()
    with pytest.raises(LeagueError, match="ended twice before its first block"):
        playing("", 300).play(job)
    monkeypatch.setattr(block_player, "READY_SECONDS", 0.5)
    player = playing("sys.stdin.read()", 300)
    with pytest.raises(LeagueError, match=r"did not answer within 0.5 s"):
        player.play(job)
    assert player._process is None


def test_no_block_is_forfeited_because_the_service_stood_still(monkeypatch):
    """Ctrl-Z and fg, a container that was paused, or a machine on which others took the processors: two minutes later
    the block that was being played was lost by the costlier network, for good.
    """
    code = """
import json, sys, time
for line in sys.stdin:
    job = json.loads(line)
    "ready" in job or {}
    print(json.dumps({{"wins": 1, "number": job["number"]}}), flush=True)
"""
    job = {"drill": "ball", "says": []}
    for meanwhile, lost in (("time.sleep(3)", False), ("sum(iter(lambda: 1, 0))", True)):
        monkeypatch.setattr(
            block_player, "own_python", lambda *_, does=meanwhile: [sys.executable, "-c", code.format(does)]
        )
        player = BlockPlayer(1)
        with pytest.raises(TooSlow, match="1 s of a processor") if lost else contextlib.nullcontext():
            assert player.play(job) == {"wins": 1}
        player.stop()


def test_what_a_library_prints_is_no_answer(monkeypatch):
    answers, jobs = os.pipe(), os.pipe()
    os.write(jobs[1], b'{"number": 7}\n')
    code = (
        "from dshq_widget.classroom import block_player as b; b.outcome_of = lambda job: print('hello') or {'wins': 1};"
        "b.main()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=jobs[0], stdout=answers[1], stderr=subprocess.PIPE)
    os.close(answers[1])
    os.close(jobs[0])
    with os.fdopen(answers[0], "rb") as lines:
        assert json.loads(lines.readline()) == {"wins": 1, "number": 7}
        os.close(jobs[1])
        assert lines.read() == b""
    assert process.communicate()[1].startswith(b"hello")


def test_a_student_takes_back_what_was_sent_while_the_round_is_open(store):
    number = open_round(store)
    send(store, number, "ada", "bob", "eve")
    with Service(store) as service:
        ada = Person(service.port).log_in(store.issue_token("ada"))
        assert "Withdraw this entry" in ada.get("/student")
        assert ada.fill_in("/student", "/student", round=number, name="bob")[0] == 302
        assert store.received(number) == {"bob": 1, "eve": 1}, "their own alone"
        assert ada.fill_in("/student", "/", round=number)[0] == 422
        teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
        assert "Withdraw this entry" not in teacher.get("/student?name=bob")
        store.close_round(number, rounds.anchors_of("ball", []))
        bob = Person(service.port).log_in(store.issue_token("bob"))
        assert "Withdraw this entry" not in bob.get("/student")
        status, _, said = bob.fill_in("/student", "/", round=number)
        assert status == 422 and "is closed: ask your instructor" in said and number in store.entered("bob")


def test_an_entry_can_be_withdrawn(store):
    number = open_round(store, blocks=1)
    send(store, number, "ada", "bob", "eve")
    store.withdraw(number, "eve")
    assert store.received(number) == {"ada": 1, "bob": 1}
    send(store, number, "ada", "bob", "eve")
    store.close_round(number, rounds.anchors_of("ball", []))
    with Service(store) as service:
        teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
        assert teacher.fill_in("/teach/withdraw", f"/round/{number}", round=number, name="ada")[0] == 302
        assert teacher.fill_in("/teach/withdraw", f"/round/{number}", round=number, name="random")[0] == 422
        assert "CSV for grading</a>" not in teacher.get(f"/round/{number}")
        status, _, text = teacher.ask("GET", f"/round/{number}.csv")
        assert status == 422 and "not finished" in text
        said = teacher.get("/student?name=ada")
        assert said.count("withdrawn by the instructor") == 1 and said.count("playing") == 1, (
            "the other one came before"
        )
    assert [(entry.place, entry.name) for entry in store.entries(number)] == [(0, "random"), (1, "bob"), (2, "eve")]
    record_all(store, Outcome(16, 8, 8, b""))
    table = standings.table(store.entries(number), store.results(number))
    assert store.round(number).state == FINISHED and {row.games for row in table.rows} == {64}
    with Service(store) as service:
        teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
        said = teacher.get("/student?name=ada")
        assert said.count("withdrawn by the instructor") == said.count("replaced by a later one") == 1
        assert "of 2, Elo" in teacher.get("/student?name=bob")
        assert "CSV for grading</a>" in teacher.get(f"/round/{number}")
        assert teacher.ask("GET", f"/round/{number}.csv")[0] == 200


def test_the_bytes_of_replaced_uploads_are_dropped(store):
    number = open_round(store)
    for k in range(3):
        one = admit(policy_bytes(k))
        last = store.submit(number, "ada", one.version, one.step, one.digest, one.content)
    sizes = [len(store.content(row.id)) for row in store.history("ada")]
    assert sizes[1:] == [0, 0] and store.content(last) == one.content and store.received(number) == {"ada": 3}


def test_uploads_in_flight_are_bounded():
    now, large = [0.0], SMALL_BYTES + 1
    flight = InFlight(most=2 * large, seconds=60, clock=lambda: now[0])
    assert flight.refusal("ada", large) == ""
    assert "Another upload of yours" in flight.refusal("ada", 1)
    assert "Too many uploads" in flight.refusal("bob", large + 1) and flight.refusal("bob", large) == ""
    flight.over("ada")
    assert flight.refusal("ada", large) == ""
    now[0] = 61.0  # the time of both is over
    assert flight.refusal("ada", 2 * large) == ""


def test_whoever_fills_the_room_for_uploads_keeps_nobody_from_handing_in():
    flight = InFlight(most=4 * MAX_UPLOAD_BYTES)
    assert [flight.refusal(f"slow {k}", MAX_UPLOAD_BYTES) for k in range(4)] == [""] * 4
    assert flight.refusal("ada", len(policy_bytes(0))) == "" and flight.refusal("bob", SMALL_BYTES) == ""
    assert "Too many uploads" in flight.refusal("cleo", SMALL_BYTES + 1)


def half_an_upload(service, token):
    """The connection of ada's upload, once the service has seen 100 bytes of 5,000."""
    half = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
    half.putrequest("POST", "/submit")
    half.putheader("Authorization", f"token {token}")
    half.putheader("Content-Length", "5000")
    half.endheaders()
    half.send(b"x" * 100)
    until(lambda: service.application.settings["in_flight"].busy("ada"))
    return half


def test_an_upload_that_is_broken_off_is_over(store):
    open_round(store)
    token = store.issue_token("ada")
    with Service(store, per_minute=100) as service:
        service.application.settings["in_flight"].seconds = 1e6
        half_an_upload(service, token).close()
        until(lambda: not service.application.settings["in_flight"].busy("ada"))


def test_one_upload_of_an_account_at_a_time(store):
    open_round(store)
    token = store.issue_token("ada")
    with Service(store, per_minute=100) as service:
        half = half_an_upload(service, token)

        def status():
            return Person(service.port).ask("POST", "/submit", policy_bytes(0), Authorization=f"token {token}")[0]

        assert status() == 429
        half.send(b"x" * 4900)
        assert half.getresponse().status == 422 and status() == 200
        half.close()


def asked_to_send(service: Service, path: str, nbytes: int, **headers: str) -> bytes:
    """What is answered to a form of that size of which nothing has come yet."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {nbytes}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", service.port), 300) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(1 << 12)


MANY_LINES = "GET / HTTP/1.1\r\nHost: a\r\n" + "".join(f"a{k}: b\r\n" for k in range(200)) + "\r\n"
MANY_PIECES = "POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + "1\r\na\r\n" * 50 + "0\r\n\r\n"


@pytest.mark.parametrize(("asked", "status"), [(MANY_LINES, 400), (MANY_PIECES, 411)], ids=["lines", "pieces"])
def test_a_request_that_takes_long_to_read_is_not_read(store, asked, status):
    """Thousands of lines, or of pieces of one byte, took a processor for 15 or 115 ms, before anybody had a turn."""
    with Service(store) as service:
        with socket.create_connection(("127.0.0.1", service.port), 300) as connection:
            connection.sendall(asked.encode())
            answer = connection.recv(1 << 12)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
        assert Person(service.port).ask("GET", "/login")[0] == 200


def test_forms_of_strangers_fill_no_memory(store, monkeypatch):
    """All connections may hold a form each, and nobody is asked who they are before it is there."""
    monkeypatch.setattr("dshq_widget.classroom.service.server.BODY_SECONDS", 5.0)  # a form that is waited for ends so
    with Service(store) as service:
        for path in ("/login", "/logout", "/student", "/teach/open", "/nowhere"):
            assert asked_to_send(service, path, MAX_FORM_BYTES + 1).startswith(b"HTTP/1.1 400"), path
        student = {"Authorization": f"token {store.issue_token('ada')}"}
        for headers in ({}, student):
            assert asked_to_send(service, "/teach/students", 1000, **headers).startswith(b"HTTP/1.1 403")


def test_the_form_of_a_large_class_is_read_for_an_instructor(store):
    teacher = store.issue_token("prof", instructor=True)
    names = [f"student with the rather long name {k}" for k in range(2000)]
    with Service(store) as service:
        person = Person(service.port).log_in(teacher)
        assert person.fill_in("/teach/students", "/teach", names="\n".join(names))[0] == 200
        assert sorted(names) == store.names()
        form = {"Content_Type": "multipart/form-data; boundary=x"}
        assert person.ask("POST", "/teach/students", b"--x\r\n", **form)[0] == 422
        assert person.ask("POST", "/teach/students", b"names=mallory")[0] == 403
    assert "mallory" not in store.names()


def round_of_equals(store: Store) -> tuple[int, bytes]:
    """A closed round in which ada and bob have the same policy: its number, and their file."""
    number = open_round(store, blocks=1)
    one = admit(policy_bytes(0))
    for name in ("ada", "bob"):
        store.submit(number, name, one.version, one.step, one.digest, one.content)
    store.close_round(number, rounds.anchors_of("ball", []))
    return number, one.content


def test_equal_policies_are_marked(store):
    number, _ = round_of_equals(store)
    table = standings.table(store.entries(number), [])
    assert {row.name: row.same_as for row in table.rows} == {"random": (), "ada": ("bob",), "bob": ("ada",)}
    assert standings.as_csv(table).splitlines()[1].endswith(",bob")


def test_a_match_of_equal_policies_says_who_has_which_side(store):
    _, content = round_of_equals(store)
    drill, player = rounds.drill_of("ball"), rounds.player_of("ball", "ada", content)
    found, games, winners = rounds.play_block(drill, [player, player], 1), {"ada": 15, "bob": 16}, []
    while (job := store.next_job()) is not None:
        game = games.get(job.second.name, 0) if job.first.anchor else 31
        shown = rounds.recording_of(drill, found, game, 1, (job.first.digest, job.second.digest))
        assert rounds.first_side(game) == found.side[game]
        winners.append((job.id, game, shown["league"]["winner"], found.result[game]))
        store.record(job, Outcome(8, 16, 8, gzip.compress(json.dumps(shown).encode())))
    pairs = [("random", "ada"), ("random", "bob"), ("ada", "bob")]
    with Service(store) as service:
        ada = Person(service.port).log_in(store.issue_token("ada"))
        for (match, game, winner, result), (first, second) in zip(winners, pairs, strict=True):
            blue, orange = (first, second) if game < 16 else (second, first)
            text = ada.get(f"/match/{match}")
            assert f'"side-0">{blue}</span> is blue, <span class="side-1">{orange}</span> orange' in text
            if winner >= 0:
                assert f"{first if result > 0 else second} wins" in text


def test_numbers_are_read_whole(store):
    with Service(store) as service:
        teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
        for blocks in ("00000003299999", "9" * 5000, "-1", "٣"):
            form = {"drill": "ball", "title": "x", "blocks": blocks}
            assert teacher.fill_in("/teach/open", "/teach", **form)[0] == 422, blocks
    assert store.rounds() == []


def test_a_match_file_is_checked_before_it_is_played(store, tmp_path):
    number = open_round(store, blocks=1)
    send(store, number, "ada")
    store.close_round(number, rounds.anchors_of("ball", []))
    play_all(store)
    good = json.loads(gzip.decompress(store.match(1)[0].replay))
    path = tmp_path / "match.json"
    path.write_text(json.dumps(good))
    assert verify_replay.verify(verify_replay.read(path)) == good["sha256"]
    for change in (
        {"start": {**good["start"], "rest": 10**12}},
        {"start": None},
        {"start": {**good["start"], "state": "00"}},
        {"ticks": 10**15},
        {"ticks": 10**400},
        {"ticks": -(10**400)},
        {"league": {**good["league"], "seed": 10**400}},
        {"actions": [10**30] * len(good["actions"])},
        {"inputs": [{}]},
        {"league": {}},
        {"league": {**good["league"], "game": 99}},
        {"league": {**good["league"], "first": "\x1b]0;x\x07"}},
        {"sha256": "\x1b[2J"},
        {"drill": "cartpole"},
    ):
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(LeagueError):
            verify_replay.read(path)
    path.write_text("[[]" + ",[]" * (3 << 20) + "]")
    with pytest.raises(LeagueError, match="more than 8,388,608 bytes"):
        verify_replay.read(path)
