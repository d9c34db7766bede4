"""nbgrader for everybody on the hub: copy to /opt/tljh/user/etc/jupyter/nbgrader_config.py."""

from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  # nbgrader defines it
c.CourseDirectory.course_id = "dshq"
c.Exchange.root = "/srv/nbgrader/exchange"
