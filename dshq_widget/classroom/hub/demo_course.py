"""The course of `make hub`: where nbgrader, if it is installed, hands out exercises and collects them."""

from __future__ import annotations

from pathlib import Path

FOLDER = "course"
"""In the hub's folder: nbgrader's exchange and its configuration."""
_CONFIGURATION = '''"""nbgrader's configuration for everybody on this hub."""

import os

c = get_config()
c.CourseDirectory.course_id = "dshq"
c.Exchange.root = {exchange!r}
if "JUPYTERHUB_USER" in os.environ:  # all servers belong to one system user, so nbgrader cannot see who submits
    c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
c.ExchangeCollect.check_owner = False  # for the same reason

# A student's notebook is shown without its scripts: feedback and formgrader are pages of your own server.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {{
    "markdown2html": "dshq_widget.lessons.feedback.markdown",
    "clean_html": "dshq_widget.lessons.feedback.clean",
    "highlight_code": "dshq_widget.lessons.feedback.code",
    "ansi2html": "dshq_widget.lessons.feedback.printed",
}}
c.HTMLExporter.preprocessors = [
    "dshq_widget.lessons.feedback.WithoutMetadata",
    "dshq_widget.lessons.feedback.NotTooLong",
]
'''


def furnish(folder: Path) -> None:
    """Write both below the hub's `folder`."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER).chmod(0o700)  # whatever the folder around it: what is handed in here is run when it is graded
    exchange = folder / FOLDER / "exchange"
    exchange.mkdir(exist_ok=True)
    exchange.chmod(0o1777)  # nbgrader asks for it; all servers are one system user's
    text = _CONFIGURATION.format(exchange=str(exchange))
    (folder / FOLDER / "nbgrader_config.py").write_text(text, encoding="utf-8")
