"""The matches of the site: pages that `DrillWidget.export_html` writes, each shown in a frame of another page."""

from __future__ import annotations

from pathlib import Path

from dshq_widget import DrillWidget
from dshq_widget.drills import drills
from dshq_widget.policy.ladder import RUNGS

FRAMED = """<style>
body { margin: 0; padding: 2px; max-width: none }
</style>
<script>
new ResizeObserver(() => {
  parent.postMessage({ dshqHeight: Math.ceil(document.documentElement.offsetHeight) }, "*");
}).observe(document.documentElement);
</script>
</html>
"""
"""The end of a page in a frame: it takes all the width, and says how high it is (assets/frames.js)."""


def write_all(folder: Path) -> None:
    """Write `NAME.html`, a match of each drill that has learned nothing yet, and `RUNG.html` to play against."""
    folder.mkdir(parents=True)
    for name in drills:
        with DrillWidget(name, prepare=False) as widget:
            _write(widget, folder / f"{name}.html")
    for rung in RUNGS:
        with DrillWidget(policy=rung, mode="human_vs_ai", prepare=False) as widget:
            _write(widget, folder / f"{rung}.html")


def framed(page: str) -> str:
    """A whole page, to be shown in a frame. Raises ValueError if its end is not found."""
    start, end, rest = page.rpartition("</html>")
    if not end or rest.strip():
        raise ValueError(f"a page must end with </html>, got {page[-40:]!r}")
    return start + FRAMED


def frame(source: str, title: str, *, lazy: bool = True) -> str:
    """The frame, as HTML of one line; `source` is relative to the page that it stands in."""
    loading = ' loading="lazy"' if lazy else ""
    return f'<iframe class="match" src="{source}" title="{title}"{loading} allow="fullscreen; gamepad"></iframe>'


def _write(widget: DrillWidget, path: Path) -> None:
    widget.export_html(path)
    path.write_text(framed(path.read_text(encoding="utf-8")), encoding="utf-8")
