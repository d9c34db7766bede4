"""People on the hub of `make hub`: their requests, and their servers."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from dshq_widget.classroom.hub.demo import Hub, HubError, proxy_command

SECONDS = 180


def proxy_or_skip() -> None:
    """Skip where the hub's proxy is not installed."""
    try:
        proxy_command()
    except HubError as missing:
        pytest.skip(str(missing))


def ask(url: str, token: str, method: str = "GET", body: dict | None = None, host: str = "") -> Any:
    """One request with a token, to another `host` at the same address if given; what it answers as JSON, None where it
    answers nothing. Raises urllib's errors.
    """
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"token {token}"} | ({"Host": host} if host else {})
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        content = answer.read()
    return json.loads(content) if content else None


def until(good: Callable[[], object], hub: Hub) -> None:
    """Wait until something is true; the hub's log says why where it does not happen."""
    deadline = time.monotonic() + SECONDS
    while not good():
        assert time.monotonic() < deadline, hub.log.read_text()[-3000:]
        time.sleep(0.3)


def start(hub: Hub, name: str) -> None:
    """Start somebody's server, and wait for it."""
    hub.ask("POST", f"/users/{name}/server")
    until(lambda: hub.ask("GET", f"/users/{name}")["server"], hub)
