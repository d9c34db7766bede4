"""What an answer names that reaches out of its lesson. Such an answer is not run when it is graded: somebody reads it.

An answer and its check share a process, so what stands here is no wall. It keeps out what takes no skill to copy, and
it is a list of what is allowed where there is one: the modules that an answer may import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

IMPORTS = frozenset({"dshq_widget", "math", "numpy"})
"""Modules that every answer may import; further ones are those that its lesson imports."""
_BUILTINS = (
    "SystemExit|breakpoint|compile|delattr|eval|exec|exit|get_ipython|getattr|globals|input|locals|open|quit|"
    "setattr|vars"
)
_FRAMES = (
    "_exit|_getframe|ag_frame|cr_frame|currentframe|f_back|f_globals|f_locals|get_objects|get_referrers|gi_frame|"
    "setprofile|settrace|tb_frame|tb_next|walk_stack|walk_tb"
)
_MODULES = (  # other modules know them by these names
    "asyncio|builtins|ctypes|ctypeslib|f2py|gc|importlib|inspect|io|multiprocessing|os|pickle|posix|runpy|shutil|socket|"
    "subprocess|sys|tempfile|threading|traceback"
)
_FILES = "DataSource|fromfile|fromregex|genfromtxt|loadtxt|memmap|open_memmap|savetxt|tofile"
_DUNDERS = r"__(?!init__|name__)\w*__"
NAMES = re.compile(f"{_BUILTINS}|{_FRAMES}|{_DUNDERS}")
"""Names that an answer may not use by themselves."""
ATTRIBUTES = re.compile(f"{NAMES.pattern}|{_MODULES}|{_FILES}")
"""What it may not take from a module or another object."""
TEXTS = re.compile(rf"\b(?:{_FRAMES})\b|/proc/|/dev/")
"""Looked for in texts, too: `"{0.f_back}".format(frame)` reads an attribute."""
FILE = re.compile(r"%%writefile [\w.]+\n")
"""The first line of an answer that is a file beside the notebook."""


def reached(answer: str, lesson: list[str]) -> list[str]:
    """The names in an answer that have to be read by somebody, sorted; `lesson` is the source of the lesson's cells.
    Raises SyntaxError for an answer that is no Python.
    """
    allowed = IMPORTS.union(*(_imports(ast.parse(FILE.sub("", cell, count=1))) for cell in lesson))
    if any(FILE.match(cell) for cell in lesson):
        allowed |= {"pathlib"}
    tree = ast.parse(FILE.sub("", answer, count=1))
    found = {name for name in _imports(tree) if name not in allowed and name.partition(".")[0] != "numpy"}
    found |= set(TEXTS.findall(answer))
    found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and NAMES.fullmatch(node.id)}
    found |= {name for name in _attributes(tree) if ATTRIBUTES.fullmatch(name)}
    return sorted(found)


def _imports(tree: ast.AST) -> set[str]:
    """The modules that a source imports."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def _attributes(tree: ast.AST) -> Iterator[str]:
    """What a source takes from something: `x.name`, `from x import name`, `case X(name=...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.MatchClass):
            yield from node.kwd_attrs
