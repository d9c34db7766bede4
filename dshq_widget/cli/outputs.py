"""Where verbs write: checked before the work begins, and errors as sentences."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dshq_widget.cli.arguments import UsageError
from dshq_widget.contract.setting import shown
from dshq_widget.files import atomic


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Turn a missing optional package into a UsageError that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install 'dshq-widget[{name}]'") from error


@contextlib.contextmanager
def written(name: str, path: str) -> Iterator[None]:
    """Turn a failed write, or a missing optional package, into a UsageError."""
    try:
        yield
    except ImportError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{name}: cannot write {path!r}: {error.strerror or error}") from error


@contextlib.contextmanager
def said_if_slow(text: str, seconds: float = 3.0) -> Iterator[None]:
    """Say on stderr what is waited for, once the block has taken that long."""
    timer = threading.Timer(seconds, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def positive(name: str, value: float) -> None:
    """Raises UsageError unless `value` is more than 0, and finite."""
    if not value > 0:
        got = f"{value:g}" if isinstance(value, float) else shown(value)
        raise UsageError(f"{name} must be more than 0, got {got}")
    if value == float("inf"):
        raise UsageError(f"{name} must be a finite number, got {value:g}")


def check_results(results: Mapping[str, str], read: Iterable[str]) -> None:
    """Raises UsageError where a verb would write over a file that it reads, write two results into one file, or could
    not write one; `results` has paths by their options.
    """
    taken = dict.fromkeys(map(_same, read), "is what is read")
    for name, path in results.items():
        if (file := _same(path)) in taken:
            raise UsageError(f"{name}: {path!r} {taken[file]}: give it another name")
        taken[file] = f"is written by {name} already"
    for name, path in results.items():
        with written(name, path):
            atomic.check_writable(path)


def _same(path: str) -> tuple[int, int] | str:
    """What is equal for two paths of one file."""
    real = os.path.realpath(os.path.expanduser(path))
    try:
        found = os.stat(real)
    except OSError:
        return real
    return found.st_dev, found.st_ino


def folder(name: str, path: str) -> Path:
    """The folder, created if missing, after a test that a file can be written there. Raises UsageError."""
    if not path:
        raise UsageError(f"{name} must be the name of a folder, got ''")
    made = Path(os.path.expanduser(path))
    try:
        made.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{name}: cannot create the folder {path!r}: {error.strerror or error}") from error
    with written(name, path):
        atomic.check_writable(made / "probe")
    return made


def writable(name: str, path: str, ending: str) -> Path:
    """A file name with this ending, after a test that the file can be written. Raises UsageError."""
    target = Path(os.path.expanduser(path))
    if target.suffix != ending:
        raise UsageError(f"{name} must be a file name ending in {ending}, got {path!r}")
    if not target.absolute().parent.is_dir():
        raise UsageError(f"{name}: the folder {str(target.absolute().parent)!r} does not exist: create it first")
    with written(name, path):
        atomic.check_writable(target)
    return target
