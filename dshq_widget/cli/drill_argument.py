"""Find the drill that a command names: by name, by Python file, or by the policy file that was trained on it."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from dshq_widget.cli.arguments import UsageError
from dshq_widget.files import atomic
from dshq_widget.policy import ladder

if TYPE_CHECKING:
    from dshq_widget.drill.declaration import Drill
    from dshq_widget.policy.checkpoint import Checkpoint


class _Text(SourceFileLoader):
    """Runs the text of a file, which a person can read, and nothing that `__pycache__` beside it says of it."""

    def get_code(self, fullname: str) -> CodeType:
        """See `importlib.abc.InspectLoader`."""
        return self.source_to_code(self.get_data(self.path), self.path)


def classes(path: str) -> list[type[Drill]]:
    """The Drill classes that a Python file defines. Raises UsageError if the file is missing, fails to run or defines
    none.
    """
    from dshq_widget.drill.declaration import Drill

    file = atomic.absolute(path)  # as Python calls it where it names a line
    if file.suffix != ".py":
        raise UsageError(f"expected a Python file with a Drill class or a drill's name, got {path!r}")
    if not file.is_file():
        raise UsageError(f"expected a Python file with a Drill class, but there is no file {path!r}")
    name = f"_given_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=_Text(name, str(file)))
    assert spec is not None and spec.loader is not None, "it is given one"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # also a script that ends by itself
        raise UsageError(_where(file, path, error)) from error
    found = [
        value
        for value in dict.fromkeys(one for one in vars(module).values() if isinstance(one, type))
        if issubclass(value, Drill) and value.__module__ == name
    ]
    if not found:
        raise UsageError(f"{path} defines no drill: write `class MyDrill(Drill):` in it (docs/reference/rules.md)")
    return found


def drill(given: str) -> Any:
    """The class that a Python file defines; any other text unchanged. Raises UsageError unless the file defines one."""
    if not given.endswith(".py"):
        return given
    found = classes(given)
    if len(found) > 1:
        names = ", ".join(one.__name__ for one in found)
        raise UsageError(f"{given!r} defines {len(found)} drills ({names}): use a file that defines one")
    return found[0]


def policy_file(given: str) -> str | None:
    """The path of a policy file that a command names, `bot.dshq`, or of a policy of the package, `ball:gold`; None for
    a drill. Raises ValueError if the drill has no such policy.
    """
    rung = ladder.resolve(given)
    return str(rung) if rung else given if given.endswith(".dshq") else None


def drill_of(saved: Checkpoint, path: str, given: str | None) -> Any:
    """The drill for the policy file at `path`: what `--drill` names, or the drill it was trained on. Raises
    CheckpointError if that is a user's own drill: the file holds its name but not its rules.
    """
    from dshq_widget.policy import compatibility

    if given is not None:
        return drill(given)
    advice = f"add `--drill {shlex.quote(saved.drill + '.py')}`, the Python file that defines it"
    if saved.environment:
        advice = f"if the module is yours, add `--drill {shlex.quote(saved.drill)}`"
    return compatibility.known_drill(saved, path, advice)


def _where(file: Path, given: str, error: BaseException) -> str:
    """An exception raised while a file ran, with the line of the file that raised it."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None
    step = error.__traceback__
    while step is not None:
        line = step.tb_lineno if step.tb_frame.f_code.co_filename == str(file) else line
        step = step.tb_next
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{given}{f':{line}' if line else ''}: {type(error).__name__}: {message}"
