"""Whether a connection on this machine comes from its own user.

The address of `dshq play` holds a token, and a browser is started with the address as an argument, which every user of
the machine can read. So a connection of another user's is refused, token or not.

Linux is asked for that one connection (sock_diag(7)): its tables of all connections take 60 ms to read where another
user has opened and closed 28,000, and they have no row of one that ends meanwhile.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The kernel's tables of connections (Linux, proc(5)): local address, remote address, state, ..., user."""
ESTABLISHED = 1
LOCAL, REMOTE, STATE, USER = 1, 2, 3, 7
"""Columns."""
SOCK_DIAG, BY_FAMILY, REQUEST = 4, 20, 1
"""NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY and NLM_F_REQUEST, of linux/netlink.h and linux/sock_diag.h."""
HEADER, ASKED, ADDRESSES, ANYWHERE = "=IHHII", "=BBBxI", "!HH16s16s", "=III"
"""A message's header; what is asked, in which states; the ends of a connection; on any device, without its number."""
FOUND = "=BBxx48xIIII"
"""Family and state of a connection, then, behind its ends, when it expires, two queues, and whose it is."""
ANSWER_SECONDS = 1.0

Owner = tuple[int, int]
"""State and user of one end of a connection."""


def of_neighbour(link: socket.socket | None, user: int | None = None) -> bool:
    """Whether the other end of a connection, None for one that has ended, belongs to neither `user` (by default this
    process's) nor root. Of one that has ended nobody can tell: True. Root answers everybody.
    """
    if user is None:
        user = os.geteuid() if hasattr(os, "geteuid") else 0  # who has no number has no such table either
    if user == 0 or link is None:
        return link is None
    try:
        peer, own = link.getpeername(), link.getsockname()
        try:
            found = owner(peer, own)
        except OSError:  # a system that cannot be asked
            return in_tables(peer, own, user) or not link.getpeername()  # which raises where it has ended
    except OSError:
        return True
    return found is None or found[0] != ESTABLISHED or found[1] not in (0, user)


def owner(peer: tuple[str, int], own: tuple[str, int]) -> Owner | None:
    """Whose the end `peer` of a connection is, None if there is no such connection. Raises OSError where the system
    cannot be asked.
    """
    ends = struct.pack(ADDRESSES, peer[1], own[1], socket.inet_aton(peer[0]), socket.inet_aton(own[0]))
    asked = struct.pack(ASKED, socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ends
    asked += struct.pack(ANYWHERE, 0, 0xFFFFFFFF, 0xFFFFFFFF)
    header = struct.calcsize(HEADER)
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError("this system has no netlink")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as link:
        link.settimeout(ANSWER_SECONDS)
        link.send(struct.pack(HEADER, header + len(asked), BY_FAMILY, REQUEST, 0, 0) + asked)
        answer = link.recv(1 << 13)
    if struct.unpack_from(HEADER, answer)[1] == BY_FAMILY:
        _, state, *_, user = struct.unpack_from(FOUND, answer, header)
        return state, user
    [error] = struct.unpack_from("=i", answer, header)
    if -error != errno.ENOENT:
        raise OSError(-error, os.strerror(-error))
    return None


def in_tables(peer: tuple[str, int], own: tuple[str, int], user: int, tables: tuple[Path, ...] = TABLES) -> bool:
    """`of_neighbour` by the tables of all connections. `peer` and `own` are its ends as (IPv4 address, port). Without
    such a table nobody can tell: False.
    """
    from_there, to_here = _written(*peer), _written(*own)
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for columns in map(str.split, lines):
            if columns[LOCAL] in from_there and columns[REMOTE] in to_here:
                # A socket that its process has left behind belongs to user 0, whoever had it.
                return int(columns[STATE], 16) != ESTABLISHED or int(columns[USER]) not in (0, user)
    return False


def _written(address: str, port: int) -> tuple[str, str]:
    """An IPv4 address and a port as the two tables have them: words of 32 bits in the order of this machine."""
    word = f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"
    mapped = f"{int.from_bytes(bytes((0, 0, 255, 255)), sys.byteorder):08X}"
    return f"{word}:{port:04X}", f"{'0' * 16}{mapped}{word}:{port:04X}"
