"""Widgets whose page is a test."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from dshq_widget.widget import page_files
from dshq_widget.widget.drill_widget import DrillWidget
from tests.harness.processes.faults import PATIENCE, until

__all__ = ["PATIENCE", "RecordingComm", "bundle", "make", "until"]


class RecordingComm(BaseComm):
    """A comm whose other end is this test: `log` holds (seconds, type, data, buffers) of all that was sent."""

    log: list[tuple]

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        self.__dict__.setdefault("log", []).append((time.monotonic(), msg_type, data or {}, buffers or []))

    def say(self, content: Any, method: str = "custom") -> None:
        """The page sends something."""
        data = {"method": method, "content": content} if method == "custom" else {"method": method, **content}
        buffers = data.pop("buffers", [])
        self.handle_msg({"content": {"data": data}, "buffers": buffers})

    def updates(self) -> list[dict[str, Any]]:
        return [data["state"] for _, kind, data, _ in self.log if kind == "comm_msg" and data["method"] == "update"]

    def customs(self, kind: str) -> list[dict[str, Any]]:
        sent = [data["content"] for _, _, data, _ in self.log if data.get("method") == "custom"]
        return [content for content in sent if content["type"] == kind]


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A page's bundle, so that these tests need no Node."""
    (tmp_path / "widget.js").write_text("export default { render() {} };\n")
    (tmp_path / "widget.css").write_text(".dshq-widget {}\n")
    monkeypatch.setattr(page_files, "STATIC", tmp_path)


@pytest.fixture
def make(monkeypatch, bundle) -> Iterator[Callable[..., DrillWidget]]:
    """Widgets with recording comms, closed at the end."""
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    made: list[DrillWidget] = []

    def make_(*arguments: Any, **keywords: Any) -> DrillWidget:
        made.append(DrillWidget(*arguments, **keywords))
        return made[-1]

    yield make_
    for each in made:
        each.close()
