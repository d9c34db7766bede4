"""Wraps the prose of documents and lessons at 120 characters: `python -m tools.wrap [FILE ...]`.

Only paragraphs and list items with a longer line are changed. Code, tables, headings, HTML, notes and formulas of their
own line stay as they are. What stands between backticks, dollars, asterisks or the brackets of a link is not broken.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 120
_WHOLE = re.compile(r"`[^`]*`|\$[^$]*\$|\*\*[^*]+\*\*|(?<![*\w])\*[^*\s][^*]*\*|!?\[[^\]]*\]\([^)]*\)|\s+|.", re.DOTALL)
_ITEM = re.compile(r"(\s*)([*-] |\d+\. )?")
_OPENS = re.compile(r"(?:[*+-]|\d+[.)]|[>#|].*)$", re.DOTALL)
"""A word that would begin a list, a quotation, a heading or a table if a line began with it."""


def wrapped(text: str) -> str:
    """A text with its long lines broken."""
    found: list[str] = []
    block: list[str] = []
    fence = note = False
    for line in [*text.split("\n"), ""]:
        begins = line.lstrip().startswith(("```", "~~~"))
        plain = not (fence or note or begins) and _is_prose(line)
        if block and (not plain or re.match(r"\s*([*-] |\d+\. )", line)):
            found += _filled(block)
            block = []
        if plain:
            block.append(line)
        else:
            found.append(line)
        fence ^= begins
        note = ("<!--" in line and "-->" not in line) or (note and "-->" not in line)
    return "\n".join(found[:-1])


def _is_prose(line: str) -> bool:
    start = line.lstrip()
    return bool(start) and not start.startswith(("#", "|", "<", ">", "$$", "![", "[![", "---", ":::", "!!!"))


def _filled(block: list[str]) -> list[str]:
    """The lines of one paragraph or list item."""
    if all(len(line) <= WIDTH for line in block) or any(line.endswith("  ") for line in block):
        return block
    indent, mark = _ITEM.match(block[0]).groups(default="")  # type: ignore[union-attr]
    words = [""]
    for piece in _WHOLE.findall(" ".join(line.strip() for line in block)[len(mark) :]):
        if piece.isspace():
            words.append("")
        else:
            words[-1] += piece
    lines, hanging = [indent + mark], indent + " " * len(mark)
    for word in filter(None, words):
        line = lines[-1]
        fits = len(line) + 1 + len(word) <= WIDTH
        if line.strip() == mark.strip() and line in (indent + mark, hanging):
            lines[-1] += word
        elif fits or _OPENS.match(word):
            lines[-1] += f" {word}"
        else:
            lines.append(hanging + word)
    return lines


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        before = path.read_text(encoding="utf-8")
        after = wrapped(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
