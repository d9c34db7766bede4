"""Generated modules: written to the cache folder, compiled, imported.

numba compiles one C function after the other. A large drill has a dozen, each of seconds, and each is kept on disk; so
several processes compile one module: every one begins with its own share, the longest first, then takes what is left,
and loads what another one has compiled meanwhile.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from dshq_kernels.simd import kept, shipped
from dshq_kernels.simd.folders import cache_dir, write_whole

kept.register()
LONG = 400
"""Lines of a module from which a second process is worth its start: it takes about 1.5 s (measured)."""
COMPILES = "import sys; from dshq_kernels.backends.generated import _help; _help(*sys.argv[1:])"


def load_module(source: str, processes: int = 1) -> ModuleType:
    """Import generated source through a file in the cache folder, whose name changes when the source changes or a file
    of this package that it imports. Earlier machine code is found by it. Up to `processes` compile it.
    """
    name = f"{kept.RULES}{kept.fingerprint(source)[:20]}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_dir() / "rules" / f"{name}.py"
    if not path.exists() or path.read_text() != source:
        write_whole(path, source.encode())
    there = shipped.unpack(name, path, kept.SOURCES)
    compiled = path.with_suffix(".compiled")
    if there or processes < 2 or source.count("\n") < LONG or compiled.exists():
        return _imported(path, 0, 1)
    with _helpers(path, processes):
        module = _imported(path, 0, processes)
    compiled.touch()
    return module


def in_order(source: str, path: str, share: int, shares: int) -> ast.Module:
    """A generated module with its C functions, which are compiled where they are defined, in another order: every
    `shares`-th of them first, from the longest down, then the others from the shortest up. The lines keep their
    numbers, by which numba knows them.
    """
    tree = ast.parse(source, path)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_compiled(node)]
    functions.sort(key=lambda node: (node.lineno - (node.end_lineno or 0), node.lineno))
    own = functions[share::shares]
    others = [node for node in reversed(functions) if node not in own]
    tree.body = [*(node for node in tree.body if node not in functions), *own, *others]
    return tree


def _is_compiled(node: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "cfunc" for mark in node.decorator_list)


def _imported(path: Path, share: int, shares: int) -> ModuleType:
    """Import the module, its functions in that order."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba asks where a function comes from
    try:
        exec(compile(in_order(path.read_text(), str(path), share, shares), str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextlib.contextmanager
def _helpers(path: Path, processes: int) -> Iterator[None]:
    """Processes that compile along as long as the block lasts, or this process lives."""
    command = [sys.executable, "-c", COMPILES, str(path)]
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    helpers = [
        subprocess.Popen([*command, str(share), str(processes)], **quiet)  # type: ignore[call-overload]
        for share in range(1, processes)
    ]
    try:
        yield
    finally:
        for helper in helpers:
            helper.kill()  # what it compiles now is compiled here, too
            helper.communicate()


def _help(path: str, share: str, shares: str) -> None:
    """A helper's own work; its input ends when the process that started it ends."""

    def follow() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    _imported(Path(path), int(share), int(shares))
