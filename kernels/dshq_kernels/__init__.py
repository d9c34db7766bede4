"""Kernels of DrillSergeantHQ: the rules compiler and its back ends, the generator, and the network on 16-lane tiles.

Needs only numpy and numba; does not use torch, processes or notebooks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dshq_kernels.simd.own_folder import own_folder


def ensure_cache() -> Path | None:
    """Give numba a folder for machine code: where none of its usual ones can be written, a temporary one, which is
    returned. Raises RuntimeError if there is none either.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    usual = [Path(chosen)] if chosen else []
    if any(map(_writable, [*usual, Path(__file__).parent / "backends" / "__pycache__", user])):
        return None
    try:
        folder = Path(tempfile.gettempdir()) / f"dshq-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        writable = own_folder(folder) and _writable(folder)  # numba unpickles what lies there
    except FileNotFoundError:
        writable = False
    if not writable:
        raise RuntimeError(
            "compiled code can be kept nowhere: no folder can be written, not even a temporary one. Set TMPDIR, "
            "NUMBA_CACHE_DIR and DSHQ_CACHE_DIR to a folder that can be"
        )
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder


def _writable(folder: Path) -> bool:
    """Whether a file can be made there, as numba tries it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


ensure_cache()
