"""The zip files: what students get, and the lessons as pages for a room without internet."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from dshq_widget.contract.version import __version__
from dshq_widget.lessons import LESSONS
from tools.notebooks import FOLDER
from tools.pages import LEARNER, PAGES, SHARED

STUDENTS = f"dshq-lessons-{__version__}.zip"
OFFLINE = f"dshq-lessons-offline-{__version__}.zip"
_STUDENTS_NOTE = """The lessons of DrillSergeantHQ {version}, as notebooks.

    pip install "dshq-widget[lab,torch,gym,classroom]=={version}"
    jupyter lab {first}

That is for Linux. Until the package is on an index, the wheel that your instructor gives you takes the place of its
name. On Windows or macOS use your class's hub, or the offline lessons, which need only a browser.

Work through the notebooks in the order of their numbers. Each exercise has a check that says what is still missing.
"""
_OFFLINE_NOTE = """The lessons of DrillSergeantHQ {version}, as pages for a room without internet.

1. Unpack this file: from inside the zip, pages find nothing.
2. Open index.html in a browser (tested in Chromium). No server, kernel or network is needed.
3. Press Train under a match: the page itself learns. Cells of code are for reading here; to run them, open the
   notebooks in the folder `notebooks` where the package is installed.
"""


def students(folder: Path) -> Path:
    """Write the student bundle: the notebooks and a note. No tests, no answers, no sources."""
    files = {f"{row.stem}.ipynb": (FOLDER / f"{row.stem}.ipynb").read_bytes() for row in LESSONS.values()}
    note = _STUDENTS_NOTE.format(version=__version__, first=next(iter(files)))
    return _packed(folder / STUDENTS, "dshq-lessons", {"README.txt": note.encode(), **files})


def offline(folder: Path, pages: Path = PAGES) -> Path:
    """Write the pages that `make lessons` made, with their notebooks. Raises FileNotFoundError where one is missing."""
    wanted = ["index.html", LEARNER, *SHARED, *(f"{row.stem}.html" for row in LESSONS.values())]
    missing = [name for name in wanted if not (pages / name).is_file()]
    if missing:
        raise FileNotFoundError(f"the lessons' pages must be in {pages}, without them: {missing}; run `make lessons`")
    files = {name: (pages / name).read_bytes() for name in wanted}
    for row in LESSONS.values():
        page = files[f"{row.stem}.html"].decode()
        files[f"{row.stem}.html"] = re.sub(r'href="(?:\.\./)+notebooks/', 'href="notebooks/', page).encode()
        files[f"notebooks/{row.stem}.ipynb"] = (FOLDER / f"{row.stem}.ipynb").read_bytes()
    note = _OFFLINE_NOTE.format(version=__version__)
    return _packed(folder / OFFLINE, "dshq-lessons-offline", {"README.txt": note.encode(), **files})


def _packed(path: Path, top: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{top}/{name}", content)
    return path
