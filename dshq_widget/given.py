"""What a command was given for a drill: a name, a Python file, or a policy file that says what it was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.arguments import UsageError

if TYPE_CHECKING:
    from dshq_widget.drill import Drill
    from dshq_widget.training.checkpoint import Checkpoint


def classes(path: str) -> list[type[Drill]]:
    """The Drill classes that a Python file defines. Raises ValueError where there is no such file or no such class."""
    from dshq_widget.check import drills_in

    if path.endswith(".py") and not Path(path).expanduser().is_file():
        raise UsageError(f"wanted a Python file with a Drill class, but there is no file {path!r}")
    return drills_in(path)


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
    from dshq_widget.training import fitting

    if given is not None:
        return drill(given)
    return fitting.known_drill(saved, path, f"add `--drill {saved.drill}.py`, the Python file that defines it")
