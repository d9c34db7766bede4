"""What a feature shares with the page: its panel and tab, the ids of its controls, its attributes, its messages.
An algorithm's settings, metrics and curves are declared in algorithms/algorithm.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from dshq_widget.contract.json_fields import Entry
from dshq_widget.contract.messages import Message


@dataclasses.dataclass(frozen=True)
class Face:
    """One feature, as Python and the page have to agree on it. Its panel, if it has one, has a tab of the same name."""

    panel: str = ""
    text: str = ""
    """What the panel shows."""
    before: str = ""
    """The panel in whose place it stands, and whose tab comes behind its own; "" for the end."""
    learns: bool = False
    """Whether the panel is also on a page that trains by itself (widget/export_html.py)."""
    controls: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Ids -> accessible names, as in labels.py."""
    patterns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Ids of controls that are there several times -> what they are."""
    attributes: Mapping[str, Entry] = dataclasses.field(default_factory=dict)
    """What it adds to the page's root (page_attributes.py)."""
    to_kernel: tuple[type[Message], ...] = ()
    """What only the feature's part of the page sends."""
    to_page: tuple[type[Message], ...] = ()
    """What only that part receives."""
    questions: tuple[type[Message], ...] = ()
    """The same as `to_kernel`, for the process that plays the page's match (algorithm.py, `PlayedByProcess`)."""
    answers: tuple[type[Message], ...] = ()
    """What that process answers the page. A message's bytes are its `data`, in base64, until the kernel has them."""
