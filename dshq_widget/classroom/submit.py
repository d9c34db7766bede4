"""Sends a policy to a league."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
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
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read(MOST_BYTES))
        if not isinstance(found, dict) or not {"submission", "round", "title", "digest"} <= set(found):
            raise ValueError("the answer is not one of a league")
        return {key: printable(value) if isinstance(value, str) else value for key, value in found.items()}
    except urllib.error.HTTPError as error:
        with error:  # the rest of it is not read
            raise LeagueError(f"the league rejected it: {_reason(error)}") from error
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = printable(getattr(reason, "strerror", None) or reason)
        raise LeagueError(f"no answer from {to!r}: {said}") from error


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
