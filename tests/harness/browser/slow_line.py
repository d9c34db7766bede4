"""A TCP proxy in front of a local port that can hold back what passes it, as a long line does, or be cut."""

import asyncio
import contextlib
import threading
import urllib.parse


class SlowLine:
    """`with SlowLine() as line:` carries what is asked of `line.way(url)`, `line.delay` seconds each way."""

    def __init__(self) -> None:
        self.target = 0
        self.delay = 0.0
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="slow-line", daemon=True)

    def __enter__(self) -> "SlowLine":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def way(self, url: str) -> str:
        """An http address on this machine, by way of this line from now on."""
        found = urllib.parse.urlsplit(url)
        assert found.port
        self.target = found.port
        return found._replace(netloc=f"{found.hostname}:{self.port}").geturl()

    def cut(self) -> None:
        """End every connection; new ones are taken."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(10)

    async def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._open |= {writer, back}
        try:
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        finally:
            self._open -= {writer, back}

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bytes in their order, each no sooner than `delay` after it came."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                if not data:
                    writer.close()
                    return
                writer.write(data)
                await writer.drain()

        delivery = asyncio.ensure_future(deliver())
        with contextlib.suppress(ConnectionError):  # a browser that leaves simply stops talking
            while data := await reader.read(1 << 16):
                waiting.put_nowait((self._loop.time() + self.delay, data))
        waiting.put_nowait((self._loop.time() + self.delay, b""))
        with contextlib.suppress(ConnectionError):
            await delivery
