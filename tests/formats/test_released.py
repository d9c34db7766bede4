"""Files of every released version open; files of a newer one say so, and stay as they are (docs/formats.md)."""

import gzip
import json
import shutil
import sqlite3
import struct
from pathlib import Path

import pytest

from dshq_widget.cli import main
from dshq_widget.contract import run_file
from dshq_widget.contract.protocol import REPLAY_FORMAT
from dshq_widget.contract.settings import ConfigError, TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())
released = pytest.mark.parametrize("release", RELEASES)
TOKENS = {
    "KSy4gDhBqkS1Y6uMR8ZGS6ytlCjrj0fD": ("prof", True),
    "fcOA3SP7FkboiKJvwQ8YNv5kH-7U_33V": ("ada", False),
    "QAJOscaPDVxiMqmk98NhDTm9NsKsLusE": ("ben", False),
}
"""Whose tokens are in the league's database."""


def newer(path: Path, folder: Path) -> Path:
    """A copy of a `.dshq` file whose header says the format's next version, with the hash that fits."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    metadata = header["__metadata__"]
    metadata["format_version"] = "2"
    metadata["sha256"] = checkpoint._digest(metadata, memoryview(content)[8 + length :])
    text = json.dumps(header).encode()
    target = folder / path.name
    target.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    return target


@released
def test_a_policy_with_its_learner(release: str):
    saved = checkpoint.load(HERE / release / "bot.dshq")
    assert saved.drill == "bandit" and saved.version == checkpoint.updates_of(saved) == 5
    assert {"adam_m", "adam_v", "adam_step"} <= set(saved.state)
    assert checkpoint.decode(checkpoint.encode(saved)).weights.tobytes() == saved.weights.tobytes()


@released
def test_a_runs_file(release: str):
    found = run_file.read(HERE / release / "bot.yaml")
    assert found.run["drill"] == "bandit" and found.run["updates"] == 5
    assert TrainConfig.from_values(found.core, {"opponents": "self=1"}).num_envs == 16


@released
def test_a_replay_and_a_match_of_the_league(release: str, capsys):
    drill = compile_drill(drills["ball"])
    for name in ("replay.json", "match.json"):
        recording = json.loads((HERE / release / name).read_text())
        if recording["rules_hash"] != drill.rules_hash:
            with pytest.raises(ValueError, match="was made with rules"):
                replay(drill, recording)
        else:
            assert state_hash(replay(drill, recording)) == recording["sha256"]
    if recording["rules_hash"] == drill.rules_hash:
        pytest.importorskip("sqlalchemy")
        assert main.main(["league", "verify", str(HERE / release / "match.json"), "random", "chaser"]) == 0


def database(release: str, path: Path) -> str:
    with sqlite3.connect(path) as db:
        db.executescript((HERE / release / "league.sql").read_text())
    db.close()
    return f"sqlite:///{path}"


@released
def test_a_leagues_database(release: str, tmp_path: Path):
    pytest.importorskip("sqlalchemy")
    from dshq_widget.classroom.store import FINISHED, OPEN, Anchor, Store

    url = database(release, tmp_path / "league.db")
    for _ in range(2):  # it is migrated once, and then it is this release's
        store = Store(url)
        assert {token: (found.name, found.instructor) for token in TOKENS if (found := store.whose(token))} == TOKENS
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


def test_what_a_newer_release_made_says_so_and_stays_as_it_is(tmp_path: Path):
    release = RELEASES[-1]
    policy = newer(HERE / release / "bot.dshq", tmp_path)
    for name in ("bot.yaml", "match.json"):
        shutil.copy(HERE / release / name, tmp_path / name)
    (tmp_path / "bot.yaml").write_text("format: 2\n" + (tmp_path / "bot.yaml").read_text())
    match = json.loads((tmp_path / "match.json").read_text()) | {"format": "2"}
    (tmp_path / "match.json").write_text(json.dumps(match))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="its format is version '2', this program reads 1: update dshq-widget"):
        checkpoint.load(policy)
    with pytest.raises(ConfigError, match="wanted a configuration of format 1 at most, got 2.*newer release"):
        run_file.read(tmp_path / "bot.yaml")
    with pytest.raises(ValueError, match="has the format '2' of a newer release, and this one reads 1"):
        replay(compile_drill(drills["ball"]), match)
    pytest.importorskip("sqlalchemy")
    from dshq_widget.classroom import verify_replay
    from dshq_widget.classroom.errors import LeagueError
    from dshq_widget.classroom.store import Store

    with pytest.raises(LeagueError, match="has the format '2' of a newer release, and this one reads 1"):
        verify_replay.read(tmp_path / "match.json")
    assert {path: path.read_bytes() for path in before} == before
    url = database(release, tmp_path / "league.db")
    with sqlite3.connect(tmp_path / "league.db") as db:
        db.execute("INSERT INTO settings VALUES ('schema', '99')")
        db.execute("DROP TABLE matches")  # whatever that release keeps instead
    db.close()
    content = (tmp_path / "league.db").read_bytes()
    with pytest.raises(LeagueError, match="schema 1 at most, got one of 99, which a newer release made"):
        Store(url)
    with sqlite3.connect(tmp_path / "league.db") as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'matches'").fetchone() == (0,)
        assert db.execute("SELECT value FROM settings WHERE key = 'schema'").fetchone() == ("99",)
    db.close()
    assert len(content) == (tmp_path / "league.db").stat().st_size


def test_what_is_written_says_its_format(tmp_path: Path):
    assert run_file.text(tmp_path / "a.yaml", {}, TrainConfig(), 2).splitlines()[1] == f"format: {run_file.FORMAT}"
    pytest.importorskip("sqlalchemy")
    from dshq_widget.classroom import rounds
    from dshq_widget.policy.evaluate import opponent

    drill = rounds.drill_of("ball")
    pair = [opponent(name, drill) for name in ("random", "chaser")]
    *_, content = rounds.played(drill, pair, 1, ("random", "chaser"))
    assert json.loads(gzip.decompress(content))["format"] == REPLAY_FORMAT
