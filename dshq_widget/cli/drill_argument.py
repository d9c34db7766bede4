"""What a command was given for a drill: a name, a Python file, or a policy file that says what it was trained on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.cli.arguments import UsageError

if TYPE_CHECKING:
    from dshq_widget.drill.declaration import Drill
    from dshq_widget.policy.checkpoint import Checkpoint


def classes(path: str) -> list[type[Drill]]:
    """The Drill classes that a Python file defines. Raises UsageError where there is no such file or no such class, or
    where it does not run.
    """
    from dshq_widget.drill.declaration import Drill

    file = Path(path).expanduser()
    if file.suffix != ".py":
        raise UsageError(f"wanted a Python file with a Drill class or a drill's name, got {path!r}")
    if not file.is_file():
        raise UsageError(f"wanted a Python file with a Drill class, but there is no file {path!r}")
    name = f"_given_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(_where(file, error)) from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Drill) and value.__module__ == name
    ]
    if not found:
        raise UsageError(f"{file} defines no drill: write `class MyDrill(Drill):` in it (docs/rules.md)")
    return found


def drill(given: str) -> Any:
    """The class that a Python file defines; any other text as it is. Raises ValueError where the file has not one."""
    if not given.endswith(".py"):
        return given
    found = classes(given)
    if len(found) > 1:
        names = ", ".join(one.__name__ for one in found)
        raise UsageError(f"{given!r} defines {len(found)} drills, {names}: give a file with one")
    return found[0]


def drill_of(saved: Checkpoint, path: str, given: str | None) -> Any:
    """The drill for the policy file at `path`: what `--drill` says, or else what the file was trained on. Raises
    CheckpointError where that is a drill of somebody's own: the file knows its name and not its rules.
    """
    from dshq_widget.policy import compatibility

    if given is not None:
        return drill(given)
    return compatibility.known_drill(saved, path, f"add `--drill {saved.drill}.py`, the Python file that defines it")


def _where(file: Path, error: Exception) -> str:
    """An exception of a file as it was run, with the line in it that raised."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        line = step.tb_lineno if step.tb_frame.f_code.co_filename == str(file) else line
        step = step.tb_next
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{file}{f':{line}' if line else ''}: {type(error).__name__}: {message}"
