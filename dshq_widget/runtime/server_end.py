"""Imported first by multiprocessing's server of processes (`set_forkserver_preload`), and by nothing else: the server
then ends with the process that started it. By itself it lives as long as one of the processes that it has started,
and an environment's step may never end.
"""

import os
import sys

from dshq_widget.runtime.process import ORPHANED
from dshq_widget.system.processes import die_with

if sys.argv[:1] == ["-c"]:  # as the server is started
    die_with(os.getppid(), ORPHANED)
