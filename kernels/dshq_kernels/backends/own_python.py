"""How this project starts a Python process of its own that is no role."""

from __future__ import annotations

import sys


def own_python(*arguments: str) -> list[str]:
    """The command of this interpreter with `arguments`, such as "-m" and a module. The process imports nothing from the
    folder that one works in, where files of others may lie: a `numpy.py` beside a policy is not run.
    """
    return [sys.executable, "-P", *arguments]
