"""The numbers that a lesson's prose quotes, and where in the lesson each comes from.

A paragraph of a lesson's text may be followed by a note for the tests, which the notebook does not have:

    <!-- quotes
    98 % | 100 * shares["A"][0] | 1
    seed 0 = 0 | given
    -->

Each line is a number as the prose has it, a Python expression for it, and a tolerance (0 if none is given). The
expression is evaluated in the lesson's kernel, exercises done, behind the last code cell before the note; with
`<!-- quotes below` behind the next one. `given` stands for what is no result: a number of the text's own choosing.
Where the words have no digits, or others first, ` = ` and the number follow them.
"""

from __future__ import annotations

import dataclasses
import re

import jupytext

_NOTE = re.compile(r"\n?<!-- quotes( below)?\n(.*?)-->\n", re.DOTALL)
_MARK = "(quotes {})"
_NUMBER = re.compile(r"(?<![\w.,])[-−+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_NOT_PROSE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|(?m:^\d\. )|(?:[Ll]esson|Exercise|[Ss]tep) \d+|\*You need[^*]*\*"
    r"|[Cc]hapters? \d[\d.]*(?:(?:,| and|, and| to) \d[\d.]*)*|\b(?:19|20)\d\d\b",
    re.DOTALL,
)
"""Code, formulas, links, numbers of lists, lessons, steps and chapters, reading times, years."""
GIVEN = "given"


@dataclasses.dataclass(frozen=True)
class Quote:
    """One number of the prose."""

    words: str
    """As the prose has it."""
    value: float
    expression: str
    """Python; GIVEN where the number is no result."""
    tolerance: float
    after: int
    """Number of code cells that have been run when the expression is evaluated."""


def without(text: str) -> str:
    """A lesson's text without its notes."""
    return _NOTE.sub("", text)


def quotes(text: str) -> list[Quote]:
    """The quotes of a lesson's text in order. Raises ValueError for a line that is none."""
    return [quote for _, found in cells(text) for quote in found]


def cells(text: str) -> list[tuple[str, list[Quote]]]:
    """Each cell of prose of a lesson's text, and its quotes."""
    notes = list(_NOTE.finditer(text))
    marks = iter(range(len(notes)))
    marked = jupytext.reads(_NOTE.sub(lambda note: f"\n{_MARK.format(next(marks))}\n", text), fmt="md")
    found, code = [], 0
    for cell in marked.cells:
        if cell.cell_type == "code":
            code += 1
            continue
        rows = []
        for number, note in enumerate(notes):
            if _MARK.format(number) in cell.source:
                rows += [_quote(line, code + bool(note[1])) for line in note[2].strip().splitlines()]
        found.append((re.sub(r"\(quotes \d+\)", "", cell.source), rows))
    return found


def numbers(prose: str) -> list[str]:
    """The numbers that prose has in digits; not in code, formulas, links and the numbers of lessons and lists."""
    return _NUMBER.findall(_NOT_PROSE.sub(" ", prose))


def value_of(number: str) -> float:
    """A number of prose as Python has it."""
    return float(number.replace(",", "").replace("−", "-"))


def _quote(line: str, after: int) -> Quote:
    words, expression, *rest = (part.strip() for part in line.split(" | "))
    words, _, value = words.partition(" = ")
    digits = value or next(iter(_NUMBER.findall(words)), None)
    if digits is None or len(rest) > 1:
        raise ValueError(f"a quote is 'NUMBER | EXPRESSION | TOLERANCE', got {line!r}")
    return Quote(words, value_of(digits), expression, float(rest[0]) if rest else 0.0, after)
