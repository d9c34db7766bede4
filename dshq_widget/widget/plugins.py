"""What plugs into the widget from rooms above it, and from other packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

GROUP = "dshq_widget.plugins"
"""The entry points' group. Names: `lesson`, from a lesson's name to what has its `controls`; `submit`, from a policy, a
league's address and a token to the league's answer.
"""


def plugin(name: str) -> Callable[..., Any]:
    """What an installed package has registered under this name. Raises ImportError if none has."""
    for entry in metadata.entry_points(group=GROUP, name=name):
        return entry.load()
    raise ImportError(f"no installed package has the entry point {name!r} of {GROUP!r}: install dshq-widget again")
