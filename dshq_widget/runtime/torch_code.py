"""Where PyTorch keeps machine code: in a folder of this user's own.

Its own choice is a folder of a known name in the temporary folder, which is everybody's. Importing its optimisers makes
that folder, and ends in an error where another user has put something else there; code that lies there is run.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
"""As type checkers know it: `typing` takes longer than all else here."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PLACE = "TORCHINDUCTOR_CACHE_DIR"
"""PyTorch's variable. Who has set it is not contradicted."""
PARTS = ("torch._dynamo", "torch._inductor")
"""The parts of it that make the folder, some of them when they are imported."""


class _Finder:
    """Finds nothing: it says where machine code goes when one of these parts is looked for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name in PARTS:
            from dshq_kernels.simd.folders import cache_dir  # takes as long as all of this package

            os.environ.setdefault(PLACE, str(cache_dir() / "torch"))
        return None


def keep_in_own_folder() -> None:
    """In this process and those that it starts. Twice is fine."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
