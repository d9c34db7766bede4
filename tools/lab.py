"""JupyterLab, and beside it the compiling that the first Train would wait for. Takes the arguments of `jupyter lab`.

python -m tools.lab [--no-browser ...]
"""

from __future__ import annotations

import subprocess
import sys


def main() -> None:
    """Run JupyterLab until it is shut down; what compiles ends with it."""
    from jupyterlab.labapp import LabApp

    command = [sys.executable, "-c", "from tools.compile_ahead import beside; beside()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as compiling:
        try:
            LabApp.launch_instance(sys.argv[1:])
        finally:
            compiling.kill()


if __name__ == "__main__":
    main()
