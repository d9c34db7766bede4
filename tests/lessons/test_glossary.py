"""The lessons and the glossary name the same terms: each is in bold once, in its lesson, with its symbol beside it."""

import re
from pathlib import Path

import pytest

from tools.notebooks import notebook, texts

GLOSSARY = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
ROWS = re.findall(
    r"(?m)^\| ([^|]+) \| (?:\$(.+?)\$)? ?\| ([^|]+) \| \[.*?\]\(\.\./\.\./notebooks/(\w+)\.ipynb\) \|$",
    GLOSSARY.read_text(),
)
TERMS = {term for term, *_ in ROWS}
LONGEST = 26
"""Words of a sentence."""


def prose(text: Path) -> list[str]:
    """Its cells of prose."""
    made = notebook(text.read_text(encoding="utf-8"))
    return [cell.source for cell in made.cells if cell.cell_type == "markdown"]


BOLD = {
    text.stem: [(phrase, cell) for cell in prose(text) for phrase in re.findall(r"\*\*([^*]+)\*\*", cell)]
    for text in texts()
}


def test_the_glossary_is_a_table_in_order():
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ") and "meaning" not in line]
    assert len(ROWS) == len(lines) == len(TERMS)
    assert [term for term, *_ in ROWS] == sorted(TERMS, key=str.lower)


@pytest.mark.parametrize(("term", "symbol", "meaning", "lesson"), ROWS, ids=[term for term, *_ in ROWS])
def test_a_term_is_in_bold_in_exactly_one_lesson(term, symbol, meaning, lesson):
    found = [(stem, cell) for stem, phrases in BOLD.items() for phrase, cell in phrases if phrase == term]
    assert [stem for stem, _ in found] == [lesson]
    if symbol:
        assert symbol in "".join(re.findall(r"\$[^$]+\$", found[0][1])), "its symbol, where it is introduced"


def test_what_is_in_bold_in_small_letters_is_a_term():
    small = {phrase for phrases in BOLD.values() for phrase, _ in phrases if phrase[0].islower()}
    assert small <= TERMS


@pytest.mark.parametrize("text", texts(), ids=lambda path: path.stem)
def test_sentences_are_short(text: Path):
    for cell in prose(text):
        plain = re.sub(r"\$\$.*?\$\$", "", cell, flags=re.DOTALL)
        paragraphs = re.split(r"\n\s*\n|\n(?=[*\d|#])", plain)
        sentences = [one for part in paragraphs for one in re.split(r"(?<=[.?!:;])[*)]*\s+", " ".join(part.split()))]
        long = [one for one in sentences if len(one.split()) > LONGEST and not one.startswith("|")]
        assert long == []
