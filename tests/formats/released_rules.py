"""Rules of a released version, kept beside the recordings that were played by them."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from dshq_widget.drill.compiled import CompiledDrill, compile_drill


def released_ball(folder: Path) -> CompiledDrill:
    """The Ball Drill of the release whose files are in `folder`; no Python of this release's, so no tool reads it."""
    module = ModuleType(f"ball_of_{folder.name}")
    SourceFileLoader(module.__name__, str(folder / "ball.py.txt")).exec_module(module)
    return compile_drill(module.Ball)
