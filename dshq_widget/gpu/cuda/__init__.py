"""CUDA: games whose rules are its kernels, networks in Triton, graphs, frames; each imported when it is used."""

from __future__ import annotations

import os
import shutil

from dshq_widget.contract.torch_needed import need_torch, torch_missing
from dshq_widget.gpu.plug import Device

DRIVERS = ("/dev/nvidiactl", "/dev/dxg")
"""Devices of NVIDIA's driver, on Linux and on Windows' subsystem for it."""


def has_driver() -> bool:
    """Whether this machine has NVIDIA's driver; no torch is imported."""
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, DRIVERS))


def check() -> None:
    """See `Device.check`."""
    if not has_driver():
        raise RuntimeError(
            "device=cuda is set, but this machine has no NVIDIA GPU or no driver for it: use device=auto or device=cpu "
            "(see dshq doctor)"
        )
    need_torch("device=cuda")


def found(asked: bool) -> bool:
    """See `Device.found`."""
    if not asked and (not has_driver() or torch_missing("device=auto")):
        return False
    import torch

    if asked and not torch.cuda.is_available():
        raise RuntimeError(
            "device=cuda is set, but torch finds no GPU: use device=auto, or install a CUDA build of torch (see "
            "dshq doctor)"
        )
    return torch.cuda.is_available()


def join(device: str) -> str:
    """See `Device.join`."""
    import torch

    torch.cuda.set_device(torch.device(device))
    return "cpu:gloo,cuda:nccl"


CUDA = Device(
    check,
    found,
    join,
    why_no_rules="dshq_kernels.backends.cuda:why_unusable",
    games="dshq_widget.gpu.cuda.games:CudaGames",
    captured="dshq_widget.gpu.cuda.graphs:captured",
    network="dshq_widget.gpu.cuda.network:own_network",
)
