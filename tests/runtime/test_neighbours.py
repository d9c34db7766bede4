"""Connections of other users of the machine are told from one's own, by the kernel's table and by a real one."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshq_widget.runtime import neighbours
from dshq_widget.runtime.neighbours import in_tables, of_neighbour

PEER, OWN, USER = ("127.0.0.1", 0xA6F7), ("127.0.0.1", 0x1F90), 1000
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user:5} 0 29121 1 0000 100 0 0 10 0\n"
LINUX = pytest.mark.skipif(not neighbours.TABLES[0].exists(), reason="needs Linux")
LITTLE = pytest.mark.skipif(sys.byteorder != "little", reason="the tables here are of a little-endian machine")


def table(path: Path, user: int, local: str, remote: str = "0100007F:1F90", state: str = "01") -> tuple[Path, ...]:
    """A table of that one connection, beside some of others."""
    others = [("0100007F:A6F7", "0100007F:1F91", USER + 1), ("0100007F:1F90", "0100007F:A6F7", USER)]
    rows = [ROW.format(local=a, remote=b, state="01", user=who) for a, b, who in others]
    path.write_text(HEAD + "".join(rows) + ROW.format(local=local, remote=remote, state=state, user=user))
    return (path,)


@LITTLE
@pytest.mark.parametrize("local", ["0100007F:A6F7", "0000000000000000FFFF00000100007F:A6F7"], ids=["tcp", "tcp6"])
def test_who_has_the_other_end(tmp_path: Path, local: str):
    remote = "0100007F:1F90" if len(local) < 20 else "0000000000000000FFFF00000100007F:1F90"
    for user, neighbour in ((USER, False), (0, False), (USER + 1, True), (65534, True)):
        tables = table(tmp_path / "tcp", user, local, remote)
        assert in_tables(PEER, OWN, USER, tables) is neighbour, user
    left = table(tmp_path / "tcp", 0, local, remote, state="05")
    assert in_tables(PEER, OWN, USER, left), "a socket whose process has ended belongs to nobody"


def test_where_nobody_can_tell_the_token_decides(tmp_path: Path):
    assert not in_tables(PEER, OWN, USER, (tmp_path / "none",))
    assert not in_tables(("127.0.0.1", 1), OWN, USER, table(tmp_path / "tcp", 5, "0100007F:A6F7"))


@contextlib.contextmanager
def linked() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection of this process: theirs and ours."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as theirs,
        server.accept()[0] as ours,
    ):
        yield theirs, ours


def refused(*_: object) -> None:
    raise OSError("Operation not permitted")


@LINUX
@pytest.mark.parametrize("asked", [True, False], ids=["asked for one connection", "by the tables"])
def test_a_connection_that_ends_while_it_is_asked_about_is_nobodys(monkeypatch, asked: bool):
    """A neighbour sent a command and reset the connection: no table had it any more, and the command was done."""
    if not asked:
        monkeypatch.setattr(neighbours, "owner", refused)
    own = os.geteuid()
    with linked() as (_, ours):
        assert of_neighbour(ours, user=own or 1000) is False
        assert of_neighbour(ours, user=0) is False, "root answers everybody"
    with linked() as (theirs, ours):
        theirs.close()
        assert of_neighbour(ours, user=1000), "it has said that it ends"
    with linked() as (theirs, ours):
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        assert of_neighbour(ours, user=1000), "it is reset"
    assert of_neighbour(None, user=1000), "and closed here"
    with linked() as (theirs, ours):

        def late(*given: object) -> bool:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()
            return found(*given)

        name = "owner" if asked else "in_tables"
        found = getattr(neighbours, name)
        monkeypatch.setattr(neighbours, name, late)
        assert of_neighbour(ours, user=1000), "reset in the middle"


@LINUX
def test_nobody_reads_a_table_that_others_have_filled(monkeypatch):
    """28,000 connections that somebody had opened and closed took 60 ms each time, and the page stood still."""
    monkeypatch.setattr(neighbours, "in_tables", refused)
    with linked() as (_, ours):
        assert not of_neighbour(ours, user=os.geteuid() or 1000)


@pytest.mark.skipif(not neighbours.TABLES[0].exists() or os.geteuid() != 0, reason="needs Linux, and another user")
@pytest.mark.parametrize("asked", [True, False], ids=["asked for one connection", "by the tables"])
def test_a_real_connection_of_another_user(monkeypatch, asked: bool):
    if not asked:
        monkeypatch.setattr(neighbours, "owner", refused)
    script = "import encodings.idna, os, socket, sys; os.setuid(int(sys.argv[2])); "  # who may not read Python's files
    script += "s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        for who, neighbour in ((4242, True), (1000, False)):
            command = [sys.executable, "-c", script, str(server.getsockname()[1]), str(who)]
            with subprocess.Popen(command) as process:
                try:
                    server.settimeout(60)
                    link, _ = server.accept()
                    with link:
                        assert of_neighbour(link, user=1000) is neighbour
                finally:
                    process.kill()
