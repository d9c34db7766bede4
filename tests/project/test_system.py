"""What only one kind of system has is named in one room, whose two forms offer the same."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "dshq_widget" / "system"
HUB = {"demo.py", "demo_config.py", "parent_watch.py", "spawner.py"}
"""Of `classroom/hub`: they run with JupyterHub, which runs on POSIX systems only."""
MODULES = {"fcntl", "grp", "pwd", "resource", "select", "selectors", "termios", "msvcrt", "winreg"}
NAMES = {
    "os": {
        *("fork", "forkpty", "memfd_create", "pipe", "set_blocking", "nice", "setsid", "getsid", "setpriority"),
        *("getpriority", "kill", "killpg", "getpgid", "setpgid", "mkfifo", "sysconf", "statvfs", "wait", "waitpid"),
        *("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_BINARY", "startfile"),
    },
    "signal": {"SIGKILL", "SIGSTOP", "SIGHUP", "pthread_kill", "pthread_sigmask", "CTRL_C_EVENT"},
    "socket": {"AF_UNIX"},
}
METHODS = {"add_signal_handler", "remove_signal_handler"}
"""Of asyncio's loops."""
BEGINNINGS = {"os": ("sched_", "posix_", "spawn")}
ARGUMENTS = {"pass_fds", "preexec_fn", "process_group", "start_new_session", "creationflags"}
FORMS = ("board", "locks", "memory", "priority", "processes")


def named(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of everything in a source text that only some systems have."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((node.lineno, module) for module in modules if module in MODULES)
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = node.value.id
            if node.attr in NAMES.get(module, ()) or node.attr.startswith(BEGINNINGS.get(module, ("\0",))):
                yield node.lineno, f"{module}.{node.attr}"
        elif isinstance(node, ast.keyword) and node.arg in ARGUMENTS:
            yield node.value.lineno, f"{node.arg}="


def test_nothing_else_names_what_only_some_systems_have():
    files = [path for folder in ("dshq_widget", "kernels") for path in (ROOT / folder).rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line} names {name}"
        for path in files
        if ROOM not in path.parents and not (path.parent.name == "hub" and path.name in HUB)
        for line, name in named(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "dshq_widget/system has a function for it, or should have one"


def test_such_names_are_found():
    names = ("fcntl", "os.fork", "os.sched_yield", "signal.SIGKILL", "socket.AF_UNIX", "pass_fds=")
    text = "import fcntl\nos.fork()\nos.sched_yield()\nsignal.SIGKILL\nsocket.AF_UNIX\nPopen(pass_fds=[])\nos.getpid()"
    assert list(named("loop().add_signal_handler(2)")) == [(1, "add_signal_handler")]
    assert sorted(named(text)) == list(enumerate(names, 1))


def locale_bound(text: str) -> Iterator[tuple[int, str]]:
    """(line, call) of all that reads or writes text in whatever encoding the system has."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or "encoding" in {keyword.arg for keyword in node.keywords}:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {keyword.arg for keyword in node.keywords}
        whole = name == "read_text" or (name == "write_text" and len(node.args) < 2)
        asks = name in ("run", "Popen", "check_output") and given & {"text", "universal_newlines"}
        opens = isinstance(node.func, ast.Name) and name == "open" and not any("b" in mode for mode in modes(node))
        if whole or asks or opens:
            yield node.lineno, ast.unparse(node)


def modes(call: ast.Call) -> list[str]:
    """The mode that `open` is given, if it is a text."""
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return [str(one.value) for one in given if isinstance(one, ast.Constant)]


def test_text_is_utf_8_on_every_system():
    """Windows has a code page instead. What only POSIX systems run is left out."""
    files = [path for folder in ("dshq_widget", "kernels") for path in (ROOT / folder).rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line} {call}"
        for path in [*files, ROOT / "hatch_build.py"]
        if ROOM / "posix" not in path.parents and not (path.parent.name == "hub" and path.name in {*HUB, "share.py"})
        for line, call in locale_bound(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_what_depends_on_the_systems_encoding_is_found():
    bound = "Path().read_text()\nPath().write_text('a')\nrun([], text=True)\nopen('a')\nopen('a', 'w')"
    free = "Path().read_text(encoding='utf-8')\nrun([])\nopen('a', 'rb')\nopen('a', mode='wb')\nos.open('a', 0)"
    assert [line for line, _ in locale_bound(bound)] == [1, 2, 3, 4, 5]
    assert list(locale_bound(free)) == []


def offered(form: str, part: str) -> dict[str, object]:
    """What one form of a part offers, by its name: functions' parameters, methods' parameters, kinds of constants."""
    facade = importlib.import_module(f"dshq_widget.system.{part}")
    module = importlib.import_module(f"dshq_widget.system.{form}.{part}")
    found: dict[str, object] = {}
    for name in facade.__all__:
        if name == "NoLocksError":
            continue
        value = getattr(module, name)
        if inspect.isclass(value):
            public = {key for key in vars(value) if not key.startswith("_")}
            found.update({f"{name}.{key}": inspect.isfunction(vars(value)[key]) for key in public})
        else:
            found[name] = list(inspect.signature(value).parameters) if callable(value) else type(value)
    return found


@pytest.mark.parametrize("part", FORMS)
def test_both_forms_offer_the_same(part):
    posix, portable = (offered(form, part) for form in ("posix", "portable"))
    extra = {"watch", "unwatch"} if part == "board" else set()
    assert {name: value for name, value in posix.items() if name.split(".")[-1] not in extra} == portable
