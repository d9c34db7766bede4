"""The hub of `make hub` without a browser: a server with its share, the league behind its login, and nothing left."""

import asyncio
import shutil
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")

from dshq_widget.classroom.hub import demo
from dshq_widget.classroom.hub.demo import Hub, HubError
from dshq_widget.classroom.hub.share import Share
from dshq_widget.classroom.rounds import drill_of
from dshq_widget.classroom.store import Store
from dshq_widget.classroom.submit import submit
from tests.harness.hub import SECONDS, ask, proxy_or_skip, start, until
from tests.harness.process_tree import groups_of, processes_of


@pytest.fixture(scope="module")
def proxy() -> None:
    proxy_or_skip()


@pytest.fixture(scope="module")
def hub(proxy: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """Started as a shell starts a background job: with SIGINT ignored. It ends in order all the same."""
    running = Hub(tmp_path_factory.mktemp("hub"), cpu=0.5)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        running.__enter__()
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield running
    finally:
        running.__exit__()
    assert "...done" in running.log.read_text(), "it did not have to be killed"


def nothing_left(name: str) -> bool:
    """Neither a process of somebody's nor a control group, of either version."""
    return not processes_of(name) and not groups_of(name)


@pytest.mark.slow
def test_a_server_of_ones_own_with_its_share_and_its_league(hub: Hub):
    token = hub.ask("POST", "/users/ada/tokens", {"note": "test"})["token"]
    start(hub, "ada")
    base = f"{hub.url}/user/ada/api"
    home = {entry["name"] for entry in ask(f"{base}/contents", token)["content"]}
    assert {"lessons", "work"} <= home
    lesson = hub.folder / "home" / "ada" / demo.FIRST
    assert lesson.stat().st_mode & 0o222 == 0

    (server,) = (process for process in processes_of("ada") if "jupyterhub.singleuser" in process.cmdline())
    environment = server.environ()
    assert environment["CPU_LIMIT"] == "0.5" and environment["DSHQ_LEAGUE_URL"].endswith("/services/league")
    probe = Share("probe", 0.5)
    assert (probe.kind == "quota") == ("dshq-ada" in Path(f"/proc/{server.pid}/cgroup").read_text())
    assert (probe.kind == "quota") == bool(groups_of("ada"))
    probe.close()

    store = Store(f"sqlite:///{hub.folder}/league.db")
    number = store.open_round("Friday", "ball", drill_of("ball").rules_hash, ["random"], 1, True)
    own = environment["DSHQ_LEAGUE_TOKEN"]
    for address in (environment["DSHQ_LEAGUE_URL"], hub.league):  # from the server itself, and as anybody else
        assert submit("ball:bronze", address, own)["round"] == number
    assert store.received(number) == {"ada": 2}
    for other in (f"{hub.url}/hub/api/users", f"{base}/contents"):  # it opens no server, not even its owner's
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(other, own)
        assert refused.value.code == 403
    store.close_connections()

    hub.ask("DELETE", "/users/ada/server")
    until(lambda: nothing_left("ada"), hub)


@pytest.mark.slow
def test_the_culler_ends_a_server_that_nobody_uses(proxy: None, tmp_path: Path):
    with Hub(tmp_path, idle_seconds=10) as hub:
        start(hub, "ben")
        assert processes_of("ben")
        until(lambda: nothing_left("ben"), hub)


def test_everybody_has_a_password_of_their_own(hub: Hub):
    from dshq_widget.classroom.hub.accounts import Accounts

    accounts = Accounts(passwords=hub.passwords)

    def logged_in(name: str, password: str) -> str | None:
        return asyncio.run(accounts.authenticate(None, {"username": name, "password": password}))

    assert len(set(hub.passwords.values())) == len(demo.STUDENTS) + 1
    assert all(logged_in(name, password) == name for name, password in hub.passwords.items())
    for name, password in ((demo.INSTRUCTOR, hub.passwords["ada"]), ("ada", ""), ("mallory", hub.passwords["ada"])):
        assert logged_in(name, password) is None


def test_no_other_user_of_the_machine_reads_its_files(hub: Hub):
    found = [hub.folder / name for name in ("hub.sqlite", "league.db", "cookie_secret")]
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in found), found


def test_only_the_instructor_teaches(hub: Hub):
    for name, code in ((demo.STUDENTS[1], 403), (demo.INSTRUCTOR, 200)):
        token = hub.ask("POST", f"/users/{name}/tokens", {"note": "test"})["token"]
        request = urllib.request.Request(
            f"{hub.url}/services/league/teach", headers={"Authorization": f"token {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                found = answer.status
        except urllib.error.HTTPError as error:
            found = error.code
        assert found == code


@pytest.mark.slow
def test_a_killed_demonstration_takes_its_hub_along(proxy: None, tmp_path: Path):
    command = [sys.executable, "-m", "dshq_widget.classroom.hub.demo", "--port", "0", "--folder", str(tmp_path)]
    demonstration = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert demonstration.stdout is not None and "JupyterHub with" in demonstration.stdout.readline()
    started = psutil.Process(demonstration.pid).children(recursive=True)
    lines = [" ".join(process.cmdline()) for process in started]
    for part in ("hub.parent_watch -f", "league serve", "jupyterhub_idle_culler", demo.PROXY):
        assert any(part in line for line in lines), lines
    demonstration.kill()
    demonstration.communicate()
    _, alive = psutil.wait_procs(started, SECONDS)
    assert not alive


@pytest.mark.slow
def test_a_hub_that_hangs_leaves_nothing(proxy: None, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(demo, "STOP_SECONDS", 1.0)
    with Hub(tmp_path) as hub:
        (running,) = (child for child in psutil.Process().children() if child.cwd() == str(hub.folder))
        started = [running, *running.children(recursive=True)]
        assert len(started) >= 4 and hub.ask("GET", "/users") is not None
        running.suspend()
    _, alive = psutil.wait_procs(started, SECONDS)
    assert not alive


@pytest.mark.parametrize("host", ["hub.localhost", "http://hub.localhost:8000/"])
def test_a_host_that_is_no_address_is_refused(tmp_path: Path, host: str):
    with pytest.raises(HubError, match="such as http://hub.localhost:8000, got 'h"):
        Hub(tmp_path, subdomain_host=host)


def test_without_the_proxy_it_says_what_to_do(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(demo, "HERE", tmp_path / "a" / "b" / "c")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(HubError, match="npm"):
        Hub(tmp_path)
