"""Hands changed settings of an algorithm's own section to the parts of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract.setting import ConfigError
from dshq_widget.learning.run import Companion, Run


class OwnSettings(Companion):
    """`take(changes)` gets the changed settings of `section` by key. A ConfigError that it raises is a warning, and the
    settings stay as they were.
    """

    def __init__(self, section: str, take: Callable[[Mapping[str, Any]], None]) -> None:
        self.section, self.take = section, take

    def receive(self, run: Run, command: Mapping[str, Any]) -> None:
        if command["type"] != "SET_HYPER" or command["key"] != self.section:
            return
        try:
            self.take(command["value"])
        except ConfigError as error:
            run.warn(f"the settings of {self.section} stay as they were: {error}")
