"""JupyterLab, and beside it the compiling that the first Train would wait for. Takes the arguments of `jupyter lab`.

python -m tools.lab [--no-browser ...]
"""

from __future__ import annotations

import os
import subprocess
import sys

DRILL = "ball"
"""The first lesson's."""


def main() -> None:
    """Run JupyterLab until it is shut down; what compiles ends with it."""
    from jupyterlab.labapp import LabApp

    command = [sys.executable, "-c", "from tools.lab import compile_ahead; compile_ahead()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as compiling:
        try:
            LabApp.launch_instance(sys.argv[1:])
        finally:
            compiling.kill()


def compile_ahead() -> None:
    """Compile what the first Train needs, at the lowest priority, in two processes where there are two processors. Ends
    this process, at the latest when its input ends.
    """
    os.nice(19)
    from dshq_widget.algorithms.ppo import compiling
    from dshq_widget.training.trainer import Trainer

    compiling.end_with_input()
    with Trainer(DRILL) as trainer:
        if not compiling.is_compiled():
            compiling.everything(trainer.drill, trainer.config)


if __name__ == "__main__":
    main()
