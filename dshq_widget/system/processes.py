"""Child processes: how they start, how they end with their parent, and whether they live.

`start(command, environment, places)` starts one with pipes to its three standard files, to which the memory at those
places is open. `keep_interrupts_away()` is called once by the thread that starts children, `ignore_interrupts()` first
thing in a child: what interrupts the parent, or asks it to end, then ends no child, which hears from the parent.
`die_with(parent, status)` ends this process when its parent has ended, `Parent(pid).lives()` asks.
`subprocess.Popen(..., **GROUP)` starts the first of a group, where the system has groups, and `end_group(pid)` ends all
that is left of it. `Pulse(pid).beats()` is whether that process runs or would if it could. `interrupt(thread, number)`
sends this process a signal once more, to that thread where that can be said. `START_METHOD` is how multiprocessing
starts its processes.
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.processes import (
        GROUP,
        START_METHOD,
        Parent,
        Pulse,
        die_with,
        end_group,
        ignore_interrupts,
        interrupt,
        keep_interrupts_away,
        start,
    )
else:
    from dshq_widget.system.portable.processes import (
        GROUP,
        START_METHOD,
        Parent,
        Pulse,
        die_with,
        end_group,
        ignore_interrupts,
        interrupt,
        keep_interrupts_away,
        start,
    )

__all__ = [
    "GROUP",
    "START_METHOD",
    "Parent",
    "Pulse",
    "die_with",
    "end_group",
    "ignore_interrupts",
    "interrupt",
    "keep_interrupts_away",
    "start",
]
