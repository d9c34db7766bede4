"""What a student expects before a cell runs, kept in words until the lesson's end shows it again."""

from __future__ import annotations

import dataclasses
import html

from dshq_widget.lessons.table import lesson

_WRITTEN: dict[str, list[str]] = {}
"""By lesson, in this kernel."""


@dataclasses.dataclass(frozen=True)
class Predictions:
    """What was written down in a lesson, oldest first. A notebook shows it as a list."""

    lesson: str
    written: tuple[str, ...]

    def __repr__(self) -> str:
        if not self.written:
            return f'Nothing was predicted. Write a guess into predict("{self.lesson}", "...") and run its cell.'
        return "\n".join(f"You predicted: {text}" for text in self.written)

    def _repr_html_(self) -> str:
        if not self.written:
            return f"<p>{html.escape(repr(self))}</p>"
        items = "".join(f"<li>{html.escape(text)}</li>" for text in self.written)
        return f"<p><strong>You predicted:</strong></p><ul>{items}</ul><p>What happened, and why?</p>"


def predict(name: str, guess: str = "") -> Predictions:
    """Keep a guess about what comes in a lesson, and give all that were kept, for the end of a cell to show.

    An empty guess keeps nothing, the same guess twice is one. Raises ValueError for an unknown lesson.
    """
    kept = _WRITTEN.setdefault(lesson(name).name, [])
    text = " ".join(guess.split())
    if text and text not in kept:
        kept.append(text)
    return Predictions(name, tuple(kept))
