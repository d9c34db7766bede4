"""Whether a connection on this machine comes from its own user.

The address of `dshq play` holds a token, and a browser is started with the address as an argument, which every user of
the machine can read. So a connection of another user's is refused, token or not.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The kernel's tables of connections (Linux, proc(5)): local address, remote address, state, ..., user."""
ESTABLISHED = "01"
LOCAL, REMOTE, STATE, USER = 1, 2, 3, 7
"""Columns."""


def is_neighbour(
    peer: tuple[str, int], own: tuple[str, int], tables: tuple[Path, ...] = TABLES, user: int | None = None
) -> bool:
    """Whether the other end of a connection belongs to neither `user` (by default this process's) nor root. `peer` and
    `own` are its ends as (IPv4 address, port). Root answers everybody, and without such a table nobody can tell: False.
    """
    if user is None:
        user = os.geteuid() if hasattr(os, "geteuid") else 0  # who has no number has no such table either
    if user == 0:
        return False
    from_there, to_here = _written(*peer), _written(*own)
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for columns in map(str.split, lines):
            if columns[LOCAL] in from_there and columns[REMOTE] in to_here:
                # A socket that its process has left behind belongs to user 0, whoever had it.
                return columns[STATE] != ESTABLISHED or int(columns[USER]) not in (0, user)
    return False


def _written(address: str, port: int) -> tuple[str, str]:
    """An IPv4 address and a port as the two tables have them: words of 32 bits in the order of this machine."""
    word = f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"
    mapped = f"{int.from_bytes(bytes((0, 0, 255, 255)), sys.byteorder):08X}"
    return f"{word}:{port:04X}", f"{'0' * 16}{mapped}{word}:{port:04X}"
