"""Guesses are kept in the order of writing and shown again; every lesson asks for one and comes back to it."""

import re

import pytest

from dshq_widget.lessons import LESSONS, predict, predictions
from tools.notebooks import SOURCE


@pytest.fixture(autouse=True)
def nothing_written(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(predictions, "_WRITTEN", {})


def test_what_is_written_comes_back():
    assert "Nothing was predicted" in repr(predict("bandit", "  "))
    predict("bandit", "half of\nthem")
    predict("bandit", "half of them")  # the cell was run again
    predict("bandit", "<b>more</b>")
    assert predict("bandit").written == ("half of them", "<b>more</b>")
    assert repr(predict("bandit")).splitlines()[0] == "You predicted: half of them"
    assert "&lt;b&gt;more" in predict("bandit")._repr_html_() and "<b>" not in predict("bandit")._repr_html_()
    assert predict("values").written == ()


def test_unknown_lessons_are_refused():
    with pytest.raises(ValueError, match="no lesson 'bandits'"):
        predict("bandits", "half")


@pytest.mark.parametrize("row", LESSONS.values(), ids=LESSONS)
def test_a_lesson_asks_once_and_comes_back_to_it(row):
    text = (SOURCE / f"{row.stem}.md").read_text(encoding="utf-8")
    asked, shown = text.index(f'predict("{row.name}", "")'), text.index(f'predict("{row.name}")\n```')
    assert text.index("## Predict\n") < asked < text.index("## What you predicted\n") < shown
    assert len(re.findall(r"\bpredict\(", text)) == 2
