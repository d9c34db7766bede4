"""A share of this machine's processors for one server and its child processes: a control group with a quota if
possible, else one processor shared by several servers.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

from dshq_widget.system import limits, pids

PERIOD_US = 100_000
END_SECONDS = 5.0
_turns = itertools.count()
_groups = itertools.count()
"""A group is of one share alone: whoever closes it ends everything in it."""


class Share:
    """`cpu` processors under the name `name`. A process joins by `join`, and its children with it."""

    def __init__(self, name: str, cpu: float, root: str = "/sys/fs/cgroup") -> None:
        self.group = _group(Path(root), f"dshq-{name}-{os.getpid()}-{next(_groups)}", cpu)
        own = limits.processors()
        self._processor = own[next(_turns) % len(own)]

    @property
    def kind(self) -> str:
        """quota or processor."""
        return "quota" if self.group else "processor"

    def join(self, pid: int = 0) -> None:
        """Put a process, the calling one by default, into this share; what it starts from then on is in it, too."""
        if self.group:
            (self.group / "cgroup.procs").write_text(str(pid or os.getpid()))
        else:
            limits.bind(pid, self._processor)

    def members(self) -> list[int]:
        """Processes in the group; none are known where there is only a processor to share."""
        return [int(pid) for pid in (self.group / "cgroup.procs").read_text().split()] if self.group else []

    def close(self) -> None:
        """End whatever is still in the group and remove it. Waits a few seconds at most."""
        if self.group is None:
            return
        deadline = time.monotonic() + END_SECONDS
        while (left := self.members()) and time.monotonic() < deadline:
            for pid in left:
                pids.kill(pid)
            time.sleep(0.05)
        self.group.rmdir()
        self.group = None


def _group(root: Path, name: str, cpu: float) -> Path | None:
    """A new control group with that quota, of either version (kernel documentation, cgroup-v2 and sched-bwc); None
    where this process may not make one.
    """
    quota = str(max(1000, int(cpu * PERIOD_US)))
    unified = (root / "cgroup.controllers").is_file()
    for mount in (root,) if unified else (root / "cpu", root / "cpu,cpuacct"):
        group = mount / name
        try:
            if unified:
                (mount / "cgroup.subtree_control").write_text("+cpu")
            _sweep(mount)
            group.mkdir()
            if unified:
                (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            else:
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(quota)
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        return group
    return None


def _sweep(mount: Path) -> None:
    """Remove the groups of hubs that have ended; one that is in use cannot be removed (cgroups(7))."""
    for group in mount.glob("dshq-*-*-*"):
        owner = group.name.split("-")[-2]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()
