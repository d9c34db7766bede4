"""A real JupyterLab server in a folder of its own, and a line into the kernels it runs."""

import copy
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.blocking.client import BlockingKernelClient

from tests.harness.ports import free_port
from tests.harness.process_tree import end_tree

START_SECONDS = 120
TRIES = 5  # of ports, each free when it was looked for
TAKEN = "is already in use"  # in the log of a server whose port is another's by then
ANSWER_SECONDS = 30
PATIENCE = 600  # seconds for a piece of code in a kernel, which may wait for something to be learned

LAB_KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
"""The kernel of the notebook in front, as JupyterLab's own JavaScript has it."""


def write_notebook(file: Path, *cells: str) -> Path:
    """Write a notebook of code cells. It names its kernel, or a front end would ask for one."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel}), file)
    return file


class PortTakenError(RuntimeError):
    """Somebody else listens at the port that was free a moment ago."""


class LabServer:
    """`with LabServer(folder) as lab:` serves `folder/work`; `lab.url` and `lab.token` are how to reach it."""

    def __init__(self, home: Path, environment: dict[str, str] | None = None, arguments: Sequence[str] = ()):
        """`environment` is added to the server's, and so to its kernels'; `arguments` to its command line."""
        self.home = home
        self.work = home / "work"
        self.runtime = home / "runtime"
        self.token = secrets.token_hex(16)
        self.environment = environment or {}
        self.arguments = arguments
        self._below = ""  # the way from the server's folder to `work`

    def __enter__(self) -> "LabServer":
        for folder in (self.work, self.runtime, self.home / "config" / "labconfig", self.home / "data"):
            folder.mkdir(parents=True, exist_ok=True)
        quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (self.home / "config" / "labconfig" / "page_config.json").write_text(json.dumps(quiet))
        for again in range(TRIES):
            try:
                self._start()
                break
            except PortTakenError:
                if again == TRIES - 1:
                    raise
        return self

    def _start(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = (self.home / "server.log").open("wb")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={self.port}"),
                *("--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={self.work}"),
                f"--IdentityProvider.token={self.token}",
                "--ServerApp.allow_remote_access=True",  # answers under other names than localhost, too
                "--LabApp.expose_app_in_browser=True",  # the page's own commands, as JupyterLab's tests use them
                *(["--allow-root"] if os.geteuid() == 0 else []),
                *self.arguments,
            ],
            cwd=self.work,
            env={**os.environ, **self._folders(), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        try:
            self._wait_until_up()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        """End the server and all that it began. Asked politely it would wait for each of its kernels."""
        end_tree(self.process.pid)
        self.process.wait()
        self.log.close()

    def _folders(self) -> dict[str, str]:
        return {
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "IPYTHONDIR": str(self.home / "ipython"),
        }

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.request("/api/status")
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
            else:
                return
        problem = PortTakenError if TAKEN in self.log_tail() else RuntimeError
        raise problem(f"JupyterLab did not answer within {START_SECONDS} s; its log ends:\n{self.log_tail()}")

    def log_tail(self, characters: int = 3000) -> str:
        """The end of what the server printed."""
        return (self.home / "server.log").read_text(errors="replace")[-characters:]

    def request(self, path: str, method: str = "GET") -> Any:
        """One call of the server's REST interface; returns the decoded JSON, None for an empty answer."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def write_notebook(self, name: str, cells: list[str]) -> Path:
        """Write `work/name` from code cells."""
        return write_notebook(self.work / name, *cells)

    def folder(self, name: str) -> "LabServer":
        """The same server, seen from the folder `work/name`."""
        seen = copy.copy(self)
        seen.work = self.work / name
        seen.work.mkdir(exist_ok=True)
        seen._below = f"{self._below}{name}/"
        return seen

    def path_of(self, notebook: str) -> str:
        """What the server calls the notebook `work/notebook`."""
        return self._below + notebook

    def forget_settings(self) -> None:
        """Every setting is JupyterLab's own again, for pages that open from now on."""
        shutil.rmtree(self.home / "config" / "lab" / "user-settings", ignore_errors=True)

    def _sessions(self, notebook: str) -> list[dict[str, Any]]:
        return [session for session in self.request("/api/sessions") if session["path"] == self.path_of(notebook)]

    def kernel_of(self, notebook: str) -> "Kernel":
        """A line into the kernel that runs `notebook` (a name below `work`)."""
        sessions = self._sessions(notebook)
        if not sessions:
            raise LookupError(f"no kernel runs {notebook}: open it in a page first")
        return Kernel.running(self.runtime / f"kernel-{sessions[0]['kernel']['id']}.json")

    def shut_down(self, notebook: str) -> None:
        """End the kernel of `notebook`, if it has one."""
        for session in self._sessions(notebook):
            self.request(f"/api/sessions/{session['id']}", method="DELETE")


class Kernel:
    """Runs code in a kernel beside the page, on a thread of its own, for jupyter_client starts an event loop."""

    def __init__(self, connect: Callable[[], BlockingKernelClient]):
        """`connect` makes the client, on that thread."""
        self._thread = ThreadPoolExecutor(1)
        self._client: BlockingKernelClient = self._thread.submit(self._ready, connect).result()

    @staticmethod
    def _ready(connect: Callable[[], BlockingKernelClient]) -> BlockingKernelClient:
        client = connect()
        client.start_channels()
        client.wait_for_ready(timeout=START_SECONDS)
        return client

    @staticmethod
    def running(connection_file: Path) -> "Kernel":
        """One that somebody else has started."""

        def connect() -> BlockingKernelClient:
            client = BlockingKernelClient(connection_file=str(connection_file))
            client.load_connection_file()
            return client

        return Kernel(connect)

    def run(self, code: str, timeout: float = PATIENCE) -> str:
        """Run `code`, return what it printed. Raises RuntimeError with the kernel's traceback if it failed."""
        return self._thread.submit(self._run, code, timeout).result()

    def shown_by(self, cell: str, timeout: float = PATIENCE) -> list[dict[str, Any]]:
        """Run `cell` as a notebook does; returns what it displays, by MIME type. Raises RuntimeError if it fails."""
        shown: list[dict[str, Any]] = []

        def collect(message: dict) -> None:
            if message["msg_type"] in ("display_data", "execute_result"):
                shown.append(message["content"]["data"])

        self._thread.submit(self._execute, cell, timeout, collect, True).result()
        return shown

    def _run(self, code: str, timeout: float) -> str:
        printed: list[str] = []

        def collect(message: dict) -> None:
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                printed.append(message["content"]["text"])

        self._execute(code, timeout, collect, False)
        return "".join(printed)

    def _execute(self, code: str, timeout: float, collect: Callable[[dict], None], kept: bool) -> None:
        reply = self._client.execute_interactive(code, timeout=timeout, output_hook=collect, store_history=kept)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"].get("traceback", [str(reply["content"])])))

    def close(self) -> None:
        """Let go of the kernel, which keeps running."""
        self._thread.submit(self._client.stop_channels).result()
        self._thread.shutdown()
