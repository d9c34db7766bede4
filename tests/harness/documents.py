"""The documents, and what they write as code: spans between backticks, and blocks between fences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LOG = ROOT / "docs" / "LOG.md"
"""Its entries speak of the project as it was."""
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "dshq_widget/drills/README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path != LOG),
]
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
_SPAN = re.compile(r"`([^`]+)`")


class Code(NamedTuple):
    """What is code in a document."""

    spans: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...]
    """Language, or "", and text."""


def code_of(path: Path) -> Code:
    """What is code in the document at `path`."""
    text = path.read_text("utf-8")
    blocks = tuple((language, block) for _, language, block in _BLOCK.findall(text))
    return Code(tuple(" ".join(span.split()) for span in _SPAN.findall(_BLOCK.sub("", text))), blocks)
