"""The lessons as pages of the site, from the pages that `tools.pages` wrote; each match gets a frame of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dshq_widget.lessons import LESSONS, Lesson
from tools.notebooks import FOLDER
from tools.pages import LEARNER, SHARED
from tools.site.matches import frame, framed

_MATCH = re.compile(
    r'<div class="match" id="(\w+)"></div>\n(<script type="application/gzip" id="\1-match">.*?</script>)\n', re.S
)
_FRAMED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A match of the lesson {name}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ background: #ffffff }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181c }} }}
</style>
<link rel="stylesheet" href="../shared/widget.css">
<div id="{place}"></div>
{saved}
<script src="../shared/learner.js"></script>
<script src="../shared/widget.js"></script>
</html>
"""


def write_all(folder: Path, pages: Path) -> list[str]:
    """Write a page for each lesson, its matches and its notebook; returns the pages.

    Raises FileNotFoundError where `pages` lacks one.
    """
    (folder / "shared").mkdir(parents=True)
    for name in ("widget.js", "widget.css"):
        shutil.copyfile(SHARED[name], folder / "shared" / name)
    shutil.copyfile(pages / LEARNER, folder / "shared" / LEARNER)
    for row in LESSONS.values():
        path = pages / f"{row.stem}.html"
        if not path.is_file():
            raise FileNotFoundError(f"the page of lesson {row.name!r} must be at {path}: write it with `make lessons`")
        (folder / f"{row.stem}.md").write_text(lesson_page(row, path.read_text(encoding="utf-8"), folder))
        shutil.copyfile(FOLDER / f"{row.stem}.ipynb", folder / f"{row.stem}.ipynb")
    return [f"lessons/{row.stem}.md" for row in LESSONS.values()]


def lesson_page(row: Lesson, written: str, folder: Path) -> str:
    """A lesson's page as Markdown, whose headings the site knows; its matches are written under `folder`."""

    def apart(match: re.Match[str]) -> str:
        place, saved = match.groups()
        target = folder / row.stem / f"{place}.html"
        target.parent.mkdir(exist_ok=True)
        target.write_text(framed(_FRAMED.format(name=row.name, place=place, saved=saved)), encoding="utf-8")
        return frame(f"{row.stem}/{place}.html", "A live match") + "\n"

    body = _MATCH.sub(apart, written.partition("<main>\n")[2].partition("\n</main>")[0])
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.S)
    body = re.sub(
        r'<pre class="(code[^"]*)">(.*?)</pre>',
        r'<div class="highlight \1"><pre><code>\2</code></pre></div>',
        body,
        flags=re.S,
    )
    body = re.sub(r"<h1>.*?</h1>\n", "", body, count=1)
    body = re.sub(r"<h2>(.*?)</h2>\n", r"</div>\n\n## \1\n\n<div>\n", body)
    notebook = f'<a href="{row.stem}.ipynb" download>This lesson as a notebook</a>'
    return f'# {int(row.number)}. {row.title}\n\n<p class="note">{notebook}</p>\n\n<div>\n{body}\n</div>\n'
