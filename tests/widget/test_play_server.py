"""A widget on a page of its own: who is let in, what a page is told, and what of it the widget hears."""

import asyncio
import functools
import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClientConnection, websocket_connect

from dshq_widget.drills.bandit import Bandit
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.connections import BoundedServer
from dshq_widget.runtime.rate_limit import RateLimit
from dshq_widget.widget import inbox, page_files, play_comm, play_server
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.play_comm import packed, unpacked
from dshq_widget.widget.play_server import TOO_SLOW, PlayServer, serve

PATIENCE = 300.0  # seconds


@pytest.fixture(autouse=True)
def bundle(tmp_path, monkeypatch):
    """A page's bundle, so that these tests need no Node."""
    for name in ("widget.js", "play.js"):
        (tmp_path / name).write_text(f"/* {name} */\n")
    monkeypatch.setattr(page_files, "STATIC", tmp_path)


@pytest.fixture
def served() -> Iterator[tuple[DrillWidget, PlayServer]]:
    with DrillWidget(Bandit, seed=3) as made:
        server = serve(made)
        yield made, server
        server.close()


class Page:
    """A page's websocket: `traits` as the page holds them, `said` the messages."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self.connection = connection
        self.traits: dict[str, Any] = {}
        self.said: list[tuple[dict[str, Any], list[bytes]]] = []
        self.kinds: list[str] = []

    async def hear(self) -> bool:
        """Take one frame; False where the connection has ended."""
        frame = await asyncio.wait_for(self.connection.read_message(), PATIENCE)
        if frame is None:
            return False
        message, buffers = unpacked(frame)
        data = message["data"]
        self.kinds.append(message["type"])
        if data.get("method") == "custom":
            self.said.append((data["content"], [bytes(buffer) for buffer in buffers]))
            return True
        for path, buffer in zip(data.get("buffer_paths", ()), buffers, strict=True):
            holder = data["state"]
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = bytes(buffer)
        self.traits |= data.get("state", {})
        if "seq" in data.get("state", {}) and message["type"] == "comm_msg":
            await self.say({"method": "custom", "content": {"type": "ACK", "seq": self.traits["seq"]}})
        return True

    async def until(self, good: Callable[[], Any]) -> None:
        while not good():
            assert await self.hear(), "the connection ended before that"

    async def ended(self) -> None:
        while await self.hear():
            pass

    async def say(self, data: dict[str, Any], *buffers: bytes) -> None:
        await self.connection.write_message(packed(data, buffers), binary=True)

    async def hello(self) -> None:
        await self.say({"method": "custom", "content": {"type": "HELLO", "seq": self.traits["seq"]}})


async def opened(server: PlayServer, url: str = "", **headers: str) -> Page:
    address = (url or server.url).replace("http://", "ws://").replace("/?", "/socket?")
    page = Page(await websocket_connect(HTTPRequest(address, headers=headers)))
    await page.hear()
    return page


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 3 * PATIENCE))

    return run


def status_of(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


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
    with pytest.raises((HTTPClientError, StreamClosedError)):
        await websocket_connect(server.url.replace("http", "ws").replace("/?", "/socket?"))
    port = int(server.url.split(":")[2].split("/")[0])
    assert len(asked) == 2 and all(own == ("127.0.0.1", port) != peer for peer, own in asked)


@in_a_loop
async def test_another_users_connections_take_the_place_of_no_others(served, monkeypatch):
    """Fifty thousand a second, of which each closed the one that had waited longest, kept everybody's pages out."""
    _, server = served
    port = int(server.url.split(":")[2].split("/")[0])
    ours = socket.create_connection(("127.0.0.1", port), PATIENCE)
    monkeypatch.setattr(play_server, "of_neighbour", lambda link: link.getpeername() != ours.getsockname())
    for _ in range(3 * BoundedServer.most_open):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as theirs:
            assert await asyncio.to_thread(theirs.recv, 1) == b""
    ours.sendall(f"GET /?token={server.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert (await asyncio.to_thread(ours.recv, 100)).startswith(b"HTTP/1.1 200")
    ours.close()


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
    assert w.show == {**before, "speed": 4.0}


@in_a_loop
async def test_a_page_in_the_background_stops_nothing_on_the_others(served):
    w, server = served
    one, other = await opened(server), await opened(server)
    for page, visible in ((one, True), (other, False)):
        state = {"type": "PAGE_STATE", "version": 0, "fps": 30.0, "visible": visible}
        await page.say({"method": "custom", "content": state})
        await page.say({"method": "update", "state": {"show": {**page.traits["show"], "speed": 2.0 + visible}}})
        while w.speed != 2.0 + visible:
            await asyncio.sleep(0.01)
    assert not w._outbox.flow.hidden


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
async def test_a_text_that_cannot_be_sent_on_is_not_heard(served, tmp_path):
    """A file with half of a character in its name: it stood in the status, so no page heard anything any more, and none
    could be opened.
    """
    w, server = served
    policy = w.save(tmp_path / "saved.dshq").read_bytes()
    bad, fine = await opened(server), await opened(server)
    await fine.hello()
    said = {"type": "LOAD_POLICY", "name": "\ud800.dshq", "part": 0, "parts": 1}
    text = json.dumps({"method": "custom", "content": said}).encode()
    await bad.connection.write_message(struct.pack("<3I", 2, len(text), len(policy)) + text + policy, binary=True)
    show = {"method": "update", "state": {"show": {**w.show, "mode": "\udfff"}}}
    line = {"method": "custom", "content": {"type": "CHECK_REWARD", "line": "1"}}
    for one in (show, line):
        await bad.connection.write_message(ascii_frame(one), binary=True)
    await fine.until(lambda: any(one["type"] == "REWARD_CHECKED" for one, _ in fine.said))
    w.speed = 8
    await fine.until(lambda: fine.traits["show"]["speed"] == 8)
    assert (await opened(server)).traits["show"]["speed"] == 8


def ascii_frame(data: dict[str, Any]) -> bytes:
    """A message without buffers, its text in ASCII."""
    text = json.dumps(data).encode()
    return struct.pack("<2I", 1, len(text)) + text


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
async def test_pages_that_do_not_read_hold_a_file_once(served, monkeypatch):
    """Each had a copy: forty of them held twenty megabytes forty times, for as long as they liked."""
    w, server = served
    sockets: list[Any] = []
    begin = play_server._Socket.open
    monkeypatch.setattr(play_server._Socket, "open", lambda page, *_: (sockets.append(page), begin(page))[1])
    port, links = int(server.url.split(":")[2].split("/")[0]), []
    asked = (
        f"GET /socket?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    for _ in range(6):
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        link.connect(("127.0.0.1", port))
        link.sendall(asked.encode())
        links.append(link)
    while len(sockets) < len(links):
        await asyncio.sleep(0.01)
    w.send({"type": "POLICY_FILE", "name": "x", "problem": "", "request": 1}, [bytes(24 << 20)])

    def waiting() -> list[Any]:
        rows = [row for page in sockets for row in page.ws_connection.stream._write_buffer._buffers]
        return [bytes_ for _, bytes_ in rows if len(bytes_) > 16 << 20]

    while len(waiting()) < len(links):
        await asyncio.sleep(0.01)
    assert len({id(one.obj) for one in waiting()}) == 1
    for link in links:
        link.close()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 70000])
@in_a_loop
async def test_frames_of_any_length_arrive(served, size):
    w, server = served
    page = await opened(server)
    w.send({"type": "LOG", "level": "notice", "text": ""}, [bytes(size)])
    await page.until(lambda: page.said)
    assert page.said[0][1] == [bytes(size)]


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
