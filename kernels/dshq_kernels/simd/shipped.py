"""Machine code that came with the package, put where `kept` keeps what numba compiled: it has nothing left to compile.

A wheel has a folder `machine_code`, written by tools/machine_code.py: for each level of processors (x86-64-v3 and
x86-64-v4) an archive of the kernels and one of each generated module. They fit one Python, one numba and one version of
this package's files; a machine that differs compiles for itself. numba's index of a function names the processor that
it was compiled for: the copy names this processor instead, which has all features of its level and so runs the code.

Reaches into numba's cache, of exactly the release that the manifest names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickletools
import sysconfig
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numba

from dshq_kernels.simd import kept
from dshq_kernels.simd.folders import write_whole

FOLDER = Path(__file__).parents[1] / "machine_code"
MANIFEST = "manifest.json"
KERNELS = "kernels"
"""The archive of the code that is the same for every drill."""


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
    manifest = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))
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
    place = _place(source) if chosen and archive.is_file() else None
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
    place = _place(source)
    if place is None:
        return
    index = Index(files[name])
    path = place / inside
    if path.exists() and Index(path.read_bytes()).made_of == index.made_of:
        return
    for data in index.data:
        write_whole(place / data, files[package + slash + data])
    write_whole(path, index.for_processor(*_here()))


class Index:
    """numba's index of a function, a pickle of its release and one of the stamp of its source and a table: signature,
    processor and hash of the code -> data file. It is read word by word and not unpickled: its signatures name
    functions of modules that are being imported.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._words = self._read(content)
        table = next((k for k, (name, _, _) in enumerate(self._words) if name == "EMPTY_DICT"), len(self._words))
        self.made_of = [value for _, value, _ in self._words[:table] if isinstance(value, (str, bytes))]
        """numba's release, and hashes of the source."""
        texts = [value for _, value, _ in self._words[table:] if isinstance(value, str)]
        self.data = [text for text in texts if text.endswith(".nbc")]

    @staticmethod
    def _read(content: bytes) -> list[tuple[str, object, bytes]]:
        """Name, value and bytes of each word of both pickles."""
        words, begin = [], 0
        for _ in range(2):
            found = [(op.name, value, begin + (at or 0)) for op, value, at in pickletools.genops(content[begin:])]
            ends = [place for _, _, place in found[1:]]
            begin = found[-1][2] + 1  # the last word, STOP, is one byte
            words += [
                (name, value, content[place:end])
                for (name, value, place), end in zip(found, [*ends, begin], strict=True)
            ]
        return words

    def for_processor(self, name: str, features: str) -> bytes:
        """The same for another processor than the level's: its name and features stand in the level's place."""
        level = [value for _, value, _ in self._words if isinstance(value, str)]
        triple = next(k for k, text in enumerate(level) if text.count("-") >= 2 and "linux" in text)
        changed = {level[triple + 1]: name, level[triple + 2]: features}
        return b"".join(
            b"X" + len(text).to_bytes(4, "little") + text if (text := changed.get(str(value), "").encode()) else word
            for kind, value, word in self._words
            if kind != "FRAME"  # lengths that would no longer be right; they may be left out
        )


def _here() -> tuple[str, str]:
    """What numba calls this processor in its indexes: a name and features."""
    from numba.core.registry import cpu_target

    return cpu_target.target_context.codegen().magic_tuple()[1:]


def _place(source: Path) -> Path | None:
    """The folder in which the machine code of a file is kept; None if it can be kept nowhere."""
    try:
        return kept.place(source)
    except OSError:
        return None
