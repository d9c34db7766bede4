"""Machine code that came with the package, put where numba looks for what it compiled: nothing is left to compile.

A wheel has a folder `machine_code`, written by tools/machine_code.py: for each level of processors (x86-64-v3 and
x86-64-v4) an archive of the kernels and one of each drill's rules. They fit one Python, one numba and one version of
this package's files; a machine that differs compiles for itself. numba's index of a function names the processor that
it was compiled for: the copy names this processor instead, which has all features of its level and so runs the code.

Reaches into numba's cache, of exactly the release that the manifest names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import pickle
import sysconfig
import tarfile
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba

FOLDER = Path(__file__).parents[1] / "machine_code"
MANIFEST = "manifest.json"
KERNELS = "kernels"
"""The archive of the code that is the same for every drill."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of the cache so that nobody ever sees half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def conditions(sources: str) -> dict[str, str]:
    """What machine code depends on besides the processor; `sources` is the hash of this package's files."""
    return {
        "python": str(sysconfig.get_config_var("SOABI")),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "sources": sources,
    }


@cache
def level(sources: str) -> tuple[str, str]:
    """The level whose machine code is used here, or "", and the reason in a few words."""
    if not (FOLDER / MANIFEST).is_file():
        return "", "none came with the package"
    manifest = json.loads((FOLDER / MANIFEST).read_text())
    for name, here in conditions(sources).items():
        if manifest[name] != here:
            known = "other files of this package" if name == "sources" else f"{name} {manifest[name]}, this is {here}"
            return "", f"what came with the package is for {known}"
    if numba.config.CPU_NAME or numba.config.CPU_FEATURES:
        return "", "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for another processor"
    features = llvm.get_host_cpu_features()
    for name, wanted in manifest["levels"].items():
        if all(features.get(feature) for feature in wanted):
            return name, "came with the package"
    return "", f"what came with the package is for {' and '.join(manifest['levels'])}, this is another processor"


def unpack(group: str, source: Path, sources: str) -> bool:
    """Copy the machine code of `group` to where numba keeps that of its files, once on a machine; `source` is one of
    them. Returns whether it is there.
    """
    chosen, _ = level(sources)
    archive = FOLDER / chosen / f"{group}.tar.xz"
    place = _cache_of(source) if chosen and archive.is_file() else None
    if place is None:
        return False
    digest = hashlib.sha256(f"{archive} {archive.stat().st_size} {sources}".encode()).hexdigest()[:20]
    done = place / f"shipped-{group}-{digest}"
    if done.exists():
        return True
    try:
        with tarfile.open(archive) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
        for name in files:
            if name.endswith(".nbi"):
                _put(name, files, source)
        done.touch()
    except OSError:  # a full disk, say: numba compiles, as without this file, and says what it cannot write
        return False
    return True


def _put(name: str, files: Mapping[str, bytes], source: Path) -> None:
    """A function's index and what it speaks of, unless numba has compiled this version of it here. `name` is
    package/folder/FUNCTION.nbi, or FUNCTION.nbi for a function of the file `source`.
    """
    package, slash, inside = name.rpartition("/")
    if package:
        top, *folders = package.split("/")
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            return
        source = Path(spec.origin).parent.joinpath(*folders, f"{inside.partition('.')[0]}.py")
    place = _cache_of(source)
    if place is None:
        return
    version, stamp, overloads = read_index(files[name])
    path = place / inside
    if path.exists() and read_index(path.read_bytes())[:2] == (version, stamp):
        return
    for data in overloads.values():
        write_whole(place / data, files[package + slash + data])
    write_whole(path, index(version, stamp, {(key[0], _here(), *key[2:]): data for key, data in overloads.items()}))


def read_index(content: bytes) -> tuple[str, Any, dict[Any, str]]:
    """numba's index of a function: its release, the stamp of the source, and the data file of each signature,
    processor and hash of the code.
    """
    file = io.BytesIO(content)
    version = pickle.load(file)
    if version != numba.__version__:
        return version, None, {}
    stamp, overloads = pickle.load(file)
    return version, stamp, overloads


def index(version: str, stamp: Any, overloads: dict[Any, str]) -> bytes:
    """The opposite of `read_index`."""
    from numba.core.serialize import dumps

    return pickle.dumps(version, protocol=-1) + dumps((stamp, overloads))


def _here() -> Any:
    """What numba calls this processor in its indexes."""
    from numba.core.registry import cpu_target

    return cpu_target.target_context.codegen().magic_tuple()


@cache
def _cache_of(source: Path) -> Path | None:
    """The folder in which numba keeps the machine code of a file's functions; None if it can keep it nowhere."""
    from numba.core.caching import CacheImpl

    found = (kind.from_function(read_index, str(source)) for kind in CacheImpl._locator_classes)
    locator = next(filter(None, found), None)
    return Path(locator.get_cache_path()) if locator else None
