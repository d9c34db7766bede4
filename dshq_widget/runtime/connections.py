"""A web server that nobody can fill with connections: each costs memory and a descriptor before anybody is asked who
they are.
"""

from __future__ import annotations

from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream


class BoundedServer(HTTPServer):
    """Closes what comes beyond `most_open` connections; `idle_connection_timeout`, in seconds, ends those that do not
    ask.
    """

    most_open = 64

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        if len(self._connections) < self.most_open:  # those of open websockets are no longer among them
            super().handle_stream(stream, address)
        else:
            stream.close()
