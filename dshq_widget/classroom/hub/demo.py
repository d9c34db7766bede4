"""A class on this machine: a real JupyterHub on the loopback address, with students, an instructor, the class league
and a culler. `make hub` starts it, and so do the tests. Not for use on a network.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from dshq_kernels.backends.own_python import own_python
from dshq_kernels.simd.folders import cache_dir
from dshq_widget.classroom.hub import demo_course
from dshq_widget.notebook.lab import SOURCES

STUDENTS, INSTRUCTOR = ("ada", "ben", "cleo"), "prof"
FIRST = "lessons/01_watch_it_learn.ipynb"
DSHQ = own_python("-m", "dshq_widget.cli")
HERE = Path(__file__).parent
PROXY = "configurable-http-proxy"
START_SECONDS, STOP_SECONDS = 120.0, 30.0


class HubError(RuntimeError):
    """The hub cannot start. The message is one sentence."""


class Hub:
    """`with Hub(folder) as hub:` runs one whose files all lie in `folder`; `hub.url` is where, and `hub.passwords` are
    people's, by name. `cpu` is what each server gets, `arguments` are the servers', `idle_seconds` is how long the
    culler waits; `settings` is a configuration file of JupyterHub that is read last. With a `subdomain_host` such as
    http://hub.localhost:8000 people find the hub there, and each server and the league at a host below it: browsers
    know names below localhost, not every system does. Raises HubError.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        cpu: float = 0.5,
        idle_seconds: int = 3600,
        arguments: Sequence[str] = (),
        settings: Path | None = None,
        subdomain_host: str = "",
    ) -> None:
        if subdomain_host and not re.fullmatch(r"https?://[^/]+", subdomain_host):
            raise HubError(
                f"subdomain_host must be an address such as http://hub.localhost:8000, got {subdomain_host!r}"
            )
        self.folder = folder.resolve()
        self.passwords = {name: secrets.token_urlsafe(9) for name in (*STUDENTS, INSTRUCTOR)}
        self._token = secrets.token_hex(16)
        ports = _free_ports(4)
        self.port = port or ports[0]
        self.url = subdomain_host or f"http://127.0.0.1:{self.port}"
        self._chosen = {
            "folder": str(self.folder),
            "port": self.port,
            "hub_port": ports[1],
            "proxy_port": ports[2],
            "league_port": ports[3],
            "proxy": proxy_command(),
            "passwords": self.passwords,
            "token": self._token,
            "cpu": cpu,
            "cache": str(cache_dir()),
            "idle_seconds": idle_seconds,
            "arguments": list(arguments),
            "settings": None if settings is None else str(settings.resolve()),
            "subdomain_host": subdomain_host,
        }

    def __enter__(self) -> Hub:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        demo_course.furnish(self.folder)
        self.log = self.folder / "hub.log"
        with open(self.log, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
            self._process = subprocess.Popen(
                own_python("-m", "dshq_widget.classroom.hub.parent_watch", "-f", str(HERE / "demo_config.py")),
                cwd=self.folder,
                env={**os.environ, "DSHQ_HUB_DEMO": json.dumps(self._chosen)},
                stdin=subprocess.PIPE,  # when it closes, the hub ends, however this process ends: parent_watch.py
                stdout=log,
                stderr=subprocess.STDOUT,
                umask=0o077,  # its files and the students' are for this user, whoever else is on the machine
                start_new_session=True,  # Ctrl-C is for this process, which then ends the hub in order
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            started = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:  # it ended by itself
            started = []
        self._process.send_signal(signal.SIGTERM)  # it ends the servers, the services and the proxy before itself
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.communicate()
        for process in started:
            if process.is_running():  # each is in a session of its own, and would outlive a hub that hangs
                process.kill()

    def home_of(self, name: str) -> str:
        """Address of somebody's server, without a slash at its end."""
        return f"{self._host(name)}/user/{name}"

    @property
    def league(self) -> str:
        """Address of the league, without a slash at its end."""
        return f"{self._host('league--service')}/services/league"

    def _host(self, label: str) -> str:
        return self.url.replace("://", f"://{label}.") if self._chosen["subdomain_host"] else self.url

    def wait(self) -> None:
        """Wait until the hub ends or Ctrl-C is pressed."""
        self._process.wait()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One call of the hub's REST interface, below /hub/api, as its administrator; raises urllib's errors."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/hub/api{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"token {self._token}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=STOP_SECONDS) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self.ask("GET", "/users")
                if self._league_answers():
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass  # not yet
            time.sleep(0.2)
        tail = self.log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise HubError(f"the hub did not answer within {START_SECONDS:g} s; its log {self.log} ends:\n{tail}")

    def _league_answers(self) -> bool:
        """Whether the league redirects to the hub's login. It is not followed: a login by LTI answers only forms."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STOP_SECONDS)
        try:
            connection.request("GET", "/services/league/", headers={"Host": urlsplit(self.league).netloc})
            return "/oauth2/authorize" in connection.getresponse().headers.get("Location", "")
        finally:
            connection.close()


def furnish(home: str) -> None:
    """Create a student's home: the lessons, read-only, and a folder for their own work."""
    lessons = Path(home, "lessons")
    for folder in (lessons, Path(home, "work")):
        folder.mkdir(parents=True, exist_ok=True)
    notebooks = next(path for path in SOURCES if path.is_dir())
    for source in sorted(notebooks.glob("*.ipynb")):
        target = lessons / source.name
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o444)


def proxy_command() -> list[str]:
    """How JupyterHub's proxy is started: the checkout's own, else one that is installed. Raises HubError."""
    local = HERE.parents[2] / "node_modules" / ".bin" / PROXY
    found = str(local) if local.exists() else shutil.which(PROXY)
    if found is None:
        raise HubError(f"{PROXY} is not installed: run `npm ci` in the checkout, or `npm install -g {PROXY}`")
    return [found]


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def main() -> int:
    """Start the hub, print the accounts, and stop it on Ctrl-C."""
    parser = argparse.ArgumentParser(prog="make hub", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port of the hub (default 8000)")
    parser.add_argument("--cpu", type=float, default=0.5, help="processors per server (default 0.5)")
    host = "give each server a host of its own below this address, such as http://hub.localhost:8000"
    parser.add_argument("--subdomain-host", default="", help=host)
    parser.add_argument("--folder", type=Path, help="folder for all files (default: a temporary folder)")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a background job ignores the first one
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="dshq-hub-") as temporary:
        try:
            folder, port = options.folder or Path(temporary), options.port
            with Hub(folder, port=port, cpu=options.cpu, subdomain_host=options.subdomain_host) as hub:
                print(f"JupyterHub with the class league: {hub.url}", flush=True)
                for name, password in hub.passwords.items():
                    print(f"  {name:6} {password}{'  (the instructor)' if name == INSTRUCTOR else ''}")
                print(f"League: {hub.league}/   Press Ctrl-C to stop.", flush=True)
                hub.wait()
        except KeyboardInterrupt:
            return 0
        except HubError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
