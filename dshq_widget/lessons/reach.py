"""What an answer names that reaches out of its lesson. Such an answer is not run when it is graded: somebody reads it.

An answer and its check share a process, so what stands here is no wall. It keeps out what takes no skill to copy, and
it is a list of what is allowed where there is one: the modules that an answer may import, and what it may take of numpy
and, as its lesson does, of this package.
"""

from __future__ import annotations

import ast
import contextlib
import re
import symtable
from collections import Counter
from collections.abc import Iterator, Mapping, Set

from dshq_widget.lessons.border import IMPORTS, OF_NUMPY, OF_OTHERS, OURS, Border

_BUILTINS = (
    "SystemExit|breakpoint|compile|delattr|eval|exec|exit|get_ipython|getattr|globals|input|locals|open|quit|"
    "setattr|vars"
)
_FRAMES = (
    r"_exit|_getframe|(?:ag|cr|f|gi|tb)_(?:code|frame)|co_(?:code|consts|names|varnames)|currentframe|f_back|f_globals|f_locals|get_objects|get_referrers|"
    "setprofile|settrace|tb_next|walk_stack|walk_tb"
)
_MODULES = (  # other modules know them by these names
    "asyncio|builtins|contextlib|ctypes|ctypeslib|f2py|functools|gc|importlib|imported|inspect|io|multiprocessing|"
    "operator|os|pickle|posix|runpy|shutil|socket|subprocess|sys|tempfile|threading|traceback|types"
)
_GLOBALLY = r"library|overrides|register_module_\w+"
"""What changes PyTorch itself, where nothing in Python shows it."""
_FILES = (
    r"DataSource|dumps?|fromfile|fromregex|genfromtxt|hardlink_to|load\w*|memmap|open_memmap|save\w*|symlink_to|"
    "tofile|write_bytes"
)
_TEXTS_RUN = (
    r"ForwardRef|evaluate_forward_ref|get_attr|get_type_hints|make_dataclass|rundocs|runstring|set_attr|"
    r"\w+_wrapper_attr"
)
"""What takes a text for code, or for an attribute's name."""
OF_ITS_OWN = re.compile(r"_(?!_|asdict$|fields$|make$|replace$)\w*|call(_async)?|evaluate")
"""What an answer may take from its own objects alone, and from modules as their paths say: parts that are not for
users, and what takes a text for code where it is another's (`_evaluate` of a type hint, `call` of Gymnasium).
"""
WRITES = "write_text"
"""What code for an exercise that is a file may take. It may make nothing of this package and of Gymnasium, which import
what lies in the folder: somebody's text in quotes would run that nobody has read (afresh.py reads the file itself).
"""
_IMPORTING = (OURS, "gymnasium")
_DUNDERS = r"__(?!init__|name__)\w*__"
_DUNDER = re.compile(r"__\w+__")
_MANGLED = re.compile(r"__\w*(?<!__)")  # another name within a class
NAMES = re.compile(f"{_BUILTINS}|{_FRAMES}|{_MODULES}|{_DUNDERS}")
"""Names that an answer may not use by themselves. Its classes may have an `__init__`; it may not change another's."""
_SPECIAL = r"__(?!init__|call__|future__|len__|repr__|str__|main__|name__)\w*__"
"""Methods that an answer's classes may not have: they say what a check asks of a value, whether it is equal, say."""
_WHOLE = "abc|matplotlib|np"
"""Modules that others hold: numpy from there is numpy as a whole, with its `ma.masked`, which equals everything, and
classes of `collections.abc` take whatever is registered there for one of their own.
"""
ATTRIBUTES = re.compile(f"{NAMES.pattern}|{_FILES}|{_GLOBALLY}|{_TEXTS_RUN}|{_WHOLE}")
"""What it may not take from a module or another object."""
TEXTS = re.compile(rf"\b(?:{_FRAMES})\b|/proc/|/dev/")
"""Looked for in texts, too: `"{0.f_back}".format(frame)` reads an attribute."""
FILE = re.compile(r"\A%%writefile [\w.]+\n")
"""The first line of an answer that is a file beside the notebook, where one of its lesson's cells is that file."""
SLOPES = frozenset({"data", "grad", "requires_grad"})
"""Attributes that an answer may set of what it is given: of weights. Others it may set of its own objects alone:
what its check asks next may be what it has changed.
"""
CHECKS = re.compile(r"dshq_widget\.lessons\.checks\.\w+")
"""A module that knows the answers: a lesson may take claims or results from there."""


def reached(answer: str, lesson: list[str], before: list[str] | None = None) -> list[str]:
    """The names in an answer that have to be read by somebody, sorted; `lesson` is the source of the lesson's cells,
    and `before` what has run by then: names that were imported there stand for the same here. Raises SyntaxError for an
    answer that is no Python.
    """
    files = {head.group() for cell in lesson if (head := FILE.match(cell))}
    given = [ast.parse(FILE.sub("", cell)) for cell in lesson]
    is_file = (head := FILE.match(answer)) is not None and head.group() in files
    source = FILE.sub("", answer) if is_file else answer
    earlier = _trees(before or [])
    tree, own = ast.parse(source), _own(symtable.symtable(source, "<answer>", "exec"))
    allowed = {name for cell in given for name in _imports(cell) if not re.fullmatch(_MODULES, name)} | IMPORTS
    changes_file = bool(files) and not is_file
    allowed |= OF_NUMPY | ({"pathlib"} if changes_file else set())
    allowed |= {f"{one}.{name}" for one, names in OF_OTHERS.items() if one in allowed for name in names}
    found = {name for name in _imports(tree) if name not in allowed and name.partition(".")[0] != "numpy"}
    found |= set(TEXTS.findall(answer))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own
    found |= {name for name in used if NAMES.fullmatch(name)}
    found |= {name for name in _attributes(tree) if ATTRIBUTES.fullmatch(name)}
    writes = {name for name in _attributes(tree) if name == WRITES}
    found |= _importing(tree, [*given, *earlier], own) if changes_file else writes
    found |= {name for name in _words(tree) if re.fullmatch(_SPECIAL, name)}
    changed = {node.attr for node in _changed(tree)} - found
    found |= {f"{name} (changed)" for name in changed if _DUNDER.fullmatch(name)}
    found |= {f"{name} (in a class)" for name in _held(tree)} | set(_of_class(tree))
    private = {name for names in _bound([tree]) for name in names if _MANGLED.fullmatch(name)}
    found |= {f"{name} (imported)" for name in private}
    return sorted(found | set(_taken(tree, given, own, earlier, allowed)))


def _own(table: symtable.SymbolTable) -> set[str]:
    """Names that are a function's own wherever a source uses them, its arguments and what it sets: such an `input` or
    `time` is neither Python's nor the lesson's.
    """
    own, others, tables = set[str](), set[str](), [table]
    for scope in tables:
        tables += scope.get_children()
        for symbol in scope.get_symbols():
            inside = scope.get_type() == "function" and (symbol.is_local() or symbol.is_free())
            (own if inside and not symbol.is_imported() else others).add(symbol.get_name())
    return own - others


def _imports(tree: ast.AST) -> set[str]:
    """The modules that a source imports."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def _words(tree: ast.AST) -> Iterator[str]:
    """All names that a source has, wherever Python takes one (`class __eq__:`, `import x as __eq__` and `case __eq__:`
    make a method, too), and its texts: `type("A", (), {"__eq__": ...})` makes a class of those.
    """
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            yield from (word for word in (value if isinstance(value, list) else [value]) if isinstance(word, str))


def _attributes(tree: ast.AST) -> Iterator[str]:
    """What a source takes from something: `x.name`, `from x import name`, `case X(name=...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.MatchClass):
            yield from node.kwd_attrs


def _importing(tree: ast.Module, lesson: list[ast.Module], own: Set[str]) -> set[str]:
    """What a source takes from modules that import what lies in the folder."""
    modules, parts = _bound([*lesson, tree])
    known = {name: path for name, path in (modules | parts).items() if name not in own}
    paths = {_path(node, known) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    return {path for path in paths if path.partition(".")[0] in _IMPORTING}


def _classes(tree: ast.AST) -> list[ast.ClassDef]:
    """Those that a source defines, wherever."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _methods(classes: list[ast.ClassDef]) -> Iterator[ast.FunctionDef]:
    """Those that are called on something."""
    for function in (part for node in classes for part in node.body if isinstance(part, ast.FunctionDef)):
        if not {"staticmethod", "classmethod"} & set(map(_root, function.decorator_list)):
            yield function


def _of_class(tree: ast.AST) -> Iterator[str]:
    """Methods of its own that a source takes from their class, to call them on whatever it likes; a class may take
    `__init__` from one that it is made of.
    """
    classes = _classes(tree)
    names, methods, open_to = {node.name for node in classes}, {one.name for one in _methods(classes)}, set[ast.AST]()
    for node in classes:
        bases = set(map(_root, node.bases))
        open_to |= {part for part in _takes(node) if part.attr == "__init__" and _root(part) in bases}
    for taken in _takes(tree):
        value = taken.value
        of_type = isinstance(value, ast.Call) and _root(value.func) == "type"
        of_class = of_type or (isinstance(value, ast.Name) and value.id in names)
        if of_class and taken.attr in methods and taken not in open_to:
            yield f"{ast.unparse(taken)} (of the class)"


def _takes(tree: ast.AST) -> Iterator[ast.Attribute]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def _mine(tree: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes of a source's own objects: in a method of its own, of what that is called on, and of what is made
    of a class of its own, where nothing else has that name.
    """
    classes, made, bound = _classes(tree), Counter[str](), Counter[str]()
    places: list[tuple[ast.AST, Set[str]]] = []
    for function in _methods(classes):
        first = {one.arg for one in [*function.args.posonlyargs, *function.args.args][:1]}
        places.append((function, first - _set_in(function)))
    names = {node.name for node in classes}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(node.value.func, ast.Name) and node.value.func.id in names:
                made.update(target.id for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
    for place, theirs in [*places, (tree, {name for name in made if made[name] == bound[name]})]:
        yield from (node for node in _takes(place) if _root(node) in theirs)


def _set_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}


def _root(node: ast.expr) -> str:
    """The name at the beginning of `x.y[0].z`, else ""."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _held(tree: ast.AST) -> set[str]:
    """The modules that classes import: each is an attribute then, by a name that says nothing of it."""
    found = set[str]()
    inside: list[ast.AST] = [part for node in _classes(tree) for part in node.body]
    for node in inside:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= _imports(node)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside += ast.iter_child_nodes(node)
    return found


def _changed(tree: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes that a source sets or deletes."""
    yield from (node for node in _takes(tree) if not isinstance(node.ctx, ast.Load))


def _trees(sources: list[str]) -> list[ast.Module]:
    """Of those that are Python."""
    found = list[ast.Module]()
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            found.append(ast.parse(FILE.sub("", source)))
    return found


def _taken(
    tree: ast.Module, lesson: list[ast.Module], own: Set[str], before: list[ast.Module], allowed: Set[str]
) -> Iterator[str]:
    """What a source takes from modules and may not, what it sets there, and modules that it hands on, from which
    something could be taken under another name.
    """
    modules, parts = _bound([*lesson, *before, tree])
    border = Border(allowed, {path for path in _bound(lesson)[1].values() if path.startswith(f"{OURS}.")})
    for path in [*_imports(tree), *_bound([tree])[1].values()]:
        yield from border.way(path)[0]
    known = {name: path for name, path in (modules | parts).items() if name not in own}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    changed = set(_changed(tree))
    before_a_dot = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    mine = set(_mine(tree))
    for node in nodes:
        if not (path := _path(node, known)):
            if node in changed and isinstance(node, ast.Attribute) and not (node.attr in SLOPES or node in mine):
                yield f"{node.attr} (changed)"
            elif (
                isinstance(node, ast.Attribute)
                and OF_ITS_OWN.fullmatch(node.attr)
                and not (node in mine and isinstance(node.value, ast.Name))
            ):
                yield node.attr
            continue
        astray, is_module = border.way(path)
        yield from astray
        if node in changed:
            yield f"{path} (changed)"
        if is_module and not astray and isinstance(node.ctx, ast.Load) and id(node) not in before_a_dot:
            yield f"{path} (as a whole)"


def _bound(trees: list[ast.Module]) -> tuple[dict[str, str], dict[str, str]]:
    """What the names that sources import stand for: modules, and what is taken from modules."""
    modules, parts = dict[str, str](), dict[str, str]()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]
                modules[name.asname or first] = name.name if name.asname else first
        elif isinstance(node, ast.ImportFrom):
            parts |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return modules, parts


def _path(node: ast.expr, known: Mapping[str, str]) -> str:
    """What `x.y.z` stands for where `x` is imported, else ""."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    before = _path(node.value, known) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""
