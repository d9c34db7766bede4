"""Processes and what they began; JupyterHub names the student in the environment of all that it starts for one."""

import contextlib
from pathlib import Path

import psutil


def processes_of(student: str) -> list[psutil.Process]:
    """Every living process of somebody's server: the server, its kernels and their learners."""
    found = []
    for process in psutil.process_iter():
        try:
            found += [process] if process.environ().get("JUPYTERHUB_USER") == student else []
        except (psutil.AccessDenied, psutil.NoSuchProcess):  # the system's own, or it has just ended
            continue
    return found


def groups_of(student: str) -> list[Path]:
    """Control groups of somebody's shares, of either version; none where nobody may make one (hub/share.py)."""
    mount = Path("/sys/fs/cgroup")
    return [*mount.glob(f"dshq-{student}-*"), *mount.glob(f"*/dshq-{student}-*")]


def end_tree(process: int) -> None:
    """End a process and all that it began, at once."""
    try:
        began = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for one in began:
        with contextlib.suppress(psutil.NoSuchProcess):  # a learner ends with its kernel
            one.kill()
