"""What a figure was measured on, and what else the machine did meanwhile: it means little without."""

import datetime
import importlib.metadata
import json
import platform
import time
from pathlib import Path
from typing import Any

import loky
import psutil

PACKAGES = ("dshq-widget", "numpy", "numba", "torch", "anywidget", "ipywidgets", "ipykernel", "jupyterlab")


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


BUSY = 0.5
"""Processors that others use on average, above which a run is marked as busy."""
_began: tuple[float, float, float] | None = None
"""Clock, processor seconds of the machine and of this process when the machine was described."""


def describe() -> dict[str, object]:
    """Processor, usable cores (affinity and quota), memory in GB, load before the run, and versions. `write` adds what
    others did from here on.
    """
    global _began
    _began = (time.monotonic(), *spent())
    return {
        "cpu": cpu_model(),
        "cores": loky.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_1_minute": round(psutil.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
    }


def spent() -> tuple[float, float]:
    """Processor seconds since the machine's start, and those of this process with its children, ended and living."""
    times = psutil.cpu_times()
    everybody = sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)
    me = psutil.Process()
    mine = me.cpu_times()
    own = mine.user + mine.system + mine.children_user + mine.children_system
    for child in me.children(recursive=True):
        try:
            found = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        own += found.user + found.system + found.children_user + found.children_system
    return everybody, own


def others() -> dict[str, object]:
    """Processors that others used on average since `describe`, and whether that makes the run a busy one. What a child
    used that nobody waited for counts as others'.
    """
    if _began is None:
        return {}
    began, everybody, own = _began
    now, mine = spent()
    share = max(0.0, (now - everybody) - (mine - own)) / max(time.monotonic() - began, 1e-9)
    return {"processors_of_others": round(share, 2), "busy": share > BUSY}


def write(name: str, result: dict[str, Any]) -> Path:
    """Keep a raw result under benchmarks/results, named after what was measured and the day. If it says on which
    machine, what others did there is added; a busy run is named as it ends.
    """
    if "machine" in result:
        result["machine"] |= others()
        if result["machine"].get("busy"):
            used = result["machine"]["processors_of_others"]
            print(f"BUSY: others used {used} processors meanwhile; quote ratios, no absolute figures", flush=True)
    path = Path(__file__).parent / "results" / f"{name}-{datetime.date.today().isoformat()}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path
