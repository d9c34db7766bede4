"""Generated modules of numba's functions: written to the cache folder, compiled, imported."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from dshq_kernels.simd import shipped
from dshq_kernels.simd.vector import SOURCES


def cache_dir() -> Path:
    """Folder of generated modules and their machine code: $DSHQ_CACHE_DIR, else the user's cache folder, else a
    temporary one.
    """
    chosen = os.environ.get("DSHQ_CACHE_DIR")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dshq"
    for folder in (base, Path(tempfile.gettempdir()) / f"dshq-{os.getuid() if hasattr(os, 'getuid') else 'user'}"):
        try:
            (folder / "rules").mkdir(parents=True, exist_ok=True)
            if os.access(folder / "rules", os.W_OK):
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="dshq-"))


def load_module(source: str) -> ModuleType:
    """Import generated source through a file in the cache folder, so that numba finds earlier machine code next to it.
    The name changes when this package, which the code calls, changes.
    """
    digest = hashlib.sha256((SOURCES + source).encode()).hexdigest()[:20]
    name = f"dshq_rules_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_dir() / "rules" / f"{name}.py"
    if not path.exists() or path.read_text() != source:
        shipped.write_whole(path, source.encode())
    shipped.unpack(name, path, SOURCES)
    return _imported(path)


def _imported(path: Path) -> ModuleType:
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba asks where a function comes from
    try:
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module
