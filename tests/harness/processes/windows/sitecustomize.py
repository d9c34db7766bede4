"""Takes away, at Python's start, the modules and names that Windows lacks; `sys.platform` says win32."""

import asyncio
import ctypes
import importlib
import os
import signal
import socket
import sys
import types
import warnings

MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
FOREIGN = (
    *("anywidget", "gymnasium.vector", "ipykernel.kernelapp", "ipywidgets", "loky", "numba", "psutil"),
    *("safetensors.numpy", "tornado.httpserver", "tornado.netutil", "tornado.platform.asyncio", "tornado.websocket"),
    *("asyncio.subprocess", "importlib.metadata", "platform", "tempfile", "uuid", "webbrowser", "yaml", "zmq.asyncio"),
)
NAMES = {
    os: {
        *("fork", "forkpty", "getegid", "geteuid", "getgid", "getpgid", "getsid", "getuid", "killpg"),
        *("memfd_create", "mkfifo", "nice", "set_blocking", "setpriority", "getpriority", "setsid", "statvfs"),
        *("sysconf", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "uname"),
        *(name for name in vars(os) if name.startswith(("posix_", "sched_"))),
    },
    signal: {name for name in vars(signal) if name.startswith(("SIG", "pthread_"))}
    - {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"},
    socket: {"AF_UNIX"},
}
WINDOWS = {"kernel32": types.SimpleNamespace(SwitchToThread=ctypes.CDLL(None).sched_yield)}
"""What stands in for Windows' own libraries."""


def loopback_pair(family=socket.AF_INET, kind=socket.SOCK_STREAM, proto=0):
    """`socket.socketpair` as CPython has it on Windows (Lib/socket.py): two connected sockets of the loopback."""
    with socket.socket(family, kind, proto) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        there = socket.create_connection(listener.getsockname())
        here, _ = listener.accept()
    return here, there


class NamedLibrary(ctypes.CDLL):
    """ctypes.CDLL as on Windows, where a library has a name: `CDLL(None)` is POSIX's."""

    def __init__(self, name, *args, **options):
        if name is None:
            raise TypeError("a library has a name on Windows")
        super().__init__(name, *args, **options)


def take_away() -> None:
    for name in FOREIGN:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # filelock says that it takes a file where there is no fcntl
        importlib.import_module("filelock")
    # of kernel32, which is not here; asked for where two processes want a lock at the same time
    setattr(sys.modules["filelock._soft"], "open_read_without_oplock_wait", lambda path: os.open(path, os.O_RDONLY))  # noqa: B010
    kept = types.SimpleNamespace(**vars(signal))
    for name in ("subprocess", "psutil", "asyncio.base_subprocess"):
        setattr(sys.modules[name], "signal", kept)  # noqa: B010, no type checker knows that they have one
    for owner, names in NAMES.items():
        for name in names:
            if hasattr(owner, name):
                delattr(owner, name)
    socket.socketpair = loopback_pair  # type: ignore[assignment]
    asyncio.SelectorEventLoop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler  # it raises
    ctypes.CDLL = NamedLibrary  # type: ignore[misc]
    ctypes.WinDLL = WINDOWS.__getitem__  # type: ignore[attr-defined]
    sys.platform = "win32"


take_away()
