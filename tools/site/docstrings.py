"""Docstrings that list names in a column beside what they mean become lists in the reference."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROW = re.compile(r"^(\w+) {2,}(\S.*)$")


class ColumnsToLists(Extension):
    """What mkdocstrings calls for every object that it has read (mkdocs.yml)."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the object's docstring, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)


def listed(text: str) -> str:
    """A docstring, without its indentation, whose rows "name   meaning" are items of a list; a row may be continued on
    lines that are indented. Other text stays.
    """
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        row = _ROW.match(line)
        if row:
            lines.append(f"- `{row[1]}`: {row[2]}")
        elif inside and line.startswith("  "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
        inside = row is not None or (inside and line.startswith("  "))
    return "\n".join(lines)
