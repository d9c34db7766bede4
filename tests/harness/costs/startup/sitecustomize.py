"""Counts what numba compiles in every Python process of the tests, and leaves out what no test needs."""

import importlib.abc
import importlib.util
import os
import sys
import threading
import time

for grammar in ("rfc3987_syntax", "rfc3986_validator"):
    # jsonschema, and so nbformat and each Jupyter server, would compile it for seconds, for formats that no schema here
    # has; where it is not installed these formats are not checked.
    sys.modules.setdefault(grammar, None)

EVENTS, COUNTED = "numba.core.event", "dshq_counted"


class Hook(importlib.abc.MetaPathFinder):
    """Listens to numba as soon as its events are imported; until then it costs nothing."""

    def find_spec(self, name, path=None, target=None):
        if name != EVENTS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                if not hasattr(
                    module, COUNTED
                ):  # a process of pytest-xdist has two hooks: its own start, and the plugin
                    setattr(module, COUNTED, True)
                    module.register("numba:run_pass", _listener(module))

            spec.loader.exec_module = exec_module
        return spec


def _listener(events):
    class Compiling(events.Listener):
        """Adds up the outermost passes of each function, by thread: what they start inside is theirs."""

        def __init__(self):
            self.here = threading.local()

        def on_start(self, event):
            here = self.here
            here.depth = getattr(here, "depth", 0) + 1
            if here.depth == 1:
                here.began = time.thread_time()

        def on_end(self, event):
            here = self.here
            here.depth -= 1
            if here.depth == 0:
                here.spent = getattr(here, "spent", 0.0) + time.thread_time() - here.began
            if event.data["name"].startswith("native_lowering "):
                name = f"{event.data['module']}.{event.data['qualname']}"
                file = os.path.join(os.environ["DSHQ_TEST_COMPILES"], f"{os.getpid()}.txt")
                with open(file, "a") as lines:
                    lines.write(f"{getattr(here, 'spent', 0.0):.4f} {name}\n")
                here.spent = 0.0

    return Compiling()


if os.path.isdir(os.environ.get("DSHQ_TEST_COMPILES", "")):
    sys.meta_path.insert(0, Hook())
