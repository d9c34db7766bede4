"""numba's settings come from NUMBA_... variables alone, not from a file that lies in the working folder.

numba reads `.numba_config.yaml` of the folder that one works in, when it is imported and again at each compilation. It
may say where machine code is kept, which is run, or where to write. In somebody else's folder that is a stranger's.
"""

from __future__ import annotations

import builtins
import sys
import warnings

TYPE_CHECKING = False
"""As type checkers know it: `typing` takes longer than all else here."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

READERS = ("numba.core.config", "numba.cuda.core.config")
"""The modules that read the file: numba's, and that of numba-cuda."""
NO_YAML = "A Numba config file is found"
"""How the warning begins that they give where they cannot read YAML."""


class _Finder:
    """Finds these modules as others do, and has them run without YAML."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name not in READERS:
            return None
        others = [one.find_spec for one in sys.meta_path if one is not self and hasattr(one, "find_spec")]
        found = next((spec for find in others if (spec := find(name, path, target)) is not None), None)
        if found is not None and found.loader is not None:
            _run_without_yaml(found.loader)
        return found


def _run_without_yaml(loader: Any) -> None:
    run = loader.exec_module

    def imported(name: str, *more: Any, **named: Any) -> Any:
        if name == "yaml":
            raise ImportError("numba reads no settings from the working folder here")
        return builtins.__import__(name, *more, **named)

    def exec_module(module: Any) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", NO_YAML)
            run(module)
        module._config_fname = ""  # nor later

    loader.exec_module = exec_module


def from_variables_alone() -> None:
    """Of this process, unless numba is imported already. Twice is fine."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
