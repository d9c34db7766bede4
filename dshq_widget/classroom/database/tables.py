"""The tables of the league's database."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import Column, ForeignKey, UniqueConstraint

LONGEST_NAME, LONGEST_TITLE = 255, 80
SECRET_BYTES = 16

metadata = sql.MetaData()
"""The tables. Who changes one adds a migration (migrations.py), a database of the release before to the tests, and a
line to docs/reference/files.md.
"""
settings = sql.Table("settings", metadata, Column("key", sql.String(40), primary_key=True), Column("value", sql.Text))
accounts = sql.Table(
    "accounts",
    metadata,
    Column("id", sql.Integer, primary_key=True),
    Column("name", sql.String(LONGEST_NAME), nullable=False, unique=True),
    Column("instructor", sql.Boolean, nullable=False),
    Column("token_hash", sql.String(64), unique=True),
)
rounds = sql.Table(
    "rounds",
    metadata,
    Column("id", sql.Integer, primary_key=True),
    Column("title", sql.String(LONGEST_TITLE), nullable=False),
    Column("drill", sql.String(40), nullable=False),
    Column("rules_hash", sql.String(64), nullable=False),
    Column("anchors", sql.Text, nullable=False),  # JSON list of names
    Column("blocks", sql.Integer, nullable=False),  # per pair
    Column("publish", sql.Boolean, nullable=False),  # policies, too, once it is finished
    Column("state", sql.String(10), nullable=False),
    Column("secret", sql.String(2 * SECRET_BYTES), nullable=False),  # hex; all seeds come from it
    Column("opened", sql.String(20), nullable=False),
    Column("closed", sql.String(20)),
)
submissions = sql.Table(
    "submissions",
    metadata,
    Column("id", sql.Integer, primary_key=True),
    Column("round_id", ForeignKey("rounds.id"), nullable=False, index=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("received", sql.String(20), nullable=False),
    Column("version", sql.BigInteger, nullable=False),
    Column("step", sql.BigInteger, nullable=False),
    Column("digest", sql.String(64), nullable=False),
    Column("content", sql.LargeBinary, nullable=False),  # a `.dshq` file of the policy alone; none once replaced
)
entries = sql.Table(
    "entries",
    metadata,
    Column("id", sql.Integer, primary_key=True),
    Column("round_id", ForeignKey("rounds.id"), nullable=False),
    Column("place", sql.Integer, nullable=False),  # 0, 1, ...: anchors, then accounts by name
    Column("name", sql.String(LONGEST_NAME), nullable=False),
    Column("anchor", sql.Boolean, nullable=False),
    Column("submission_id", ForeignKey("submissions.id")),  # none: an anchor
    Column("instructor", sql.Boolean, nullable=False, server_default=sql.false()),  # when the round was closed
    Column("digest", sql.String(64), nullable=False),
    UniqueConstraint("round_id", "place"),
)
matches = sql.Table(
    "matches",
    metadata,
    Column("id", sql.Integer, primary_key=True),
    Column("round_id", ForeignKey("rounds.id"), nullable=False),
    Column("first_id", ForeignKey("entries.id"), nullable=False),
    Column("second_id", ForeignKey("entries.id"), nullable=False),
    Column("block", sql.Integer, nullable=False),
    Column("played", sql.Boolean, nullable=False, index=True),
    Column("wins", sql.Integer),  # of the first
    Column("draws", sql.Integer),
    Column("losses", sql.Integer),
    Column("replay", sql.LargeBinary),  # of one game: JSON as gzip
    UniqueConstraint("round_id", "first_id", "second_id", "block"),
    sqlite_autoincrement=True,  # a number is an address, and for one match alone, also after an entry was withdrawn
)
