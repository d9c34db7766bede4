"""The priority of this process: `niceness()`, from 0 to 19 as POSIX counts, and `step_aside(nice)`, which makes it at
least that nice. Where `ADJUSTABLE`, the process can also move to a group of its own (`own_group`) and set its weight
(`weigh`). Both raise OSError where the system refuses: PermissionError for a value that it does not allow, others where
it allows none (a read-only /proc, a sandbox).
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.priority import ADJUSTABLE, niceness, own_group, step_aside, weigh
else:
    from dshq_widget.system.portable.priority import ADJUSTABLE, niceness, own_group, step_aside, weigh

__all__ = ["ADJUSTABLE", "niceness", "own_group", "step_aside", "weigh"]
