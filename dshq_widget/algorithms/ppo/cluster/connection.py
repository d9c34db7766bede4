"""The learner's connection to a Ray cluster. Ray is imported here, and nowhere else."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from dshq_widget.algorithms.ppo.cluster.requirements import GUIDE

HERE = "auto"
"""The cluster that the learner's machine is a node of."""
ANSWER_SECONDS = 5.0
"""How long an address may take to answer."""
PROBE_SECONDS = 60.0
"""How long the probe without a token may take; it starts a process that imports ray."""
START = f"start one with `ray start --head`, or name another with ray_address=HOST:PORT ({GUIDE})"


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at `address`: HOST:PORT of its head; "" is the one in RAY_ADDRESS,
    else the one that this machine is a node of. Raises ConnectionError with one sentence if there is none, if it
    refuses the token or if it asks for none.
    """
    address = address or os.environ.get("RAY_ADDRESS") or HERE
    if address != HERE:
        _answers(address)
    os.environ["RAY_AUTH_MODE"] = "token"  # Ray reads it when it is imported.
    import ray

    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as error:
        raise ConnectionError(f"{_wanted(address)}: {_first_sentence(error)}; {START}") from error
    try:
        _asks_for_a_token(ray.get_runtime_context().gcs_address)
        yield ray
    finally:
        ray.shutdown()


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
    """Raises ConnectionError if the cluster serves somebody without a token: everybody could run code on it."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    without = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    probe = subprocess.run(
        command, env={**without, "RAY_AUTH_MODE": "disabled"}, capture_output=True, timeout=PROBE_SECONDS
    )
    if probe.returncode == 0:
        raise ConnectionError(
            f"wanted a Ray cluster with token authentication, and the one at {address} serves everybody: set "
            f"RAY_AUTH_MODE=token before `ray start` on every node ({GUIDE})"
        )


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text.partition(". ")[0].rstrip(".:") or type(error).__name__
