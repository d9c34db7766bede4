"""A widget that is served on a page of its own, and pages that are tests."""

import asyncio
import functools
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from dshq_widget.drills.bandit import Bandit
from dshq_widget.widget import page_files
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.play_comm import packed, unpacked
from dshq_widget.widget.play_server import PlayServer, serve
from tests.harness.processes.faults import PATIENCE


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
