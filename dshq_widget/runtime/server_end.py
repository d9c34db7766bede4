"""Imported first by multiprocessing's server of processes (`set_forkserver_preload`), and by nothing else: the server
then ends with the process that started it, and what it has started ends with it. By itself it lives as long as one of
the processes that it has started, and an environment's step may never end. It and its processes are a group of their
own: what ends the run's, `timeout` or a closed terminal, would take the environments away before the run has saved.
"""

import os
import sys
from functools import partial

from dshq_widget.runtime.process import ORPHANED
from dshq_widget.system.processes import die_with


def _end_with(server: int) -> None:
    """One that still imports asks nobody whether its owner is there. What it forks itself is its own."""
    if os.getppid() == server:
        die_with(server, ORPHANED)


if sys.argv[:1] == ["-c"]:  # as the server is started
    die_with(os.getppid(), ORPHANED)
    os.setpgrp()
    os.register_at_fork(after_in_child=partial(_end_with, os.getpid()))
