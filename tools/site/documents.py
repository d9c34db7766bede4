"""The documents of the checkout as pages of the site. They stay readable where they are: only links are rewritten."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "dshq_widget/drills/README.md": "write-a-drill.md",
    **{
        str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs"))
        for path in sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")])
    },
    "docs/README.md": "documents.md",
}
"""Document -> page of the site."""
HOME = {"README.md": "index.md"}
"""What has a page of its own in tools/site/pages."""
LANGUAGES = {".py": "python", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml"}
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")


def write_all(stage: Path) -> None:
    """Write all documents, the pictures, and a page for each source file that a document links to."""
    shutil.copytree(ROOT / "docs" / "images", stage / "images")
    sources: set[str] = set()
    for document, page in DOCUMENTS.items():
        text, linked = rewritten((ROOT / document).read_text(encoding="utf-8"), document, page)
        _write(stage / page, text)
        sources |= linked
    for source in sources:
        _write(stage / place(source), _source_page(source))


def place(path: str) -> str:
    """Where the site has a file of the checkout; both relative to their roots, with forward slashes."""
    if path in DOCUMENTS or path in HOME:
        return {**DOCUMENTS, **HOME}[path]
    if path.startswith("docs/images/"):
        return path.removeprefix("docs/")
    if path.startswith("notebooks/"):
        return f"lessons/{PurePosixPath(path).stem}.md"
    return f"sources/{path}.md"


def rewritten(text: str, document: str, page: str) -> tuple[str, set[str]]:
    """A document's text with its links as the site has them, and the source files that it links to."""
    sources: set[str] = set()

    def target(match: re.Match[str]) -> str:
        path = os.path.normpath(PurePosixPath(document).parent / match[1])
        if "://" in match[1] or not (ROOT / path).is_file():
            return match[1]  # another site's, or no link: brackets in code look like one
        there = place(path)
        if there.startswith("sources/"):
            sources.add(path)
        return os.path.relpath(there, PurePosixPath(page).parent)

    return _LINK.sub(target, text), sources


def _source_page(source: str) -> str:
    path = PurePosixPath(source)
    code = (ROOT / source).read_text(encoding="utf-8").rstrip("\n")
    return f"# {path.name}\n\n`{source}`\n\n````{LANGUAGES.get(path.suffix, '')}\n{code}\n````\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
