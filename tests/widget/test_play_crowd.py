"""A widget on a page of its own: many pages, slow ones, and others of the machine."""

import asyncio
import json
import socket
import struct
from typing import Any

import pytest

from dshq_widget.runtime.connections import BoundedServer
from dshq_widget.widget import flow, play_comm, play_server
from dshq_widget.widget.looking import told_to
from tests.harness.browser.served import PATIENCE, bundle, in_a_loop, opened, served

__all__ = ["bundle", "served"]


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
async def test_a_file_goes_to_the_page_that_has_asked(served):
    """Who asked for whole runs without end sent each to all pages, and a slow one was dropped."""
    w, server = served
    one, other = await opened(server), await opened(server)
    await one.hello()
    await other.hello()
    for whole in (False, True):
        await one.say({"method": "custom", "content": {"type": "SAVE_POLICY", "request": 7, "whole": whole}})
    await one.say({"method": "custom", "content": {"type": "CHECK_REWARD", "line": "1.0"}})
    kinds = ["POLICY_FILE", "POLICY_FILE", "REWARD_CHECKED"]

    def answers(page: Any) -> list[str]:
        return sorted(content["type"] for content, _ in page.said if content["type"] in kinds)

    await one.until(lambda: answers(one) == kinds)
    w.send({"type": "LOG", "level": "notice", "text": "to all"})
    await other.until(lambda: any(content["type"] == "LOG" for content, _ in other.said))
    assert not answers(other)


@in_a_loop
async def test_what_is_of_one_page_alone_fills_no_memory_on_any_number_of_pages(served, monkeypatch):
    """What a page is opened with, and what it has asked for: sixty-four times eighty megabytes."""
    w, server = served
    monkeypatch.setattr(play_comm, "OWN_BYTES_MAX", 40 << 20)
    pages = [await opened(server) for _ in range(4)]  # they read nothing more
    lines = list(server.comm._lines)
    assert len(pages) == len(lines)
    for line in lines:
        with told_to(line.name):
            w.send({"type": "POLICY_FILE", "name": "x", "problem": "", "request": 1}, [bytes(24 << 20)])
        assert sum(one.own for one in lines) <= 40 << 20
    assert sum(one._full for one in lines) == 3


def ascii_frame(data: dict[str, Any]) -> bytes:
    """A message without buffers, its text in ASCII."""
    text = json.dumps(data).encode()
    return struct.pack("<2I", 1, len(text)) + text


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
    await bad.until(lambda: any(one["type"] == "REWARD_CHECKED" for one, _ in bad.said))
    w.speed = 8
    await fine.until(lambda: fine.traits["show"]["speed"] == 8)
    assert (await opened(server)).traits["show"]["speed"] == 8


@in_a_loop
async def test_what_somebodys_own_code_says_reaches_the_log(served):
    """With half of a character it could not be sent: a sentence about UTF-8 came in its place."""
    w, server = served
    page = await opened(server)
    await page.hello()
    w._outbox.log("error", "the show has stopped (\ud800)\nand so on")
    await page.until(lambda: any(said["type"] == "LOG" for said, _ in page.said))
    assert [said["text"] for said, _ in page.said if said["type"] == "LOG"] == ["the show has stopped ( )\nand so on"]


@in_a_loop
async def test_a_function_that_observes_the_widget_and_exits_ends_nothing(served):
    """It is called on the thread that serves the pages, which heard and said nothing any more."""
    w, server = served
    page = await opened(server)
    await page.hello()

    def leave(_: Any) -> None:
        raise SystemExit("enough")

    w.observe(leave, "show")
    await page.say({"method": "update", "state": {"show": {"speed": 4.0}}, "buffer_paths": []})
    await page.until(lambda: any(said["type"] == "LOG" and "enough" in said["text"] for said, _ in page.said))
    w.unobserve(leave, "show")
    w.speed = 8
    await page.until(lambda: page.traits["show"]["speed"] == 8)


@in_a_loop
async def test_a_page_that_asks_for_everything_without_end_does_not_send_files_to_the_others_as_often(
    served, monkeypatch
):
    """With a network of 48 MB each HELLO of one page sent it to all others, which were dropped as too slow."""
    _, server = served
    monkeypatch.setattr(flow, "LARGE_A_SECOND", 1 << 10)  # so that one policy takes longer than this test
    hostile, other = await opened(server), await opened(server)
    policies = 0
    for _ in range(10):
        await hostile.say({"method": "custom", "content": {"type": "HELLO"}})
        other.traits.pop("policy", None)
        other.traits.pop("status", None)
        await other.until(lambda: "status" in other.traits)
        policies += "policy" in other.traits
    assert policies == 1
