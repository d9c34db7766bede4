"""What a figure was measured on: it means little without."""

import datetime
import importlib.metadata
import json
import platform
from pathlib import Path

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


def describe() -> dict[str, object]:
    """Processor, usable cores (affinity and quota), memory in GB, load before the run, and versions."""
    return {
        "cpu": cpu_model(),
        "cores": loky.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_1_minute": round(psutil.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
    }


def write(name: str, result: dict[str, object]) -> Path:
    """Keep a raw result under benchmarks/results, named after what was measured and the day."""
    path = Path(__file__).parent / "results" / f"{name}-{datetime.date.today().isoformat()}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path
