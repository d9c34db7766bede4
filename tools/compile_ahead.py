"""Compiles what the first Train, and most tests, would wait for.

python -m tools.compile_ahead           what PPO needs
python -m tools.compile_ahead --all     also what search and the page's own learner need
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dshq_kernels.play.records import learner_module
from dshq_widget.algorithms import algorithms
from dshq_widget.algorithms.ppo import compiling
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.trainer import Trainer

DRILL = "ball"
"""The first lesson's; what is compiled is the same for every drill."""


def main() -> None:
    """Compile it, in two processes where there are two processors, unless it is kept on this machine."""
    with Trainer(DRILL) as trainer:
        if not compiling.is_compiled():
            compiling.everything(with_rules(trainer.drill), trainer.config)


def search() -> None:
    """What search needs."""
    if "spo" in algorithms:
        with Trainer(DRILL, algorithm="spo", num_envs=32) as trainer:
            trainer.train_for(updates=1)


OTHERS: tuple[Callable[[], object], ...] = (
    learner_module,
    search,
)
"""What `--all` adds: the page's own learner, and search."""


def others() -> None:
    """Each of them on a thread of its own."""
    with ThreadPoolExecutor() as pool:
        for task in [pool.submit(make) for make in OTHERS]:
            task.result()


def beside() -> None:
    """The same at the lowest priority, for as long as this process has its input."""
    os.nice(19)
    compiling.end_with_input()
    main()


if __name__ == "__main__":
    main()
    if "--all" in sys.argv[1:]:
        others()
