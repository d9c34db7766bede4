"""A widget on a page of its own: who is let in, what a page is told, and what of it the widget hears."""

import asyncio
import socket
import struct
import tempfile
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError
from tornado.websocket import websocket_connect

from dshq_widget.cli import play
from dshq_widget.drills.bandit import Bandit
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.connections import BoundedServer
from dshq_widget.runtime.rate_limit import RateLimit
from dshq_widget.widget import inbox, play_comm, play_server
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.play_comm import packed
from dshq_widget.widget.play_server import TOO_SLOW, serve
from tests.harness.browser.served import PATIENCE, Page, bundle, in_a_loop, opened, served, status_of

__all__ = ["bundle", "served"]


def test_the_page_and_its_code(served):
    _, server = served
    status, page = status_of(server.url)
    assert status == 200 and "play.js?token=" in page and f"<title>{Bandit.title}</title>" in page
    for name in ("widget.js", "play.js"):
        assert status_of(server.url.replace("?", f"{name}?"))[1] == f"/* {name} */\n"
    assert status_of(server.url.replace("?", "secret.txt?"))[0] == 404


def test_without_the_token_and_under_other_names_there_is_no_answer(served):
    _, server = served
    address = server.url.partition("?")[0]
    for url in (address, f"{address}?token=wrong", f"{address}widget.js", f"{address}socket?token=w%C3%B6rong"):
        status, text = status_of(url)
        assert status == 403 and "needs its token" in text, url
    assert status_of(server.url, Host="evil.example:80")[0] == 403
    assert status_of(server.url, Host="localhost:1234")[0] == 200, "as through a tunnel"


def test_a_large_request_is_refused_before_it_is_held(served):
    """Anybody who reaches the port can send one; the token is asked for once it is there."""
    _, server = served
    with socket.create_connection(("127.0.0.1", int(server.url.split(":")[2].split("/")[0])), PATIENCE) as link:
        link.sendall(b"POST /x HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 95000000\r\n\r\n")
        assert link.recv(100).startswith(b"HTTP/1.1 400")


@in_a_loop
async def test_connections_and_pages_are_counted(served, monkeypatch):
    _, server = served
    monkeypatch.setattr(BoundedServer, "most_open", 3)
    monkeypatch.setattr(play_server, "MOST_PAGES", 2)
    port = int(server.url.split(":")[2].split("/")[0])
    links = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(4)]
    assert links[0].recv(1) == b"", "the one that waits longest is closed"
    assert status_of(server.url)[0] == 200, "they keep nobody out"
    for link in links:
        link.close()
    pages = [await opened(server) for _ in range(2)]
    with pytest.raises(HTTPClientError) as refused:
        await opened(server)
    assert refused.value.code == 503
    pages[0].connection.close()
    await pages[0].ended()
    while server.full:
        await asyncio.sleep(0.01)
    await opened(server)


@in_a_loop
async def test_another_user_of_the_machine_is_refused_though_he_has_read_the_token(served, monkeypatch):
    """A browser is started with the address as an argument, which everybody can read."""
    _, server = served
    assert status_of(server.url)[0] == 200
    asked: list[tuple] = []
    monkeypatch.setattr(
        play_server, "of_neighbour", lambda link: not asked.append((link.getpeername(), link.getsockname()))
    )
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        status_of(server.url)
    with pytest.raises((HTTPClientError, OSError)):
        await websocket_connect(server.url.replace("http", "ws").replace("/?", "/socket?"))
    port = int(server.url.split(":")[2].split("/")[0])
    assert len(asked) == 2 and all(own == ("127.0.0.1", port) != peer for peer, own in asked)


@in_a_loop
async def test_a_websocket_is_taken_from_the_page_itself_only(served):
    _, server = served
    own = server.url.partition("/?")[0]
    for url, headers in (
        (server.url[:-1] + "!", {"Origin": own}),
        (server.url, {"Origin": "http://evil.example"}),
        (server.url, {"Origin": own, "Host": "evil.example"}),
    ):
        with pytest.raises(HTTPClientError) as refused:
            await opened(server, url, **headers)
        assert refused.value.code == 403
    assert (await opened(server, Origin=own)).traits["status"] == "idle"


@in_a_loop
async def test_a_page_gets_the_state_and_then_what_changes(served):
    w, server = served
    page = await opened(server)
    assert page.kinds == ["comm_open"]
    assert page.traits["drill"]["spec"]["name"] == "bandit"
    assert page.traits["policy"]["data"] == w.policy["data"] and len(w.policy["data"]) > 100
    assert "_esm" not in page.traits
    await page.hello()
    w.speed = 4
    await page.until(lambda: page.traits["show"]["speed"] == 4)
    later = await opened(server)
    assert later.traits["show"]["speed"] == 4


@in_a_loop
async def test_what_a_page_changes_the_others_hear(served):
    w, server = served
    one, other = await opened(server), await opened(server)
    show = {**one.traits["show"], "speed": 2.0}
    state = {"tick": 1, "score": [0, 0], "state": None}
    await one.say(
        {"method": "update", "state": {"show": show, "snapshot": state}, "buffer_paths": [["snapshot", "state"]]},
        b"\x00\x01\xff",
    )
    await other.until(lambda: other.traits["show"]["speed"] == 2.0)
    assert other.traits["snapshot"] is None, "where the match stands is for whoever opens the page next"
    while w.snapshot is None:
        await asyncio.sleep(0.01)
    assert w.snapshot["state"] == b"\x00\x01\xff" and w.speed == 2.0
    assert (await opened(server)).traits["snapshot"]["state"] == b"\x00\x01\xff"


@in_a_loop
async def test_a_page_changes_nothing_on_the_others_but_the_show(served):
    _, server = served
    one, other = await opened(server), await opened(server)
    before = {name: other.traits[name] for name in ("drill", "status", "seq")}
    wrong = {"drill": {"javascript": "alert(1)"}, "status": "<b>", "seq": 10**9, "no such": 1}
    await one.say({"method": "update", "state": wrong, "buffer_paths": []})
    show = {**one.traits["show"], "speed": 2.0}
    await one.say({"method": "update", "state": {"show": show}, "buffer_paths": []})
    await other.until(lambda: other.traits["show"]["speed"] == 2.0)
    assert {name: other.traits[name] for name in before} == before and "no such" not in other.traits


@in_a_loop
async def test_what_the_others_hear_of_the_show_is_checked(served):
    """The kernel refuses what is wrong, and nothing would put it right on another page."""
    w, server = served
    one, other = await opened(server), await opened(server)
    for page in (one, other):
        await page.hello()
    before = w.show
    wrong = {**before, "action_repeat": 10**15, "playing": "yes", "swap_interval_ms": -1, "mode": {}, "stranger": 1}
    for value in ({**wrong, "match": 2**53 - 1}, "nonsense", None, [wrong]):
        await one.say({"method": "update", "state": {"show": value}, "buffer_paths": []})
        one.traits.pop("show")
        await one.until(lambda: "show" in one.traits)
        assert one.traits["show"] == before, "whoever was wrong is told so"
    await one.say({"method": "update", "state": {"show": {**wrong, "speed": 4.0}}, "buffer_paths": []})
    heard = []
    while other.traits["show"]["speed"] != 4.0:
        assert await other.hear()
        heard.append(other.traits["show"])
    assert {str({**show, "speed": 0}) for show in heard} == {str({**before, "speed": 0})}
    while w.show != {**before, "speed": 4.0}:  # the others hear of it first
        await asyncio.sleep(0.01)


@in_a_loop
async def test_files_go_both_ways(served, tmp_path):
    w, server = served
    policy = w.save(tmp_path / "saved.dshq").read_bytes()
    page = await opened(server)
    await page.hello()
    await page.say({"method": "custom", "content": {"type": "SAVE_POLICY"}})
    files: list[bytes] = []

    def came() -> bool:
        files.extend(buffers[0] for said, buffers in page.said if said["type"] == "POLICY_FILE")
        return bool(files)

    await page.until(came)
    (tmp_path / "sent.dshq").write_bytes(files[0])
    assert checkpoint.load(tmp_path / "sent.dshq").drill == "bandit" and len(files[0]) == len(policy)
    load = {"type": "LOAD_POLICY", "name": "x.dshq", "part": 0, "parts": 1}
    await page.say({"method": "custom", "content": load}, policy)
    await page.until(lambda: "x.dshq" in page.traits["status_text"])


@in_a_loop
async def test_nonsense_ends_that_page_and_nothing_else(served):
    w, server = served
    fine = await opened(server)
    for frame in (b"", b"\x01", b"\xff" * 40, packed({"method": "custom"}, [b"x"])[:-1], b"\1\0\0\0\2\0\0\0[]"):
        bad = await opened(server)
        await bad.connection.write_message(frame, binary=True)
        await bad.ended()
        assert bad.connection.close_code == 1003
    await fine.say({"method": "no such"})
    await fine.say({"method": "request_state"})
    fine.traits.pop("_esm", None)
    await fine.say({"method": "update", "state": {"speed": []}, "buffer_paths": []})
    await fine.hello()
    w.speed = 8
    await fine.until(lambda: fine.traits["show"]["speed"] == 8)
    assert "_esm" not in fine.traits, "the whole state is not sent again for a few bytes"


@in_a_loop
async def test_deep_json_ends_that_page_in_a_sentence(served, caplog):
    _, server = served
    state = b'{"method":"update","state":{"show":%s}}' % (b'{"a":' * 5000 + b"1" + b"}" * 5000)
    for text in (b"[" * 500_000, state):
        page = await opened(server)
        await page.connection.write_message(struct.pack("<2I", 1, len(text)) + text, binary=True)
        await page.ended()
        assert page.connection.close_code == 1003 and "recursion" in page.connection.close_reason
    assert server.token not in caplog.text and "Traceback" not in caplog.text


def test_what_goes_wrong_is_logged_without_the_token(served, caplog, monkeypatch):
    _, server = served
    monkeypatch.setattr(server, "file", lambda name: 1 // 0)
    assert status_of(server.url)[0] == 500
    assert "ZeroDivisionError" in caplog.text and server.token not in caplog.text


@in_a_loop
async def test_a_page_that_sends_faster_than_it_is_heard_has_to_wait(served, monkeypatch):
    """What it has sent stays on its side: the widget holds a bounded number of bytes."""
    w, server = served
    held = threading.Event()
    part = {"type": "LOAD_POLICY", "name": "x.dshq", "part": 0, "parts": 9}
    most: list[int] = []

    def slow(*_: Any) -> None:
        most.append(w._inbox._bytes)
        assert held.wait(PATIENCE)

    monkeypatch.setitem(w._commands._verbs, "LOAD_POLICY", slow)
    bad, fine = await opened(server), await opened(server)
    await fine.hello()
    sending = asyncio.gather(*(bad.say({"method": "custom", "content": part}, bytes(12 << 20)) for _ in range(20)))
    while w._inbox._bytes < inbox.CROWDED_BYTES:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    assert w._inbox._bytes < inbox.CROWDED_BYTES + 2 * (12 << 20) and not sending.done()
    held.set()
    await sending
    while len(most) < 20 or w._inbox._bytes:
        await asyncio.sleep(0.01)
    w.speed = 8
    await fine.until(lambda: fine.traits["show"]["speed"] == 8)
    assert max(most) <= inbox.BYTES_MAX


@in_a_loop
async def test_a_page_that_floods_is_read_slowly_and_holds_nobody_up(served, monkeypatch):
    w, server = served
    monkeypatch.setattr(play_server, "MESSAGES_A_SECOND", 2.0)
    heard: list[Any] = []
    monkeypatch.setitem(w._commands._verbs, "SAVE_POLICY", lambda *_: heard.append(1))
    bad = await opened(server)
    monkeypatch.setattr(play_server, "MESSAGES_A_SECOND", 1e6)
    fine = await opened(server)
    await fine.hello()
    for _ in range(200):
        await bad.say({"method": "custom", "content": {"type": "SAVE_POLICY"}})
    began = asyncio.get_running_loop().time()
    while len(heard) < 7:
        await asyncio.sleep(0.01)
    assert asyncio.get_running_loop().time() - began > 0.9, "four are free, then two a second"
    w.speed = 8
    await fine.until(lambda: fine.traits["show"]["speed"] == 8)
    assert len(heard) < 100


@in_a_loop
async def test_pages_that_are_opened_without_end_are_refused(served, monkeypatch):
    """One waits for its turn; whoever would wait too long is told so."""
    _, server = served
    server.opening = RateLimit(rate=2.0, burst=2.0)
    monkeypatch.setattr(play_server, "OPEN_SECONDS", 1.0)
    found = await asyncio.gather(*(opened(server) for _ in range(12)), return_exceptions=True)
    refused = [one for one in found if isinstance(one, HTTPClientError)]
    assert {one.code for one in refused} == {429} and len(refused) + sum(isinstance(one, Page) for one in found) == 12
    assert 2 <= 12 - len(refused) <= 7


@in_a_loop
async def test_a_message_has_a_bound_though_its_buffers_may_be_large(served):
    _, server = served
    bad = await opened(server)
    await bad.say({"method": "custom", "content": {"type": "HELLO", "seq": 0, "x": "x" * (2 << 20)}})
    await bad.ended()
    assert bad.connection.close_code == 1003


@in_a_loop
async def test_a_page_that_takes_nothing_is_dropped_and_holds_nobody_up(served, monkeypatch):
    monkeypatch.setattr(play_comm, "BYTES_MAX", 1 << 20)
    w, server = served
    slow = await opened(server)
    began = time.monotonic()
    for _ in range(60):
        w.send({"type": "LOG", "level": "notice", "text": "x" * (1 << 18)})
    assert time.monotonic() - began < PATIENCE / 2
    await slow.ended()
    assert slow.connection.close_code == TOO_SLOW
    assert (await opened(server)).traits["status"] == "idle"


@in_a_loop
async def test_closing_the_widget_tells_the_page_and_ends_the_server():
    w = DrillWidget(Bandit)
    server = serve(w)
    page = await opened(server)
    await asyncio.to_thread(w.close)
    await page.ended()
    assert page.kinds[-1] == "comm_close"
    server.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "dshq-play"]
    with pytest.raises(urllib.error.URLError):
        status_of(server.url)
    with pytest.raises(ValueError, match="closed: make a new one"):
        serve(w)


@in_a_loop
async def test_closing_the_server_leaves_the_widget(served):
    w, server = served
    page = await opened(server)
    await asyncio.to_thread(server.close)
    await page.ended()
    assert page.kinds[-1] != "comm_close" and page.connection.close_code == 1001
    server.close()
    again = serve(w)
    with pytest.raises(ValueError, match="wanted one of 127.0.0.1 that is free"):
        serve(w, int(again.url.partition("/?")[0].rpartition(":")[2]))
    assert status_of(again.url)[0] == 200
    w.speed = 2
    assert w.speed == 2


def test_what_was_trained_when_it_ends_is_kept(tmp_path, monkeypatch, capsys, learners_in_threads):
    """An hour of training was gone with Ctrl-C, without a word."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    trained: list[int] = []
    forgets: list[bool] = []

    class Ended:
        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def wait(self) -> None:
            if trained:
                return
            (widget,) = widgets
            if forgets:  # what is trained then may be less than the file had
                widget._trainer.reset_training()
            assert widget._trainer.train_for(updates=1 if forgets else 3, progress=False)
            trained.append(widget._trainer.version)

    class Kept(DrillWidget):
        def __init__(self, *arguments, **how) -> None:
            super().__init__(*arguments, **how)
            widgets.append(self)

    widgets: list[DrillWidget] = []
    monkeypatch.setattr(play, "EndSignal", Ended)
    monkeypatch.setattr(play, "DrillWidget", Kept)
    play.play("bandit", browser=False)
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"dshq: version {trained[0]} is kept in {tmp_path}")
    assert checkpoint.load(said.rpartition(" in ")[2]).version == trained[0]
    widgets.clear()
    play.play("bandit", browser=False)
    assert capsys.readouterr().err == "", "nothing was trained"
    del trained[:], widgets[:]
    forgets.append(True)
    play.play("bandit", policy=said.rpartition(" in ")[2], browser=False)
    assert f"version {trained[0]} is kept in" in capsys.readouterr().err
