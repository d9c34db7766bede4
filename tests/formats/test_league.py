"""What the class league of a released version wrote opens; what a newer one wrote says so, and stays as it is."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

import sqlalchemy as sql

from dshq_widget.classroom import rounds, verify_replay
from dshq_widget.classroom.database.tables import metadata
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.store import FINISHED, OPEN, Anchor, Store
from dshq_widget.cli import main
from dshq_widget.contract.protocol import REPLAY_FORMAT
from dshq_widget.policy.evaluate import opponent
from tests.formats.released_rules import released_ball

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())
released = pytest.mark.parametrize("release", RELEASES)


@released
def test_a_match(release: str, monkeypatch, reference_rules, tmp_path: Path, capsys):
    """It is verified in the rules of its release; those of today, if they differ, say whose it is."""
    path, theirs = HERE / release / "match.json", released_ball(HERE / release)
    if theirs.rules_hash != rounds.drill_of("ball").rules_hash:
        assert main.main(["league", "verify", str(path)]) == 2
        assert f"was made with rules {theirs.rules_hash}" in capsys.readouterr().err
    monkeypatch.setattr(verify_replay, "drill_of", lambda name: theirs)
    assert main.main(["league", "verify", str(path)]) == 0
    assert json.loads(path.read_text())["sha256"] in capsys.readouterr().out
    match = json.loads(path.read_text())
    match["actions"][0] = (match["actions"][0] + 1) % theirs.spec.n_actions
    (tmp_path / "other.json").write_text(json.dumps(match))
    assert main.main(["league", "verify", str(tmp_path / "other.json")]) == 2
    assert "but the published hash is" in capsys.readouterr().err


def database(release: str, path: Path) -> str:
    with sqlite3.connect(path) as db:
        db.executescript((HERE / release / "league.sql").read_text())
    db.close()
    return f"sqlite:///{path}"


@released
def test_a_leagues_database(release: str, tmp_path: Path):
    tokens = {token: tuple(of) for token, of in json.loads((HERE / release / "tokens.json").read_text()).items()}
    url = database(release, tmp_path / "league.db")
    for _ in range(2):  # it is migrated once, and then it is this release's
        store = Store(url)
        assert {token: (found.name, found.instructor) for token in tokens if (found := store.whose(token))} == tokens
        assert [(row.title, row.state) for row in store.rounds()] == [("Week 2", OPEN), ("Week 1", FINISHED)]
        assert [(row.wins, row.draws, row.losses) for row in store.results(1)] == [(16, 8, 8)] * 3
        kept = {row.digest: store.content(row.id) for name in ("ada", "ben") for row in store.history(name)}
        played = {digest: content for digest, content in kept.items() if content}
        assert played == {digest: f"content {digest}".encode() for digest in ("a2", "b1", "a4", "b2")}
        assert store.published(1, "a2") == b"content a2"
        store.close_connections()
    store = Store(url)
    store.submit(2, "cleo", 1, 1, "c1", b"content c1")
    assert store.close_round(2, [Anchor("random", "random")]) == 6
    store.close_connections()


@released
def test_a_database_of_a_release_has_the_tables_of_a_new_one(release: str, tmp_path: Path):
    """Also the numbers: one of a match that is gone is given to no other."""
    found = []
    for url in (database(release, tmp_path / "league.db"), f"sqlite:///{tmp_path}/new.db"):
        store = Store(url)
        with store.engine.connect() as db:
            look, tables = sql.inspect(db), sorted(metadata.tables)
            shapes = {
                name: [
                    sorted((one["name"], str(one["type"]), one["nullable"]) for one in look.get_columns(name)),
                    *(sorted(map(str, one)) for one in (look.get_foreign_keys(name), look.get_indexes(name))),
                    sorted(str(one["column_names"]) for one in look.get_unique_constraints(name)),
                ]
                for name in tables
            }
            numbered = db.exec_driver_sql("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'").all()
        found.append((shapes, numbered))
        store.close_connections()
    assert found[0] == found[1] and found[0][1] == [("matches",)]


def test_a_match_of_a_newer_release(tmp_path: Path):
    match = json.loads((HERE / RELEASES[-1] / "match.json").read_text()) | {"format": "2"}
    (tmp_path / "match.json").write_text(json.dumps(match))
    with pytest.raises(LeagueError, match="has the format '2' of a newer release, and this one reads 1"):
        verify_replay.read(tmp_path / "match.json")


def test_a_database_of_a_newer_release(tmp_path: Path):
    url = database(RELEASES[-1], tmp_path / "league.db")
    with sqlite3.connect(tmp_path / "league.db") as db:
        db.execute("INSERT OR REPLACE INTO settings VALUES ('schema', '99')")
        db.execute("DROP TABLE matches")  # whatever that release keeps instead
    db.close()
    content = (tmp_path / "league.db").read_bytes()
    with pytest.raises(LeagueError, match="schema 3 at most, got one of 99, which a newer release made"):
        Store(url)
    with sqlite3.connect(tmp_path / "league.db") as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'matches'").fetchone() == (0,)
        assert db.execute("SELECT value FROM settings WHERE key = 'schema'").fetchone() == ("99",)
    db.close()
    assert len(content) == (tmp_path / "league.db").stat().st_size


def test_a_match_says_its_format():
    drill = rounds.drill_of("ball")
    pair = [opponent(name, drill) for name in ("random", "chaser")]
    *_, content = rounds.played(drill, pair, 1, ("random", "chaser"))
    assert json.loads(gzip.decompress(content))["format"] == REPLAY_FORMAT
