"""What is said about an answer, as text and for a notebook."""

from __future__ import annotations

import dataclasses
import html
import re

_BOX = (
    '<div style="border-left: 4px solid {colour}; padding: 4px 12px; margin: 4px 0; '
    'color: var(--jp-content-font-color1, inherit)"><strong>{title}</strong>{body}</div>'
)
DONE_COLOUR, MISSING_COLOUR = "#1a9e6f", "#f5791f"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether an exercise is done, and what it still lacks."""

    missing: tuple[str, ...]
    """Sentences; empty when it is done. `backticks` mark code."""
    meaning: str
    """What it means to have done it."""

    @property
    def done(self) -> bool:
        """Nothing is missing."""
        return not self.missing

    def __repr__(self) -> str:
        if self.done:
            return f"Done: {self.meaning}"
        return "\n".join(f"Not yet: {text}" for text in self.missing)

    def _repr_html_(self) -> str:
        if self.done:
            return _BOX.format(colour=DONE_COLOUR, title="Done: ", body=_marked(self.meaning))
        if len(self.missing) == 1:
            return _BOX.format(colour=MISSING_COLOUR, title="Not yet: ", body=_marked(self.missing[0]))
        items = "".join(f"<li>{_marked(text)}</li>" for text in self.missing)
        return _BOX.format(colour=MISSING_COLOUR, title="Not yet:", body=f"<ul>{items}</ul>")


def _marked(text: str) -> str:
    """Text as HTML, with `code` as such; nothing in it is markup of its own."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
