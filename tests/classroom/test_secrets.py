"""A league's secrets: its database, its tokens and the way they take, and what no student's image holds."""

import http.client
import http.server
import os
import stat
import threading
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom.block_player import BlockPlayer
from dshq_widget.classroom.database.tables import settings
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.service import pages
from dshq_widget.classroom.store import Store
from dshq_widget.cli import main
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.variables import without_secrets
from tests.harness.class_league import Service, policy
from tests.harness.processes.faults import until


def test_the_process_that_plays_gets_no_secrets(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of the service")
    monkeypatch.setenv("DSHQ_LEAGUE_DB", "postgresql+psycopg://ada:se-cret@far/league")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "se-cret")
    monkeypatch.setenv("PGPASS", "se-cret")
    assert {"PATH", "PYTHONPATH", "DSHQ_CACHE_DIR"} == set(
        without_secrets(dict.fromkeys(("PATH", "PYTHONPATH", "DSHQ_CACHE_DIR", "DSHQ_LEAGUE_DB", "SMTP_PW"), ""))
    )
    player = BlockPlayer(300)
    process = player._started()
    environment = Path(f"/proc/{process.pid}/environ")
    until(lambda: b"PATH=" in environment.read_bytes())  # it is empty until the new program is there
    found = environment.read_bytes()
    player.stop()
    assert b"PATH=" in found and b"of the service" not in found and b"se-cret" not in found


def test_the_database_is_its_owners_alone_and_has_a_schema(tmp_path):
    path = tmp_path / "private.db"
    old = os.umask(0o022)
    try:
        store = Store(f"sqlite:///{path}")
        store.cookie_secret()
    finally:
        os.umask(old)
    files = list(tmp_path.iterdir())
    assert path in files
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    with store.engine.begin() as db:
        db.execute(settings.update().where(settings.c.key == "schema").values(value="99"))
    store.close_connections()
    with pytest.raises(LeagueError, match="schema 3 at most, got one of 99, which a newer release made"):
        Store(f"sqlite:///{path}")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has other rights")
def test_a_database_that_everybody_may_write_is_not_served(tmp_path):
    """In a folder of several users a neighbour may have made it, with an instructor of theirs in it."""
    path = tmp_path / "league.db"
    Store(f"sqlite:///{path}").close_connections()
    path.chmod(0o666)
    with pytest.raises(LeagueError, match="every user of this machine may write into it"):
        Store(f"sqlite:///{path}")
    path.chmod(0o660)
    Store(f"sqlite:///{path}").close_connections()


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can give a file to somebody else")
def test_nor_is_one_of_somebody_else(tmp_path):
    """Who shares a group, and a folder, with whoever serves the league may have laid it there."""
    path = tmp_path / "league.db"
    Store(f"sqlite:///{path}").close_connections()
    path.chmod(0o660)
    os.chown(path, 12_345, -1)
    with pytest.raises(LeagueError, match="it is another user's"):
        Store(f"sqlite:///{path}")
    os.chown(tmp_path, 12_345, -1)
    Store(f"sqlite:///{path}").close_connections()


def test_a_database_is_named_by_its_path(tmp_path, monkeypatch):
    """SQLite takes addresses, too, and would have made a file that everybody can read."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LeagueError, match="write the path of its file"):
        Store("sqlite:///file:own.db?uri=true")
    assert list(tmp_path.iterdir()) == []


def test_no_error_shows_the_databases_password():
    with pytest.raises(LeagueError) as caught:
        Store("postgresql+nothing://ada:se-cret@far/league")
    assert "se-cret" not in str(caught.value) and "ada" in str(caught.value)


def test_a_token_is_made_anew_on_the_command_line(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/league.db"
    Store(url).close_connections()
    assert main.main(["league", "token", "prof", "--db", url]) == 0
    token = capsys.readouterr().out.strip()
    store = Store(url)
    assert store.whose(token).instructor
    store.close_connections()
    assert main.main(["league", "token", "--db", url]) == 2


def test_a_token_makes_no_new_database(tmp_path, capsys):
    """A mistyped address would get a league of its own, and the token would open nothing."""
    (tmp_path / "empty.db").touch()
    for name in ("typo.db", "empty.db"):
        assert main.main(["league", "token", "prof", "--db", f"sqlite:///{tmp_path}/{name}"]) == 2
        said = capsys.readouterr().err
        assert f"{name}': no league is in it: check the address, or start a new league there" in said
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"], "no file, and no log beside it"


def test_the_database_comes_from_the_environment(tmp_path, capsys, monkeypatch):
    """Where other users of the machine do not see its password."""
    monkeypatch.setenv("DSHQ_LEAGUE_DB", f"sqlite:///{tmp_path}/own.db")
    Store(f"sqlite:///{tmp_path}/own.db").close_connections()
    assert main.main(["league", "token", "prof"]) == 0
    store = Store(f"sqlite:///{tmp_path}/own.db")
    assert store.whose(capsys.readouterr().out.strip()).instructor
    store.close_connections()


def test_a_port_that_is_taken_costs_no_token(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/league.db"
    store = Store(url)
    with Service(store) as service:
        assert main.main(["league", "serve", "--db", url, "--port", str(service.port)]) == 2
    assert "cannot listen" in capsys.readouterr().err and not store.has_instructor()
    store.close_connections()


def test_the_token_comes_from_the_environment_and_goes_nowhere_else(tmp_path, monkeypatch, capsys, store):
    path = str(checkpoint.save(tmp_path / "bot.dshq", policy(0)))
    monkeypatch.delenv("DSHQ_LEAGUE_TOKEN", raising=False)
    assert main.main(["submit", path, "--to", "http://127.0.0.1:9"]) == 2
    assert "DSHQ_LEAGUE_TOKEN" in capsys.readouterr().err
    asked: list[tuple[str, str]] = []

    class Away(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.path, self.headers["Authorization"]))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
            self.end_headers()

        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))

        def log_message(self, *_):
            pass

    monkeypatch.setenv("DSHQ_LEAGUE_TOKEN", "mine alone")
    with http.server.HTTPServer(("127.0.0.1", 0), Away) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert main.main(["submit", path, "--to", f"http://127.0.0.1:{server.server_port}"]) == 2
        server.shutdown()
    assert asked == [("/submit", "token mine alone")] and "302" in capsys.readouterr().err


def test_a_token_that_others_can_read_on_its_way_is_told(tmp_path, capsys):
    path = str(checkpoint.save(tmp_path / "bot.dshq", policy(0)))
    for to, told in (
        ("http://league.invalid:1", True),
        ("https://league.invalid:1", False),
        ("http://127.0.0.1:1", False),
    ):
        assert main.main(["submit", path, "--to", to, "--token", "t"]) == 2
        assert ("can read your token: use https" in capsys.readouterr().err) is told


def test_no_answers_and_no_secrets_are_in_the_students_image():
    """A list of what is allowed: what is not in it stays out."""
    lines = (pages.HERE.parents[2] / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    allowed = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert not allowed & {".git", "tests", "instructor", "docs", "benchmarks", "site", ".env", "league.db"}
    assert {"dshq_widget", "kernels", "js", "notebooks", "pyproject.toml", "hatch_build.py"} <= allowed
    assert {"**/*.db*", "**/*.sqlite*", "**/*secret*", "**/.*"} <= set(rules)
