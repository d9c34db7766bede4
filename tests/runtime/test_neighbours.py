"""Connections of other users of the machine are told from one's own, by the kernel's table and by a real one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dshq_widget.runtime import neighbours
from dshq_widget.runtime.neighbours import is_neighbour

PEER, OWN, USER = ("127.0.0.1", 0xA6F7), ("127.0.0.1", 0x1F90), 1000
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user:5} 0 29121 1 0000 100 0 0 10 0\n"
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
        assert is_neighbour(PEER, OWN, tables, USER) is neighbour, user
    left = table(tmp_path / "tcp", 0, local, remote, state="05")
    assert is_neighbour(PEER, OWN, left, USER), "a socket whose process has ended belongs to nobody"


def test_where_nobody_can_tell_the_token_decides(tmp_path: Path):
    assert not is_neighbour(PEER, OWN, (tmp_path / "none",), USER)
    assert not is_neighbour(("127.0.0.1", 1), OWN, table(tmp_path / "tcp", 5, "0100007F:A6F7"), USER)
    assert not is_neighbour(PEER, OWN, table(tmp_path / "tcp", 5, "0100007F:A6F7"), 0), "root answers everybody"


@pytest.mark.skipif(not neighbours.TABLES[0].exists() or os.geteuid() != 0, reason="needs Linux, and another user")
def test_a_real_connection_of_another_user():
    script = "import encodings.idna, os, socket, sys; os.setuid(int(sys.argv[2])); "  # who may not read Python's files
    script += "s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        for who, neighbour in ((4242, True), (1000, False)):
            command = [sys.executable, "-c", script, str(server.getsockname()[1]), str(who)]
            with subprocess.Popen(command) as process:
                try:
                    server.settimeout(60)
                    link, peer = server.accept()
                    with link:
                        assert is_neighbour(peer, link.getsockname(), user=1000) is neighbour
                finally:
                    process.kill()
