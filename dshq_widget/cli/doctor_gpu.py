"""What `dshq doctor` says of a GPU."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess

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
    "Frames for learning from pixels have been drawn and unpacked in simulators only, never on a GPU.",
    "Dreamer's actor and its streams have run as stand-ins on a processor, never on a GPU.",
    "Training on several GPUs has run as two processes on a processor (gloo), never with NCCL.",
)
"""One sentence per path that a GPU would take; docs/howto/gpu.md has the same."""


def version(name: str) -> str:
    """Of a package; "" if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def gpu() -> tuple[bool, str, str]:
    """Whether it is well, what there is, and what to do about it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return (
            True,
            "none found",
            "The built-in drills do not need a GPU. The CUDA code plays and learns from tens of thousands of games at "
            "once; it has never run on a GPU: docs/howto/gpu.md says what is proven and what to install.",
        )
    run = subprocess.run(
        [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=20,
    )
    name = run.stdout.strip().splitlines()[0] if run.returncode == 0 and run.stdout.strip() else "nvidia-smi fails"
    if run.returncode:
        return False, name, "The driver does not respond: run `nvidia-smi` for details."
    cpu_build = "+cpu" in version("torch")
    missing = CUDA_TORCH if cpu_build else _kernels()
    return True, name, " ".join(filter(None, (missing, *UNPROVEN)))


def _kernels() -> str:
    """What is missing to compile rules and networks for this GPU; "" if nothing is."""
    from dshq_kernels.backends.cuda import why_unusable

    why = why_unusable()
    if why:
        return f"numba cannot use it ({why}), so games run on the CPU. {NUMBA_CUDA}"
    found = importlib.util.find_spec("triton") is not None
    return "" if found else "Triton is missing, so networks use slower torch operations. Install it: pip install triton"
