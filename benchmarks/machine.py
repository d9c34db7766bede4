"""What a figure was measured on, and what else the machine did meanwhile: it means little without. A benchmark begins
when it imports this module, and each raw result that it writes says both.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import itertools
import json
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import loky
import psutil

WRITTEN: dict[str, Path] = {}
"""Files of this run, by the names that they were asked for."""
PACKAGES = ("dshq-widget", "numpy", "numba", "torch", "anywidget", "ipywidgets", "ipykernel", "jupyterlab")
BUSY = 0.5
"""Processors that others use on average, above which a run is marked as busy."""


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


class Moment(NamedTuple):
    """What the machine had done by then."""

    clock: float
    """Seconds."""
    everybody: float
    """Processor seconds since the machine's start."""
    own: float
    """Those of this process and its children, ended and living. A child that nobody waited for counts as others."""
    load: float
    """Of the last minute."""


def now() -> Moment:
    times = psutil.cpu_times()
    everybody = sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)
    me = psutil.Process()
    own = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            found = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        own += found.user + found.system + found.children_user + found.children_system
    return Moment(time.monotonic(), everybody, own, psutil.getloadavg()[0])


BEGAN, CORES = now(), loky.cpu_count()
"""Of the machine before the benchmark, which may hold itself to fewer cores."""


def describe(ended: Moment) -> dict[str, Any]:
    """Processor, usable cores (affinity and quota), memory in GB, load before the run, versions; processors that others
    used on average until it `ended`, and whether that makes the run a busy one.
    """
    spent = (ended.everybody - BEGAN.everybody) - (ended.own - BEGAN.own)
    others = max(0.0, spent) / max(ended.clock - BEGAN.clock, 1e-9)
    return {
        "cpu": cpu_model(),
        "cores": CORES,
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_1_minute": round(BEGAN.load, 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
        "processors_of_others": round(others, 2),
        "busy": others > BUSY,
    }


def write(name: str, result: dict[str, Any]) -> Path:
    """Keep a raw result, and on which machine, under benchmarks/results, named after what was measured and the day: in
    the place of what this run has written, never of what another one has. A busy run is named as it ends.
    """
    machine = describe(now())
    if machine["busy"]:
        used = machine["processors_of_others"]
        print(f"BUSY: others used {used} processors meanwhile; quote ratios, no absolute figures", flush=True)
    if name not in WRITTEN:
        WRITTEN[name] = _free(Path(__file__).parent / "results", name, datetime.date.today().isoformat())
    path = WRITTEN[name]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine, **result}, indent=1) + "\n")
    return path


def _free(folder: Path, name: str, day: str) -> Path:
    """`name-day.json`, or the first of `name_2-day.json`, `name_3-day.json`, ... that is not there yet."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    names = itertools.chain([name], numbered)
    return next(path for one in names if not (path := folder / f"{one}-{day}.json").exists())
