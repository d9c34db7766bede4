"""Servers of notebooks and apps other than JupyterLab, each with a configuration of its own."""

import importlib.util
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.ports import free_port
from tests.harness.process_tree import end_tree

AS_ROOT = ["--allow-root"] if os.geteuid() == 0 else []


@contextmanager
def served(command: list[str], home: Path, path: str) -> Iterator[str]:
    """A server's address once it answers; its configuration is all below `home`."""
    port = free_port()
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "XDG_CONFIG_HOME")
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, f"--port={port}"],
            cwd=home,
            env={**os.environ, **{name: str(home / name.lower()) for name in folders}},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 120
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/nothing", timeout=10)
                except urllib.error.HTTPError:
                    break
                except OSError:
                    if time.monotonic() > deadline or process.poll() is not None:
                        raise RuntimeError((home / "server.log").read_text()[-2000:]) from None
                    time.sleep(0.2)
                else:
                    break
            yield f"http://127.0.0.1:{port}{path}"
        finally:
            end_tree(process.pid)
            process.wait()


def needs(package: str) -> None:
    """Skip, by name, where a front end is not installed."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: `make test-fronts` installs it")
