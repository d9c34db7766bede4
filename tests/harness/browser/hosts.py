"""Servers of static files that send the headers of docs/howto/host.md, each host's as its recipe has them."""

import functools
import json
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.harness.certificate import CERTIFICATE, KEY

RECIPES = Path(__file__).parents[3] / "docs" / "howto" / "host.md"


def headers() -> dict[str, dict[str, str]]:
    """Host -> the headers of its recipe."""
    sections = re.split(r"^## ", RECIPES.read_text(encoding="utf-8"), flags=re.M)[1:]
    blocks = {
        section.splitlines()[0]: re.search(r"```(\w+)\n(.*?)```", section, re.S)
        for section in sections
        if "```" in section
    }
    return {name: _read(block[1], block[2]) for name, block in blocks.items() if block}


def _read(language: str, text: str) -> dict[str, str]:
    if language == "nginx":
        return dict(re.findall(r'add_header (\S+) "([^"]*)" always;', text))
    if language == "json":
        (rule,) = json.loads(text)["headers"]
        return {header["key"]: header["value"] for header in rule["headers"]}
    return dict(re.findall(r"^\s*([\w-]+): (.+)$", text, re.M))


@contextmanager
def served(folder: Path, sent: Mapping[str, str], certified: Path | None = None) -> Iterator[str]:
    """The address of a server of this folder that sends these headers with everything; by https with the certificate
    that `certificate.certify` left in a folder.
    """

    class Host(SimpleHTTPRequestHandler):
        """Writes no log."""

        def end_headers(self) -> None:
            for name, value in sent.items():
                self.send_header(name, value)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(folder))) as server:
        if certified is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certified / CERTIFICATE, certified / KEY)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'s' * (certified is not None)}://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
