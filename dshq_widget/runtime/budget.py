"""Processors and memory available to this process, from affinity, control groups and the hub.

`os.cpu_count()`, torch and numba all ignore a container's quota; half a core shared by a class is normal. Linux keeps
the quota in control groups, version 2 (`cpu.max`, `memory.max`) or version 1 (`cpu.cfs_quota_us`,
`memory.limit_in_bytes`), and the tightest level between our own group and the root counts (kernel documentation,
admin-guide/cgroup-v2 and scheduler/sched-bwc). JupyterHub announces its limits as `CPU_LIMIT` and `MEM_LIMIT`.
Elsewhere affinity and the machine's own size remain.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from dshq_widget.system import limits

UNLIMITED = float("inf")
LEARNER_BYTES = 350e6  # measured: torch and numba together take 316 MB
WORKER_BYTES = 130e6  # measured: a process with numba takes 129 MB
DEFAULT_BYTES = 1e9  # what a session takes at most unless asked
MOST_THREADS = 8  # assumed: small networks gain nothing from more


def peak_memory_mb() -> float:
    """Peak resident memory of this process, in MB."""
    return limits.peak_memory() / (1 << 20)


def usable_processors(cpu: float) -> int:
    """Processors to compute on, out of `cpu`: all whole ones; from three on, one is left for the notebook and the page.
    At least 1.
    """
    whole = int(cpu)
    return max(1, whole if whole < 3 else whole - 1)


def most_workers(memory: float) -> int:
    """Rollout processes that fit beside a learner into half of `memory` bytes, and into 1 GB."""
    return max(0, int((min(memory / 2, DEFAULT_BYTES) - LEARNER_BYTES) // WORKER_BYTES))


def cpu_budget(root: str = "/", environ: Mapping[str, str] = os.environ) -> float:
    """Processors that this process may use, fractions included: min of affinity, control-group quota and hub limit.

    `root` is the folder that contains `/proc` and `/sys`.
    """
    quotas = [_cpu_quota(directory) for directory in _groups(root, "cpu")]
    return min([len(limits.processors()), _number(environ.get("CPU_LIMIT")), *quotas])


def memory_limit(root: str = "/", environ: Mapping[str, str] = os.environ) -> float:
    """Bytes of memory that this process may use: min of the machine's, the control group's and the hub's."""
    limits = [_memory_maximum(directory) for directory in _groups(root, "memory")]
    return min([_meminfo(root, "MemTotal"), _number(environ.get("MEM_LIMIT")), *limits])


def memory_available(root: str = "/", environ: Mapping[str, str] = os.environ) -> float:
    """Bytes that can be allocated now without swapping, as far as the system reports it; never above `memory_limit`."""
    free = [_memory_maximum(group) - _memory_used(group) for group in _groups(root, "memory")]
    return max(0.0, min([memory_limit(root, environ), _meminfo(root, "MemAvailable"), *free]))


def processor_seconds(root: str = "/") -> tuple[float, float]:
    """Seconds that the living threads of this process have run, and have waited for a processor. (0, 0) if the system
    does not report it; Linux does (kernel documentation, scheduler/sched-stats).
    """
    ran = waited = 0.0
    for path in Path(root, "proc/self/task").glob("*/schedstat"):
        words = (text_of(path) or "").split()
        if len(words) == 3:
            ran, waited = ran + float(words[0]) / 1e9, waited + float(words[1]) / 1e9
    return ran, waited


def _groups(root: str, controller: str) -> Iterator[Path]:
    """Every directory that can limit `controller` for this process, from its own group up to the mount."""
    base = Path(root, "sys/fs/cgroup")
    for line in (text_of(Path(root, "proc/self/cgroup")) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers == "":
            mounts = [base]
        elif controller in names:
            mounts = [base / controllers, base / controller]
        else:
            continue
        for mount in mounts:
            group = mount / path.strip("/")
            yield group
            yield from (parent for parent in group.parents if parent.is_relative_to(mount))


def _cpu_quota(group: Path) -> float:
    words = (text_of(group / "cpu.max") or "").split()  # version 2: "50000 100000" or "max 100000"
    if len(words) != 2:
        words = [text_of(group / "cpu.cfs_quota_us") or "", text_of(group / "cpu.cfs_period_us") or ""]
    quota, period = (_number(word) for word in words)
    return quota / period if 0 < quota < UNLIMITED and 0 < period < UNLIMITED else UNLIMITED


def _memory_maximum(group: Path) -> float:
    return min(_number(text_of(group / "memory.max")), _number(text_of(group / "memory.limit_in_bytes")))


def _memory_used(group: Path) -> float:
    """Bytes that a group cannot release; unused file cache does not count."""
    for used, idle in (("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")):
        if (total := text_of(group / used)) is not None:
            words = (text_of(group / "memory.stat") or "").split()
            return float(total) - float(dict(zip(words[::2], words[1::2], strict=False)).get(idle, 0))
    return 0.0


def _meminfo(root: str, key: str) -> float:
    for line in (text_of(Path(root, "proc/meminfo")) or "").splitlines():
        if line.startswith(key + ":"):
            return float(line.split()[1]) * 1024
    return limits.total_memory() if key == "MemTotal" else limits.free_memory()


def _number(text: str | None) -> float:
    """The number in `text`; no text, "max", a negative or an empty one mean no limit."""
    try:
        number = float(text or "inf")
    except ValueError:
        return UNLIMITED
    return number if number > 0 else UNLIMITED


def text_of(path: Path) -> str | None:
    """What one of the system's files says, without blanks around it; None if it is absent or unreadable."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
