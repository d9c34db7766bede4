"""Chooses the device of a learner, and says what is missing for it. torch is imported only where it is used."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2]
_HAS_VERB = Path(sys.prefix) == _CHECKOUT / ".venv" and (_CHECKOUT / "Makefile").is_file()
INSTALL_TORCH = "make torch" if _HAS_VERB else "pip install torch==2.13.0"
"""The one command that brings it: the Makefile's in the environment that the Makefile made."""
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")
"""Devices of NVIDIA's driver, on Linux and on Windows' subsystem for it."""


class MissingTorch(RuntimeError):
    """Something needs torch, which is not installed. A notebook shows the sentence alone."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in a traceback's place."""
        return [str(self)]


def torch_missing(what: str) -> str:
    """The sentence that `what` needs torch and how to install it; "" if torch is installed."""
    try:
        found = importlib.util.find_spec("torch") is not None
    except ImportError:
        found = False
    return "" if found else f"{what} needs PyTorch, which is not installed. Run `{INSTALL_TORCH}`"


def need_torch(what: str) -> None:
    """Raises MissingTorch with one sentence if torch is not installed."""
    missing = torch_missing(what)
    if missing:
        raise MissingTorch(missing)


def has_driver() -> bool:
    """Whether this machine has NVIDIA's driver; no torch is imported."""
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, DRIVERS))


def check_device(wanted: str) -> None:
    """Raises RuntimeError with one sentence if the setting `device` is `cuda` and it plainly cannot be: no driver, no
    torch. Imports no torch.
    """
    if wanted != "cuda":
        return
    if not has_driver():
        raise RuntimeError(
            "device=cuda is set, but this machine has no NVIDIA GPU or no driver for it: use device=auto or device=cpu "
            "(see dshq doctor)"
        )
    need_torch("device=cuda")


def choose_device(wanted: str) -> str:
    """`cuda` or `cpu` for the setting `device`; torch is imported only if there is a GPU to check. Raises RuntimeError
    if `cuda` is set but there is no GPU.
    """
    check_device(wanted)
    if wanted == "cpu" or (wanted == "auto" and (not has_driver() or torch_missing("device=auto"))):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise RuntimeError(
            "device=cuda is set, but torch finds no GPU: use device=auto, or install a CUDA build of torch (see "
            "dshq doctor)"
        )
    return "cpu"
