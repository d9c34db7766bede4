"""How a widget's traits travel: one thread sends them (sender.py), and what the page sends is checked (inbox.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import anywidget
import traitlets

from dshq_widget.widget.inbox import Inbox, held
from dshq_widget.widget.looking import SPEAKER, spoken_by
from dshq_widget.widget.sender import Sender

PAGE_LETTERS = 64


class Synced(anywidget.AnyWidget):
    """A widget with these two; `seq` counts what was sent. The message handlers may be called on any thread."""

    comm_id = traitlets.Unicode("").tag(sync=True)
    seq = traitlets.Int(0).tag(sync=True)

    _sender: threading.Thread | None = None

    def __init__(self, outbox: Sender, inbox: Inbox, **traits: Any) -> None:
        self._outbox, self._inbox = outbox, inbox
        super().__init__(**traits)

    # ---- to the page

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send everything at once when the page asks for it; changed traits are left to the sender thread."""
        if key is None or self._sender is None:
            super().send_state(key)
            return
        self._outbox.changed({key} if isinstance(key, str) else key)

    def _send_traits(self, keys: set[str], seq: int) -> None:
        self.seq = seq
        self._outbox.known("seq")
        super().send_state(keys | {"seq"})

    def _weight(self, keys: Iterable[str]) -> int:
        return held([getattr(self, key) for key in keys])

    def _send(self, msg: dict[str, Any], buffers: list[Any] | None = None) -> None:
        super()._send(msg, buffers)
        self._let_the_page_choose_its_shell()

    def _let_the_page_choose_its_shell(self) -> None:
        """Keep the page's messages out of the queue behind a busy cell.

        JupyterLab addresses them to a subshell, but ipykernel 7.4 (`comm/comm.py`) sends them to the shell of whichever
        request was current when the comm last spoke. For this thread that is the running cell's, until it ends.
        """
        if self.comm is not None:
            self.comm.__dict__.pop("_reply_subshell_id", None)

    # ---- from the page

    def set_state(self, sync_data: Any) -> None:
        """The page changed traits; it may change only `show` and `snapshot`. Never raises."""
        self._inbox.put_state(sync_data, SPEAKER.get())

    def _handle_msg(self, msg: Mapping[str, Any]) -> None:
        """Handle a comm message if it is well-formed."""
        if not self._inbox.well_formed(msg):
            return
        with spoken_by(_page_of(msg)):
            super()._handle_msg(msg)

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        self._inbox.put_message(content, buffers, SPEAKER.get())
        super()._handle_custom_msg(content, buffers)


def _page_of(msg: Mapping[str, Any]) -> str:
    """Which page sent it: each has a session of its own."""
    header = msg.get("header")
    return str(header.get("session"))[:PAGE_LETTERS] if isinstance(header, dict) else ""
