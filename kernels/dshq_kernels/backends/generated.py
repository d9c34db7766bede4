"""Generated modules of numba's functions: written to the cache folder, compiled, imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from dshq_kernels.simd import kept, shipped
from dshq_kernels.simd.folders import cache_dir, write_whole

kept.register()


def load_module(source: str) -> ModuleType:
    """Import generated source through a file in the cache folder, whose name changes when the source changes or a file
    of this package that it imports. Earlier machine code is found by it.
    """
    name = f"{kept.RULES}{kept.fingerprint(source)[:20]}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_dir() / "rules" / f"{name}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != source:
        write_whole(path, source.encode())
    shipped.unpack(name, path, kept.SOURCES)
    return _imported(path)


def _imported(path: Path) -> ModuleType:
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba asks where a function comes from
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module
