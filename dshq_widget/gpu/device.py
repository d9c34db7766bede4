"""Chooses the device of a learner, and says what is missing for it. torch is imported only where it is used."""

from __future__ import annotations

import os
import shutil

from dshq_widget.contract.torch_needed import need_torch, torch_missing

DRIVERS = ("/dev/nvidiactl", "/dev/dxg")
"""Devices of NVIDIA's driver, on Linux and on Windows' subsystem for it."""


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
