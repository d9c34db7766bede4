"""Cells of CSV files that a spreadsheet may open."""

from __future__ import annotations

import re

FORMULA = re.compile('(^|[;\t\n]|\r(?!\n))(?=[ "]*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])')
"""Where one would begin, also in full width. A spreadsheet of a country that writes 0,5 takes the semicolon to divide
cells, or a tab, and a line's end to divide rows, whatever quotes stand around.
"""


def plain(text: str) -> str:
    """The text, with an apostrophe wherever a spreadsheet would take what follows for a formula (OWASP, "CSV
    Injection").
    """
    return FORMULA.sub(r"\1'", text)
