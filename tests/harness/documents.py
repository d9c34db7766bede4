"""The documents, and what they write as code: spans between backticks, and blocks between fences."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LOG = ROOT / "docs" / "LOG.md"
"""Its entries speak of the project as it was."""
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "dshq_widget/drills/README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path != LOG),
]
FOLDERS = ("dshq_widget", "kernels", "js", "tests", "tools", "benchmarks", "docs", "notebooks", ".github", ".binder")
"""With files that documents and comments name."""
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


@cache
def files() -> dict[str, Path]:
    """Every file of the project by its path."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    return {path.relative_to(ROOT).as_posix(): path for path in found if "__pycache__" not in path.parts}


def is_file(name: str) -> bool:
    """Whether a path, or its end, is one of the project."""
    return any(f"/{path}".endswith(f"/{name}") or f"/{name.rstrip('/')}/" in f"/{path}" for path in files())
