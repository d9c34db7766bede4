"""nbgrader for everybody on the hub: copy to /opt/tljh/user/etc/jupyter/nbgrader_config.py."""

from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # nbgrader defines it
c.CourseDirectory.course_id = "dshq"
c.Exchange.root = "/srv/nbgrader/exchange"

# What one student has put into the exchange keeps nobody else's from being collected, and takes nobody's place.
c.ExchangeFactory.collect = "dshq_widget.lessons.collecting.CollectOneByOne"

# A student's notebook is shown without its scripts: feedback and formgrader are pages of your own server.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "markdown2html": "dshq_widget.lessons.feedback.markdown",
    "clean_html": "dshq_widget.lessons.feedback.clean",
    "highlight_code": "dshq_widget.lessons.feedback.code",
    "ansi2html": "dshq_widget.lessons.feedback.printed",
}
c.HTMLExporter.preprocessors = [
    "dshq_widget.lessons.feedback.WithoutMetadata",
    "dshq_widget.lessons.feedback.NotTooLong",
]
