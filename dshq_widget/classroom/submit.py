"""Sends a policy to a league."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import queue
import threading
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.contract.setting import printable
from dshq_widget.policy import checkpoint

SECONDS = 60.0
MOST_BYTES = 1 << 16
"""Of an answer."""
FIELDS = {"submission": int, "round": int, "title": str, "digest": str}
"""Of an answer."""


def is_open(to: str) -> bool:
    """Whether what is sent to an address can be read on the way: not https, and not on this machine."""
    place = urlsplit(to)
    return place.scheme == "http" and place.hostname not in ("127.0.0.1", "::1", "localhost")


def submit(path: str | os.PathLike[str], to: str, token: str) -> dict[str, Any]:
    """Send the policy of a `.dshq` file; raises CheckpointError for an invalid file. See `send`."""
    return send(checkpoint.load(path), to, token)


def send(saved: checkpoint.Checkpoint, to: str, token: str) -> dict[str, Any]:
    """Send a checkpoint's policy, without what else it holds, to the league at address `to`.

    Returns the league's answer: `submission`, `round`, `title`, `digest`. Raises LeagueError if the league cannot be
    reached or rejects it.
    """
    if urlsplit(to).scheme not in ("http", "https"):
        raise LeagueError(f"--to must be the league's URL, http://... or https://..., got {to!r}")
    content = bare(saved)
    headers = {"Authorization": f"token {token}", "Accept": "application/json"}
    headers |= {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"{to.rstrip('/')}/submit", content, headers, method="POST")
    try:
        found = json.loads(_answer(request))
        if not isinstance(found, dict) or any(type(found.get(key)) is not kind for key, kind in FIELDS.items()):
            raise ValueError("the answer is not one of a league")
        return {key: printable(found[key]) if kind is str else found[key] for key, kind in FIELDS.items()}
    except urllib.error.HTTPError as error:
        with error:  # the rest of it is not read
            raise LeagueError(f"the league rejected it: {_reason(error)}") from error
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = printable(getattr(reason, "strerror", None) or reason)
        raise LeagueError(f"no answer from {to!r}: {said}") from error


def _answer(request: urllib.request.Request) -> bytes:
    """What is answered within `SECONDS`. Raises what urllib does, and OSError. A thread waits for it: a time-out of
    sockets begins again with each byte.
    """
    came: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
                came.put(answer.read(MOST_BYTES))
        except Exception as error:
            came.put(error)

    threading.Thread(target=ask, name="dshq-asks-league", daemon=True).start()
    try:
        found = came.get(timeout=SECONDS)
    except queue.Empty:
        raise OSError(f"it was not whole after {SECONDS:g} s") from None
    if isinstance(found, Exception):
        raise found
    return found


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token along, to any host, and make a GET of the upload."""

    def redirect_request(self, *_: Any) -> None:
        """None: the redirect is an error."""


def bare(saved: checkpoint.Checkpoint) -> bytes:
    """The same policy as a `.dshq` file without settings, metrics and learner state."""
    return checkpoint.encode(dataclasses.replace(saved, config={}, metrics={}, state={}))


def _reason(error: urllib.error.HTTPError) -> str:
    """The league's message, or the proxy's."""
    try:
        return printable(json.loads(error.read(MOST_BYTES))["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return printable(f"{error.code} {error.reason}")
