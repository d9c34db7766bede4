"""Every number in the lessons' prose has a line that says where it comes from; the run of the lesson compares them."""

import pytest

from tools import quotes
from tools.notebooks import notebook, texts

TEXT = """One run made 98 % of 1,000 points, of 7 chosen, and none lost.

<!-- quotes
98 % | 100 * share | 2
1,000 | points
7 chosen | given
none = 0 | lost
-->

```python
share = 0.97
```

Seed 7 follows.

<!-- quotes below
Seed 7 | seed
-->

```python
seed = 7
```
"""


def test_a_note_says_what_each_number_is_and_when_it_is_known():
    found = quotes.quotes(TEXT)
    assert [(quote.words, quote.value, quote.expression, quote.tolerance, quote.after) for quote in found] == [
        ("98 %", 98.0, "100 * share", 2.0, 0),
        ("1,000", 1000.0, "points", 0.0, 0),
        ("7 chosen", 7.0, "given", 0.0, 0),
        ("none", 0.0, "lost", 0.0, 0),
        ("Seed 7", 7.0, "seed", 0.0, 2),
    ]


def test_notes_are_not_in_the_notebook():
    made = notebook(TEXT)
    assert [cell.source for cell in made.cells if cell.cell_type == "markdown"] == [
        "One run made 98 % of 1,000 points, of 7 chosen, and none lost.",
        "Seed 7 follows.",
    ]
    assert "quotes" not in str(made.cells)


def test_numbers_of_prose_are_not_those_of_code_formulas_and_lessons():
    prose = "1. As `x = 3` in lesson 04, $5^6$ is −7 or .8, [nine](09_page.ipynb), and 1,024 of v2 in 1999.\n\n$$10$$"
    assert quotes.numbers(prose) == ["−7", ".8", "1,024"]


@pytest.mark.parametrize("line", ["no digits | x", "98 % | x | 1 | 2", "98 %"])
def test_a_line_that_is_no_quote_is_refused(line):
    with pytest.raises(ValueError):
        quotes.quotes(f"98 %\n\n<!-- quotes\n{line}\n-->\n")


@pytest.mark.parametrize("text", texts(), ids=lambda path: path.stem)
def test_every_number_of_a_lesson_is_quoted_where_it_stands(text):
    for prose, found in quotes.cells(text.read_text(encoding="utf-8")):
        plain = " ".join(prose.split())
        assert [quote.words for quote in found if quote.words not in plain] == [], "not in the prose"
        early = [quote.words for quote in found if not quote.after and quote.expression != quotes.GIVEN]
        assert early == [], "no code cell before: `quotes below`"
        known = {quote.value for quote in found}
        unknown = [number for number in quotes.numbers(prose) if quotes.value_of(number) not in known]
        assert unknown == [], f"no note says where they come from:\n{prose}"
