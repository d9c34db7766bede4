"""The connection to the league's database, in SQLite or PostgreSQL, and its errors as sentences."""

from __future__ import annotations

import os
import stat
from typing import Any

import sqlalchemy as sql
from sqlalchemy import event

from dshq_widget.classroom.database import migrations
from dshq_widget.classroom.database.tables import metadata
from dshq_widget.classroom.errors import LeagueError, Unavailable

MOST_THREADS = 36
"""That use a database at once: asyncio's, two for tables, the event loop's and the referee's. Each has a connection of
its own, or those that wait for another writer would leave none to the thread that answers everybody.
"""


def opened(url: str, create: bool) -> sql.Engine:
    """The database at `url`, with all tables as they are now. Raises LeagueError, also where no league is in it and
    `create` is false. Where it cannot be used later, its errors are Unavailable.
    """
    try:
        engine = _engine(url)
        if engine.dialect.name == "sqlite" and str(engine.url.database).startswith("file:"):
            raise LeagueError("write the path of its file, sqlite:///league.db or sqlite:////folder/league.db")
        if create:
            _create_private(engine.url)
        elif _is_missing(engine.url):
            raise LeagueError(migrations.NO_LEAGUE)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        with engine.begin() as db:
            migrations.prepare(db, metadata, create)
    except LeagueError as error:
        engine.dispose()
        raise type(error)(f"cannot use the database {_shown(url)!r}: {error}") from None
    except (sql.exc.SQLAlchemyError, ImportError, OSError) as error:
        raise LeagueError(f"cannot open the database {_shown(url)!r}: {_without(url, str(error))}") from error
    event.listen(engine, "handle_error", _sentence)
    return engine


def _engine(url: str) -> sql.Engine:
    """Raises what SQLAlchemy does."""
    engine = sql.create_engine(url)
    if not isinstance(engine.pool, sql.QueuePool):  # of SQLite in memory, which is one connection
        return engine
    engine.dispose()
    return sql.create_engine(url, max_overflow=MOST_THREADS - engine.pool.size())


def _is_missing(url: sql.URL) -> bool:
    """Whether SQLite would create the file."""
    named = url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:"
    return bool(named) and not os.path.isfile(url.database or "")


def _create_private(url: sql.URL) -> None:
    """Create SQLite's file for this user alone: it holds the key of cookies and the secrets of open rounds. Raises
    OSError, and LeagueError for one that everybody may write, or that is neither this user's, root's nor of whoever has
    its folder: a neighbour may have put it there.
    """
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        opened = os.open(url.database, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            found = os.fstat(opened)
        finally:
            os.close(opened)
        if not hasattr(os, "geteuid"):  # Windows: the file's owner is not to be told by a number
            return
        if found.st_mode & stat.S_IWOTH:
            raise LeagueError(
                "every user of this machine may write into it, and so become an instructor: `chmod o-rwx` it if it is "
                "yours, or choose another place"
            )
        if found.st_uid not in (os.geteuid(), 0, os.stat(os.path.dirname(url.database) or ".").st_uid):
            raise LeagueError(
                "it is another user's, perhaps an instructor in it: `chown` it if it is yours, or choose another place"
            )


def _shown(url: str) -> str:
    """The address without its password."""
    try:
        return sql.make_url(url).render_as_string(hide_password=True)
    except sql.exc.ArgumentError:
        return url.partition(":")[0]


def _without(url: str, text: str) -> str:
    """A driver's error, one line, without the password."""
    try:
        password = str(sql.make_url(url).password or "")
    except sql.exc.ArgumentError:
        return "it is no URL of SQLAlchemy's"
    text = " ".join(text.split())
    return text.replace(password, "***") if password else text


def _sentence(context: Any) -> Unavailable | None:
    """What the driver says of a disk that is full, a lock that is held, or a server that is away, as an error of the
    league's; None for other errors, which stay what they are.
    """
    if not context.is_disconnect and not isinstance(context.sqlalchemy_exception, sql.exc.OperationalError):
        return None
    before = context.original_exception.__context__
    while before is not None:  # SQLite has given a full transaction up by itself, and knows its savepoint no more
        if isinstance(before, Unavailable):
            return before
        before = before.__context__
    url = "" if context.engine is None else context.engine.url.render_as_string(hide_password=False)
    said = _without(url, str(context.original_exception))[:300]
    return Unavailable(
        f"the league's database cannot be used now ({said}), and nothing was changed: make room on its disk, end what "
        "holds it or start its server, and try again"
    )


def _prepare_sqlite(connection: Any, record: Any) -> None:
    """SQLite settings: readers do not block the writer (WAL), writers wait for each other, SQLAlchemy begins
    transactions.
    """
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sql.Connection) -> None:
    """A transaction that will write takes its lock at once, so that two never wait for each other."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
