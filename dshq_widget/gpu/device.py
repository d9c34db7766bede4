"""Chooses the device of a learner."""

from __future__ import annotations

import shutil


def choose_device(wanted: str) -> str:
    """`cuda` or `cpu` for the setting `device`; torch is imported only if there is a GPU to check. Raises RuntimeError
    if `cuda` is set but there is no GPU.
    """
    if wanted == "cpu" or (wanted == "auto" and shutil.which("nvidia-smi") is None):
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
