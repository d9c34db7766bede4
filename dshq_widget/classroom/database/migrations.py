"""The league's database through the releases: one of an earlier release becomes this one's when it is opened.

`settings` says which schema a database has; release 0.1.0 did not say, and its is 0. `MIGRATIONS[n]` makes schema n + 1
of schema n. All that are needed run in one transaction together with the new number, so a database has one schema or
the other, also after a crash. They speak SQL of their own: the tables of tables.py are the newest ones only.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sql
from sqlalchemy import text

from dshq_widget.classroom.errors import LeagueError

KEY = "schema"
NO_LEAGUE = "no league is in it: check the address, or start a new league there with `dshq league serve --db`"


def _drop_replaced(db: sql.Connection) -> None:
    """0.1.0 kept every policy that a student ever sent; the bytes of those that play nowhere are dropped."""
    entered = "SELECT submission_id FROM entries WHERE submission_id IS NOT NULL"
    newest = "SELECT MAX(id) FROM submissions GROUP BY round_id, account_id"
    query = text(f"UPDATE submissions SET content = :none WHERE id NOT IN ({entered}) AND id NOT IN ({newest})")
    db.execute(query, {"none": b""})


def _mark_instructors(db: sql.Connection) -> None:
    """Entries say whose is an instructor's; those that there are go by what their accounts are now."""
    db.execute(text("ALTER TABLE entries ADD COLUMN instructor BOOLEAN DEFAULT FALSE NOT NULL"))
    theirs = "SELECT s.id FROM submissions s JOIN accounts a ON a.id = s.account_id WHERE a.instructor"
    db.execute(text(f"UPDATE entries SET instructor = TRUE WHERE submission_id IN ({theirs})"))


def _number_matches_once(db: sql.Connection) -> None:
    """SQLite gave the numbers of matches whose entry was withdrawn to later ones. Only a new table keeps them."""
    if db.dialect.name != "sqlite":
        return
    of = {"round_id": "rounds", "first_id": "entries", "second_id": "entries"}
    linked = ", ".join(f"{column} INTEGER NOT NULL REFERENCES {table} (id)" for column, table in of.items())
    counts = "block INTEGER NOT NULL, played BOOLEAN NOT NULL, wins INTEGER, draws INTEGER, losses INTEGER, replay BLOB"
    once = "UNIQUE (round_id, first_id, second_id, block)"
    for step in (
        f"CREATE TABLE renumbered (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, {linked}, {counts}, {once})",
        "INSERT INTO renumbered SELECT id, round_id, first_id, second_id, block, played, wins, draws, losses, replay "
        "FROM matches",
        "DROP TABLE matches",
        "ALTER TABLE renumbered RENAME TO matches",
        "CREATE INDEX ix_matches_played ON matches (played)",
    ):
        db.execute(text(step))


MIGRATIONS: tuple[Callable[[sql.Connection], None], ...] = (_drop_replaced, _mark_instructors, _number_matches_once)
SCHEMA = len(MIGRATIONS)
"""Of the tables in tables.py."""


def prepare(db: sql.Connection, tables: sql.MetaData, create: bool = True) -> None:
    """Make a database, new or of an earlier release, this release's. Raises LeagueError for one of a newer release, or
    a new one that is not to be created, and changes nothing.
    """
    if not sql.inspect(db).has_table("settings"):
        if not create:
            raise LeagueError(NO_LEAGUE)
        tables.create_all(db)
        db.execute(text("INSERT INTO settings (key, value) VALUES (:key, :value)"), {"key": KEY, "value": str(SCHEMA)})
        return
    found = db.scalar(text("SELECT value FROM settings WHERE key = :key"), {"key": KEY})
    given = found or "0"
    if not given.isascii() or not given.isdigit() or len(given) > 4 or int(given) > SCHEMA:
        raise LeagueError(
            f"wanted a league's database of schema {SCHEMA} at most, got one of {given[:20]}, which a newer release "
            "made; it was not changed: update dshq-widget, or serve it with that release"
        )
    for migration in MIGRATIONS[int(given) :]:
        migration(db)
    how = "UPDATE settings SET value = :value WHERE key = :key"
    if found is None:
        how = "INSERT INTO settings (key, value) VALUES (:key, :value)"
    db.execute(text(how), {"key": KEY, "value": str(SCHEMA)})
