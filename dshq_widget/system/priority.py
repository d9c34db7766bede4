"""The priority of this process: `niceness()`, from 0 to 19 as POSIX counts, and `step_aside(nice)`, which makes it at
least that nice. Where `ADJUSTABLE`, the process can also move to a group of its own (`own_group`) and set its weight
(`weigh`, which raises PermissionError where the system does not allow a value).
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.priority import ADJUSTABLE, niceness, own_group, step_aside, weigh
else:
    from dshq_widget.system.portable.priority import ADJUSTABLE, niceness, own_group, step_aside, weigh

__all__ = ["ADJUSTABLE", "niceness", "own_group", "step_aside", "weigh"]
