"""Where the machine code of this project's functions is kept: below the user's cache folder, by what it was made of.

numba keeps it beside each file, or by the file's path, and looks only at that file when it asks whether code is still
good. Here the key is the text of the file and of every file of the project that it imports, directly or not, since a
compiled function has its callees inside. So all copies of the same sources share their machine code, wherever they lie
and whenever they were written; an edit makes those files' code anew that import what was edited.

    FOLDER/code/dshq_kernels.network.mlp-KEY/     one file's functions, in numba's own format
    FOLDER/code/dshq_rules_DIGEST-KEY/            one generated module's

KEY is also of numba's, llvmlite's and Python's release and of the processor. FOLDER is $NUMBA_CACHE_DIR, else the
cache folder. A numba whose inside is not known (releases.py) keeps its code its own way, in a folder for each version
of the kernels' sources: what a file calls is compiled with it, and numba would not see that it has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba

from dshq_kernels.simd import releases
from dshq_kernels.simd.folders import cache_dir, write_whole

OWN = "dshq_"
"""What the names of the project's packages and of its generated modules begin with."""
RULES = f"{OWN}rules_"
BASE = f"{OWN}kernels.simd"
"""Every file depends on this package: what its operators mean for vectors is said there, imported or not."""
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({OWN}[\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+({OWN}[\w.]+))", re.MULTILINE
)
KEPT, KEPT_RULES = 8, 400
"""Versions of a file, and generated modules, that stay when others have not been used for `DAY` seconds."""
DAY, HOUR = 86_400.0, 3_600.0
BEGUN, ALONE = time.time(), uuid.uuid4().hex
"""When this process had imported next to nothing, and a word that no other process has."""

SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py")))
).hexdigest()
"""Hash of this package's files."""


@cache
def _top(package: str) -> Path | None:
    """The folder of a package without dots in its name."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@cache
def _file(module: str) -> Path | None:
    """The file of one of the project's modules; None if there is none of this name. Nothing is imported."""
    package, *names = module.split(".")
    top = _top(package)
    if top is None:
        return None
    path = top.joinpath(*names)
    found = (path.with_suffix(".py") if names else path / "__init__.py", path / "__init__.py")
    return next((file for file in found if file.is_file()), None)


def imported(text: str) -> set[str]:
    """The project's modules that a text imports by `import` and `from`, anywhere in it, and the packages they are in.
    Names that are no modules may be among them.
    """
    names: set[str] = set()
    for module, what, alone in _IMPORT.findall(text):
        names.add(module or alone)
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", what))}
    return {name.rsplit(".", cut)[0] for name in names for cut in range(name.count(".") + 1)}


@cache
def _read(file: Path) -> tuple[str, frozenset[str]]:
    """A file's text, and what it imports."""
    text = file.read_text(encoding="utf-8")
    return text, frozenset(imported(text))


@cache
def _simd() -> frozenset[str]:
    top = _file(BASE)
    assert top is not None
    return frozenset({BASE, *(f"{BASE}.{path.stem}" for path in top.parent.glob("*.py"))})


@cache
def _behind(names: frozenset[str]) -> tuple[tuple[Path, ...], str]:
    """The files of these modules and of all that they import, directly or not, and a hash of their texts."""
    found: dict[str, Path | None] = {}
    waiting = set(names | _simd())
    while waiting:
        name = waiting.pop()
        file = found[name] = _file(name)
        if file is not None:
            waiting |= _read(file)[1] - found.keys()
    files = {name: file for name, file in sorted(found.items()) if file is not None}
    texts = "\0".join(f"{name}\n{_read(file)[0]}" for name, file in files.items())
    return tuple(files.values()), hashlib.sha256(texts.encode()).hexdigest()


def fingerprint(text: str) -> str:
    """Hash of a text and of all files of the project that it imports, directly or not. If one of them has been written
    since this process began, what was imported may be older than what can be read: no other process gets such a hash.
    """
    files, behind = _behind(frozenset(imported(text)))
    own = ALONE if any(map(_is_new, files)) else ""
    return hashlib.sha256("\n".join((text, behind, own)).encode()).hexdigest()


def _is_new(file: Path) -> bool:
    try:
        return file.stat().st_mtime > BEGUN
    except FileNotFoundError:
        return True


def _made_of(source: Path) -> str:
    """Of a file's functions. A generated module may be new: its name says what is in it."""
    new = not source.stem.startswith(RULES) and _is_new(source)
    return fingerprint(_read(source)[0] + ALONE * new)


@cache
def module_of(source: Path) -> str:
    """The name under which the code of a file is kept: its module's, if it is one of the project's; else ""."""
    if source.stem.startswith(RULES):
        return source.stem
    names = [source.stem]
    for folder in source.parents:
        if not (folder / "__init__.py").is_file():
            break
        names.insert(0, folder.name)
    return ".".join(names) if names[0].startswith(OWN) and len(names) > 1 else ""


def folder() -> Path:
    """Of all machine code."""
    chosen = numba.config.CACHE_DIR
    return (Path(chosen) if chosen else cache_dir()) / "code"


def place(source: Path) -> Path | None:
    """The folder of a file's machine code, which is made; None if the file is not the project's. Raises OSError if it
    cannot be made.
    """
    module = module_of(source)
    if not module:
        return None
    machine = (numba.__version__, llvmlite.__version__, sysconfig.get_config_var("SOABI"))
    processor = numba.config.CPU_NAME or llvm.get_host_cpu_name()
    key = hashlib.sha256("\n".join(map(str, (*machine, processor, _made_of(source)))).encode()).hexdigest()[:20]
    path = folder() / f"{module}-{key}"
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        _copy(path)
        _prune(path)
    elif time.time() - path.stat().st_mtime > HOUR:
        with contextlib.suppress(PermissionError):  # somebody else's, who prunes it
            os.utime(path)
    return path


def _copy(path: Path) -> None:
    """Begin with what a chosen cache folder has that cannot be written: an image's, or a class's."""
    chosen = os.environ.get("DSHQ_CACHE_DIR")
    given = Path(chosen) / "code" / path.name if chosen else path
    if given != path and given.is_dir():
        for file in sorted(given.glob("*.nb[ci]")):  # the indexes last
            write_whole(path / file.name, file.read_bytes())


def _prune(path: Path) -> None:
    """Remove what has not been used for a day and is not among the last versions of the same file. Only names that this
    file gives are touched.
    """
    group, kept = path.name.rpartition("-")[0], KEPT
    if group.startswith(RULES):
        group, kept = RULES, KEPT_RULES
    old = sorted(_ages(path.parent, group))[kept:]
    for age, other in old:
        if age > DAY:
            shutil.rmtree(other, ignore_errors=True)  # another process removes it, too


def _ages(folder: Path, group: str) -> Iterator[tuple[float, Path]]:
    """Seconds since it was last used, and folder, of each version of a file, or of each generated module."""
    wanted = re.compile(rf"{re.escape(group)}{'[0-9a-f]+' * (group == RULES)}-[0-9a-f]{{20}}")
    for other in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if wanted.fullmatch(other.name):
                yield time.time() - other.stat().st_mtime, other


class Locator:
    """Tells numba that place, and what the code was made of, in the words of its own locators. numba asks those about
    other files.
    """

    def __init__(self, py_func: Any, source: Path, path: Path):
        self._lineno, self._py_file, self._path = py_func.__code__.co_firstlineno, str(source), path

    def ensure_cache_path(self) -> None:
        """Raises OSError if nothing can be written there."""
        self._path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=self._path).close()

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return _made_of(Path(self._py_file))

    def get_disambiguator(self) -> str:
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Locator | None:
        source = Path(py_file)
        try:
            path = place(source)
            if path is None:
                return None
            self = cls(py_func, source, path)
            self.ensure_cache_path()
        except OSError:  # not to be made or written: numba's own locators come next
            return None
        return self


def register() -> None:
    """Have numba ask `Locator` first, in this process. Files with kept functions call it, or import one that does."""
    if not releases.is_known():
        own = f"numba-{SOURCES[:20]}"
        chosen = Path(numba.config.CACHE_DIR or cache_dir())
        numba.config.CACHE_DIR = str(chosen if chosen.name == own else chosen / own)
        return
    from numba.core import caching

    kinds = caching.CacheImpl._locator_classes
    if Locator not in kinds:
        caching.CacheImpl._locator_classes = [Locator, *kinds]
