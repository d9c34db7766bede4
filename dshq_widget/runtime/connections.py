"""A web server that nobody can fill with connections: each costs memory and a descriptor before anybody is asked who
they are.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPInputError
from tornado.iostream import IOStream

ESTABLISHED = 1
"""The state of a connection in which both ends may send (Linux, tcp(7))."""
MOST_LINES = 100
"""Of a request's header, as Apache has it (LimitRequestFields). Thousands of short ones take a processor for 15 ms,
before anybody is asked who they are: measured, AMD Zen 5.
"""
LENGTH_WANTED = (
    b"HTTP/1.1 411 Length Required\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 44\r\n\r\n"
    b"Send it with Content-Length: how long it is\n"
)
Parse = Callable[[bytes], tuple[str, HTTPHeaders]]


class BoundedServer(HTTPServer):
    """Keeps `most_open` connections: one more closes another one, of the host that has most of them, and there the
    one that has waited longest, for its request or for somebody to read the answer. So whoever opens very many keeps
    nobody else out. `idle_connection_timeout`, in seconds, ends those that do not ask.
    """

    most_open = 64

    def initialize(self, *arguments: Any, **how: Any) -> None:
        super().initialize(*arguments, **how)
        self._waiting: dict[str, dict[IOStream, None]] = {}
        """The open ones by host, first whose last request is oldest. Those of open websockets are no longer among
        them.
        """
        self._of: dict[IOStream, str] = {}

    def turns_away(self, link: socket.socket) -> bool:
        """Whether nobody asks what a connection wants: it takes the place of no other."""
        return False

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        if self.turns_away(stream.socket):
            stream.close()
            return
        while len(self._of) >= self.most_open:
            most = max(self._waiting.values(), key=len)
            oldest = next(iter(most))
            self._leave(oldest)
            oldest.close()
        self._of[stream] = source_of(str(address[0]))
        self._waiting.setdefault(self._of[stream], {})[stream] = None
        super().handle_stream(stream, address)

    def start_request(self, server_conn: Any, request_conn: Any) -> Any:
        if (stream := server_conn.stream) in self._of:
            mine = self._waiting[self._of[stream]]
            mine[stream] = mine.pop(stream)
        request_conn._parse_headers = _few_lines(request_conn._parse_headers, server_conn.stream)
        return super().start_request(server_conn, request_conn)

    def on_close(self, server_conn: Any) -> None:
        self._leave(server_conn.stream)
        super().on_close(server_conn)

    def _leave(self, stream: IOStream) -> None:
        host = self._of.pop(stream, None)
        if host is not None:
            del self._waiting[host][stream]
            if not self._waiting[host]:
                del self._waiting[host]


def _few_lines(parse: Parse, stream: IOStream) -> Parse:
    """tornado's own reading of a header, which it reads whole, and a body in pieces by thousands of pieces, before the
    application sees either. The second is for bodies whose length is not known: no browser sends such forms.
    """

    def parsed(data: bytes) -> tuple[str, HTTPHeaders]:
        if data.count(b"\n") > MOST_LINES + 2:  # the request's own, and the empty one
            raise HTTPInputError(f"a header of more than {MOST_LINES} lines")
        line, headers = parse(data)
        if "Transfer-Encoding" in headers:
            stream.write(LENGTH_WANTED)  # tornado's own answer comes behind it, and the end
            raise HTTPInputError("a body without Content-Length")
        return line, headers

    return parsed


def source_of(address: str) -> str:
    """Whose address it is: itself, or of IPv6 the network of 64 bits that it is in, since one host may take any address
    of that (RFC 7421). What is no address stands for itself.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((int(found), 64), strict=False))


def has_gone(link: socket.socket | None) -> bool:
    """Whether the other end sends nothing any more. tornado hears of it where all that it has sent was read: not behind
    a second request. Only Linux tells.
    """
    if link is None or link.fileno() < 0:
        return True
    if sys.platform != "linux" or link.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    return link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != ESTABLISHED
