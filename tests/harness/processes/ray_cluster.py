"""A real Ray cluster of several nodes in a process of its own, which answers JSON lines by JSON lines."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from typing import Any

import psutil

from tests.harness.processes.faults import MARK, Family

END_SECONDS = 60.0


class RayCluster:
    """A head without processors and `nodes` nodes with one each; `environment` is for what works with it."""

    def __init__(self, nodes: int = 1, token: bool = True) -> None:
        self.family, self._seen = Family(), set[psutil.Process]()
        self._folder = tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True)
        self.environment = {
            MARK: self.family.mark,
            "RAY_AUTH_MODE": "token" if token else "disabled",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_TMPDIR": self._folder.name,  # short, because sockets lie there
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        command = [sys.executable, "-m", "tests.harness.processes.ray_cluster"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, env={**os.environ, **self.environment}, **pipes)
        self.address: str = self._answer()["address"]
        self.nodes = [self.add() for _ in range(nodes)]

    def add(self) -> str:
        """Start a node; returns its id."""
        return self._ask({"do": "add"})["node"]

    def kill(self, node: str) -> None:
        """End all processes of a node at once."""
        self._ask({"do": "kill", "node": node})

    def players(self) -> list[psutil.Process]:
        """The processes that play games; Ray names them after their class."""
        return [process for process in self.processes() if "NodePlayer" in _name(process)]

    def processes(self) -> list[psutil.Process]:
        """The processes of the cluster. What Ray names loses its environment, and so is looked for among children."""
        found = psutil.Process(self._process.pid).children(recursive=True)
        self._seen.update(found)
        return found

    def left(self) -> list[psutil.Process]:
        """Those that still live of all that were there, and of those that worked with them."""
        living = [process for process in self._seen if process.is_running()]
        return [*living, *map(psutil.Process, self.family.members())]

    def close(self) -> None:
        """End the cluster; its files go with it."""
        assert self._process.stdin and self._process.stdout
        self.processes()
        self._process.stdin.close()
        self._process.wait(END_SECONDS)
        self._process.stdout.close()
        self._folder.cleanup()

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"the Ray cluster's process ended with status {self._process.wait()}")


def _name(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return ""


def main() -> None:
    """The cluster's own process."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    print(json.dumps({"address": cluster.address}), flush=True)
    nodes = {}
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "add":
            node = cluster.add_node(num_cpus=1)
            nodes[node.node_id] = node
            print(json.dumps({"node": node.node_id}), flush=True)
        else:
            cluster.remove_node(nodes.pop(command["node"]), allow_graceful=False)
            print("{}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
