"""A widget's comm whose other end is pages of our own, each on a websocket, in place of a notebook.

A message is one binary frame: how many parts it has, the length of each (u32, little-endian), then the parts. The first
is JSON, {"type": "comm_open" | "comm_msg" | "comm_close", "data": what Jupyter's messages carry}; the others are its
buffers. js/session/kernel/socket_model.ts is the page's end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from comm.base_comm import BaseComm
from jupyter_client.session import json_packer

from dshq_widget.widget.looking import LISTENER

FRAMES_MAX = 512
BYTES_MAX = 80 << 20
"""What may wait for one page: a policy file of 64 MB, the largest there is, and more."""
OWN_BYTES_MAX = 256 << 20
"""What may wait for all pages together of what is each one's own: what it was opened with, and its answers."""
PARTS_MAX = 1024
JSON_BYTES_MAX = 1 << 20
"""Of a page's message; files and states are in its buffers."""


def packed(message: dict[str, Any], buffers: Iterable[Any] = ()) -> bytes:
    """A message as a frame."""
    parts = [json_packer(message), *(bytes(buffer) for buffer in buffers)]
    return b"".join((struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts)), *parts))


def unpacked(frame: bytes, most: int | None = None) -> tuple[dict[str, Any], list[memoryview]]:
    """A frame's message and its buffers; raises ValueError for what is none, or a message of more than `most` bytes."""
    try:
        [count] = struct.unpack_from("<I", frame)
        if not 1 <= count <= PARTS_MAX:
            raise ValueError(f"wanted 1 to {PARTS_MAX} parts, got {count}")
        lengths = struct.unpack_from(f"<{count}I", frame, 4)
    except struct.error as error:
        raise ValueError(f"wanted a frame of parts, got {len(frame)} bytes: {error}") from None
    at, parts = 4 + 4 * count, []
    for length in lengths:
        parts.append(memoryview(frame)[at : at + length])
        at += length
    if at != len(frame):
        raise ValueError(f"wanted a frame of {at} bytes, got {len(frame)}")
    if most is not None and lengths[0] > most:
        raise ValueError(f"wanted a message of {most} bytes at most, got {lengths[0]}")
    message = json.loads(bytes(parts[0]))
    if not isinstance(message, dict):
        raise ValueError("wanted an object as the first part of a frame")
    return message, parts[1:]


class Line:
    """What is on its way to one page, which the widget knows by its `name`. Any thread puts frames in, the loop takes
    them out; `dropped` is called on the loop, once, where the page takes them too slowly.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, dropped: Callable[[], None]) -> None:
        self.name = uuid.uuid4().hex
        self._loop, self._dropped = loop, dropped
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, bool]] = deque()  # bytes of each frame, and whether no other page has it
        self._bytes = self._own = 0
        self._full = False

    @property
    def own(self) -> int:
        """Bytes that wait here and are of this page alone."""
        return 0 if self._full else self._own

    def put(self, frame: bytes, own: bool = False) -> None:
        """Send this after all that was put before; never waits."""
        with self._lock:
            if self._full:
                return
            self._count(len(frame), own)
            self._waiting.append((len(frame), own))
            self._call(self._queue.put_nowait, frame)
        if len(self._waiting) > FRAMES_MAX or self._bytes > BYTES_MAX:
            self.drop()

    def drop(self) -> None:
        """The page takes too slowly what waits for it."""
        with self._lock:
            if not self._full:
                self._full = True
                self._call(self._dropped)

    def end(self) -> None:
        """Nothing comes after what was put."""
        self._call(self._queue.put_nowait, None)

    async def take(self) -> bytes | None:
        """The next frame, None at the end."""
        return await self._queue.get()

    def taken(self) -> None:
        """The frame that was taken has left."""
        with self._lock:
            nbytes, own = self._waiting.popleft()
            self._count(-nbytes, own)

    def _count(self, nbytes: int, own: bool) -> None:
        self._bytes += nbytes
        self._own += nbytes if own else 0

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the page with it
            self._loop.call_soon_threadsafe(function, *arguments)


class PagesComm(BaseComm):
    """Says everything to every page but answers, which are for one (looking.py, `LISTENER`), and tells the other pages
    what one of them changed, as Jupyter's kernels do for several clients. `echoed(name, value)` is what the others are
    told of a trait that a page has changed, None for nothing; `ended` is called when the widget closes its comm.
    """

    def __init__(self, comm_id: str, echoed: Callable[[str, Any], Any], ended: Callable[[], None]) -> None:
        self._lines: set[Line] = set()
        self._lines_lock = threading.Lock()
        self._echoed, self._ended = echoed, ended
        super().__init__(target_name="jupyter.widget", comm_id=comm_id)

    def join(self, line: Line, state: bytes) -> None:
        """One page more; `state` goes first, then all that is said from now on."""
        with self._lines_lock:
            self._lines.add(line)
            line.put(state, own=True)
            self._bound()

    def leave(self, line: Line) -> None:
        """One page less."""
        with self._lines_lock:
            self._lines.discard(line)

    def publish_msg(
        self,
        msg_type: str,
        data: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        buffers: list[Any] | None = None,
        **keys: Any,
    ) -> None:
        """To every page that is there, or to the one that it is for."""
        page = LISTENER.get()
        with self._lines_lock:
            to = {line for line in self._lines if page in ("", line.name)}
            self._tell(to, msg_type, data or {}, buffers or [], own=page != "")
            self._bound()
        if msg_type == "comm_close":
            self._ended()

    def hear(self, line: Line, frame: bytes) -> None:
        """A page's frame; raises ValueError for what is none. Never waits."""
        data, buffers = unpacked(frame, JSON_BYTES_MAX)
        if data.get("method") == "request_state":  # a page has had it since it was opened, and all would get it
            return
        paths = data.get("buffer_paths") or []
        if not isinstance(paths, list) or len(paths) != (len(buffers) if data.get("method") == "update" else 0):
            raise ValueError(f"wanted a path for each of {len(buffers)} buffers")
        if data.get("method") == "update" and isinstance(data.get("state"), dict):
            held = {path[0] for path in paths if isinstance(path, list) and path and isinstance(path[0], str)}
            told = {key: self._echoed(key, value) for key, value in data["state"].items() if key not in held}
            if changed := {key: value for key, value in told.items() if value is not None}:
                content = {"method": "echo_update", "state": changed, "buffer_paths": []}
                with self._lines_lock:
                    self._tell(self._lines - {line}, "comm_msg", content, [])
        if self._msg_callback:
            # not handle_msg: that runs what IPython runs around a cell, on this thread
            header = {"session": line.name}
            self._msg_callback(
                {"header": header, "content": {"comm_id": self.comm_id, "data": data}, "buffers": buffers}
            )

    def _tell(self, lines: set[Line], kind: str, data: dict[str, Any], buffers: list[Any], own: bool = False) -> None:
        if lines:
            frame = packed({"type": kind, "data": data}, buffers)
            for line in lines:
                line.put(frame, own)

    def _bound(self) -> None:
        """Who asks for files and does not read them fills the memory with them on no number of pages."""
        while sum(line.own for line in self._lines) > OWN_BYTES_MAX:
            max(self._lines, key=lambda line: line.own).drop()
