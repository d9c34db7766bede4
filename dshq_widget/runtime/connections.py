"""A web server that nobody can fill with connections: each costs memory and a descriptor before anybody is asked who
they are.
"""

from __future__ import annotations

import socket
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream


class BoundedServer(HTTPServer):
    """Keeps `most_open` connections: one more closes the one that has waited longest, for its request or for somebody
    to read the answer. So whoever opens very many keeps nobody else out. `idle_connection_timeout`, in seconds, ends
    those that do not ask.
    """

    most_open = 64

    def initialize(self, *arguments: Any, **how: Any) -> None:
        super().initialize(*arguments, **how)
        self._waiting: dict[IOStream, None] = {}
        """The open ones, first whose last request is oldest. Those of open websockets are no longer among them."""

    def turns_away(self, link: socket.socket) -> bool:
        """Whether nobody asks what a connection wants: it takes the place of no other."""
        return False

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        if self.turns_away(stream.socket):
            stream.close()
            return
        while len(self._waiting) >= self.most_open:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.close()
        self._waiting[stream] = None
        super().handle_stream(stream, address)

    def start_request(self, server_conn: Any, request_conn: Any) -> Any:
        if (stream := server_conn.stream) in self._waiting:
            self._waiting[stream] = self._waiting.pop(stream)
        return super().start_request(server_conn, request_conn)

    def on_close(self, server_conn: Any) -> None:
        self._waiting.pop(server_conn.stream, None)
        super().on_close(server_conn)
