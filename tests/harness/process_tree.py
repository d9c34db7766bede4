"""Who runs for a student of a hub: JupyterHub names the student in the environment of all that it starts."""

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
