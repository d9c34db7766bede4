"""What is said where PyTorch is needed and missing, with the one command that brings it. torch is not imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2]
_HAS_VERB = Path(sys.prefix) == _CHECKOUT / ".venv" and (_CHECKOUT / "Makefile").is_file()
INSTALL_TORCH = "make torch" if _HAS_VERB else "pip install torch==2.13.0"
"""The one command that brings it: the Makefile's in the environment that the Makefile made."""


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
