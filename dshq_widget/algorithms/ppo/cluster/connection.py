"""The learner's connection to a Ray cluster. Ray is imported here, and nowhere else."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dshq_kernels.backends.own_python import own_python
from dshq_widget.algorithms.ppo.cluster.requirements import GUIDE
from dshq_widget.runtime.own_modules import elsewhere
from dshq_widget.system.paths import NO_LINK, NO_WAIT

HERE = "auto"
"""The cluster that the learner's machine is a node of."""
LONGEST_ADDRESS = 1000
"""Characters that are read of what `ray start` wrote."""
ANSWER_SECONDS = 5.0
"""How long an address may take to answer."""
PROBE_SECONDS = 60.0
"""How long the probe without a token may take; it starts a process that imports ray."""
START = f"start one with `ray start`, also on this machine, or name another with ray_address=HOST:PORT ({GUIDE})"
TOKEN = "~/.ray/auth_token"
"""Where Ray keeps the token, unless RAY_AUTH_TOKEN_PATH says otherwise."""
REFUSED = "InvalidAuthToken"
"""Ray's name of a token that is not the cluster's, in the texts of its errors."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at `address`: HOST:PORT of its head; "" is the one in RAY_ADDRESS,
    else the one that this machine is a node of. Raises ConnectionError with one sentence if there is none, if it
    refuses the token or asks for none, or if others can read the token here.
    """
    _own_token()
    wanted = address or os.environ.get("RAY_ADDRESS") or HERE
    address = _head_here() if wanted == HERE else wanted
    _answers(address)
    _asks_for_a_token(address)  # before it is sent one
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_ADDRESS": address}  # Ray reads them, and prefers this address.
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"  # under `uv run` it would send the working folder to the nodes
    import ray

    try:
        with elsewhere():  # Ray has all nodes look for modules where it is called, before those that are installed
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as error:
        raise ConnectionError(f"{_wanted(address)}: {_reason(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _own_token() -> None:
    """Raises ConnectionError if the token's file is this user's, and others can read it: with it they run code on every
    node.
    """
    path = Path(os.path.expanduser(os.environ.get("RAY_AUTH_TOKEN_PATH") or TOKEN))
    try:
        found = path.stat()
    except OSError:  # the token is in RAY_AUTH_TOKEN, or there is none, which the cluster says
        return
    if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        raise ConnectionError(f"wanted a token that nobody else can read, got {str(path)!r}: `chmod 600` it ({GUIDE})")


def _head_here() -> str:
    """The head of the cluster that this machine is a node of, as `ray start` wrote it down. Raises ConnectionError if
    it wrote nothing, or if another user may have: Ray lets everybody write into its folder.
    """
    path = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")
    try:
        folder = path.parent.lstat()
        descriptor = os.open(path, os.O_RDONLY | NO_LINK | NO_WAIT)  # one look: what is asked for its owner is read
        with os.fdopen(descriptor, encoding="utf-8") as file:
            owners = {folder.st_uid, os.fstat(descriptor).st_uid}
            address = file.read(LONGEST_ADDRESS).strip()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConnectionError(f"{_wanted(HERE)}: cannot read {path} ({reason}); {START}") from error
    if hasattr(os, "geteuid") and not owners <= {0, os.geteuid()}:
        raise ConnectionError(
            f"{_wanted(HERE)}: {path} or its folder is another user's, whose cluster would get your token; if it is "
            f"yours to use, name it with ray_address=HOST:PORT ({GUIDE})"
        )
    return address


def _wanted(address: str) -> str:
    where = "that this machine is a node of" if address == HERE else f"at {address}"
    return f"wanted a Ray cluster {where}, and could not connect"


def _answers(address: str) -> None:
    """Raises ConnectionError unless somebody listens there; Ray itself would try for a minute."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        raise ConnectionError(
            f"ray_address must be HOST:PORT of the cluster's head, such as 10.0.0.5:6379, got {address!r}"
        )
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except OSError as error:
        reason = error.strerror or f"no answer within {ANSWER_SECONDS:g} s"
        raise ConnectionError(f"{_wanted(address)}: {reason}; {START}") from error


def _asks_for_a_token(address: str) -> None:
    """Raises ConnectionError unless the cluster refuses somebody without a token: everybody could run code on it."""
    command = own_python("-m", "ray.scripts.scripts", "health-check", "--address", address)
    without = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    stranger = {**without, "RAY_AUTH_MODE": "disabled"}
    try:
        probe = subprocess.run(command, env=stranger, capture_output=True, encoding="utf-8", timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ConnectionError(
            f"wanted a Ray cluster with token authentication, and the one at {address} did not answer within "
            f"{PROBE_SECONDS:g} s somebody who has no token: try again once it is less busy ({GUIDE})"
        ) from error
    if REFUSED in probe.stderr + probe.stdout:
        return
    found = "serves everybody" if probe.returncode == 0 else f"does not say so: {probe.stderr.strip()[-300:]}"
    raise ConnectionError(
        f"wanted a Ray cluster with token authentication, and the one at {address} {found}; set RAY_AUTH_MODE=token "
        f"before `ray start` on every node ({GUIDE})"
    )


def _reason(error: Exception) -> str:
    if REFUSED in str(error) or REFUSED in str(error.__cause__ or error.__context__):
        return f"it refuses this token; copy the token of its head to this machine ({GUIDE})"
    first = " ".join(str(error).split()).partition(". ")[0].rstrip(".:")
    return f"{first or type(error).__name__}; {START}"
