"""The databases that a league stands on: SQLite in a file, and a PostgreSQL of our own on a socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dshq_widget.classroom.store import Store


def postgres_folder() -> Path | None:
    """Where Debian keeps the server's programs, the newest one's; or what stands on PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = shutil.which("initdb")
    return debian[-1].parent if debian else Path(found).parent if found else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL of our own, on a socket in a folder that its user may read."""
    programs = postgres_folder()
    if programs is None:
        pytest.skip("no PostgreSQL server: install Debian's package postgresql")
    pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    folder = Path(tempfile.mkdtemp(prefix="dshq-pg-"))
    who: dict = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": []}
    data = folder / "data"

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, **who)
        assert done.returncode == 0, done.stderr

    run(str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "league", "--no-sync")
    control = (str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"))
    run(*control, "-o", f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off", "start")
    yield f"postgresql+psycopg://league@/postgres?host={folder}"
    run(*control, "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/league.db"
    from dshq_widget.classroom.database.tables import metadata
    from dshq_widget.classroom.store import Store

    address = request.getfixturevalue("postgres")
    store = Store(address)
    metadata.drop_all(store.engine)
    store.close_connections()
    return address


@pytest.fixture
def store(tmp_path: Path) -> Iterator["Store"]:
    """A league in a file."""
    from dshq_widget.classroom.store import Store

    made = Store(f"sqlite:///{tmp_path}/league.db")
    yield made
    made.close_connections()
