"""Cells of CSV files that a spreadsheet may open."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would take it for a formula (OWASP, "CSV
    Injection").
    """
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text
